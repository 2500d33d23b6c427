// SPDX-License-Identifier: BSL-1.0
// memory_plan: plans for one memory that store their places on the heap: the results of `plan` and `replan`.
//
//     const allot::memory_plan made = *allot::plan(problem);
//     made.places[1].offset; made.peak; made.status;
//     const allot::memory_replan again = *allot::replan(problem, made.places, 4);
//     again.places[1].offset; again.moved;
//
// When to use: to store a plan, or to pass it to a `planned` arena.
// When not to use: without a heap. `plan_into` and `replan_into` write places to an array of the caller.
//
// Complexity: plain data.
// Memory: 16 bytes a buffer, on the heap.
// Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/planned.hpp>
#include <allot/plan/summary.hpp>

#include <cstddef>
#include <vector>

namespace allot {
inline namespace v1 {

/// A plan that stores its places on the heap.
struct memory_plan : plan_summary {
    std::vector<plan_place> places;  ///< Place of each buffer, in the order of `plan_problem::buffers`.
};

/// An updated plan that stores its places on the heap.
struct memory_replan : memory_plan {
    std::size_t moved = 0;  ///< Number of unchanged buffers whose offset differs from the old plan.
};

}  // namespace v1
}  // namespace allot
