// SPDX-License-Identifier: BSL-1.0
// svg_elements: the elements of pictures: numbers, text, lines, and steps of an axis.
#pragma once

#include "utf8.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ostream>
#include <string>
#include <string_view>

namespace demo {

[[nodiscard]] inline std::string number(double value) {
    char shown[32];
    std::snprintf(shown, sizeof shown, "%.2f", value);
    return shown;
}

/// Returns the length of the first character in UTF-8; 0 if it is invalid or not allowed in XML.
[[nodiscard]] inline std::size_t character_at_front(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    const bool is_control = first < 0x20 || first == 0x7F;
    return is_control || text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 0 : utf8_at_front(text);
}

/// Escapes text for the content of an element. Each byte that XML does not allow becomes '?'.
[[nodiscard]] inline std::string escaped(std::string_view plain) {
    std::string safe;
    for (std::size_t length = 0; !plain.empty(); plain.remove_prefix(std::max<std::size_t>(length, 1))) {
        length = character_at_front(plain);
        if (length == 0) safe += '?';
        else if (plain[0] == '<') safe += "&lt;";
        else if (plain[0] == '>') safe += "&gt;";
        else if (plain[0] == '&') safe += "&amp;";
        else safe += plain.substr(0, length);
    }
    return safe;
}
inline void text(std::ostream& out, double x, double y, const char* kind, std::string_view what,
                 const char* anchor = "start") {
    out << "<text x=\"" << number(x) << "\" y=\"" << number(y) << "\" class=\"" << kind << "\" text-anchor=\"" << anchor
        << "\">" << escaped(what) << "</text>\n";
}
inline void line(std::ostream& out, double x1, double y1, double x2, double y2, const char* kind) {
    out << "<line x1=\"" << number(x1) << "\" y1=\"" << number(y1) << "\" x2=\"" << number(x2) << "\" y2=\""
        << number(y2) << "\" class=\"" << kind << "\"/>\n";
}

/// Returns 1, 2 or 5 times a power of ten, so that `whole` has about `parts` intervals of that length.
[[nodiscard]] inline double round_part(double whole, double parts) {
    const double rough = whole / parts, power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= rough) return factor * power;
    }
    return 10 * power;
}

}  // namespace demo
