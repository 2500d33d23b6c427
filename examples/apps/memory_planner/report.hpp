// SPDX-License-Identifier: BSL-1.0
// report: writes a plan as a line of text, a line of JSON, and a table.
#pragma once

#include "../network_demo/table.hpp"
#include "planning.hpp"

#include <algorithm>
#include <ostream>

namespace planner {

/// Returns the relative difference of a peak or a cost to its bound; nothing if only the bound is 0.
[[nodiscard]] inline std::optional<double> gap(std::uint64_t reached, std::uint64_t bound) {
    if (reached == bound) return 0.0;
    if (bound == 0) return std::nullopt;
    return static_cast<double>(reached - bound) / static_cast<double>(bound);
}
/// Returns the gap as text to append to a bound.
[[nodiscard]] inline std::string gap_text(std::uint64_t reached, std::uint64_t bound) {
    const std::optional<double> share = gap(reached, bound);
    return share ? " (gap " + demo::fixed(100 * *share, 2) + " %)" : "";
}

/// Returns the sums over all memories.
[[nodiscard]] inline allot::plan_summary sum_of(const outcome& made) {
    allot::plan_summary sum{.status = made.status()};
    for (const planned_memory& each : made.memories) {
        sum.peak += each.plan.peak;
        sum.bound += each.plan.bound;
    }
    return sum;
}

[[nodiscard]] inline std::string bytes(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
    return text;
}

/// Returns the number of buffers of these rows. With moves, consecutive rows are pieces of one buffer.
[[nodiscard]] inline std::size_t buffers_among(const input& given, const outcome& made,
                                               std::span<const std::size_t> rows) {
    if (!made.moves)
        return static_cast<std::size_t>(
            std::count_if(rows.begin(), rows.end(), [&](std::size_t row) { return given.is_real(row); }));
    const auto buffer_of = [&](std::size_t row) { return made.moves->pieces[row].buffer; };
    std::size_t count = 0;
    for (std::size_t at = 0; at != rows.size(); ++at)
        count += at == 0 || buffer_of(rows[at]) != buffer_of(rows[at - 1]);
    return count;
}
/// Returns the number of buffers in all memories.
[[nodiscard]] inline std::size_t buffers_in(const input& given, const outcome& made) {
    return made.moves ? made.moves->pieces.back().buffer + 1
                      : given.buffers.size() - given.windows - given.part_of.size();
}
/// Returns the numbers of buffers and of their pieces or parts as text.
[[nodiscard]] inline std::string count_of(const input& given, const outcome& made) {
    const std::size_t count = buffers_in(given, made);
    return std::to_string(count) + (count == 1 ? " buffer" : " buffers") +
           (made.moves               ? " in " + std::to_string(made.moves->pieces.size()) + " pieces"
            : !given.part_of.empty() ? " in " + std::to_string(given.buffers.size() - given.windows) + " parts"
                                     : "");
}

/// Returns peak, bound and capacity as text. Omits the bound if the plan chose the buffers of the memory.
[[nodiscard]] inline std::string sizes_of(const memory& where, const allot::plan_summary& plan, bool chosen) {
    std::string text = bytes(plan.peak) + " bytes";
    if (where.capacity != unlimited) text += " of " + bytes(where.capacity);
    return chosen ? text : text + ", lower bound " + bytes(plan.bound) + gap_text(plan.peak, plan.bound);
}

inline void write_line(std::ostream& out, const input& given, const outcome& made) {
    out << given.path << ": " << to_string(made.status()) << ": " << count_of(given, made);
    for (std::size_t m = 0; m != given.memories.size(); ++m) {
        const allot::plan_summary& plan = made.memories[m].plan;
        out << (m != 0 || made.moves || made.divided ? "; " : " in ");
        if (given.memories.size() > 1) out << given.memories[m].name << ": ";
        out << sizes_of(given.memories[m], plan, made.cost.has_value());
        if (plan.status == allot::plan_status::infeasible)
            out << ", which exceeds the capacity"
                << (plan.peak == 0 ? "" : "; the most bytes are live at step " + std::to_string(plan.step));
    }
    if (made.pages) out << "; " << bytes(made.pages->count) << " pages of " << bytes(made.pages->page_size);
    if (made.spilled != 0) out << "; " << bytes(made.spilled) << " bytes spilled";
    const bool is_timed = made.moves && made.moves->waited;
    if (made.moves)
        out << "; " << made.moves->copies.size() + made.moves->timed_copies.size() << " copies of "
            << bytes(made.moves->copied) << " bytes";
    if (is_timed) out << ", for which steps wait " << bytes(*made.moves->waited) << " ticks";
    if (made.cost)
        out << (is_timed ? "; ticks " : "; cost ") << bytes(made.cost->cost) << ", lower bound "
            << bytes(made.cost->bound) << gap_text(made.cost->cost, made.cost->bound);
    if (made.moves) out << "; without moves " << bytes(made.moves->whole_cost);
    if (made.divided)
        out << (made.divided->whole_cost ? "; with whole buffers " + bytes(*made.divided->whole_cost)
                                         : "; whole buffers do not fit");
    if (given.given_bound)
        out << "; the given order without shared bytes needs " << bytes(*given.given_bound) << " bytes";
    if (given.order_bound) out << "; every order needs " << bytes(*given.order_bound) << " bytes or more";
    if (given.own_peak) out << "; the plan in the file has " << bytes(*given.own_peak) << " bytes";
    out << "; " << demo::fixed(made.seconds, 2) << " s\n";
}

/// Returns the gap between a plan and its bound in JSON.
[[nodiscard]] inline std::string gap_in_json(std::uint64_t reached, std::uint64_t bound) {
    const std::optional<double> above = gap(reached, bound);
    return above ? demo::fixed(*above, 6) : std::string{"null"};
}

/// Writes the members of a plan in JSON: `status`, `peak` and, without a cost, the lower bound.
inline void write_members(std::ostream& out, const allot::plan_summary& plan, bool has_bound) {
    std::string status = to_string(plan.status);
    std::replace(status.begin(), status.end(), ' ', '_');
    out << "\"status\": \"" << status << "\", \"peak\": " << plan.peak;
    if (has_bound) out << ", \"lower_bound\": " << plan.bound << ", \"gap\": " << gap_in_json(plan.peak, plan.bound);
}

/// Writes the members of a plan with moves in JSON, each with a comma before it.
inline void write_moves_members(std::ostream& out, const input& given, const moved_buffers& made) {
    out << ", \"cost_without_moves\": " << made.whole_cost << ", \"copied\": " << made.copied << ", ";
    if (made.waited) out << "\"waited\": " << *made.waited << ", ";
    out << "\"copies\": [";
    for (const allot::timed_copy& each : made.timed_copies)
        out << (&each == made.timed_copies.data() ? "" : ", ") << "{\"begin\": " << each.begin
            << ", \"end\": " << each.end << ", \"from\": " << each.from << ", \"to\": " << each.to
            << ", \"bytes\": " << given.buffers[each.from].size << "}";
    for (const allot::plan_copy& each : made.copies)
        out << (&each == made.copies.data() ? "" : ", ") << "{\"step\": " << each.step
            << ", \"after\": " << (each.after ? "true" : "false") << ", \"from\": " << each.from
            << ", \"to\": " << each.to << ", \"bytes\": " << each.size << "}";
    out << "]";
}

/// Writes the members of a plan with divided buffers in JSON, each with a comma before it.
inline void write_rows_members(std::ostream& out, const input& given, const outcome& made) {
    const auto write_part = [&](std::size_t i) {
        out << "{\"rows\": " << given.row_counts[i]
            << ", \"memory\": " << demo::quoted(given.memories[given.memory_of[i]].name)
            << ", \"offset\": " << made.offsets[i] << ", \"bytes\": " << given.buffers[i].size << "}";
    };
    out << ", \"cost_of_whole_buffers\": ";
    if (made.divided->whole_cost) out << *made.divided->whole_cost;
    else out << "null";
    out << ", \"divided\": [";
    for (std::size_t k = 0; k != given.part_of.size(); ++k) {
        out << (k == 0 ? "" : ", ") << "{\"buffer\": " << demo::quoted(made.divided->names[k]) << ", \"parts\": [";
        write_part(given.part_of[k]);
        out << ", ";
        write_part(given.buffers.size() - given.part_of.size() + k);
        out << "]}";
    }
    out << "]";
}

/// Writes the member `memories` in JSON, with a comma before it.
inline void write_memories_member(std::ostream& out, const input& given, const outcome& made) {
    out << ", \"memories\": [";
    for (std::size_t m = 0; m != given.memories.size(); ++m) {
        out << (m == 0 ? "" : ", ") << "{\"name\": " << demo::quoted(given.memories[m].name) << ", \"capacity\": ";
        if (given.memories[m].capacity == unlimited) out << "null";
        else out << given.memories[m].capacity;
        out << ", \"buffers\": " << buffers_among(given, made, made.memories[m].buffers) << ", ";
        if (made.moves) out << "\"pieces\": " << made.memories[m].buffers.size() << ", ";
        write_members(out, made.memories[m].plan, !made.cost);
        out << ", \"step\": " << made.memories[m].plan.step << "}";
    }
    out << "]";
}

/// Writes a line of JSON. `more(out)` writes further members, each with a comma before it.
template <class More>
void write_json(std::ostream& out, const input& given, const outcome& made, More more) {
    out << "{\"file\": " << demo::quoted(given.path) << ", \"format\": " << demo::quoted(given.format)
        << ", \"buffers\": " << buffers_in(given, made) << ", ";
    if (made.moves) out << "\"pieces\": " << made.moves->pieces.size() << ", ";
    write_members(out, sum_of(made), !made.cost);
    if (made.pages) out << ", \"page_size\": " << made.pages->page_size << ", \"pages\": " << made.pages->count;
    out << ", \"seconds\": " << demo::fixed(made.seconds, 3) << ", \"spilled\": " << made.spilled;
    if (made.cost)
        out << ", \"cost\": " << made.cost->cost << ", \"lower_bound_of_cost\": " << made.cost->bound
            << ", \"gap\": " << gap_in_json(made.cost->cost, made.cost->bound);
    if (made.moves) write_moves_members(out, given, *made.moves);
    if (made.divided) write_rows_members(out, given, made);
    if (given.own_peak) out << ", \"own_peak\": " << *given.own_peak;
    if (given.given_bound) out << ", \"given_bound\": " << *given.given_bound;
    if (given.order_bound) out << ", \"order_bound\": " << *given.order_bound;
    write_memories_member(out, given, made);
    more(out);
    out << "}\n";
}
inline void write_json(std::ostream& out, const input& given, const outcome& made) {
    write_json(out, given, made, [](std::ostream&) {});
}

/// Returns pages in their order, such as "0-3 7 5-6". Truncates the text with dots after about `at_most` characters.
[[nodiscard]] inline std::string list_of(std::span<const std::uint32_t> pages, std::size_t at_most = ~std::size_t{0}) {
    std::string text;
    for (std::size_t at = 0; at != pages.size();) {
        if (text.size() > at_most) return text + " …";
        const std::size_t begin = at++;
        while (at != pages.size() && pages[at] == pages[at - 1] + 1) ++at;
        text += (begin == 0 ? "" : " ") + std::to_string(pages[begin]);
        if (at - begin > 1) text += '-' + std::to_string(pages[at - 1]);
    }
    return text;
}

/// Writes the input's rows with the place of each buffer.
inline void write_table(std::ostream& out, const input& given, const outcome& made) {
    const bool several = given.memories.size() > 1;
    out << given.columns << (made.offsets.empty() ? "" : ",offset") << (made.pages ? ",pages" : "")
        << (several ? ",memory" : "") << '\n';
    for (const row& each : given.rows) {
        const bool is_paged = made.is_paged(each.buffer);
        out << each.text;
        if (!made.offsets.empty())
            out << ','
                << (is_paged ? ""
                             : std::to_string(made.offsets[each.buffer] +
                                              (given.shift.empty() ? 0 : given.shift[each.buffer])));
        if (made.pages) out << ',' << (is_paged ? list_of(made.pages->of(each.buffer)) : "");
        if (several) out << ',' << given.memories[given.memory_of[each.buffer]].name;
        out << '\n';
    }
}

}  // namespace planner
