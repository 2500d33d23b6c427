// SPDX-License-Identifier: BSL-1.0
// json_text: writes any bytes as a JSON string.
//
// Internal. JSON is UTF-8. U+FFFD takes the place of each byte that is not UTF-8, so that the result is valid.
//
// Complexity: O(bytes).
// Memory: none.
// Thread safety: plain functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the length of the UTF-8 sequence at the start of a text, or 0 if the bytes are not UTF-8.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i != length; ++i)
        if ((at(i) & 0xC0) != 0x80) return 0;
    const bool is_short = (first == 0xE0 && at(1) < 0xA0) || (first == 0xF0 && at(1) < 0x90);
    const bool is_outside = (first == 0xED && at(1) > 0x9F) || (first == 0xF4 && at(1) > 0x8F);
    return is_short || is_outside ? 0 : length;
}

/// Passes each letter of a text to `sink` as a text, and U+FFFD in place of each byte that is not UTF-8.
template <class Sink>
void for_each_letter(std::string_view text, Sink&& sink) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        sink(length == 0 ? std::string_view{"\xEF\xBF\xBD"} : text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
}

/// Passes a text to `sink` as a JSON string with its quotes, in pieces.
template <class Sink>
void write_json_text(std::string_view text, Sink&& sink) {
    sink(std::string_view{"\""});
    for_each_letter(text, [&](std::string_view letter) {
        const auto code = static_cast<unsigned char>(letter[0]);
        if (code == '"' || code == '\\') {
            const char escaped[2] = {'\\', letter[0]};
            sink(std::string_view{escaped, 2});
        } else if (code < 0x20) {
            constexpr char digits[] = "0123456789abcdef";
            const char escaped[6] = {'\\', 'u', '0', '0', digits[code >> 4U], digits[code & 15U]};
            sink(std::string_view{escaped, 6});
        } else {
            sink(letter);
        }
    });
    sink(std::string_view{"\""});
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
