// SPDX-License-Identifier: BSL-1.0
// check: whether a planner can work on a problem at all, and if not, why.
//
//     if (auto error = allot::check_problem(problem); error.reason != allot::plan_refusal::none)
//         report(error.reason, error.which);
//
// Every planner asks this first, so that no problem, however wrong, is undefined behaviour. What takes more than a look
// at each number is found by whoever works on it: sums that do not fit, lifetimes of one buffer that overlap, fixed
// buffers that collide. Complexity: O(n). Memory: none. Thread safety: pure.
#pragma once

#include <allot/plan/problem.hpp>

namespace allot {
inline namespace v1 {

enum class plan_refusal : unsigned char {
    none,
    too_many,              // buffers, lifetimes, pairs or reserved ranges for indices of 32 bits
    workspace_too_small,   // or the caller's array for the answer
    empty_lifetime,        // of buffer `which`: `until` is not after `from`
    overlapping_lifetimes, // of buffer `which`, which lives twice at once
    not_an_alignment,      // of buffer `which`: no power of two
    no_such_buffer,        // `which` is the index that something names
    fixed_misaligned,      // buffer `which`
    wraps,                 // the end of a fixed buffer (`which`), or of a reserved range, does not fit 64 bits
    contradiction,         // buffer `which` cannot be where it is fixed, or is to be kept apart from itself
    together_not_merged,   // `which` is a pair; this function plans buffers that are merged already
    too_large,             // what lives at once, or every plan that was tried, does not fit 64 bits
    unsupported,           // this function cannot do what the problem asks
    not_a_memory,          // memory `which`: its alignment is no power of two, or it is cheaper than one before; none,
                           // or too many
    not_for_each_buffer,   // uses or allowed memories are said of `which` buffers, and there are others
    fixed_in_no_one_memory, // buffer `which` is fixed, and must be allowed in one memory alone
    too_few_moves,         // buffers collide that have not changed, as `which` does, and no plan is found that moves so
                           // few of them
    outside_lifetime,      // of its buffer: access `which`
};

struct plan_error {
    plan_refusal reason = plan_refusal::none;
    std::size_t which = 0;
    friend constexpr bool operator==(plan_error, plan_error) = default;
};

[[nodiscard]] constexpr plan_error check_problem(const plan_problem& problem) noexcept {
    // Indices of 32 bits, and room for a tree over them.
    constexpr std::size_t most = std::size_t{1} << 29;
    const std::size_t count = problem.buffers.size();
    if (count > most || problem.revivals.size() > most - count || problem.fixed.size() > most ||
        problem.together.size() > most || problem.apart.size() > most || problem.reserved.size() > most)
        return {plan_refusal::too_many, 0};
    for (std::size_t i = 0; i != count; ++i) {
        const plan_buffer& buffer = problem.buffers[i];
        if (!is_alignment(buffer.align)) return {plan_refusal::not_an_alignment, i};
        if (buffer.live.until <= buffer.live.from) return {plan_refusal::empty_lifetime, i};
    }
    for (const plan_revival& revival : problem.revivals) {
        if (revival.buffer >= count) return {plan_refusal::no_such_buffer, revival.buffer};
        if (revival.live.until <= revival.live.from) return {plan_refusal::empty_lifetime, revival.buffer};
    }
    for (const plan_fixed& fixed : problem.fixed) {
        if (fixed.buffer >= count) return {plan_refusal::no_such_buffer, fixed.buffer};
        const plan_buffer& buffer = problem.buffers[fixed.buffer];
        if (fixed.offset % buffer.align != 0) return {plan_refusal::fixed_misaligned, fixed.buffer};
        if (buffer.size > ~std::uint64_t{0} - fixed.offset) return {plan_refusal::wraps, fixed.buffer};
    }
    for (std::span<const plan_pair> pairs : {problem.together, problem.apart})
        for (const plan_pair& pair : pairs) {
            if (pair.first >= count) return {plan_refusal::no_such_buffer, pair.first};
            if (pair.second >= count) return {plan_refusal::no_such_buffer, pair.second};
        }
    for (const plan_pair& pair : problem.apart)
        if (pair.first == pair.second) return {plan_refusal::contradiction, pair.first};
    for (std::size_t i = 0; i != problem.reserved.size(); ++i)
        if (problem.reserved[i].size > ~std::uint64_t{0} - problem.reserved[i].offset) return {plan_refusal::wraps, i};
    return {};
}

}  // namespace v1
}  // namespace allot
