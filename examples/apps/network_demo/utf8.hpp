// SPDX-License-Identifier: BSL-1.0
// utf8: the characters of names in files. A name that a user gives may have any bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace demo {

/// Returns the length of the first character in UTF-8; 0 if it is invalid. Precondition: the text is not empty.
[[nodiscard]] inline std::size_t utf8_at_front(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
    unsigned code = first & (0x7Fu >> length);
    for (std::size_t i = 1; i != length; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3F);
    }
    const bool too_long = code < (length == 4 ? 0x10000u : length == 3 ? 0x800u : 0x80u);
    return too_long || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ? 0 : length;
}

/// Returns a text in UTF-8. Each byte that is not part of a character becomes '?'.
[[nodiscard]] inline std::string as_utf8(std::string_view text) {
    std::string made;
    for (std::size_t length = 0; !text.empty(); text.remove_prefix(std::max<std::size_t>(length, 1))) {
        length = utf8_at_front(text);
        if (length == 0) made += '?';
        else made += text.substr(0, length);
    }
    return made;
}

}  // namespace demo
