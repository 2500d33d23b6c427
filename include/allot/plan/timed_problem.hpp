// SPDX-License-Identifier: BSL-1.0
// timed_problem: the input and the result of planning with several memories for the least time.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 10}}, {.size = 800, .live = {3, 7}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1000, .cost = 1}, {.cost = 10}};   // ticks for a byte
//     static constexpr allot::plan_access used[] = {{0, 0, true}, {0, 1}, {1, 3, true}, {1, 6}, {0, 9}};
//     static constexpr std::uint64_t durations[] = {100, 100, 900, 100, 100, 5000, 100, 5000, 5000, 100};
//     const allot::timed_problem network{.moves = {{.buffers = {.buffers = tensors}, .memories = chip}, used},
//                                        .durations = durations, .copy_cost = 10, .latency = 50};
//
//     steps      │ 0 │ 1 │  2  │ 3 │ 4 │    5    │ 6 │    7    │    8    │ 9 │     one after the other
//     copies         ┌─────┐                        ┌─────────────┐               at the same time, one after the other
//                    └ out ┘                        └── in ───────┘ step 9 waits for the end of the copy
//
// A step begins when the step before it and the copies that it needs have ended. It takes its duration, or the time of
// its accesses if that is longer. An access takes the size of its buffer times the cost of its memory. A cost is a time
// for each byte here: with a tick of a picosecond, a memory with 100 GB/s costs 10.
//
// One queue runs the copies. A copy begins when the copy before it has ended and the step `begin` could begin, and
// takes `latency`, and its size times `copy_cost`. It does not slow down the accesses of steps. The step `end` waits
// for it. Both pieces of a copy live from the step `begin` to the last step before `end`, or for the step `begin` if
// both are the same. No step in between writes the source or uses the destination.
//
// The rest is as in moves_problem.hpp: contents, homes, and buffers with several lifetimes.
//
// When to use: as the input of `plan_timed` and `validate_timed`, if the durations of the steps are known.
// When not to use: durations are unknown, or copies and steps do not run at the same time (`moves_problem`).
//
// Complexity: plain data. The check of a problem is that of `moves_problem`, and O(steps).
// Memory: views in a problem. `timed_plan` stores its pieces and copies on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/moves_problem.hpp>

namespace allot {
inline namespace v1 {

/// A planning problem with several memories, whose copies run at the same time as steps.
struct timed_problem {
    moves_problem moves;  ///< Buffers, memories and accesses. A cost is the time of a byte, in ticks.
    std::span<const std::uint64_t> durations;  ///< The time of each step without accesses, from step 0, in ticks.
    std::uint64_t copy_cost = 0;               ///< The time of a copied byte, in ticks.
    std::uint64_t latency = 0;                 ///< The time of a copy without bytes, in ticks.
};

/// A copy of all bytes of a buffer, which runs at the same time as steps.
struct timed_copy {
    std::size_t buffer = 0;  ///< Index of the buffer.
    std::size_t from = 0;    ///< Index of the source piece.
    std::size_t to = 0;      ///< Index of the destination piece.
    std::int64_t begin = 0;  ///< The first step that the copy may overlap.
    std::int64_t end = 0;    ///< The step that waits for the copy: `begin` or later.
    /// Compares all members.
    friend constexpr bool operator==(const timed_copy&, const timed_copy&) = default;
};

/// Properties of a timed plan, without its pieces and copies. A plan that is `infeasible` or `out_of_budget` has
/// unplaced buffers, whose accesses take no time, and no copies.
struct timed_summary {
    plan_status status = plan_status::optimal;  ///< Quality of the plan.
    std::uint64_t elapsed = 0;                  ///< Time from the first step to the end of the last step and copy.
    std::uint64_t bound = 0;                    ///< Lower bound on the elapsed time of every plan.
    /// Elapsed time of the plan without copies. Accesses of its unplaced buffers take no time, even if this plan places
    /// them.
    std::uint64_t whole_elapsed = 0;
    std::uint64_t waited = 0;    ///< Time that steps waited for copies.
    std::uint64_t copied = 0;    ///< Bytes that all copies transfer.
    std::uint64_t effort = 0;    ///< Spent effort, in the unit of `memories_options::effort`.
    std::uint64_t unplaced = 0;  ///< Number of unplaced buffers.
    std::size_t which = 0;       ///< A buffer that fits none of its allowed memories, or the number of buffers.
    /// Compares all members.
    friend constexpr bool operator==(const timed_summary&, const timed_summary&) = default;
};

/// A timed plan that stores its pieces and copies on the heap.
struct timed_plan : timed_summary {
    std::vector<plan_piece> pieces;     ///< Ordered by buffer. The first piece of a buffer holds its first contents.
    std::vector<timed_copy> copies;     ///< In the order of the queue.
    std::vector<std::size_t> piece_of;  ///< Index of the piece that each access uses.
    std::vector<memory_needs> needs;    ///< Requirements on each memory.
};

namespace detail {

/// Returns the first error of `problem`, or an error with the reason `none` if the problem is valid.
[[nodiscard]] constexpr plan_error check_timed(const timed_problem& problem) noexcept {
    if (const plan_error error = check_moves(problem.moves); error.reason != plan_refusal::none) return error;
    constexpr std::uint64_t most = std::uint64_t{1} << 58U;
    std::uint64_t sum = 0;
    const auto add = [&](std::uint64_t bytes, std::uint64_t cost) {
        if (cost != 0 && bytes > (most - sum) / cost) return false;
        sum += bytes * cost;
        return true;
    };
    for (std::size_t s = 0; s != problem.durations.size(); ++s)
        if (!add(problem.durations[s], 1)) return {plan_refusal::too_large, s};
    const std::span<const plan_memory> memories = problem.moves.memories.memories;
    for (std::size_t a = 0; a != problem.moves.accesses.size(); ++a) {
        const plan_access& access = problem.moves.accesses[a];
        if (access.step < 0 || static_cast<std::uint64_t>(access.step) >= problem.durations.size())
            return {plan_refusal::outside_lifetime, a};
        const std::uint64_t size = problem.moves.memories.buffers.buffers[access.buffer].size;
        if (!add(size, memories.back().cost) || !add(size, problem.copy_cost) || !add(size, problem.copy_cost) ||
            !add(2, problem.latency))
            return {plan_refusal::too_large, access.buffer};
    }
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
