// SPDX-License-Identifier: BSL-1.0
// memories: plans several memories when the fast ones cannot hold all buffers.
//
//     // fast; slow and unbounded
//     allot::plan_memory memories[] = {{.capacity = 768_KiB, .align = 128, .cost = 0}, {.cost = 1}};
//     auto made = allot::plan_memories({.buffers = {.buffers = buffers}, .memories = memories});
//     if (!made) …                                            // the problem is invalid: made.error()
//     made->places[1].memory; made->places[1].offset; made->cost; made->spilled; made->status;
//
//     memory 0 ┌─────┬────────┐     A buffer that is not in memory 0 spills to memory 1, from there to memory 2, and so
//              │  a  │   c    │     on. Each memory keeps the buffers that are most expensive to spill, as far as it
//     memory 1 └─────┴───┬────┴──┐  can pack them. The planner combines choice and packing: it packs each choice
//              ┌─────────┤   d   │  exactly and makes another choice if that fails.
//              │    b    │       │
//              └─────────┴───────┴──► time
//
// Quality: `bound` is a proved lower bound on the cost of all buffers, or of the placed ones if not all can have a
// place. It treats the first memories as one, and ignores offsets: a choice of buffers counts if no step has more bytes
// than fit. With an effort of at least 1000 and up to `search_at_most` buffers, no buffer is split between memories;
// otherwise they may share its bytes. For networks, the bound usually is the least cost. The status is `optimal` only
// if the cost equals the bound. The planner minimizes the number of unplaced buffers first, and the cost second. For
// this choice, buffers that are together count as one. Of buffers that must all be in different memories, the bound
// counts those that exceed the number of the first memories.
//
// Exhaustive choice: the planner tries each choice of memories if there are at most 64 buffers, each fits
// an allowed memory, and the number of choices is at most half of the effort and at most 75,000. The result is then
// optimal or proved infeasible, unless the search exceeds that effort. With pairs of `separate` buffers, which exclude
// many choices, the planner tries them with that effort in any case.
//
// Otherwise, the planner fills one memory after the other. With two memories, each choice accounts for all
// consequences. With more, each memory is filled as if the next slower one had room for the rest. If that memory lacks
// room, the planner repeats the plan several times with the resulting costs, and returns the best plan.
//
// With pairs of `separate` buffers, the memories of each buffer are first restricted by a coloring of the graph of the
// pairs, which satisfies all of them. Rounds with and without this restriction take turns.
//
// The result is deterministic: the same input yields the same plan on every machine, at run time and in constant
// expressions.
//
// When to use: memories differ in speed, and each buffer stays in one of them. An example is a microcontroller with
// tightly coupled memory and external RAM. Also for banks with one port each, between which operands are divided.
// When not to use: there is one memory (plan.hpp), or copies between the memories pay off (moves.hpp).
//
// Complexity: for each memory, the time of a greedy plan and O(n log n), plus the work that `effort` allows. With up to
// `search_at_most` buffers, also the number of pairs that live at the same time.
// Memory: `space_of_memories`.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/memory_planner.hpp>
#include <allot/plan/memories_problem.hpp>
#include <allot/plan/plan.hpp>

namespace allot {
inline namespace v1 {

/// Returns the size of the workspace that `plan_memories_into` needs.
[[nodiscard]] constexpr plan_space space_of_memories(const memories_problem& problem,
                                                     const memories_options& options = {}) noexcept {
    return detail::merge_space(problem.buffers) +
           max(bound_space(problem.buffers), detail::memory_planner<>::space(problem, options));
}

/// Plans without a heap. Writes one element for each buffer to `places` and one for each memory to `needs`.
///
/// The planner calls `watch(memories_progress)` from time to time after it has a first plan. If `watch` returns true,
/// the planner stops and returns the best plan so far. Fails if the problem is invalid, if an array or the workspace is
/// too small, if lifetimes of one buffer overlap, if fixed buffers collide, or if the sum of all sizes or of all costs
/// exceeds 58 bits (`too_large`).
template <class Watch = unwatched>
[[nodiscard]] constexpr result<memories_summary, plan_error> plan_memories_into(
    const memories_problem& problem, std::span<memory_place> places, std::span<memory_needs> needs,
    plan_workspace workspace, const memories_options& options = {}, Watch watch = {}) noexcept {
    using answer = result<memories_summary, plan_error>;
    const std::size_t all = problem.buffers.buffers.size();
    if (const plan_error error = detail::check_memories(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!workspace.holds(space_of_memories(problem, options)) || places.size() < all ||
        needs.size() < problem.memories.size())
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::plan_sizes sizes;
    const auto merged = detail::merge_together(problem.buffers, workspace, sizes);
    if (!merged) return answer::failure(merged.error());
    const auto most = bound_of(merged->problem, workspace, sizes);
    if (!most) return answer::failure(merged->as_given(most.error()));
    detail::memory_planner<> planner{*merged, sizes, problem, options, workspace};
    if (const plan_error error = planner.read(); error.reason != plan_refusal::none) return answer::failure(error);

    memories_summary made;
    made.bound = planner.bound();
    made.step = most->step;
    made.which = planner.unholdable();
    planner.run(made, watch);

    for (std::size_t m = 0; m != problem.memories.size(); ++m) needs[m] = {0, 1};
    made.unplaced = 0;  // the planner counted merged buffers
    for (std::size_t given = 0; given != all; ++given) {
        const std::size_t i = (*merged)[given];
        const plan_buffer& buffer = problem.buffers.buffers[given];
        places[given] = {planner.memory(i), planner.offset(i), buffer.size};
        if (planner.memory(i) == memory_place::nowhere) {
            ++made.unplaced;
            continue;
        }
        if (planner.memory(i) != 0) made.spilled += buffer.size;
        memory_needs& need = needs[planner.memory(i)];
        if (buffer.size != 0) need.peak = detail::larger(need.peak, planner.offset(i) + buffer.size);
        need.align =
            detail::larger(need.align, detail::larger(buffer.align, problem.memories[planner.memory(i)].align));
    }
    if (made.unplaced == 0) made.status = made.cost <= made.bound ? plan_status::optimal : plan_status::feasible;
    else
        made.status = made.which != all || planner.is_crowded(made.step) || planner.is_impossible()
                          ? plan_status::infeasible
                          : plan_status::out_of_budget;
    if (made.status == plan_status::infeasible) made.bound = planner.bound_of_placed();
    return made;
}

/// Returns a plan for `problem`, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as
/// `plan_memories_into`.
template <class Watch = unwatched>
[[nodiscard]] result<memories_plan, plan_error> plan_memories(const memories_problem& problem,
                                                              const memories_options& options = {}, Watch watch = {}) {
    using answer = result<memories_plan, plan_error>;
    if (const plan_error error = detail::check_memories(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_memories(problem, options)};
    memories_plan made;
    made.places.resize(problem.buffers.buffers.size());
    made.needs.resize(problem.memories.size());
    const auto summary = plan_memories_into(problem, {made.places.data(), made.places.size()},
                                            {made.needs.data(), made.needs.size()}, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<memories_summary&>(made) = *summary;
    return made;
}

}  // namespace v1
}  // namespace allot
