// SPDX-License-Identifier: BSL-1.0
// options: parses the command line.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace viewer {

struct options {
    std::string file, allocator = "best_fit";
    std::string html, library, log, json, perfetto, pytorch, vma;  // files to write, and the plotting library to read
    std::string at = "peak";                                       // the state of a log for --vma
    bool help = false;
};

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[nodiscard]] inline options parse(const std::vector<std::string>& arguments) {
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
    for (std::size_t i = 0; i != arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const std::size_t equals = argument.find('=');
        if (argument.empty() || argument[0] != '-') {
            if (!chosen.file.empty())
                throw usage_error{"more than one file is given: " + chosen.file + " and " + argument};
            chosen.file = argument;
            continue;
        }
        if (argument == "--help" || argument == "-h") {
            chosen.help = true;
            continue;
        }
        bool known = false;
        for (const auto& [name, value] : with_value) {
            if (argument.substr(0, equals) != name) continue;
            known = true;
            if (equals == std::string::npos && i + 1 == arguments.size())
                throw usage_error{argument + " needs a value"};
            value = equals != std::string::npos ? argument.substr(equals + 1) : arguments[++i];
        }
        if (!known) throw usage_error{"unknown option " + argument};
    }
    if (chosen.help) return chosen;
    if (chosen.file.empty()) throw usage_error{"no file is given"};
    if (chosen.at != "peak" && chosen.at != "end") throw usage_error{"--at needs peak or end"};
    if (chosen.html.empty() != chosen.library.empty()) throw usage_error{"--html and --library need each other"};
    return chosen;
}

}  // namespace viewer
