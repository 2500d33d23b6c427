// SPDX-License-Identifier: BSL-1.0
// memory_planner: decides where each buffer of a program lives, before it runs.
//
//     memory_planner --capacity 1MiB --out plan.csv --svg plan.svg buffers.csv
//
// See `memory_planner --help`, and README.md for the formats.
#include "csv.hpp"
#include "network_input.hpp"
#include "options.hpp"
#include "paging.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "watcher.hpp"
#ifdef ALLOT_PLAN_JSON
#include "capture.hpp"
#endif

#include <fstream>
#include <iostream>

namespace {

using namespace planner;

constexpr const char* help = R"(usage: memory_planner [OPTIONS] FILE

Decides at which offset each buffer lives, so that no two that live at once share a byte and little memory is needed.

FILE is told by its end: .json is a compiler's capture, .network is a network, and all else is a table whose first line
is id,lower,upper,size or id,lower,upper,size,alignment. A buffer lives in the steps from lower up to, not with, upper.

  --capacity BYTES       what the memory has; the first plan that fits it is taken (default: the lowest that is found)
  --memory NAME:BYTES[:COST]   given several times: memories, fast ones first; what has no room in one spills to the next, so
                         that bytes times COST (default: 0, 1, 2, …) are few. Given once: the name and size of the one
                         memory. Of a capture, which says itself what lies where: the size of a memory that it has
  --pages BYTES          plan pages of that size: a buffer may lie in any of them, and the lower bound is always met
  --moves                with several memories: a buffer may leave one and come back, which costs copies; --out has a row
                         for each piece of its life
  --budget SECONDS       how long to look for lower plans (default: a fixed effort, some seconds at most)
  --out FILE             write the rows and each buffer's offset, and with several memories its memory
  --svg FILE             write a picture: time across, addresses up, a rectangle for each buffer
  --json                 the result as one line of JSON, and the line for a reader on standard error
  --help                 this text

BYTES may end in KiB, MiB or GiB. Ctrl-C ends the search: the best plan so far is the result.

Exits with 0 when there is a plan that fits and that the validator has passed; with 1 when none was found that fits; with
2 on bad usage, a file that cannot be planned, or one that cannot be written; and with 3 when the validator found a mistake.
)";

[[nodiscard]] bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

[[nodiscard]] input read(const std::string& path) {
    if (ends_with(path, ".onnx"))
        throw input_error{path + ": is not read here; ./dev plan turns it into a network first"};
    if (ends_with(path, ".network")) return input_of(demo::load(path), path);
    if (ends_with(path, ".json")) {
#ifdef ALLOT_PLAN_JSON
        return read_capture(demo::text_of(path), path);
#else
        throw input_error{path + ": this program was built without nlohmann's JSON library (Debian: nlohmann-json3-dev)"};
#endif
    }
    return csv_reader{path}.read(demo::text_of(path));
}

/// Whether the command line's memories are for all buffers.
[[nodiscard]] bool is_spread(const input& given, const options& chosen) {
    return given.memories.size() == 1 && chosen.memories.size() > 1;
}

/// What the command line says of memories.
void set_memories(input& given, const options& chosen) {
    if (chosen.capacity) {
        if (given.memories.size() != 1) throw usage_error{"there are several memories; say --memory NAME:BYTES"};
        given.memories[0].capacity = *chosen.capacity;
    }
    if (given.memories.size() == 1 && chosen.memories.size() == 1) given.memories[0].name = chosen.memories[0].name;
    if (is_spread(given, chosen)) return;
    for (const memory& wanted : chosen.memories) {
        const auto found = std::find_if(given.memories.begin(), given.memories.end(), [&](const memory& m) { return m.name == wanted.name; });
        if (found == given.memories.end()) throw usage_error{given.path + " has no memory \"" + wanted.name + "\""};
        found->capacity = wanted.capacity;
    }
}

template <class Write>
void write_file(const std::string& path, Write write) {
    std::ofstream file{path, std::ios::binary};
    write(file);
    if (!file.flush()) throw std::runtime_error{path + ": cannot be written"};
}

[[nodiscard]] int run(const options& chosen) {
    input given = read(chosen.file);
    set_memories(given, chosen);

    watcher watched{given, chosen.budget, is_spread(given, chosen)};
    const auto watch = [&](std::size_t memory, allot::plan_progress now) { return watched(memory, now); };
    if (chosen.moves && !is_spread(given, chosen))
        throw usage_error{given.path + " says itself what lies in which memory: --moves does not go with it"};
    outcome made = chosen.pages               ? in_pages(given, *chosen.pages)
                   : !is_spread(given, chosen) ? plan_input(given, chosen.budget.has_value(), watch)
                   : chosen.moves              ? spread_with_moves(given, chosen.memories, chosen.budget.has_value(), watch)
                                               : spread(given, chosen.memories, chosen.budget.has_value(), watch);
    made.seconds = watched.seconds();
    watched.clear();
    if (const std::string mistake = chosen.pages ? mistake_in_pages(given, made) : mistake_in(given, made); !mistake.empty()) {
        std::cerr << "memory_planner: " << given.path << ": the validator found a mistake in the plan: " << mistake << '\n';
        return 3;
    }

    // A plan that does not fit is worth a look, but no table is written that a program could take for a plan.
    if (!chosen.svg.empty()) write_file(chosen.svg, [&](std::ostream& out) { picture{given, made}.write(out); });
    if (!chosen.out.empty() && made.fits()) write_file(chosen.out, [&](std::ostream& out) { write_table(out, given, made); });
    write_line(chosen.json ? std::cerr : std::cout, given, made);
    if (chosen.json) write_json(std::cout, given, made);
    if (!std::cout.flush()) throw std::runtime_error{"standard output cannot be written"};
    return made.fits() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse({argv + 1, argv + argc});
    if (chosen.help) {
        std::cout << help;
        return 0;
    }
    return run(chosen);
} catch (const no_room& reason) {
    std::cout << reason.what() << '\n';
    return 1;
} catch (const usage_error& reason) {
    std::cerr << "memory_planner: " << reason.what() << "; see memory_planner --help\n";
    return 2;
} catch (const input_error& reason) {
    std::cerr << reason.what() << '\n';
    return 2;
} catch (const std::exception& reason) {
    std::cerr << "memory_planner: " << reason.what() << '\n';
    return 2;
}
