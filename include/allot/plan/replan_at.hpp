// SPDX-License-Identifier: BSL-1.0
// replan_at: updates a plan while the program runs, when sizes become known, and moves no buffer that lives.
//
//     allot::plan_buffer buffers[] = {…};                             // the sizes are upper bounds
//     auto made = allot::plan({.buffers = buffers}).value();          // made.peak bytes suffice for all sizes
//     run_steps(0, 5);                                                // then a size becomes known:
//     buffers[0].size = 32;
//     auto now = allot::replan_at({.buffers = buffers}, made.places, 5);
//     if (now) run_steps(5, 9);                                       // now->peak is never above the old one
//
//     before                       replan_at(…, 2)
//       ▲ ┌────┬─────┐              ▲                      The steps before `step` have run. A buffer that began before
//       │ │    │  c  │              │ ┌────┐               `step` and lives later keeps its place, also between two
//       │ │ b  ├─────┴┐             │ │ b  ├───┐           lifetimes: b. Buffers that begin at `step` or later are
//       │ ├───┐│  d   │             │ ├───┐│ d ├───┐       placed anew, with their new sizes: c and d. Buffers that
//       └─┴─a─┴┴──────┴─►           └─┴─a─┴┴───┴─c─┴─►     have ended keep their old places.
//         0   2       4 time
//
// A place is an offset and a size: a buffer that lives keeps all bytes that it was given. Its tensor has them in the
// storage. All sizes are at most those of the old places (`above_bound`). So the old places remain a valid plan, and
// the result is this plan or a lower one. It is valid for the whole problem: together, apart, fixed, reserved and
// revivals hold, also between buffers that have ended and later ones.
//
// When to use: sizes have upper bounds when the memory is allocated, and are known step by step: symbolic shapes, the
// number of detected objects, the length of a text. symbolic.hpp computes the sizes from symbols.
// When not to use: contents may be moved, or lifetimes changed: use `replan`. All sizes are known before the first
// step: use `plan`.
//
// Complexity: `plan` of the remaining buffers, a second time if that is not apart from buffers that have ended.
// Memory: the heap: `space_of_plan`, and about 100 bytes a buffer. Throws the exceptions of the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/remaining_problem.hpp>
#include <allot/plan/replan.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// Returns an updated plan for the steps from `step` on. `before` has the place of each buffer. `peak`, `bound`, `step`
/// and `status` concern the buffers that live at `step` or later; `moved` is the number of later buffers with another
/// offset. Fails if `check_problem` rejects the problem, under the conditions of `plan`, with `not_for_each_buffer` if
/// `before` has another number of places, with `above_bound` if a buffer is larger than its old place, and with
/// `too_many` for a step that is among the first 2^29 of 64 bits.
template <class Watch = unwatched>
[[nodiscard]] result<memory_replan, plan_error> replan_at(const plan_problem& problem,
                                                          std::span<const plan_place> before, std::int64_t step,
                                                          const plan_options& options = {}, Watch watch = {}) {
    using answer = result<memory_replan, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    const std::size_t count = problem.buffers.size();
    if (before.size() != count) return answer::failure({plan_refusal::not_for_each_buffer, before.size()});
    for (std::size_t i = 0; i != count; ++i) {
        if (problem.buffers[i].size > before[i].size) return answer::failure({plan_refusal::above_bound, i});
        if (before[i].size > ~before[i].offset) return answer::failure({plan_refusal::wraps, i});
    }

    if (step < std::numeric_limits<std::int64_t>::min() + static_cast<std::int64_t>(count))
        return answer::failure({plan_refusal::too_many, 0});

    memory_replan fresh;
    fresh.places.assign(before.begin(), before.end());
    std::vector<plan_place> lower = fresh.places;
    const auto plan_rest = [&](const detail::remaining_problem<plan_problem>& rest) {
        auto made = plan(rest.problem(), options, watch);
        if (!made) return answer::failure({made.error().reason, rest.buffer_of(made.error().which)});
        for (std::size_t i = 0; i != count; ++i) {
            if (!rest.is_later(i)) continue;
            lower[i].offset = made->places[rest[i]].offset;
            if (!rest.is_living(i)) fresh.places[i].size = lower[i].size = problem.buffers[i].size;
        }
        return answer{memory_replan{*std::move(made)}};
    };
    const detail::remaining_problem rest{problem, before, step, false};
    const auto made = plan_rest(rest);
    if (!made) return made;
    static_cast<plan_summary&>(fresh) = *made;
    if (!rest.are_apart_from_past(made->places)) {
        const auto beside_past = plan_rest({problem, before, step, true});
        if (!beside_past) return beside_past;
    }
    std::uint64_t kept_peak = 0, peak = 0;
    for (std::size_t i = 0; i != count; ++i) {
        if (!rest.is_later(i) || lower[i].size == 0) continue;
        kept_peak = std::max(kept_peak, fresh.places[i].offset + lower[i].size);
        peak = std::max(peak, lower[i].offset + lower[i].size);
    }
    fresh.peak = std::min(peak, kept_peak);
    if (peak < kept_peak) std::swap(fresh.places, lower);
    for (std::size_t i = 0; i != count; ++i) fresh.moved += fresh.places[i].offset != before[i].offset;
    const bool is_lowest =
        fresh.peak == fresh.bound || (made->status == plan_status::optimal && fresh.peak <= made->peak);
    if (fresh.peak <= options.capacity) fresh.status = is_lowest ? plan_status::optimal : plan_status::feasible;
    else if (made->status != plan_status::infeasible) fresh.status = plan_status::out_of_budget;
    return fresh;
}

}  // namespace v1
}  // namespace allot
