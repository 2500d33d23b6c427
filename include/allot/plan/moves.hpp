// SPDX-License-Identifier: BSL-1.0
// moves: plans several memories when a buffer may leave the fast memory and come back.
//
//     // fast; slow and unbounded
//     allot::plan_memory memories[] = {{.capacity = 768_KiB}, {.cost = 1}};
//     allot::plan_access accesses[] = {{.buffer = 0, .step = 0, .writes = true}, {.buffer = 0, .step = 9}, …};
//     auto made = allot::plan_moves({{.buffers = {.buffers = buffers}, .memories = memories}, accesses});
//     if (!made) …                                            // the problem is invalid: made.error()
//     made->piece_of[1];                                      // the piece that accesses[1] uses
//     for (const allot::plan_copy& copy : made->copies) …     // from made->pieces[copy.from] to made->pieces[copy.to]
//
// The header moves_problem.hpp defines accesses, pieces, copies and their costs. The algorithm:
//
//     plan_memories ──► prices of bytes ──► visits ──► plan_memories: the visits   ──► plan_memories: the homes and
//     whole lives             ▲                        that fit, and their places      all pieces without a place    │
//                             └──────────── other prices; the best plan so far is kept ◄─────────────────────────────┘
//
// Buffers that are fixed, `together`, `apart`, `separate` or have several lifetimes stay where `plan_memories` puts
// them, and so do buffers without accesses. Every other buffer occupies memory only from its first access to its last,
// and only while its contents are still needed. With 64 memories, no buffer moves.
//
// The plan never has more unplaced buffers than the plan without moves, and with the same number it never costs more.
// The result is deterministic: the same input yields the same plan on every machine.
//
// When to use: the steps of all accesses are known, and copies between the memories are cheap compared with accesses to
// the slower memory. Examples are scratchpads and device memory that overflows to host memory.
// When not to use: buffers must not move at run time (memories.hpp), the memory must be planned in constant expressions
// (static_memories.hpp), or there is one memory (plan.hpp).
//
// Complexity: several calls of `plan_memories` with an eighth of the effort each, in total about five times the effort.
// Memory: on the heap: a few hundred bytes a buffer and an access, plus the workspace of `plan_memories`. The number of
// pieces and copies is known only afterwards.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/move_planner.hpp>
#include <allot/plan/moves_problem.hpp>

namespace allot {
inline namespace v1 {
/// Returns a plan for `problem` with pieces and copies on the heap.
///
/// The planner calls `watch(memories_progress)` from time to time after it has a first plan. If `watch` returns true,
/// the planner stops and returns the best plan so far. Throws the exceptions of the heap, such as `std::bad_alloc`.
/// Fails under the same conditions as `plan_memories`. Also fails if an access is outside of the lifetimes of its
/// buffer (`outside_lifetime`) and if the problem has `uses` (`unsupported`).
template <class Watch = unwatched>
[[nodiscard]] result<moves_plan, plan_error> plan_moves(const moves_problem& problem,
                                                        const memories_options& options = {}, Watch watch = {}) {
    using answer = result<moves_plan, plan_error>;
    if (const plan_error error = detail::check_moves(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    detail::move_planner<Watch> planner{problem, options, watch};
    if (const plan_error error = planner.run(); error.reason != plan_refusal::none) return answer::failure(error);
    moves_plan& made = planner.best();
    const bool fits_none = made.which != problem.memories.buffers.buffers.size();
    if (made.unplaced == 0) made.status = made.cost <= made.bound ? plan_status::optimal : plan_status::feasible;
    else made.status = fits_none ? plan_status::infeasible : plan_status::out_of_budget;
    return std::move(made);
}

}  // namespace v1
}  // namespace allot
