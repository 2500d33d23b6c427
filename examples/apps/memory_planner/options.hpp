// SPDX-License-Identifier: BSL-1.0
// options: parses the command line.
#pragma once

#include "../network_demo/arguments.hpp"
#include "expressions.hpp"

#include <allot/core/arithmetic.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planner {

struct options {
    std::string file, out, svg, html, certificate;
    std::vector<std::string> files;                     // file is the first of them
    std::optional<std::uint64_t> capacity, pages, row;  // bytes: of the memory; of a page; of a row
    std::uint64_t align = 1;                            // of each buffer, at least
    std::vector<memory> memories;
    std::vector<symbol_range> symbols;
    std::vector<std::string> strided;        // operators whose tensors may have rows that are apart, in lower case
    std::optional<double> budget;            // seconds
    std::optional<std::uint64_t> recompute;  // percent of all bytes that operators read and write
    bool moves = false, order = false, in_place = false, json = false, help = false;

    /// Whether the operators of a network are planned, too.
    [[nodiscard]] bool plans_graph() const { return order || in_place || recompute; }
};

using demo::usage_error;

/// Returns the bytes of a text such as 65536, 64KiB, 1MiB or 2GiB.
[[nodiscard]] inline std::uint64_t bytes_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    const int shift = unit.empty() ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
    if (problem != std::errc{} || shift < 0 || value > unlimited >> shift)
        throw usage_error{"\"" + std::string{text} + "\" is not a number of bytes, such as 4096, 4KiB, 2MiB or 1GiB"};
    return value << shift;
}

[[nodiscard]] inline double seconds_of(const std::string& text) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
        throw usage_error{"\"" + text + "\" is not a number of seconds"};
    return value;
}

/// Returns the names of a text such as Conv,Relu in lower case.
[[nodiscard]] inline std::vector<std::string> names_of(const std::string& text) {
    std::vector<std::string> names(1);
    for (const char c : text) {
        if (c == ',') names.emplace_back();
        else names.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (std::find(names.begin(), names.end(), "") != names.end())
        throw usage_error{"\"" + text + "\" is not a list of operators, such as Conv,Relu"};
    return names;
}

/// Returns the number of a text such as 10.
[[nodiscard]] inline std::uint64_t percent_of(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || value > 1000)
        throw usage_error{"\"" + text + "\" is not a percentage from 0 to 1000"};
    return value;
}

/// Parses NAME:BYTES or NAME:BYTES:COST.
[[nodiscard]] inline memory memory_of(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos)
        throw usage_error{"a memory needs the form NAME:BYTES[:COST], not \"" + text + "\""};
    const std::string name = text.substr(0, colon);
    if (name.find_first_of(",\"") != std::string::npos)
        throw usage_error{"the name of a memory must not contain quotes or commas"};
    const std::string_view rest = std::string_view{text}.substr(colon + 1);
    const std::size_t second = rest.find(':');
    memory made{name, bytes_of(rest.substr(0, second))};
    if (second == std::string_view::npos) return made;
    const std::string_view cost = rest.substr(second + 1);
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(cost.data(), cost.data() + cost.size(), value);
    if (problem != std::errc{} || end != cost.data() + cost.size())
        throw usage_error{"\"" + std::string{cost} + "\" is not a cost per byte"};
    made.cost = value;
    return made;
}

/// Parses NAME:LEAST:MOST.
[[nodiscard]] inline symbol_range symbol_of(const std::string& text) {
    const std::size_t first = text.find(':'), second = text.find(':', first + 1);
    const auto number = [&](std::string_view from, std::uint64_t& to) {
        const auto [end, problem] = std::from_chars(from.data(), from.data() + from.size(), to);
        return problem == std::errc{} && end == from.data() + from.size();
    };
    symbol_range made{text.substr(0, first)};
    if (second == std::string::npos || !is_symbol(made.name) ||
        !number(std::string_view{text}.substr(first + 1, second - first - 1), made.least) ||
        !number(std::string_view{text}.substr(second + 1), made.most) || made.least > made.most)
        throw usage_error{"a symbol needs the form NAME:LEAST:MOST, not \"" + text + "\""};
    return made;
}

/// Adds a memory. Throws a usage_error for a name that is given twice, and for too many or unordered memories.
inline void add_memory(options& chosen, const memory& fresh) {
    for (const memory& other : chosen.memories)
        if (other.name == fresh.name) throw usage_error{"memory \"" + fresh.name + "\" is given twice"};
    chosen.memories.push_back(fresh);
    if (chosen.memories.size() > 64) throw usage_error{"more than 64 memories are given"};
    const auto cost = [&](std::size_t m) { return chosen.memories[m].cost.value_or(m); };
    if (const std::size_t last = chosen.memories.size() - 1; last != 0 && cost(last) < cost(last - 1))
        throw usage_error{"memory \"" + fresh.name +
                          "\" costs less than the previous one; give memories in ascending order of cost"};
}

