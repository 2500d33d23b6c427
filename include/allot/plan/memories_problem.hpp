// SPDX-License-Identifier: BSL-1.0
// memories_problem: the input and the result of planning with several memories, where each buffer lives in one of them.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 512, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1024, .align = 128}, {.cost = 1}};
//     static constexpr std::uint64_t times[] = {10, 1};
//     const allot::memories_problem network{.buffers = {.buffers = tensors}, .memories = chip, .uses = times};
//
//     memory 0   ┌─────┬────────┐           fast and small, cheapest       Memories are in ascending order of cost. A
//                │  a  │   c    │                                         place is a memory and an offset.
//     memory 1   └─────┴───┬────┴──┐        slower
//                          │   b   │
//     nowhere      d       └───────┘        an unplaced buffer: no memory has room for it
//
// A buffer costs `memory.cost × size × uses` and stays in one memory during all of its lifetimes. Two buffers that are
// `together` share memory and offset. Each keeps its own size and lifetime. Two buffers that are `apart` share no byte
// if they live in one memory. A fixed buffer must be allowed in exactly one memory, and has its fixed offset there.
//
// Banks: a memory with one port delivers one operand at a time. Describe each bank as a memory of the same cost, and
// list in `separate` the buffers that a step accesses at the same time, such as both inputs of a multiplication.
//
//     bank 0       ┌─────┐  ┌─────┐
//                  │  a  │  │  c  │              separate: {a, b}, {b, c}
//     bank 1       └───┬─┴──┴┬────┘              a and c may be in one bank
//                      │  b  │
//
// Sizes, capacities and offsets are in bytes. A problem consists of views: the caller owns all arrays.
//
// When to use: as the input of `plan_memories` (memories.hpp), and as a part of `moves_problem`.
// When not to use: there is one memory (`plan_problem`).
//
// Complexity: plain data. The check of a problem is O(n + memories), plus the cost of `check_problem`.
// Memory: views in a problem. `memories_plan` stores its places on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/summary.hpp>

#include <limits>
#include <vector>

namespace allot {
inline namespace v1 {

/// A memory for buffers.
struct plan_memory {
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();  ///< Size in bytes. The default is no limit.
    std::uint64_t align = 1;  ///< Every offset in this memory is a multiple of this number of bytes, a power of two.
    std::uint64_t cost = 0;   ///< Cost of one use of one byte.
};

/// A planning problem with several memories.
struct memories_problem {
    /// Buffers and constraints. Reserved ranges are not supported: use fixed buffers that live all the time instead.
    plan_problem buffers{};
    std::span<const plan_memory> memories;     ///< 1 to 64 memories in ascending order of cost.
    std::span<const std::uint64_t> uses{};     ///< Number of uses of each buffer. Empty: one use each.
    std::span<const std::uint64_t> allowed{};  ///< Allowed memories of each buffer: bit m is memory m. Empty: all.
    /// Pairs of buffers in different memories, even if they never live at the same time. A pair in which a buffer has
    /// no bytes has no effect.
    std::span<const plan_pair> separate{};
};

/// Place of a buffer in a plan with several memories.
struct memory_place {
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};  ///< Value of `memory` for an unplaced buffer.
    std::uint32_t memory = nowhere;                              ///< Index of the memory, or `nowhere`.
    std::uint64_t offset = 0;                                    ///< Offset in the memory, in bytes.
    std::uint64_t size = 0;                                      ///< Size of the buffer, in bytes.
    /// Compares all members.
    friend constexpr bool operator==(memory_place, memory_place) = default;
};

/// Requirements of a plan on one memory.
struct memory_needs {
    std::uint64_t peak = 0;   ///< Highest end of a buffer: the bytes that the memory needs.
    std::uint64_t align = 1;  ///< Required alignment of the memory's base, in bytes.
    /// Compares both members.
    friend constexpr bool operator==(memory_needs, memory_needs) = default;
};

/// Properties of a plan with several memories, without its places. A plan that is `infeasible` or `out_of_budget` has
/// unplaced buffers, which do not count in `cost`.
struct memories_summary {
    plan_status status = plan_status::optimal;  ///< Quality of the plan.
    std::uint64_t cost = 0;                     ///< Sum of the costs of all placed buffers.
    /// Lower bound on the cost of every plan that places all buffers. If the status is `infeasible`: of every plan that
    /// places the same buffers.
    std::uint64_t bound = 0;
    std::uint64_t spilled = 0;   ///< Bytes of buffers that live in a memory other than the first.
    std::uint64_t unplaced = 0;  ///< Number of unplaced buffers.
    /// The first buffer that fits none of its allowed memories, or none of those that `separate` leaves to it: its
    /// partners may have no other memory. If there is no such buffer, the number of buffers. In that case, an
    /// infeasible plan has one of these causes:
    /// - The bytes that live at `step` exceed all memories together, or the one memory that all of them must live in.
    /// - The pairs of `separate` exclude each choice of memories.
    /// - Each choice of memories was tried.
    std::size_t which = 0;
    std::int64_t step = 0;     ///< Step at which the most bytes are live.
    std::uint64_t effort = 0;  ///< Spent effort, in the unit of `memories_options::effort`.
    /// Compares all members.
    friend constexpr bool operator==(const memories_summary&, const memories_summary&) = default;
};

/// The part of a plan that concerns one memory, for a planned arena in it.
struct memory_layout {
    std::vector<plan_place> places;  ///< Place of each buffer. Buffers of other memories have the size 0.
    std::uint64_t peak = 0;          ///< Bytes that the memory needs.
    std::uint64_t align = 1;         ///< Required alignment of the memory's base, in bytes.
};

/// A plan with several memories that stores its places on the heap.
struct memories_plan : memories_summary {
    std::vector<memory_place> places;  ///< Place of each buffer.
    std::vector<memory_needs> needs;   ///< Requirements on each memory.

    /// Returns the layout of one memory, which `planned` accepts. Precondition: `memory < needs.size()`.
    [[nodiscard]] memory_layout in(std::size_t memory) const {
        memory_layout here{std::vector<plan_place>(places.size()), needs[memory].peak, needs[memory].align};
        for (std::size_t i = 0; i != places.size(); ++i)
            if (places[i].memory == memory) here.places[i] = {places[i].offset, places[i].size};
        return here;
    }
};

/// Intermediate state that the planner passes to a progress callback.
struct memories_progress {
    std::uint64_t cost = 0;  ///< Cost of the best plan so far.
    /// Number of unplaced buffers of the best plan so far. Buffers that are together may count as one.
    std::uint64_t unplaced = 0;
    std::uint64_t bound = 0;  ///< Lower bound on the cost of every plan.
};

namespace detail {

/// Returns the first error of `problem`, or an error with the reason `none` if the problem is valid.
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
    if (problem.separate.size() > std::size_t{1} << 29) return {plan_refusal::too_many, 0};
    for (const plan_pair& pair : problem.separate)
        for (const std::size_t buffer : {pair.first, pair.second}) {
            if (buffer >= count) return {plan_refusal::no_such_buffer, buffer};
            if (pair.first == pair.second) return {plan_refusal::contradiction, buffer};
        }
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
