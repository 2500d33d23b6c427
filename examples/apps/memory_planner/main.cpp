// SPDX-License-Identifier: BSL-1.0
// memory_planner: computes the offset of each buffer of a program before it runs.
//
//     memory_planner --capacity 1MiB --out plan.csv --svg plan.svg buffers.csv
//
// See `memory_planner --help`, and README.md for the formats.
#include "formats.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "task.hpp"
#include "watcher.hpp"

#include <fstream>
#include <iostream>

namespace {

using namespace planner;

constexpr const char* help = R"(usage: memory_planner [OPTIONS] FILE

Computes an offset for each buffer, so that buffers live at the same time share no byte and the peak is low.

The extension of FILE determines its format: .json is a capture of a compiler, .network is a network, and any other file is
a table whose first line is id,lower,upper,size or id,lower,upper,size,alignment. A buffer lives in the steps from lower
up to, but not including, upper.

  --capacity BYTES       size of the memory; the first plan that fits is the result (default: the lowest plan found)
  --memory NAME:BYTES[:COST]   if given several times: the memories, fastest first. Buffers that do not fit one memory spill
                         to the next, such that the sum of bytes times COST (default: 0, 1, 2, …) is small. If given once:
                         name and size of the single memory. For a capture, which assigns buffers to memories: the size of
                         that memory
  --align BYTES          align each buffer to at least BYTES, a power of two
  --pages BYTES          plan pages of this size: a buffer may use any pages. In a table with a column "paged", only buffers
                         with a 1 in it; the others are contiguous
  --moves                with several memories: a buffer may move to another memory and back, which costs copies; --out has a
                         row for each piece of its life
  --budget SECONDS       time limit of the search for lower plans (default: a fixed effort of at most some seconds)
  --out FILE             write the rows with the offset of each buffer and, with several memories, its memory
  --svg FILE             write a picture: time across, addresses up, a rectangle for each buffer
  --json                 print the result as one line of JSON, and the line of text on standard error
  --help                 print this text

BYTES may end in KiB, MiB or GiB. Ctrl-C ends the search; the result is the best plan so far.

Exit status: 0 if a plan fits and the validator accepts it; 1 if no plan that fits was found; 2 for incorrect usage, a file
that cannot be planned, or a file that cannot be written; 3 if the validator rejects the plan.
)";

template <class Write>
void write_file(const std::string& path, Write write) {
    std::ofstream file{path, std::ios::binary};
    write(file);
    if (!file.flush()) throw std::runtime_error{path + ": cannot be written"};
}

void write_out(std::ostream& out, const options& chosen, const input& given, const outcome& made) {
    if (!chosen.out.ends_with(".json")) return write_table(out, given, made);
#ifdef ALLOT_PLAN_JSON
    write_plan(out, given, made);
#endif
}

[[nodiscard]] int run(const options& chosen) {
    input given = read_input(demo::text_of(chosen.file), chosen.file);
    apply(chosen, given);

    watcher watched{given, chosen.budget, is_spread(given)};
    outcome made =
        plan_chosen(given, chosen, [&](std::size_t memory, allot::plan_progress now) { return watched(memory, now); });
    made.seconds = watched.seconds();
    watched.clear();
    if (const std::string mistake = mistake_of(given, chosen, made); !mistake.empty()) {
        std::cerr << "memory_planner: " << given.path << ": the validator rejects the plan: " << mistake << '\n';
        return 3;
    }

    // A picture is useful for a plan that does not fit. A table is not written, because a program could use it as a
    // plan.
    if (!chosen.svg.empty()) write_file(chosen.svg, [&](std::ostream& out) { picture{given, made}.write(out); });
    if (!chosen.out.empty() && made.fits())
        write_file(chosen.out, [&](std::ostream& out) { write_out(out, chosen, given, made); });
    write_line(chosen.json ? std::cerr : std::cout, given, made);
    if (chosen.json) write_json(std::cout, given, made);
    if (!std::cout.flush()) throw std::runtime_error{"standard output cannot be written"};
    return made.fits() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse(demo::arguments{{argv + 1, argv + argc}});
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
