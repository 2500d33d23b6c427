// SPDX-License-Identifier: BSL-1.0
// replan: updates a plan after a few buffers have changed, and moves at most a given number of the other buffers.
//
//     auto made = allot::plan(problem).value();              // later, buffers[7] has grown:
//     auto again = allot::replan(problem, made.places, 4);   // places it anywhere, and moves at most four others
//     if (!again) …                                          // invalid, or more moves are necessary: again.error()
//     again->places; again->peak; again->moved; again->status;
//
//     before                   after, at_most = 1     `before` has a place for each buffer. A buffer counts as changed
//       ▲  ┌────┐                ▲  ┌──────┐          if its place is `no_place`, has another size, or is no longer
//       │  │ b  ├────┐           │  │  c   ├────┐     valid: misaligned, reserved, or different from a fixed offset.
//       │  ├──┬─┘ d  │           │  ├──┬───┘ d  │     Changed buffers move freely. Every other buffer keeps its offset
//       │  │c │ ┌────┤  c grew   │  │b │   ┌────┤     or counts as moved. Here c has grown and took the place of b,
//       └──┴──┴─┴─a──┴─►         └──┴──┴───┴─a──┴─►   and `moved` is 1.
//
// Unchanged buffers may collide, because one of them now lives longer or must be kept apart. Then one of them must move
// and counts as moved. To avoid this, mark the changed buffer as `no_place`. The planner keeps the buffers that collide
// with the fewest others. If the remaining ones are more than `at_most`, the result is the error `too_few_moves`.
// Buffers that are `together` move together, and each counts. Their home is the offset that most of them had. To remove
// a buffer, omit it from both arrays.
//
// The algorithm: `ejection_search` tries heights between the lowest peak that so few moves can reach and the lowest
// plan so far. It allows 0, 1, 2, 3, 4, 6, 8, 12, … moves in turn. A larger limit therefore never yields a higher plan.
// With a capacity, it stops at the first plan that fits. If all other buffers may move, `plan` is tried as well.
//
// Sizes and offsets are in bytes. The caller chooses the steps of lifetimes.
//
// When to use: a plan is in use, and moving a buffer is expensive, because its contents must be copied or its address
// is stored elsewhere.
// When not to use: nothing depends on the old plan. `plan` yields lower plans.
//
// Complexity: the setup of `ejection_search`, plus the work that `effort` allows.
// Memory: `space_of_replan`: about 270 bytes a buffer. If all other buffers may move, at least `space_of_plan`.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/replanner.hpp>
#include <allot/plan/plan.hpp>

namespace allot {
inline namespace v1 {

/// Returns the size of the workspace that `replan_into` needs.
[[nodiscard]] constexpr plan_space space_of_replan(const plan_problem& problem, std::span<const plan_place> before,
                                                   std::size_t at_most, const plan_options& options) noexcept {
    plan_space space =
        detail::merge_space(problem) + max(detail::ejection_search<>::space(problem), bound_space(problem));
    space.u64 += problem.buffers.size();
    space.u32 += 2 * problem.buffers.size();
    return detail::may_all_move(problem, before, at_most) ? max(space, space_of_plan(problem, options)) : space;
}

/// Updates a plan without a heap and writes one place for each buffer to `places`.
///
/// At most `at_most` unchanged buffers get another offset than in `before`. If `before` is shorter than the list of
/// buffers, the remaining buffers are new. The planner calls `watch(plan_progress)` from time to time after it has a
/// first plan. If `watch` returns true, the planner stops and returns the best plan so far. Fails under the same
/// conditions as `plan_into`. Also fails if more moves are necessary (`too_few_moves`), and if `before` has more places
/// than there are buffers (`no_such_buffer`).
template <class Watch = unwatched>
[[nodiscard]] constexpr result<replan_summary, plan_error> replan_into(
    const plan_problem& problem, std::span<const plan_place> before, std::size_t at_most, std::span<plan_place> places,
    plan_workspace workspace, const plan_options& options = {}, Watch watch = {}) noexcept {
    using answer = result<replan_summary, plan_error>;
    const std::size_t all = problem.buffers.size();
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (before.size() > all) return answer::failure({plan_refusal::no_such_buffer, all});
    if (!workspace.holds(space_of_replan(problem, before, at_most, options)) || places.size() < all)
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::replanner planner{problem, before, at_most, places, options, watch};
    if (const plan_error error = planner.run(workspace); error.reason != plan_refusal::none)
        return answer::failure(error);
    return replan_summary{planner.summary(), planner.moved()};
}

/// Returns an updated plan, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as `replan_into`.
template <class Watch = unwatched>
[[nodiscard]] result<memory_replan, plan_error> replan(const plan_problem& problem, std::span<const plan_place> before,
                                                       std::size_t at_most, const plan_options& options = {},
                                                       Watch watch = {}) {
    using answer = result<memory_replan, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_replan(problem, before, at_most, options)};
    memory_replan made;
    made.places.resize(problem.buffers.size());
    const auto summary = replan_into(problem, before, at_most, made.places, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    made.moved = summary->moved;
    return made;
}

}  // namespace v1
}  // namespace allot
