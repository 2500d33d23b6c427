// SPDX-License-Identifier: BSL-1.0
// mixed: plans buffers in pages, whose positions are arbitrary, beside contiguous buffers in one memory.
//
//     const std::size_t caches[] = {1, 2};                                            // buffers 1 and 2 lie in pages
//     auto made = allot::plan_mixed({.buffers = {.buffers = buffers}, .page_size = 4096, .paged = caches});
//     if (!made) …                                            // the problem is invalid: made.error()
//     made->places[0].offset;                                 // of a contiguous buffer
//     made->pages_of(1);                                      // page numbers: page p begins at byte p × 4096
//     made->peak; made->bound; made->status;
//
//     bytes  ├────────┬───┐         All constraints are possible: fixed, reserved, together, apart, and several
//       ▲    │ b      │ b │         lifetimes. The header mixed_problem.hpp defines them for pages. A page with bytes
//       │    ├────┬───┴───┤         of a contiguous buffer is available before and after that buffer's life.
//       │    │ a  │ c     │
//       └────┴────┴───────┴──► time
//
// No plan is lower than the most live bytes, where buffers in pages count as whole pages. The planner plans the
// contiguous buffers, and chooses pages beside them in a sweep over time. If the result is above the bound, it plans
// contiguous buffers and pages together, at last page by page. Then `optimal` and `infeasible` may be proved by search.
// Without contiguous buffers and constraints, the plan is always at the bound. If the page size is not a power of two,
// the search only proves bounds.
//
// Without a capacity, the planner minimizes the peak within the effort. With a capacity, it stops at the first plan
// that fits. The result is deterministic: the same input yields the same plan on every machine.
//
// When to use: some buffers are accessed through a page table or a table of pointers, such as key/value caches and
// tensors in rows, and others must be contiguous, such as weights and the operands of a library.
// When not to use: all buffers are contiguous (plan.hpp), or all are in pages without constraints (pages.hpp, which
// needs no heap).
//
// Complexity: a few greedy plans, O(n log n + pages) plus pairs of buffers in pages and contiguous buffers that live at
// the same time, and the work that `effort` allows, in total about twice the effort of `plan`.
// Memory: on the heap: about 200 bytes a buffer and a page.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/mixed_planner.hpp>
#include <allot/plan/mixed_problem.hpp>

namespace allot {
inline namespace v1 {

/// Returns a plan for `problem`, with offsets of contiguous buffers and pages of the others.
///
/// The planner calls `watch(plan_progress)` from time to time after it has a first plan. If `watch` returns true, the
/// planner stops and returns the best plan so far. Throws the exceptions of the heap, such as `std::bad_alloc`. Fails
/// under the same conditions as `plan`. Also fails with
/// - `unsupported` if the page size is 0 or not a multiple of the alignment of a buffer in pages, or not a power of two
///   although a buffer in pages is together with a contiguous one that is not fixed,
/// - `no_such_buffer` if `paged` names a buffer that does not exist,
/// - `fixed_misaligned` if the offset of a fixed buffer in pages is not a multiple of the page size,
/// - `too_large` if page numbers exceed 32 bits.
template <class Watch = unwatched>
[[nodiscard]] result<mixed_plan, plan_error> plan_mixed(const mixed_problem& problem, const plan_options& options = {},
                                                        Watch watch = {}) {
    using answer = result<mixed_plan, plan_error>;
    detail::mixed_planner<Watch, mixed_problem> planner{problem, options, watch};
    if (const plan_error error = planner.run(); error.reason != plan_refusal::none) return answer::failure(error);
    return std::move(planner.best());
}

}  // namespace v1
}  // namespace allot
