// SPDX-License-Identifier: BSL-1.0
// timed: plans several memories for the least time, with copies that run at the same time as steps (prefetch).
//
//     // ticks for a byte: fast; slow and unbounded
//     allot::plan_memory memories[] = {{.capacity = 768_KiB, .cost = 1}, {.cost = 10}};
//     allot::plan_access accesses[] = {{.buffer = 0, .step = 0, .writes = true}, {.buffer = 0, .step = 9}, …};
//     auto made = allot::plan_timed({.moves = {{.buffers = {.buffers = buffers}, .memories = memories}, accesses},
//                                    .durations = durations, .copy_cost = 10});
//     if (!made) return complain(made.error());               // the problem is invalid
//     made->elapsed; made->bound; made->waited;               // in ticks
//     for (const allot::timed_copy& copy : made->copies)      // submit in this order, when step copy.begin begins;
//         log(copy.from, copy.to, copy.begin, copy.end);      // step copy.end waits for it
//
// The header timed_problem.hpp defines steps, copies and their time. The algorithm:
//
//     plan_memories ──► add visits of the first memory ──► plan_memories: places of all pieces
//     whole lives       that shorten the elapsed time                   │
//                              ▲                                        ▼
//                              └── remove the visits around one step, keep the best plan
//
// A visit is a stay in the first memory for one or more accesses of a value. Its copies in begin as early as the room
// permits, until the steps before the access are longer than the copy. Its copies out end as late. The elapsed time of
// each change is simulated. Homes are in the memories of the plan without copies, or in slower ones. Double buffers
// result from two visits that alternate.
//
// Quality: the bound adds the times of all steps, where the accesses of a step use the first memory as far as its
// capacity permits. The plan never has more unplaced buffers than the plan without copies, and with the same number it
// never takes longer. The result is deterministic: the same input yields the same plan on every machine.
//
// Buffers that are fixed, `together`, `apart`, `separate` or have several lifetimes stay where `plan_memories` puts
// them, and so do buffers without accesses.
//
// When to use: steps have known durations and a copy engine works beside them: scratchpads with a DMA engine, the
// memory of a device and that of its host.
// When not to use: the processor copies (moves.hpp), or buffers must not move (memories.hpp).
//
// Effort: the plan without copies takes at most six sixteenths of it, and the search for visits and places the rest. A
// trial of a visit simulates the steps from its first copy until the queue is as it was without it; 64 steps or copies
// count as one buffer placement. A first plan is made with any effort.
//
// Complexity: a trial of a visit is O(steps that it affects), in the worst case all steps and copies. The first plan
// takes O(n log n) of a problem with n accesses, with at most 32 simulated steps on average for each candidate.
// Memory: on the heap: a few hundred bytes a buffer, an access and a step, plus the workspace of `plan_memories`.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/timed_planner.hpp>
#include <allot/plan/timed_problem.hpp>

namespace allot {
inline namespace v1 {

/// Returns a plan for `problem` with pieces and copies on the heap.
///
/// The planner calls `watch(memories_progress)` from time to time after it has a first plan. The cost is the elapsed
/// time. If `watch` returns true, the planner stops and returns the best plan so far. Throws the exceptions of the
/// heap, such as `std::bad_alloc`. Fails under the same conditions as `plan_moves`. Also fails if an access is at a
/// step without a duration (`outside_lifetime`), and if the sum of all times can exceed 58 bits (`too_large`).
template <class Watch = unwatched>
[[nodiscard]] result<timed_plan, plan_error> plan_timed(const timed_problem& problem,
                                                        const memories_options& options = {}, Watch watch = {}) {
    using answer = result<timed_plan, plan_error>;
    if (const plan_error error = detail::check_timed(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    detail::timed_planner<Watch> planner{problem, options, watch};
    if (const plan_error error = planner.run(); error.reason != plan_refusal::none) return answer::failure(error);
    timed_plan& made = planner.best();
    const bool fits_none = made.which != problem.moves.memories.buffers.buffers.size();
    if (made.unplaced == 0) made.status = made.elapsed <= made.bound ? plan_status::optimal : plan_status::feasible;
    else made.status = fits_none ? plan_status::infeasible : plan_status::out_of_budget;
    return std::move(made);
}

}  // namespace v1
}  // namespace allot
