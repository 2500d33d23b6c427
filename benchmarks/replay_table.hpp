// SPDX-License-Identifier: BSL-1.0
// Tables of the results of replays: one table for each trace, and tables of ratios over all traces.
#pragma once

#include "replay.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace benchmarks {

struct row {
    std::string trace, name, honours;
    std::string type{};  // its C++ type, for a program to use; empty: none
    subject_group group = subject_group::nothing;
    double least = 0, median = 0;  // ns an operation, net of the empty replay
    double extent = 0;             // over peak; 0 if not measured
    std::size_t records = 0;       // maximum bytes of side tables
    verdict seen{};
};

/// Net times below a tenth of a nanosecond are noise and count as that much.
inline double ratio(double time, double to) { return std::max(time, 0.1) / std::max(to, 0.1); }

inline void rule(std::size_t columns) {
    std::printf("|---|");
    while (--columns != 0) std::printf("--:|");
    std::printf("\n");
}

inline std::string number(double value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return value == 0 ? "" : text;
}

inline void print_trace(const workload& of, const std::vector<row>& rows) {
    std::printf("\n%s: %zu operations, at most %u blocks and %llu bytes live\n", of.name.c_str(), of.events,
                of.trace.slots, static_cast<unsigned long long>(of.trace.peak));
    const row* first = nullptr;
    for (const row& each : rows) {
        if (first == nullptr || first->group != each.group) {
            first = &each;
            std::printf(
                "\n| %s | alignment | ns, median | ns, least | to the first | extent over peak | records, B a block "
                "|\n",
                group_titles[static_cast<int>(each.group)]);
            rule(7);
        }
        if (!each.seen.complete) {
            std::printf("| %s | %s | failed | | | | |\n", each.name.c_str(), each.honours.c_str());
            continue;
        }
        std::printf("| %s | %s", each.name.c_str(), each.honours.c_str());
        if (each.seen.misaligned != 0) std::printf("; **not for %zu blocks**", each.seen.misaligned);
        const double records = static_cast<double>(each.records) / of.trace.slots;
        std::printf(" | %.2f | %.2f | %.2fx | %s | %s |\n", each.median, each.least, ratio(each.least, first->least),
                    number(each.extent, 4).c_str(), number(records, 1).c_str());
    }
    std::fflush(stdout);
}

/// Prints a table for a group: a column for each trace, and geometric means over the traces that the first subject of
/// the group also replays.
template <class Value>
void print_all(const std::vector<row>& rows, subject_group group, const char* what, const char* mean, int digits,
               Value value) {
    std::vector<std::string> names, traces;
    const auto add = [](std::vector<std::string>& to, const std::string& one) {
        if (std::ranges::find(to, one) == to.end()) to.push_back(one);
    };
    const auto find = [&](const std::string& name, const std::string& trace) {
        for (const row& each : rows)
            if (each.group == group && each.name == name && each.trace == trace && each.seen.complete)
                return value(each);
        return 0.0;
    };
    for (const row& each : rows) {
        if (each.group != group) continue;
        add(traces, each.trace);
        if (find(each.name, each.trace) != 0) add(names, each.name);
    }
    if (names.empty() || traces.size() < 2) return;  // a single trace has its own table
    std::printf("\nall traces\n\n| %s: %s |", group_titles[static_cast<int>(group)], what);
    for (const std::string& trace : traces) std::printf(" %s |", trace.c_str());
    std::printf(" %s |\n", mean);
    rule(traces.size() + 2);
    for (const std::string& name : names) {
        std::printf("| %s |", name.c_str());
        double logarithms = 0;
        std::size_t count = 0;
        for (const std::string& trace : traces) {
            const double shown = find(name, trace), reference = find(names[0], trace);
            std::printf(" %s |", number(shown, digits).c_str());
            if (shown == 0 || reference == 0) continue;
            logarithms += std::log(ratio(shown, reference));
            ++count;
        }
        const double whole = count == 0 ? 0 : std::exp(logarithms / static_cast<double>(count));
        std::printf(" %s |\n", number(whole, 3).c_str());
    }
}

inline void print_all(const std::vector<row>& rows) {
    for (std::size_t group = 1; group != std::size(group_titles); ++group) {
        const auto each = static_cast<subject_group>(group);
        print_all(rows, each, "ns an operation, least", "to the first", 2,
                  [](const row& of) { return std::max(of.least, 0.01); });
        print_all(rows, each, "ns an operation, median", "to the first", 2,
                  [](const row& of) { return std::max(of.median, 0.01); });
        print_all(rows, each, "extent over peak", "to the first", 4, [](const row& of) { return of.extent; });
    }
}

}  // namespace benchmarks
