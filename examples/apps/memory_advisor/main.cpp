// SPDX-License-Identifier: BSL-1.0
// memory_advisor: answers "what would I save?" for the buffers of a model, a table or a recording.
//
//     memory_advisor --svg advice.svg squeezenet.network
//
// See `memory_advisor --help`, and README.md.
#include "../memory_planner/formats.hpp"
#include "../memory_planner/options.hpp"
#include "bars.hpp"
#include "history.hpp"

#include <fstream>
#include <iostream>

namespace {

using namespace advisor;
using planner::bytes, planner::usage_error;

constexpr const char* help = R"(usage: memory_advisor [OPTIONS] FILE

Compares the memory that common planners need for the same buffers with that of allot's planner, and with the lower bound.

FILE is a network (.network), a trace (ALTR1), an event log (ALEV1), a snapshot (ALSN1), or another file that ./dev plan
reads, without constraints.

  --align BYTES     least alignment of all buffers; their sizes are rounded up to it (default: 16 for a network, else 1)
  --fast BYTES      size of a fast memory before a slow one; may be repeated (default: 75 %, 50 % and 25 % of the bound)
  --held BYTES      add a row for the bytes that a program holds now, for example PyTorch's max_memory_reserved
  --pages BYTES     add a row for a plan in pages of this size. In a table with a column "paged", only buffers with 1 may
                    lie in pages
  --svg FILE        write a picture
  --json            print the result as one line of JSON
  --help            print this text

BYTES may end in KiB, MiB or GiB.

Exit status: 0; 2 for incorrect usage, a file that cannot be read, or a file that cannot be written; 3 if the validator
rejects a plan.
)";

struct options {
    std::string file, svg;
    std::optional<std::uint64_t> align, page, held;
    std::vector<std::uint64_t> fast;
    bool json = false, help = false;
};

[[nodiscard]] std::uint64_t positive_bytes(const std::string& text) {
    const std::uint64_t value = planner::bytes_of(text);
    if (value == 0) throw usage_error{"\"" + text + "\" is not a number of bytes above 0"};
    return value;
}

[[nodiscard]] options parse(demo::arguments given) {
    options chosen;
    while (given.next()) {
        if (given.is_file()) {
            given.only_file(chosen.file);
        } else if (given.is("--align")) {
            chosen.align = planner::bytes_of(given.value());
            if (!allot::is_alignment(*chosen.align))
                throw usage_error{"the alignment " + std::to_string(*chosen.align) + " is not a power of two"};
        } else if (given.is("--fast")) {
            chosen.fast.push_back(positive_bytes(given.value()));
        } else if (given.is("--held")) {
            chosen.held = positive_bytes(given.value());
        } else if (given.is("--pages")) {
            chosen.page = positive_bytes(given.value());
        } else if (given.is("--svg")) {
            chosen.svg = given.value();
        } else if (given.is_flag("--json")) {
            chosen.json = true;
        } else if (given.is_help()) {
            chosen.help = true;
        } else {
            given.refuse();
        }
    }
    if (!chosen.help && chosen.file.empty()) throw usage_error{"no file is given"};
    return chosen;
}

[[nodiscard]] std::string percent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : demo::fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

void write_rows(std::ostream& out, const advice& made) {
    std::vector<std::vector<std::string>> table{{"one memory", "bytes", "over the bound", "less than the sum"}};
    for (const row& each : made.rows) {
        const bool above = each.bytes >= made.bound;
        table.push_back({each.name, bytes(each.bytes), above ? percent(each.bytes - made.bound, made.bound) : "-",
                         each.bytes <= made.sum ? percent(made.sum - each.bytes, made.sum) : "-"});
    }
    demo::print_columns(out, table, 1);
}

void write_spills(std::ostream& out, const advice& made) {
    if (made.fast.empty()) return;
    std::vector<std::string> head{"bytes outside a fast memory of"};
    for (const std::uint64_t size : made.fast) head.push_back(bytes(size));
    std::vector<std::vector<std::string>> table{head};
    for (const spill_row& each : made.spills) {
        table.push_back({each.name});
        for (const std::uint64_t outside : each.outside) table.back().push_back(bytes(outside));
    }
    out << '\n';
    demo::print_columns(out, table, 1);
}

void write_sentence(std::ostream& out, const advice& made) {
    const row& ours = made.ours();
    out << "\nallot needs " << bytes(ours.bytes) << " bytes, "
        << percent(made.sum - std::min(made.sum, ours.bytes), made.sum) << " less than the sum of all buffers";
    const row* theirs = made.best_of_theirs();
    if (theirs == nullptr) {
        out << ". The other rules are not compared for more than " << bytes(most_compared) << " buffers";
    } else if (theirs->bytes > ours.bytes) {
        out << ", and " << bytes(theirs->bytes - ours.bytes) << " bytes ("
            << percent(theirs->bytes - ours.bytes, theirs->bytes) << ") less than the best of the other rules, \""
            << theirs->name << "\"";
    } else if (theirs->bytes == ours.bytes) {
        out << ", as much as the best of the other rules, \"" << theirs->name << "\"";
    } else {
        out << ", and " << bytes(ours.bytes - theirs->bytes) << " bytes more than \"" << theirs->name << "\"";
    }
    out << ". "
        << (ours.bytes == made.bound ? "No plan needs less" : "No plan needs less than " + bytes(made.bound) + " bytes")
        << ".\n";
}

