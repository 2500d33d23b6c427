// SPDX-License-Identifier: BSL-1.0
// format_reader: reads the parts that traces, event logs and snapshots have in common: the magic letters with the
// version, and texts.
//
// Complexity: O(bytes).
// Memory: 32 bytes.
// Thread safety: requires external synchronization.
#pragma once

#include <allot/inspect/format_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

class format_reader {
public:
    constexpr explicit format_reader(std::span<const std::byte> bytes) noexcept : bytes_{bytes} {}

    /// Returns false and records the reason.
    constexpr bool refuse(format_refusal reason) noexcept {
        reason_ = reason;
        return false;
    }
    /// Makes the next byte the first byte of the current record.
    constexpr void begin_record() noexcept { begin_ = at_; }
    /// Skips bytes. Precondition: `n <= left()`.
    constexpr void skip(std::size_t n) noexcept { at_ += n; }

    [[nodiscard]] constexpr format_refusal reason() const noexcept { return reason_; }
    [[nodiscard]] constexpr std::size_t begin() const noexcept { return begin_; }
    [[nodiscard]] constexpr std::size_t left() const noexcept { return bytes_.size() - at_; }
    /// Returns the bytes that are not read.
    [[nodiscard]] constexpr std::span<const std::byte> rest() const noexcept { return bytes_.subspan(at_); }

    /// Reads a byte. Returns false at the end.
    [[nodiscard]] constexpr bool byte(std::uint8_t& value) noexcept {
        if (at_ == bytes_.size()) return refuse(format_refusal::truncated);
        value = std::to_integer<std::uint8_t>(bytes_[at_++]);
        return true;
    }
    /// Reads a number. Returns false at the end, and for a number of more than 64 bits.
    [[nodiscard]] constexpr bool number(std::uint64_t& value) noexcept {
        std::uint8_t digit = 0x80;
        value = 0;
        for (unsigned shift = 0; digit >= 0x80; shift += 7) {
            if (!byte(digit)) return false;
            if (shift > 63 || (shift == 63 && (digit & 0x7F) > 1)) return refuse(format_refusal::number_too_large);
            value |= static_cast<std::uint64_t>(digit & 0x7F) << shift;
        }
        return true;
    }

    /// Reads the magic letters: four letters, the digit of the version, and a line feed.
    [[nodiscard]] constexpr bool magic(std::string_view wanted) noexcept {
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

private:
    std::span<const std::byte> bytes_;
    std::size_t at_ = 0, begin_ = 0;  // the next byte, and the first byte of the current record
    format_refusal reason_ = format_refusal::none;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
