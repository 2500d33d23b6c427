// SPDX-License-Identifier: BSL-1.0
// The pages of the memory after each step as a picture: used, cached and free, and the entries of the tables.
#pragma once

#include "server.hpp"

#include <fstream>

/// Writes an SVG.
inline void draw(const char* file, const std::vector<usage>& history, std::size_t pages) {
    std::uint64_t most = pages;
    for (const usage& now : history) most = std::max(most, now.named);
    const double x = 900.0 / static_cast<double>(history.size()), y = 360.0 / static_cast<double>(most);
    std::ofstream out{file};
    out << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 440" font-family="sans-serif" font-size="13">)"
        << R"(<rect width="980" height="440" fill="white"/>)";
    const auto area = [&](const char* color, auto low, auto high) {
        out << "<path fill=\"" << color << "\" d=\"M";
        for (std::size_t i = 0; i != history.size(); ++i)
            out << 50 + static_cast<double>(i) * x << ' ' << 380 - static_cast<double>(high(history[i])) * y << " L";
        for (std::size_t i = history.size(); i-- != 0;)
            out << 50 + static_cast<double>(i) * x << ' ' << 380 - static_cast<double>(low(history[i])) * y
                << (i == 0 ? " Z\"/>" : " L");
    };
    area("#dbe9f6", [](usage) { return 0; }, [&](usage) { return pages; });
    area("#7fb1d9", [](usage now) { return now.used; }, [](usage now) { return now.used + now.cached; });
    area("#1f5f99", [](usage) { return 0; }, [](usage now) { return now.used; });
    out << "<path fill=\"none\" stroke=\"#c0392b\" stroke-width=\"1.5\" d=\"M";
    for (std::size_t i = 0; i != history.size(); ++i)
        out << 50 + static_cast<double>(i) * x << ' ' << 380 - static_cast<double>(history[i].named) * y
            << (i + 1 == history.size() ? "\"/>" : " L");
    out << R"(<text x="50" y="16">pages of the memory after each step</text>)"
        << R"(<text x="50" y="410" fill="#1f5f99">used by sequences</text>)"
        << R"(<text x="220" y="410" fill="#5a93c2">cached</text><text x="310" y="410" fill="#8fb4d4">free</text>)"
        << R"(<text x="380" y="410" fill="#c0392b">entries of the tables: pages without sharing</text>)"
        << "<text x=\"8\" y=\"" << 384 - static_cast<double>(pages) * y << "\">" << pages << "</text>"
        << "<text x=\"8\" y=\"384\">0</text><text x=\"910\" y=\"396\">" << history.size() << " steps</text></svg>\n";
}
