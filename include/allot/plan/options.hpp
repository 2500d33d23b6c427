// SPDX-License-Identifier: BSL-1.0
// options: the options of the planners, with their defaults.
//
//     const allot::plan_options fits{.capacity = 64 * 1024, .effort = 2'000'000};   // one memory, thorough
//     const allot::memories_options quick{.effort = 0};                     // several memories, one simple plan
//
//     options              default of               defaults in constant expressions
//     plan_options         plan, plan_into, replan  at_compile_time
//     memories_options     plan_memories,           memories_at_compile_time
//                          plan_moves
//     guide_options        make_guide
//
// `effort` limits the time. `remember` and `search_at_most` limit the memory of the search. The result does not depend
// on the speed of the machine.
//
// When to use: to set a capacity, or to trade the time of planning for the quality of the plan.
// When not to use: the defaults suit most problems with up to a few thousand buffers.
//
// Complexity: plain data.
// Memory: 16 bytes for each failed search state to `remember`, in the workspace of the planner.
// Thread safety: any number of concurrent readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {

/// Options of `plan`, `plan_into` and `replan`.
struct plan_options {
    /// Size of the memory in bytes. The default is no limit: the planner minimizes the peak.
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
    /// Limit on the number of buffer placements, summed over all attempts. The default takes up to a few seconds.
    /// 0 makes one greedy plan.
    std::uint64_t effort = 500'000;
    /// Largest number of buffers that are searched. Larger problems are planned by the greedy algorithm alone.
    std::size_t search_at_most = 2048;
    /// Number of failed search states to remember, rounded down to a power of two.
    std::size_t remember = 1 << 16;
};

/// Default options of `plan` in constant expressions: one greedy plan, which stays within the default limits of
/// compilers.
inline constexpr plan_options at_compile_time{.effort = 0, .remember = 0};

/// Options of `plan_memories` and `plan_moves`.
struct memories_options {
    /// Limit on the number of buffer placements, summed over all attempts. The default takes about a quarter of a
    /// second. 0 makes one simple plan. If spilled buffers are searched (`search_at_most`), two steps of that search
    /// count as one placement, because they take about that time. `plan_memories` spends at most a tenth more than the
    /// limit, or the effort of the simple plan if that is higher. `plan_timed` spends at most a tenth more than the sum
    /// of both. The plans state the spent effort. The lower bound takes time in proportion to the limit, and does not
    /// count.
    std::uint64_t effort = 150'000;
    std::size_t search_at_most = 2048;  ///< Largest number of buffers that are packed by search.
    std::size_t remember = 1 << 10;     ///< Number of failed search states to remember, rounded down to a power of two.
};

/// Default options of `plan_memories` in constant expressions: one simple plan, which stays within the default limits
/// of compilers.
inline constexpr memories_options memories_at_compile_time{.effort = 0, .remember = 0};

/// Options of `make_guide`.
struct guide_options {
    /// Effort of `plan` for the layout in which all blocks are pinned.
    plan_options plan{};
    /// The share of requests, in percent, that differ from pass to pass. 0: all passes are equal.
    unsigned changes = 0;
    /// Number of passes that are played to find blocks to pin.
    std::size_t trials = 20'000;
    /// Number of passes with changed requests that select the layout.
    std::size_t rehearsals = 100;
};

}  // namespace v1
}  // namespace allot
