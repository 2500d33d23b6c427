// SPDX-License-Identifier: BSL-1.0
// task: plans an input as the options say.
//
//     options ──► apply: memories, alignment ──► plan_chosen: one of the planners ──► mistake_of: its validator
#pragma once

#include "dividing.hpp"
#include "moving.hpp"
#include "options.hpp"
#include "paging.hpp"
#include "queues.hpp"

#include <exception>
#include <optional>

namespace planner {

/// Returns whether the plan chooses among several memories for each buffer.
[[nodiscard]] inline bool is_spread(const input& given) { return given.chooses && given.memories.size() > 1; }

[[nodiscard]] inline std::size_t memory_called(const input& given, const std::string& name) {
    for (std::size_t m = 0; m != given.memories.size(); ++m)
        if (given.memories[m].name == name) return m;
    return given.memories.size();
}

/// Turns the names of permitted memories into positions.
inline void resolve_names(input& given) {
    if (given.named_memories.empty()) return;
    std::vector<std::uint64_t> bits;
    for (const std::string& name : given.named_memories) {
        const std::size_t m = memory_called(given, name);
        if (m == given.memories.size())
            throw usage_error{given.path + " restricts buffers to the memory \"" + name + "\"; give --memory " + name +
                              ":BYTES"};
        bits.push_back(std::uint64_t{1} << m);
    }
    for (std::size_t i = 0; i != given.allowed.size(); ++i) {
        if (given.allowed[i] == every_memory) continue;
        std::uint64_t allowed = 0;
        for (std::size_t k = 0; k != bits.size(); ++k)
            if (given.allowed[i] >> k & 1) allowed |= bits[k];
        given.allowed[i] = allowed;
    }
}

/// Lets buffers be divided into rows of some bytes, if these divide their size.
inline void set_rows(input& given, std::uint64_t row) {
    if (has_rows(given)) throw usage_error{given.path + " states rows of buffers; --row is for files without them"};
    if (given.memories.size() < 2) throw usage_error{"--row needs several memories; give --memory for each"};
    if (!is_spread(given))
        throw usage_error{given.path + " assigns buffers to memories itself; --row cannot be used with it"};
    given.row_counts.clear();
    for (const allot::plan_buffer& each : given.buffers)
        given.row_counts.push_back(each.size % row == 0 ? std::max<std::uint64_t>(each.size / row, 1) : 1);
}

/// Applies the memories, the alignment and the rows of the options.
inline void apply(const options& chosen, input& given) {
    for (allot::plan_buffer& buffer : given.buffers) buffer.align = std::max(buffer.align, chosen.align);
    if (chosen.capacity) {
        if (given.memories.size() != 1)
            throw usage_error{"the file has several memories; give --memory NAME:BYTES instead of --capacity"};
        given.memories[0].capacity = *chosen.capacity;
    }
    if (given.memories.size() == 1 && chosen.memories.size() > 1) {
        if (!given.memories[0].reserved.empty())
            throw usage_error{given.path + " has reserved bytes, so it cannot be spread over several memories"};
        given.memories = chosen.memories;
        given.chooses = true;
    } else {
        if (given.memories.size() == 1 && chosen.memories.size() == 1) given.memories[0].name = chosen.memories[0].name;
        for (const memory& wanted : chosen.memories) {
            const std::size_t m = memory_called(given, wanted.name);
            if (m == given.memories.size()) throw usage_error{given.path + " has no memory \"" + wanted.name + "\""};
            given.memories[m].capacity = wanted.capacity;
            if (wanted.cost) given.memories[m].cost = wanted.cost;
        }
    }
    resolve_names(given);
    if (chosen.row) set_rows(given, *chosen.row);
}

/// Plans an input to which the options were applied. With a budget, it plans until `watch(memory,
/// allot::plan_progress)` returns true or no plan can be lower.
template <class Watch>
[[nodiscard]] outcome plan_chosen(input& given, const options& chosen, Watch watch) {
    const bool until_stopped = chosen.budget.has_value();
    if (given.submitted) {
        check_queues(given, chosen);
        return plan_on_queues(given, until_stopped, watch);
    }
    if (chosen.moves && given.memories.size() < 2)
        throw usage_error{"--moves needs several memories; give --memory for each"};
    if (chosen.moves && !is_spread(given))
        throw usage_error{given.path + " assigns buffers to memories itself; --moves cannot be used with it"};
    if (!given.separate.empty() && given.memories.size() == 1)
        throw usage_error{given.path + " has buffers in different memories; give --memory for each"};
    if (chosen.pages) return in_pages(given, *chosen.pages, until_stopped, watch);
    if (!is_spread(given)) return plan_input(given, until_stopped, watch);
    if (chosen.moves) return spread_with_moves(given, until_stopped, watch);
    return has_rows(given) ? spread_by_rows(given, until_stopped, watch) : spread(given, until_stopped, watch);
}

/// Returns the cost of a plan in several memories, or the bytes of one in a single memory. `unlimited` if it does not
/// fit.
[[nodiscard]] inline std::uint64_t height_of(const input& given, const outcome& made) {
    if (is_spread(given)) return made.cost->cost;
    return made.fits() ? made.memories[0].plan.peak : unlimited;
}
/// Returns a lower bound on the height of all plans of an input.
[[nodiscard]] inline std::uint64_t least_height(const input& given) {
    if (is_spread(given)) return 0;
    const part all{given, 0};
    allot::plan_heap workspace{allot::bound_space(all.problem())};
    const auto bound = allot::bound_of(all.problem(), workspace);
    return bound ? bound->bytes : 0;
}

/// Plans an input as `plan_chosen` does, and its others. Keeps the best plan and its input. With a capacity, the first
/// plan that fits ends the work.
template <class Watch>
[[nodiscard]] outcome plan_best(input& given, const options& chosen, Watch watch) {
    std::optional<outcome> best;
    std::exception_ptr refused;
    const auto try_input = [&](input& from) {
        try {
            outcome made = plan_chosen(from, chosen, watch);
            if (best && height_of(from, made) >= height_of(given, *best)) return;
            best = std::move(made);
            if (&from != &given) given = std::move(from);
        } catch (const no_room&) {
            if (!refused) refused = std::current_exception();
        }
    };
    const auto others = std::move(given.others);
    const bool ends_at_a_fit = !is_spread(given) && given.memories[0].capacity != unlimited;
    const std::uint64_t lowest = is_spread(given) ? 0 : given.order_bound.value_or(0);
    try_input(given);
    for (const auto& make : others) {
        const std::uint64_t height = best ? height_of(given, *best) : unlimited;
        if (best && (height <= lowest || (ends_at_a_fit && height != unlimited))) break;
        input other = make();
        apply(chosen, other);
        if (!best || least_height(other) < height) try_input(other);
    }
    if (!best) std::rethrow_exception(refused);
    return *std::move(best);
}

/// Returns the mistake in the plan as a sentence; empty if it is valid.
[[nodiscard]] inline std::string mistake_of(const input& given, const options& chosen, const outcome& made) {
    if (given.submitted) return mistake_on_queues(given, made);
    if (chosen.pages) return mistake_in_pages(given, made);
    if (std::string mistake = mistake_in(given, made); !mistake.empty() || !given.run || is_spread(given))
        return mistake;
    std::vector<std::uint64_t> offsets = made.offsets;
    for (std::size_t i = 0; i != offsets.size(); ++i) offsets[i] += given.shift[i];
    return given.run(offsets);
}

}  // namespace planner
