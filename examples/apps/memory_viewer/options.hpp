// SPDX-License-Identifier: BSL-1.0
// options: parses the command line.
#pragma once

#include "../network_demo/arguments.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace viewer {

struct options {
    std::string file, allocator = "best_fit";
    std::string html, library, log, json, perfetto, pytorch, vma;  // files to write, and the plotting library to read
    std::string at = "peak";                                       // the state of a log for --vma
    bool help = false;
};

using demo::usage_error;

[[nodiscard]] inline options parse(demo::arguments given) {
    options chosen;
    struct {
        const char* name;
        std::string& value;
    } const with_value[] = {{"--allocator", chosen.allocator},
                            {"--html", chosen.html},
                            {"--library", chosen.library},
                            {"--log", chosen.log},
                            {"--json", chosen.json},
                            {"--perfetto", chosen.perfetto},
                            {"--pytorch", chosen.pytorch},
                            {"--vma", chosen.vma},
                            {"--at", chosen.at}};
    while (given.next()) {
        if (given.is_file()) {
            given.only_file(chosen.file);
        } else if (given.is_help()) {
            chosen.help = true;
        } else {
            const auto known = std::find_if(std::begin(with_value), std::end(with_value),
                                            [&](const auto& each) { return given.is(each.name); });
            if (known == std::end(with_value)) given.refuse();
            known->value = given.value();
        }
    }
    if (chosen.help) return chosen;
    if (chosen.file.empty()) throw usage_error{"no file is given"};
    if (chosen.at != "peak" && chosen.at != "end") throw usage_error{"--at needs peak or end"};
    if (chosen.html.empty() != chosen.library.empty()) throw usage_error{"--html and --library need each other"};
    return chosen;
}

}  // namespace viewer