/// Throws a usage_error if options exclude each other, or if one needs another.
inline void check_combination(const options& chosen) {
    if (chosen.files.size() > 1 && !(chosen.out + chosen.svg + chosen.html + chosen.certificate).empty())
        throw usage_error{"several files are given; --out, --svg, --html and --certificate are for one file"};
    if (!chosen.strided.empty() && !chosen.in_place) throw usage_error{"--strided needs --in-place"};
    if (chosen.plans_graph() && (chosen.pages || chosen.moves))
        throw usage_error{"--order, --in-place and --recompute cannot be given with --pages or --moves"};
    if (chosen.row && (chosen.plans_graph() || chosen.pages || chosen.moves || !chosen.symbols.empty()))
        throw usage_error{"--row cannot be given with --order, --in-place, --recompute, --pages, --moves or --symbol"};
    if (chosen.plans_graph() && !chosen.symbols.empty())
        throw usage_error{"--order, --in-place and --recompute cannot be given with --symbol"};
    if (chosen.out.ends_with(".network") && !chosen.plans_graph())
        throw usage_error{"--out FILE.network writes the order of a network; give --order"};
    if (chosen.out.ends_with(".json") && (chosen.pages || chosen.moves))
        throw usage_error{"a plan in JSON has one offset for each buffer; with --pages or --moves, write a table"};
    if (!chosen.certificate.empty() && (chosen.pages || chosen.memories.size() > 1))
        throw usage_error{
            "a certificate is of plans in which each buffer is contiguous in a given memory; plan without --pages, "
            "and with one --memory"};
#ifndef ALLOT_PLAN_JSON
    if (chosen.out.ends_with(".json")) throw usage_error{"this program was built without nlohmann's JSON library"};
#endif
    if (chosen.capacity && !chosen.memories.empty())
        throw usage_error{"--capacity cannot be given with --memory, which states the size"};
    if (chosen.pages && !chosen.memories.empty())
        throw usage_error{"--pages cannot be given with --memory; state the size of the memory with --capacity"};
}

[[nodiscard]] inline options parse(demo::arguments given) {
    options chosen;
    while (given.next()) {
        if (given.is_file()) {
            chosen.files.push_back(given.text());
        } else if (given.is("--capacity")) {
            chosen.capacity = bytes_of(given.value());
        } else if (given.is("--align")) {
            chosen.align = bytes_of(given.value());
            if (!allot::is_alignment(chosen.align))
                throw usage_error{"the alignment " + std::to_string(chosen.align) + " is not a power of two"};
        } else if (given.is("--pages")) {
            chosen.pages = bytes_of(given.value());
            if (*chosen.pages == 0) throw usage_error{"a page must have at least one byte"};
        } else if (given.is("--row")) {
            chosen.row = bytes_of(given.value());
            if (*chosen.row == 0) throw usage_error{"a row must have at least one byte"};
        } else if (given.is("--memory")) {
            add_memory(chosen, memory_of(given.value()));
        } else if (given.is("--symbol")) {
            chosen.symbols.push_back(symbol_of(given.value()));
            for (std::size_t i = 0; i + 1 != chosen.symbols.size(); ++i)
                if (chosen.symbols[i].name == chosen.symbols.back().name)
                    throw usage_error{"symbol \"" + chosen.symbols[i].name + "\" is given twice"};
        } else if (given.is("--budget")) {
            chosen.budget = seconds_of(given.value());
        } else if (given.is("--out")) {
            chosen.out = given.value();
        } else if (given.is("--svg")) {
            chosen.svg = given.value();
        } else if (given.is("--html")) {
            chosen.html = given.value();
        } else if (given.is("--certificate")) {
            chosen.certificate = given.value();
        } else if (given.is_flag("--moves")) {
            chosen.moves = true;
        } else if (given.is_flag("--order")) {
            chosen.order = true;
        } else if (given.is_flag("--in-place")) {
            chosen.in_place = true;
        } else if (given.is("--strided")) {
            chosen.strided = names_of(given.value());
        } else if (given.is("--recompute")) {
            chosen.recompute = percent_of(given.value());
        } else if (given.is_flag("--json")) {
            chosen.json = true;
        } else if (given.is_help()) {
            chosen.help = true;
        } else {
            given.refuse();
        }
    }
    if (chosen.help) return chosen;
    if (chosen.files.empty()) throw usage_error{"no file is given"};
    chosen.file = chosen.files[0];
    check_combination(chosen);
    return chosen;
}

}  // namespace planner
