// SPDX-License-Identifier: BSL-1.0
// check: reports whether a planner accepts a problem, and the reason if it does not.
//
//     if (auto error = allot::check_problem(problem); error.reason != allot::plan_refusal::none)
//         report(error.what(), error.which);
//
// Every planner and validator calls `check_problem` first. An invalid problem therefore never causes undefined
// behavior. The check looks at each number once. The planners themselves detect errors that take more work: sums that
// exceed 64 bits, overlapping lifetimes of one buffer, and fixed buffers that collide.
//
// When to use: to reject invalid input early, for example in a tool that reads problems from files.
// When not to use: before a call of a planner. Each planner performs the check and returns the same error.
//
// Complexity: O(n) in buffers, revivals and constraints.
// Memory: none.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/problem.hpp>

namespace allot {
inline namespace v1 {

/// Reason for which a planner rejects a problem. `which` is `plan_error::which`.
enum class plan_refusal : unsigned char {
    none,                   ///< No error.
    too_many,               ///< More than 2^29 lifetimes, fixed buffers, pairs or reserved ranges.
    workspace_too_small,    ///< The workspace, or the caller's array for the result, is too small.
    empty_lifetime,         ///< Buffer `which` has a lifetime whose `until` is not after `from`.
    overlapping_lifetimes,  ///< Two lifetimes of buffer `which` overlap.
    not_an_alignment,       ///< The alignment of buffer `which` is not a power of two.
    no_such_buffer,         ///< A revival or constraint names buffer `which`, which does not exist.
    fixed_misaligned,       ///< The fixed offset of buffer `which` is not a multiple of the required alignment.
    wraps,                  ///< The end of fixed buffer `which`, or of reserved range `which`, exceeds 64 bits.
    /// Buffer `which` cannot be at its fixed offset, or must be apart from itself, or in another memory than itself. Of
    /// `plan_queues`: wait `which` is not for an earlier operator.
    contradiction,
    together_not_merged,  ///< Pair `which` is `together`. This function requires merged buffers.
    /// The ends of buffers exceed 64 bits in all plans that were tried. With several memories: the cost of a byte in
    /// the last memory, or the sum of all costs there, exceeds 58 bits. In this sum, sizes, uses and costs of a byte
    /// count as at least 1. With pages: their number exceeds 32 bits.
    too_large,
    unsupported,  ///< The function does not support a constraint of the problem.
    /// Memory `which` has an alignment that is not a power of two, or costs less than the memory before it. Also: there
    /// are no memories, or more than 64; `which` is their number.
    not_a_memory,
    /// The list of uses, of allowed memories or of rows has `which` elements, another number than there are buffers.
    not_for_each_buffer,
    fixed_in_no_one_memory,  ///< Fixed buffer `which` is not allowed in exactly one memory.
    /// Unchanged buffers collide, including the buffer `which`, and no plan with so few moves was found.
    too_few_moves,
    outside_lifetime,  ///< Access `which` is outside of the lifetimes of its buffer.
    /// Buffer or symbol `which` is larger than its bound, or below its smallest value. Only of `replan_at`,
    /// `symbolic_plan` and `ranged_plan`.
    above_bound,
    indivisible,  ///< The number of rows of buffer `which` does not divide its size.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(plan_refusal reason) noexcept {
    switch (reason) {
        case plan_refusal::none: return "no error";
        case plan_refusal::too_many:
            return "the problem has more than 2^29 lifetimes, fixed buffers, pairs or reserved ranges";
        case plan_refusal::workspace_too_small: return "the workspace or the array for the result is too small";
        case plan_refusal::empty_lifetime: return "a lifetime ends before or at the step at which it begins";
        case plan_refusal::overlapping_lifetimes: return "two lifetimes of a buffer overlap";
        case plan_refusal::not_an_alignment: return "the alignment of a buffer is not a power of two";
        case plan_refusal::no_such_buffer: return "a revival or a constraint names a buffer that does not exist";
        case plan_refusal::fixed_misaligned: return "a fixed offset is not a multiple of the required alignment";
        case plan_refusal::wraps: return "the end of a fixed buffer or of a reserved range exceeds 64 bits";
        case plan_refusal::contradiction: return "a buffer cannot be at its fixed offset, or must be apart from itself";
        case plan_refusal::together_not_merged: return "a pair is together, and this function requires merged buffers";
        case plan_refusal::too_large:
            return "offsets exceed 64 bits, sizes or costs in several memories exceed 58 bits, or pages exceed 32 bits";
        case plan_refusal::unsupported: return "this function does not support a constraint of the problem";
        case plan_refusal::not_a_memory: return "a memory is invalid, or there are no memories or more than 64";
        case plan_refusal::not_for_each_buffer:
            return "the list of uses, allowed memories or rows does not have one element for each buffer";
        case plan_refusal::fixed_in_no_one_memory: return "a fixed buffer is not allowed in exactly one memory";
        case plan_refusal::too_few_moves: return "unchanged buffers collide, and no plan with so few moves was found";
        case plan_refusal::outside_lifetime: return "an access is outside of the lifetimes of its buffer";
        case plan_refusal::above_bound: return "a size exceeds its bound, or the value of a symbol is out of range";
        case plan_refusal::indivisible: return "the number of rows of a buffer does not divide its size";
    }
    return "unknown";
}

/// Error of a planner: a reason, and the index of the element that it concerns.
struct plan_error {
    plan_refusal reason = plan_refusal::none;  ///< Reason.
    std::size_t which = 0;                     ///< Index or count that the reason refers to: see `plan_refusal`.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    /// Compares both members.
    friend constexpr bool operator==(plan_error, plan_error) = default;
};

/// Returns the first error of `problem`, or an error with the reason `none` if the problem is valid.
[[nodiscard]] constexpr plan_error check_problem(const plan_problem& problem) noexcept {
    // 32-bit indices must also number the nodes of a tree over all elements.
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
