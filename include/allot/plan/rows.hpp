// SPDX-License-Identifier: BSL-1.0
// rows: plans several memories when a buffer may be divided by rows: the first ones in one memory, the others in a
// later one.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 640, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1024}, {.cost = 1}};
//     static constexpr std::uint64_t rows[] = {10, 12};               // of 64 bytes
//     const auto made = allot::plan_rows({{.buffers = {.buffers = tensors}, .memories = chip}, rows});
//     if (!made) return complain(made.error());
//     const allot::row_split& split = made->splits[0];                // 6 rows of buffer 1 in memory 0, 6 in memory 1
//     print(made->places[split.buffer].offset, split.rows, split.rest.offset);
//     return made->cost == 384 && made->whole_cost == 640 ? 0 : 1;
//
//     memory 0   ┌───────────┬──────┐           Without rows, a buffer that does not fit the rest of the fast memory
//                │     a     │ b0-5 │           leaves holes there. With rows, it fills them. The cost counts the bytes
//     memory 1   └───────────┼──────┤           of each part.
//                            │ b6-11│
//                            └──────┘──► time
//
// Quality: the plan never has more unplaced buffers than that of `plan_memories` with the same options, and with the
// same number it never costs more. `bound` is a proved lower bound on the cost: it ignores offsets, and lets any number
// of memories share the bytes of a buffer. If the plan is `infeasible`, it counts only placed buffers. `optimal` and
// `infeasible` are proofs. The result is deterministic.
//
// When to use: kernels accept a tensor in two pieces, such as rows in VTCM and rows in DDR.
// When not to use: kernels need whole buffers (memories.hpp), or each row has a pointer of its own (pages.hpp).
//
// Complexity: `plan_memories`, and about as much effort again.
// Memory: `space_of_rows`: a few hundred bytes a buffer, plus the workspace of `plan_memories`.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/row_planner.hpp>
#include <allot/plan/rows_problem.hpp>

namespace allot {
inline namespace v1 {

/// Returns the size of the workspace that `plan_rows_into` needs.
[[nodiscard]] constexpr plan_space space_of_rows(const rows_problem& problem,
                                                 const memories_options& options = {}) noexcept {
    return detail::row_planner<unwatched>::space(problem, options);
}

/// Plans without a heap. Writes one element for each buffer to `places` and one for each memory to `needs`, and the
/// divided buffers to `splits`, which has room for one element for each buffer.
///
/// The planner calls `watch(memories_progress)` from time to time after it has a first plan. If `watch` returns true,
/// the planner stops and returns the best plan so far. Fails under the same conditions as `plan_memories_into`. Also
/// fails if there is not one number of rows for each buffer (`not_for_each_buffer`), and if the rows of a buffer do not
/// divide its size (`indivisible`).
template <class Watch = unwatched>
[[nodiscard]] result<rows_summary, plan_error> plan_rows_into(const rows_problem& problem,
                                                              std::span<memory_place> places,
                                                              std::span<memory_needs> needs,
                                                              std::span<row_split> splits, plan_workspace workspace,
                                                              const memories_options& options = {},
                                                              Watch watch = {}) noexcept {
    using answer = result<rows_summary, plan_error>;
    const std::size_t all = problem.memories.buffers.buffers.size();
    if (const plan_error error = detail::check_rows(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!workspace.holds(space_of_rows(problem, options)) || places.size() < all || splits.size() < all ||
        needs.size() < problem.memories.memories.size())
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::row_planner<Watch> planner{problem, options, watch, places, needs, workspace};
    if (const plan_error error = planner.run(); error.reason != plan_refusal::none) return answer::failure(error);
    return planner.write(splits);
}

/// Returns a plan for `problem`, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as `plan_rows_into`.
template <class Watch = unwatched>
[[nodiscard]] result<rows_plan, plan_error> plan_rows(const rows_problem& problem, const memories_options& options = {},
                                                      Watch watch = {}) {
    using answer = result<rows_plan, plan_error>;
    if (const plan_error error = detail::check_rows(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_rows(problem, options)};
    rows_plan made;
    made.places.resize(problem.memories.buffers.buffers.size());
    made.needs.resize(problem.memories.memories.size());
    made.splits.resize(made.places.size());
    const auto summary =
        plan_rows_into(problem, made.places, made.needs, made.splits, workspace, options, std::move(watch));
    if (!summary) return answer::failure(summary.error());
    static_cast<memories_summary&>(made) = *summary;
    made.splits.resize(summary->divided);
    made.whole_cost = summary->whole_cost;
    made.whole_unplaced = summary->whole_unplaced;
    return made;
}

}  // namespace v1
}  // namespace allot
