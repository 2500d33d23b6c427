// SPDX-License-Identifier: BSL-1.0
// ranged: plans for all values of symbols in advance: a family of plans, each for a range of values.
//
//     constexpr allot::plan_symbol batch{0}, length{1};
//     const allot::symbolic_buffer buffers[] = {{.size = {batch, length, 3072}, .live = {0, 2}, .align = 64},
//                                               {.size = {batch, length, length, 48}, .live = {1, 3}, .align = 64}};
//     const std::uint64_t most[] = {8, 512}, least[] = {1, 16};            // of batch and of length
//     const auto made = allot::plan_ranged({{.buffers = buffers, .bounds = most}, least}).value();
//     auto memory = arena.allocate({.size = made.peak, .align = made.align});   // once, for all values
//     allot::plan_place places[2];
//     const std::uint64_t values[] = {3, 100};
//     const auto peak = made.place(values, places);                        // before each run, without a search
//
//     length                             Each piece has an order, from which the offsets follow (ranged_problem.hpp).
//       ▲  ┌───────────┬─────┐           The offsets are valid for all values. `excess` is proved: for every value of
//       │  │  order 1  │  2  │           the piece, the peak is at most so far above the lower bound of that value.
//       │  ├───────────┴─────┤           Pieces that exceed the tolerance are divided.
//       │  │     order 0     │
//       └──┴─────────────────┴─► batch
//
// The tolerance is compared with the lower bound, which no plan for the value is below. Where the planner does not
// reach the bound, an order is compared with the lowest known plan for the value. Values between the measured ones can
// exceed the tolerance if `excess` is above it.
//
// When to use: for graphs with dynamic shapes whose symbols are known before a run, such as transformers with a batch
// and a sequence length. The places of the buffers for other values take microseconds.
// When not to use: symbols become known while buffers live (symbolic.hpp), there are a few values (plan each), or sizes
// have no upper bounds (use an arena).
//
// Complexity, for 5 * `pieces_at_most` ranges at most: up to three plans for each range, 16 * `pieces_at_most` plans
// for other values, up to about 130 computations of offsets for each range and each order, and `effort` computations
// for samples and proofs. A computation of offsets is O(n).
// Memory: the heap. About 300 bytes for each size and 16 for each buffer and order.
// Thread safety: pure functions. Any number of threads may call `place` of one plan.
#pragma once

#include <allot/plan/detail/ranged_planner.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {

/// Returns a plan for all values of the symbols. It views the arrays of the problem, which must outlive it.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails like `plan`, with `unsupported` for a constraint
/// other than `revivals` and `apart`, with `above_bound` for a symbol whose smallest value is missing or above the
/// largest one, and with `too_large` if the sizes for the bounds exceed 50 bits in sum or are invalid.
[[nodiscard]] inline result<ranged_plan, plan_error> plan_ranged(const ranged_problem& problem,
                                                                 const ranged_options& options = {}) {
    using answer = result<ranged_plan, plan_error>;
    const symbolic_problem& of = problem.sizes;
    if (!of.fixed.empty() || !of.together.empty() || !of.reserved.empty())
        return answer::failure({plan_refusal::unsupported, 0});
    if (!problem.least.empty() && problem.least.size() != of.bounds.size())
        return answer::failure({plan_refusal::above_bound, std::min(problem.least.size(), of.bounds.size())});
    for (std::size_t i = 0; i != problem.least.size(); ++i)
        if (problem.least[i] > of.bounds[i]) return answer::failure({plan_refusal::above_bound, i});
    std::vector<plan_buffer> buffers;
    for (const symbolic_buffer& each : of.buffers) buffers.push_back({0, each.live, each.align});
    if (const plan_error error = check_problem(symbolic_plan::problem_of(of, buffers));
        error.reason != plan_refusal::none)
        return answer::failure(error);
    return detail::ranged_planner{problem, options}.run();
}

}  // namespace v1
}  // namespace allot
