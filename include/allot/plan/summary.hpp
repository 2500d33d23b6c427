// SPDX-License-Identifier: BSL-1.0
// summary: the quality and the properties of a plan, the place of a buffer, and the progress while the planner runs.
//
//     const auto made = allot::plan(problem, {.capacity = 64 * 1024});
//     if (made && made->status == allot::plan_status::infeasible) report(made->bound, made->step);
//     const auto quick = allot::plan(problem, {}, [](const allot::plan_progress& now) { return now.peak < 100'000; });
//
//     status          fits the capacity   proved
//     optimal         yes                 no plan is lower
//     feasible        yes
//     infeasible      no                  no plan fits
//     out_of_budget   no
//     out_of_moves    no                  only of `replan`
//
// When to use: to decide whether a plan is good enough, or to stop a planner early.
// When not to use: to make a plan: plan.hpp.
//
// Complexity: plain data.
// Memory: 40 bytes for a summary.
// Thread safety: any number of concurrent readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace allot {
inline namespace v1 {

/// Place of a buffer in a plan.
struct plan_place {
    std::uint64_t offset = 0;  ///< Offset from the base of the memory, in bytes.
    std::uint64_t size = 0;    ///< Size of the buffer, in bytes.
    /// Compares both members.
    friend constexpr bool operator==(plan_place, plan_place) = default;
};

/// Place in an old plan for a buffer that is new or may move freely: see `replan`.
inline constexpr plan_place no_place{std::numeric_limits<std::uint64_t>::max(), 0};

/// Quality of a plan.
enum class plan_status : unsigned char {
    optimal,        ///< The plan fits the capacity, and no plan is lower.
    feasible,       ///< The plan fits the capacity. A lower plan may exist.
    infeasible,     ///< The plan does not fit, and no plan fits: see `bound` and `step`.
    out_of_budget,  ///< The plan does not fit. Whether another plan fits is unknown.
    out_of_moves,   ///< The plan does not fit. A plan with more moves may fit. Only `replan` returns this status.
};

/// Returns a human-readable description.
[[nodiscard]] constexpr const char* to_string(plan_status status) noexcept {
    switch (status) {
        case plan_status::optimal: return "optimal";
        case plan_status::feasible: return "feasible";
        case plan_status::infeasible: return "infeasible";
        case plan_status::out_of_budget: return "out of budget";
        case plan_status::out_of_moves: return "out of moves";
    }
    return "unknown";
}

/// Intermediate state that the planner passes to a progress callback.
struct plan_progress {
    std::uint64_t peak = 0;   ///< Peak of the lowest plan so far, in bytes.
    std::uint64_t bound = 0;  ///< Lower bound on the peak of every plan, in bytes.
};

/// Default progress callback: ignores the progress and never stops the planner.
struct unwatched {
    /// Returns false: the planner continues.
    template <class Progress>
    [[nodiscard]] constexpr bool operator()(const Progress&) const noexcept {
        return false;
    }
};

/// Properties of a plan, without its places.
struct plan_summary {
    plan_status status = plan_status::optimal;  ///< Quality of the plan.
    std::uint64_t peak = 0;                     ///< Highest end of a buffer: the bytes that the memory needs.
    std::uint64_t align = 1;                    ///< Required alignment of the memory's base, in bytes.
    std::uint64_t bound = 0;                    ///< Lower bound on the peak of every plan, in bytes.
    std::int64_t step = 0;                      ///< Step at which the most bytes are live.
    /// Compares all members.
    friend constexpr bool operator==(const plan_summary&, const plan_summary&) = default;
};

/// Properties of an updated plan, without its places.
struct replan_summary : plan_summary {
    std::size_t moved = 0;  ///< Number of unchanged buffers whose offset differs from the old plan.
    /// Compares all members.
    friend constexpr bool operator==(const replan_summary&, const replan_summary&) = default;
};

}  // namespace v1
}  // namespace allot
