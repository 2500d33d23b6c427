// SPDX-License-Identifier: BSL-1.0
// rows_problem: the input and the result of planning with several memories when a buffer may be divided by rows.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 640, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1024}, {.cost = 1}};
//     static constexpr std::uint64_t rows[] = {10, 12};               // of 64 bytes
//     const allot::rows_problem network{{.buffers = {.buffers = tensors}, .memories = chip}, rows};
//
//     memory 0   ┌───────────┬──────┐           A divided buffer has its first rows in one memory, and the others in a
//                │     a     │ b0-5 │           later one, each part in consecutive bytes. The planner chooses the
//     memory 1   └───────────┼──────┤           number of rows in the first part. Both live as long as the buffer.
//                            │ b6-11│
//                            └──────┘──► time
//
// A part costs its bytes times the uses of the buffer times the cost of its memory. Each part has the alignment of the
// buffer and of its memory. Buffers that are fixed, `together`, `apart` or `separate` are not divided.
//
// When to use: as the input of `plan_rows`, for kernels that accept a tensor in two pieces, such as rows in VTCM and
// rows in DDR.
// When not to use: kernels need whole buffers (`memories_problem`), or rows may lie at any positions (`plan_pages`).
//
// Complexity: plain data. The check of a problem is O(n + memories), plus the cost of `check_problem`.
// Memory: views in a problem. `rows_plan` stores its places on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {

/// A planning problem with several memories, among which buffers may be divided by rows.
struct rows_problem {
    memories_problem memories;  ///< Buffers and memories.
    /// Number of rows of each buffer, which divides its size. 0 and 1: the buffer is not divided. Empty: none is.
    std::span<const std::uint64_t> rows{};
};

/// A buffer whose rows lie in two memories.
struct row_split {
    std::size_t buffer = 0;  ///< Index of the buffer.
    std::uint64_t rows = 0;  ///< Number of its first rows, which lie at the place of the buffer.
    memory_place rest{};     ///< Place of the other rows, in a later memory.
    /// Compares all members.
    friend constexpr bool operator==(const row_split&, const row_split&) = default;
};

/// Properties of a plan in which buffers may be divided, without its places.
struct rows_summary : memories_summary {
    std::size_t divided = 0;  ///< Number of divided buffers.
    /// Cost of the plan without divided buffers. Its unplaced buffers do not count, even if this plan places them.
    std::uint64_t whole_cost = 0;
    std::uint64_t whole_unplaced = 0;  ///< Number of unplaced buffers of that plan.
    /// Compares all members.
    friend constexpr bool operator==(const rows_summary&, const rows_summary&) = default;
};

/// A plan in which buffers may be divided. `size` in the place of a divided buffer is the size of its first rows, and
/// `in` has the place of these only. The place of the other rows is in `splits`.
struct rows_plan : memories_plan {
    std::vector<row_split> splits;  ///< The divided buffers, in the order of buffers.
    /// Cost of the plan without divided buffers. Its unplaced buffers do not count, even if this plan places them.
    std::uint64_t whole_cost = 0;
    std::uint64_t whole_unplaced = 0;  ///< Number of unplaced buffers of that plan.
};

namespace detail {

/// Returns the first error of `problem`, or an error with the reason `none` if the problem is valid.
[[nodiscard]] constexpr plan_error check_rows(const rows_problem& problem) noexcept {
    if (const plan_error error = check_memories(problem.memories); error.reason != plan_refusal::none) return error;
    const std::span<const plan_buffer> buffers = problem.memories.buffers.buffers;
    if (problem.rows.empty()) return {};
    if (problem.rows.size() != buffers.size()) return {plan_refusal::not_for_each_buffer, problem.rows.size()};
    for (std::size_t i = 0; i != buffers.size(); ++i)
        if (problem.rows[i] != 0 && buffers[i].size % problem.rows[i] != 0) return {plan_refusal::indivisible, i};
    return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
