// SPDX-License-Identifier: BSL-1.0
// memory_planner: computes the offset of each buffer of a program before it runs.
//
//     memory_planner --capacity 1MiB --out plan.csv --svg plan.svg buffers.csv
//
// See `memory_planner --help`, and README.md for the formats.
#include "certificate.hpp"
#include "formats.hpp"
#include "graph_input.hpp"
#include "page.hpp"
#include "ranges.hpp"
#include "task.hpp"
#include "watcher.hpp"

#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

namespace {

using namespace planner;

constexpr const char* help = R"(usage: memory_planner [OPTIONS] FILE...

Computes an offset for each buffer, so that buffers live at the same time share no byte and the peak is low.

FILE is a table of buffers, a problem in JSON, a capture of a compiler, a network, a recording, or a dump of XLA, MLIR or
IREE; the content decides (docs/plan-files.md). The first line of a table has the names of its columns, for example
id,lower,upper,size. A buffer lives in the steps from lower up to, but not including, upper. If several files are given, the
output is a table of their plans, and with --json a line for each.

  --capacity BYTES       size of the memory; the first plan that fits is the result (default: the lowest plan found)
  --memory NAME:BYTES[:COST]   if given several times: the memories, fastest first. Buffers that do not fit one memory spill
                         to the next, such that the sum of bytes times COST (default: 0, 1, 2, …) is small. If given once:
                         name and size of the single memory. For a capture, which assigns buffers to memories: the size of
                         that memory
  --align BYTES          align each buffer to at least BYTES, a power of two
  --pages BYTES          plan pages of this size: a buffer may use any pages. In a table with a column "paged", only buffers
                         with a 1 in it; the others are contiguous
  --moves                with several memories: a buffer may move to another memory and back, which costs copies; --out has a
                         row for each piece of its life. If the file states the durations of the steps, copies run
                         beside the steps, and the plan has the least time
  --row BYTES            with several memories: a buffer whose size is a multiple of BYTES may be divided into rows of them:
                         the first ones lie in one memory, the others in a later one. A table states the number of rows of
                         each buffer in the column "rows" instead. --out has a row for each part
  --symbol NAME:LEAST:MOST   a symbol of the sizes of a table, and its values, such as in 4*batch*length + 64: the plan is
                         valid for all of them
  --order                of a network: run the operators in an order with few live bytes
  --in-place             of a network: outputs overwrite inputs that nothing reads later, and reshaped, split and joined
                         tensors are views where their bytes are consecutive
  --strided NAME,...     with --in-place: operators that can read and write tensors whose rows are apart, such as Conv,Relu;
                         tensors are then also joined and split along inner dimensions in place
  --recompute PERCENT    of a network: repeat operators, so that their results leave the memory between two readers; the
                         repetitions read and write at most PERCENT of the bytes of all operators
  --budget SECONDS       time limit of the search for lower plans (default: a fixed effort of at most some seconds)
  --out FILE             write the rows with the offset of each buffer and, with several memories, its memory; with
                         --order or --recompute, FILE.network is the new network
  --svg FILE             write a picture: time across, addresses up, a rectangle for each buffer
  --html FILE            write the picture as a page: the pointer shows buffers, steps and live bytes
  --certificate FILE     write the plan and the proof of its lower bound, for check_certificate.py
  --json                 print the result as one line of JSON, and the line of text on standard error
  --help                 print this text

If no plan fits, the output states the reason, and up to three changes after each of which a plan fits.
BYTES may end in KiB, MiB or GiB. Ctrl-C ends the search; the result is the best plan so far.

Exit status: 0 if a plan fits and the validator accepts it; 1 if no plan that fits was found; 2 for incorrect usage, a file
that cannot be planned, or a file that cannot be written; 3 if the validator rejects the plan.
)";

template <class Write>
void write_file(const std::string& path, Write write) {
    std::ostringstream text;
    write(text);  // before the file exists, so that an error leaves no file
    std::ofstream file{path, std::ios::binary};
    file << std::move(text).str();
    if (!file.flush()) throw std::runtime_error{path + ": cannot be written"};
}

