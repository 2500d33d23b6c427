// SPDX-License-Identifier: BSL-1.0
// planner: the program of the page that plans a table in a browser: examples/apps/memory_planner, compiled to
// WebAssembly.
//
//     worker.js ── room(), plan() ──► the reader, the planners and the validators of ./dev plan
//               ◄── progress(), refuse() ── from time to time; for bad input
//               ── output() ──► the line, the JSON, the table and the picture of the plan
//
// An instance plans once: the worker makes a new one for each plan. The module has no exceptions. Each one would end
// the program, so that throwing calls `refuse`, which leaves the instance by an exception of JavaScript.
#include "../../../examples/apps/memory_planner/csv.hpp"
#include "../../../examples/apps/memory_planner/picture.hpp"
#include "../../../examples/apps/memory_planner/report.hpp"
#include "../../../examples/apps/memory_planner/task.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <sstream>

#define IMPORT(name) extern "C" [[clang::import_module("page"), clang::import_name(#name)]]
#define EXPORT(name) extern "C" [[clang::export_name(#name)]]

/// Shows the progress of a search: bytes, or costs of several memories. Returns whether to end it.
IMPORT(progress) bool progress(std::uint64_t peak, std::uint64_t bound);
/// Ends the instance with a sentence about the input.
IMPORT(refuse) [[noreturn]] void refuse(const char* text, std::size_t size);

extern "C" void* __cxa_allocate_exception(std::size_t size) { return std::malloc(size); }
/// All exceptions of the planner are derived from std::exception alone, so that they begin with it.
extern "C" [[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
    const char* const text = static_cast<const std::exception*>(thrown)->what();
    refuse(text, std::strlen(text));
}

namespace {

using namespace planner;
using clock_type = std::chrono::steady_clock;

std::string given_text;              // arguments that end with zeros, then the table
std::array<std::string, 4> results;  // line, JSON, table, picture

[[nodiscard]] options parse_arguments() {
    std::vector<std::string> arguments;
    std::size_t at = 0;
    for (std::size_t end; (end = given_text.find('\0', at)) != std::string::npos; at = end + 1)
        arguments.push_back(given_text.substr(at, end - at));
    given_text.erase(0, at);
    return parse(demo::arguments{std::move(arguments)});
}

template <class Write>
[[nodiscard]] std::string written(Write write) {
    std::ostringstream text;
    write(text);
    return std::move(text).str();
}

}  // namespace

/// Returns memory for the arguments and the table.
EXPORT(room) char* room(std::size_t size) {
    given_text.resize(size);
    return given_text.data();
}

/// Plans. Returns whether the plan fits.
EXPORT(plan) bool plan_table() {
    const auto started = clock_type::now();
    const options chosen = parse_arguments();
    input given = csv_reader{chosen.file}.read(given_text);
    apply(chosen, given);
    outcome made =
        plan_chosen(given, chosen, [](std::size_t, allot::plan_progress now) { return progress(now.peak, now.bound); });
    made.seconds = std::chrono::duration<double>(clock_type::now() - started).count();
    if (const std::string mistake = mistake_of(given, chosen, made); !mistake.empty())
        throw std::logic_error{"the validator rejects the plan: " + mistake};
    results = {written([&](std::ostream& out) { write_line(out, given, made); }),
               written([&](std::ostream& out) { write_json(out, given, made); }),
               made.fits() ? written([&](std::ostream& out) { write_table(out, given, made); }) : std::string{},
               written([&](std::ostream& out) { picture{given, made}.write(out); })};
    return made.fits();
}

/// Returns one of the results: 0 is the line, 1 the JSON, 2 the table, 3 the picture.
EXPORT(output) const char* output(std::size_t which) { return results[which].data(); }
EXPORT(output_size) std::size_t output_size(std::size_t which) { return results[which].size(); }
