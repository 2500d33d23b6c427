// SPDX-License-Identifier: BSL-1.0
// varint: writes unsigned LEB128 numbers: seven bits in each byte, low bits first, and the top bit set in all
// bytes except the last.
//
// Complexity: O(1) for a number.
// Memory: the written bytes.
// Thread safety: functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

/// Appends a number to a container of bytes.
template <class Bytes>
constexpr void append_varint(std::uint64_t value, Bytes& to) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
    to.push_back(static_cast<std::byte>(value));
}

/// Appends the bytes of a text.
template <class Bytes>
constexpr void append_text(std::string_view text, Bytes& to) {
    for (const char letter : text) to.push_back(static_cast<std::byte>(letter));
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