void write_json(std::ostream& out, const std::string& path, const input& given, const advice& made) {
    out << "{\"file\": " << demo::quoted(path) << ", \"buffers\": " << given.buffers.size() << ", \"sum\": " << made.sum
        << ", \"lower_bound\": " << made.bound << ", \"planners\": [";
    const char* separator = "";
    for (const row& each : made.rows) {
        out << separator << "{\"name\": " << demo::quoted(each.name) << ", \"bytes\": " << each.bytes << "}";
        separator = ", ";
    }
    out << "], \"fast\": [";
    for (std::size_t i = 0; i != made.fast.size(); ++i) out << (i == 0 ? "" : ", ") << made.fast[i];
    out << "], \"outside\": [";
    separator = "";
    for (const spill_row& each : made.spills) {
        out << separator << "{\"name\": " << demo::quoted(each.name) << ", \"bytes\": [";
        for (std::size_t i = 0; i != each.outside.size(); ++i) out << (i == 0 ? "" : ", ") << each.outside[i];
        out << "]}";
        separator = ", ";
    }
    out << "]}\n";
}

/// Reports a state without lifetimes.
int describe(const allot::snapshot& state, const std::string& path) {
    const auto sum = [](const auto& ranges) {
        std::uint64_t all = 0;
        for (const auto& each : ranges) all += each.size;
        return all;
    };
    std::uint64_t largest = 0;
    for (const allot::snapshot_range& each : state.holes) largest = std::max(largest, each.size);
    const std::uint64_t held = sum(state.regions), live = sum(state.blocks);
    std::cout << path << ": " << state.blocks.size() << " blocks in " << state.regions.size() << " regions\n\n";
    demo::print_columns(std::cout,
                        {{"one time", "bytes", "of the regions"},
                         {"regions", bytes(held), percent(held, held)},
                         {"live blocks: lower bound at this time", bytes(live), percent(live, held)},
                         {"holes", bytes(sum(state.holes)), percent(sum(state.holes), held)},
                         {"largest hole", bytes(largest), percent(largest, held)}},
                        1);
    std::cout << "\nAt this time the allocator holds " << bytes(held - std::min(held, live))
              << " bytes that no block uses. A snapshot has no lifetimes. For a plan, record an event log or a trace: "
                 "docs/seeing-inside.md.\n";
    return 0;
}

/// The other rules know neither several memories nor constraints.
void refuse_constraints(const input& given) {
    if (given.memories.size() != 1 || !given.memories[0].reserved.empty() || !given.revivals.empty() ||
        !given.fixed.empty() || !given.together.empty() || !given.apart.empty() || !given.named_memories.empty())
        throw input_error{given.path +
                          ": the file has several memories or constraints, which the other rules do not know; use "
                          "./dev plan"};
}

[[nodiscard]] int run(const options& chosen) {
    const std::string text = demo::text_of(chosen.file);
    const auto content = std::as_bytes(std::span{text});
    input given;
    std::vector<row> also;
    const auto take = [&](recording made) {
        given = std::move(made.blocks);
        if (!made.allocator.empty()) also.push_back({std::move(made.allocator), made.held, {}, row::now});
    };
    std::uint64_t align = 1;
    if (text.starts_with("ALSN")) {
        const auto read = allot::read_snapshot(content);
        require(read, chosen.file);
        return describe(read.value, chosen.file);
    }
    if (text.starts_with("ALTR")) {
        take(blocks_of_trace(content, chosen.file));
    } else if (text.starts_with("ALEV")) {
        take(blocks_of_log(content, chosen.file));
    } else {
        given = planner::read_input(text, chosen.file);
        refuse_constraints(given);
        if (planner::format_of(text, chosen.file) == planner::file_format::network) align = 16;
    }
    advisor::align(given, chosen.align.value_or(align));
    if (chosen.held) also.push_back({"held now", *chosen.held, {}, row::now});
    const advice made = advise(given, chosen.fast, chosen.page, std::move(also));
    if (!chosen.svg.empty()) {
        std::ofstream file{chosen.svg, std::ios::binary};
        bars{given, made}.write(file);
        if (!file.flush()) throw std::runtime_error{chosen.svg + ": cannot be written"};
    }
    if (chosen.json) {
        write_json(std::cout, chosen.file, given, made);
    } else {
        std::cout << chosen.file << ": " << given.buffers.size() << " buffers\n\n";
        write_rows(std::cout, made);
        write_spills(std::cout, made);
        write_sentence(std::cout, made);
    }
    if (!std::cout.flush()) throw std::runtime_error{"standard output cannot be written"};
    return 0;
}

}  // namespace

int main(int argc, char** argv) try {
    const options chosen = parse(demo::arguments{{argv + 1, argv + argc}});
    if (chosen.help) {
        std::cout << help;
        return 0;
    }
    return run(chosen);
} catch (const usage_error& reason) {
    std::cerr << "memory_advisor: " << reason.what() << "; see memory_advisor --help\n";
    return 2;
} catch (const input_error& reason) {
    std::cerr << reason.what() << '\n';
    return 2;
} catch (const std::logic_error& reason) {
    std::cerr << "memory_advisor: " << reason.what() << '\n';
    return 3;
} catch (const std::exception& reason) {
    std::cerr << "memory_advisor: " << reason.what() << '\n';
    return 2;
}