void write_out(std::ostream& out, const options& chosen, const input& given, const outcome& made) {
    if (chosen.out.ends_with(".network")) {
        out << given.network;
        return;
    }
    if (!chosen.out.ends_with(".json")) return write_table(out, given, made);
#ifdef ALLOT_PLAN_JSON
    write_plan(out, given, made);
#endif
}

/// The validator rejects a plan.
struct rejected : std::logic_error {
    using std::logic_error::logic_error;
};

[[nodiscard]] input read(const std::string& text, const std::string& path, const options& chosen) {
    if (!chosen.plans_graph()) return read_input(text, path, chosen.symbols);
    if (format_of(text, path) != file_format::network)
        throw usage_error{path + " states no operators; --order, --in-place and --recompute need a model or a network"};
    return graph_input(std::string{without_mark(text)}, path, chosen);
}

/// Reads a file, and applies the options.
[[nodiscard]] input read_file(const std::string& path, const options& chosen) {
    input given = read(demo::text_of(path), path, chosen);
    apply(chosen, given);
    return given;
}

[[nodiscard]] outcome plan_file(const std::string& path, const options& chosen, input& given) {
    watcher watched{given, chosen.budget, is_spread(given)};
    const auto watch = [&](std::size_t memory, allot::plan_progress now) { return watched(memory, now); };
    outcome made = plan_best(given, chosen, watch);
    made.seconds = watched.seconds();
    watched.clear();
    if (const std::string mistake = mistake_of(given, chosen, made); !mistake.empty())
        throw rejected{path + ": the validator rejects the plan: " + mistake};
    return made;
}

/// Reports that not all buffers have a memory.
void write_no_room(const no_room& reason, const input& given, bool json) {
    std::vector<explanation> why;
    if (reason.step) why.push_back(explainer{given, *reason.step}.explain());
    std::ostream& text = json ? std::cerr : std::cout;
    text << reason.what() << '\n';
    write_explanations(text, why);
    if (!json) return;
    std::cout << "{\"file\": " << demo::quoted(given.path) << ", \"format\": " << demo::quoted(given.format)
              << ", \"buffers\": " << given.buffers.size() << ", \"status\": \"no_room\", \"explanation\": ";
    write_explanations_json(std::cout, given, why);
    std::cout << "}\n";
}

