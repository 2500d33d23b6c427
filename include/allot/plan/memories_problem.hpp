// SPDX-License-Identifier: BSL-1.0
// memories_problem: several memories, and buffers that live in one of them each: what a planner is asked, and what it
// answers.
//
//     memory 0   ┌─────┬────────┐           fast and small, costs least     memories in order of what a byte costs in
//                │  a  │   c    │                                          them; a place is a memory and an offset
//     memory 1   └─────┴───┬────┴──┐        slower
//                          │   b   │
//     nowhere      d       └───────┘        a buffer that no memory had room for
//
// A buffer costs `memory.cost × size × uses`, and lives in one memory, all of its lifetimes. Buffers that are together
// share memory and offset, each with its own size and life; two that are apart, and live in one memory, share no byte.
// A fixed buffer lives in the one memory that `allowed` lets it, at its offset there.
//
// Sizes, capacities and offsets are bytes. What is asked is a view of arrays of the caller's. Complexity of the look at
// a problem: O(n + memories), and what `check_problem` takes.
#pragma once

#include <allot/plan/plan.hpp>

namespace allot {
inline namespace v1 {

/// Bytes that buffers can live in, at offsets that are multiples of `align`.
struct plan_memory {
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t align = 1;
    std::uint64_t cost = 0;  // of a byte that lives there, and each use of it
};

struct memories_problem {
    plan_problem buffers;  // without reserved ranges: those are fixed buffers that live all the time
    std::span<const plan_memory> memories;       // at most 64, none cheaper than one before
    std::span<const std::uint64_t> uses{};       // of each buffer; empty: one
    std::span<const std::uint64_t> allowed{};    // for each buffer: bit m for memory m; empty: all
};

/// Where a plan puts a buffer.
struct memory_place {
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    std::uint32_t memory = nowhere;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    friend constexpr bool operator==(memory_place, memory_place) = default;
};

/// What a plan needs of a memory.
struct memory_needs {
    std::uint64_t peak = 0;   // the highest end of a buffer
    std::uint64_t align = 1;  // what the memory's base has to be a multiple of
    friend constexpr bool operator==(memory_needs, memory_needs) = default;
};

/// A plan, but for its places. Where it is infeasible or out of budget, some buffers are nowhere: they cost nothing
/// here.
struct memories_summary {
    plan_status status = plan_status::optimal;
    std::uint64_t cost = 0;
    std::uint64_t bound = 0;     // no plan costs less
    std::uint64_t spilled = 0;   // bytes that are not in the first memory
    std::uint64_t unplaced = 0;  // buffers that are nowhere
    std::size_t which = 0;       // infeasible: a buffer that fits no memory that is allowed; or, where all do, how many
                                 // there are: more is live at once, at `step`, than all memories hold, or than one does
                                 // that all of it must live in; or each choice of memories was tried
    std::int64_t step = 0;       // where most bytes are live
    friend constexpr bool operator==(const memories_summary&, const memories_summary&) = default;
};

/// A plan on the heap.
struct memories_plan : memories_summary {
    std::vector<memory_place> places;
    std::vector<memory_needs> needs;  // of each memory
};

/// What is known while a plan is made.
struct memories_progress {
    std::uint64_t cost = 0;      // of the best plan so far
    std::uint64_t unplaced = 0;  // its buffers that are nowhere
    std::uint64_t bound = 0;     // no plan costs less
};

namespace detail {

[[nodiscard]] constexpr plan_error check_memories(const memories_problem& problem) noexcept {
    const std::size_t count = problem.buffers.buffers.size(), memories = problem.memories.size();
    if (const plan_error error = check_problem(problem.buffers); error.reason != plan_refusal::none) return error;
    if (!problem.buffers.reserved.empty()) return {plan_refusal::unsupported, 0};
    if (memories == 0 || memories > 64) return {plan_refusal::not_a_memory, memories};
    for (std::size_t m = 0; m != memories; ++m)
        if (!is_alignment(problem.memories[m].align) ||
            (m != 0 && problem.memories[m].cost < problem.memories[m - 1].cost))
            return {plan_refusal::not_a_memory, m};
    if (!problem.uses.empty() && problem.uses.size() != count)
        return {plan_refusal::not_for_each_buffer, problem.uses.size()};
    if (!problem.allowed.empty() && problem.allowed.size() != count)
        return {plan_refusal::not_for_each_buffer, problem.allowed.size()};
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
