// SPDX-License-Identifier: BSL-1.0
// table: the results as a table of aligned columns, and as JSON.
#pragma once

#include "utf8.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

namespace demo {

/// One network in one memory. Sizes in bytes.
struct outcome {
    std::string network, memory;
    std::size_t tensors = 0, sum = 0, lower_bound = 0;
    std::size_t arena = 0;         // maximum memory of the tensors, fast and slow together
    std::size_t peak_fast = 0;     // the part of it in the fast memory
    std::size_t spilled = 0;       // bytes of tensors that do not fit the fast memory
    double planning = 0;           // seconds to decide all places
    std::size_t acquisitions = 0;  // regions acquired from devices
    std::uint64_t digest = 0;

    [[nodiscard]] double ratio() const {
        return lower_bound == 0 ? 1.0 : static_cast<double>(arena) / static_cast<double>(lower_bound);
    }
};

/// One network through buckets of exact sizes, and through an arena.
struct comparison {
    std::string network;
    std::size_t their_bytes = 0, our_bytes = 0, their_calls = 0, our_calls = 0;
};

/// Formats 1234567 as 1,234,567.
[[nodiscard]] inline std::string grouped(std::size_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
    return text;
}
[[nodiscard]] inline std::string fixed(double number, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, number);
    return text.data();
}
[[nodiscard]] inline std::string hexadecimal(std::uint64_t number) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(number));
    return text.data();
}

/// Prints rows of equal length; the first row is the heading. The first `left` columns are left-aligned.
inline void print_columns(std::ostream& out, const std::vector<std::vector<std::string>>& rows, std::size_t left) {
    const std::string two_spaces = "  ";
    std::vector<std::size_t> widths(rows[0].size(), 0);
    for (const auto& row : rows) {
        for (std::size_t i = 0; i != row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    for (std::size_t r = 0; r != rows.size(); ++r) {
        std::string line;
        for (std::size_t i = 0; i != widths.size(); ++i) {
            const std::string gap(widths[i] - rows[r][i].size(), ' ');
            line += (i == 0 ? "" : two_spaces) + (i < left ? rows[r][i] + gap : gap + rows[r][i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
        if (r == 0) {
            std::string rule;
            for (std::size_t i = 0; i != widths.size(); ++i) {
                if (i != 0) rule += two_spaces;
                for (std::size_t n = 0; n != widths[i]; ++n) rule += "─";
            }
            out << rule << '\n';
        }
    }
}

inline void print(std::ostream& out, const std::vector<outcome>& results) {
    std::vector<std::vector<std::string>> rows{{"network", "memory", "tensors", "sum of sizes", "lower bound",
                                                "arena used", "peak in fast", "spilled", "acquired", "ratio",
                                                "planned in", "digest"}};
    for (const outcome& r : results) {
        const bool fast = r.peak_fast + r.spilled != 0;
        rows.push_back({r.network, r.memory, grouped(r.tensors), grouped(r.sum), grouped(r.lower_bound),
                        grouped(r.arena), fast ? grouped(r.peak_fast) : "-", fast ? grouped(r.spilled) : "-",
                        grouped(r.acquisitions), fixed(r.ratio(), 4),
                        r.planning == 0 ? "-" : fixed(1000 * r.planning, 2) + " ms", hexadecimal(r.digest)});
    }
    print_columns(out, rows, 2);
}

inline void print(std::ostream& out, const std::vector<comparison>& results) {
    std::vector<std::vector<std::string>> rows{
        {"network", "bytes: buckets", "allot", "saved", "device calls: buckets", "allot"}};
    for (const comparison& r : results) {
        const double share =
            r.their_bytes == 0 ? 0.0 : 1.0 - static_cast<double>(r.our_bytes) / static_cast<double>(r.their_bytes);
        rows.push_back({r.network, grouped(r.their_bytes), grouped(r.our_bytes), fixed(100.0 * share, 1) + " %",
                        grouped(r.their_calls), grouped(r.our_calls)});
    }
    print_columns(out, rows, 1);
}

/// Returns a string of JSON. Each byte that is not UTF-8 becomes '?'.
[[nodiscard]] inline std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char c : as_utf8(text)) {
        std::array<char, 8> escape{};
        if (static_cast<unsigned char>(c) < 0x20) {
            std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
            json += escape.data();
            continue;
        }
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    return json + '"';
}

inline void write_json(std::ostream& out, const std::vector<outcome>& results) {
    const char* separator = "[\n";
    for (const outcome& r : results) {
        out << separator << "  {\"network\": " << quoted(r.network) << ", \"memory\": " << quoted(r.memory)
            << ", \"tensors\": " << r.tensors << ", \"sum\": " << r.sum << ", \"lower_bound\": " << r.lower_bound
            << ", \"arena\": " << r.arena << ", \"peak_fast\": " << r.peak_fast << ", \"spilled\": " << r.spilled
            << ", \"acquisitions\": " << r.acquisitions << ", \"ratio\": " << fixed(r.ratio(), 6)
            << ", \"planning_seconds\": " << fixed(r.planning, 6) << ", \"digest\": " << quoted(hexadecimal(r.digest))
            << "}";
        separator = ",\n";
    }
    out << (results.empty() ? "[]\n" : "\n]\n");
}

}  // namespace demo