/// Plans for all values of symbols. Returns the plan, and its time in seconds.
[[nodiscard]] std::pair<std::unique_ptr<ranges>, double> plan_ranges(const options& chosen, const input& given) {
    if (given.chooses || chosen.pages || chosen.moves || chosen.budget ||
        !(chosen.svg + chosen.html + chosen.certificate).empty() ||
        (!chosen.out.empty() && !chosen.out.ends_with(".json")))
        throw usage_error{
            given.path +
            " has sizes with symbols; --pages, --moves, --budget, --svg, --html, --certificate and several "
            "memories cannot be used with it, and --out needs a name that ends in .json"};
    const auto begin = std::chrono::steady_clock::now();
    auto made = std::make_unique<ranges>(given);
    if (const std::string mistake = made->mistake(); !mistake.empty())
        throw rejected{given.path + ": the validator rejects the plan: " + mistake};
    return {std::move(made), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

[[nodiscard]] int run_ranges(const options& chosen, const input& given) {
    const auto [made, seconds] = plan_ranges(chosen, given);
    const bool fits = made->plan().peak <= given.memories[0].capacity;
    if (!chosen.out.empty() && fits)
        write_file(chosen.out, [&, &plan = *made](std::ostream& out) { write_ranged_plan(out, given, plan); });
    write_ranges(chosen.json ? std::cerr : std::cout, given, *made, seconds);
    if (chosen.json) write_ranges_json(std::cout, given, *made, seconds);
    return fits ? 0 : 1;
}

[[nodiscard]] int run(const options& chosen) {
    input given;
    try {
        given = read_file(chosen.file, chosen);
        if (!given.symbols.empty()) return run_ranges(chosen, given);
        if (!chosen.certificate.empty() && is_spread(given))
            throw usage_error{given.path + " has a choice of memories, for which no certificate exists"};
        const outcome made = plan_file(chosen.file, chosen, given);
        const std::vector<explanation> why =
            given.submitted ? explanations_on_queues(given, made) : explanations_of(given, made);

        // A picture is useful for a plan that does not fit. A table is not written, because a program could use it as a
        // plan.
        if (!chosen.svg.empty()) write_file(chosen.svg, [&](std::ostream& out) { picture{given, made}.write(out); });
        if (!chosen.html.empty())
            write_file(chosen.html, [&](std::ostream& out) { page{given, made, why}.write(out); });
        if (!chosen.certificate.empty())
            write_file(chosen.certificate, [&](std::ostream& out) { certificate{given, made}.write(out); });
        if (!chosen.out.empty() && made.fits())
            write_file(chosen.out, [&](std::ostream& out) { write_out(out, chosen, given, made); });
        write_line(chosen.json ? std::cerr : std::cout, given, made);
        write_explanations(chosen.json ? std::cerr : std::cout, why);
        if (chosen.json)
            write_json(std::cout, given, made, [&](std::ostream& out) {
                if (made.fits()) return;
                out << ", \"explanation\": ";
                write_explanations_json(out, given, why);
            });
        return made.fits() ? 0 : 1;
    } catch (const no_room& reason) {
        write_no_room(reason, given, chosen.json);
        return 1;
    }
}

/// Plans several files, and writes a table. Returns the exit status.
[[nodiscard]] int run_all(const options& chosen) {
    std::vector<std::vector<std::string>> table{
        {"file", "format", "buffers", "bytes", "lower bound", "gap", "status", "seconds"}};
    bool all_fit = true;
    std::size_t others = 0;
    for (const std::string& path : chosen.files) {
        input given;
        try {
            if (format_of(demo::text_of(path), path) == file_format::unknown) {
                ++others;
                continue;
            }
            given = read_file(path, chosen);
            if (!given.symbols.empty()) {
                const auto [plan, seconds] = plan_ranges(chosen, given);
                const std::optional<double> share = gap(plan->plan().peak, plan->bound());
                table.push_back({path, given.format, std::to_string(given.buffers.size()), bytes(plan->plan().peak),
                                 bytes(plan->bound()), share ? demo::fixed(100 * *share, 2) + " %" : "-",
                                 to_string(plan->status()), demo::fixed(seconds, 2)});
                if (chosen.json) write_ranges_json(std::cout, given, *plan, seconds);
                all_fit = all_fit && plan->plan().peak <= given.memories[0].capacity;
                continue;
            }
            const outcome made = plan_file(path, chosen, given);
            const allot::plan_summary sum = sum_of(made);
            const bool is_cost = made.cost.has_value();
            const std::optional<double> share =
                is_cost ? gap(made.cost->cost, made.cost->bound) : gap(sum.peak, sum.bound);
            table.push_back({path, given.format, std::to_string(buffers_in(given, made)), bytes(sum.peak),
                             is_cost ? "-" : bytes(sum.bound), share ? demo::fixed(100 * *share, 2) + " %" : "-",
                             to_string(sum.status), demo::fixed(made.seconds, 2)});
            if (chosen.json) write_json(std::cout, given, made);
            all_fit = all_fit && made.fits();
        } catch (const no_room&) {
            table.push_back({path, given.format, std::to_string(given.buffers.size()), "-", "-", "-", "no room", "-"});
            all_fit = false;
        } catch (const input_error& reason) {
            std::cerr << reason.what() << '\n';
        } catch (const usage_error& reason) {  // this file needs other options
            std::cerr << reason.what() << '\n';
        }
    }
    if (others != 0)
        std::cerr << others << (others == 1 ? " file is" : " files are") << " in no format of the planner\n";
    if (table.size() == 1) return 2;
    demo::print_columns(chosen.json ? std::cerr : std::cout, table, 2);
    return all_fit ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse(demo::arguments{{argv + 1, argv + argc}});
    if (chosen.help) {
        std::cout << help;
        return 0;
    }
    const int status = chosen.files.size() > 1 ? run_all(chosen) : run(chosen);
    if (!std::cout.flush()) throw std::runtime_error{"standard output cannot be written"};
    return status;
} catch (const rejected& reason) {
    std::cerr << "memory_planner: " << reason.what() << '\n';
    return 3;
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
