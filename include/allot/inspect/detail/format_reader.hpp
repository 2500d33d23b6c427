// SPDX-License-Identifier: BSL-1.0
// format_reader: reads the parts that event logs and snapshots have in common: the magic letters with the version, and
// texts.
//
// Complexity: O(bytes).
// Memory: 32 bytes.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/detail/varint.hpp>
#include <allot/inspect/format_error.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

class format_reader : public varint_reader<format_refusal> {
public:
    using varint_reader::varint_reader;

    /// Reads the magic letters: four letters, the digit of the version, and a line feed.
    [[nodiscard]] bool magic(std::string_view wanted) noexcept {
        const auto is_letter = [](std::byte one, char other) { return one == static_cast<std::byte>(other); };
        const auto found = rest().first(std::min(left(), wanted.size()));
        const std::string_view letters = wanted.substr(0, 4);
        if (found.size() < letters.size() || !std::ranges::equal(found.first(letters.size()), letters, is_letter))
            return refuse(format_refusal::other_format);
        if (!std::ranges::equal(found, wanted.substr(0, found.size()), is_letter))
            return refuse(format_refusal::other_version);
        if (found.size() < wanted.size()) return refuse(format_refusal::truncated);
        skip(wanted.size());
        return true;
    }

    /// Reads a length and a text.
    [[nodiscard]] bool text(std::string& value) {
        std::uint64_t length = 0;
        if (!number(length)) return false;
        if (length > left()) return refuse(format_refusal::truncated);
        value.clear();
        for (const std::byte each : rest().first(static_cast<std::size_t>(length)))
            value.push_back(static_cast<char>(each));
        skip(static_cast<std::size_t>(length));
        return true;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
