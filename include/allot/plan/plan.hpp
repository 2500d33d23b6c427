// SPDX-License-Identifier: BSL-1.0
// plan: computes a memory layout, that is an offset for each buffer, before the program runs.
//
//     allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}, .align = 64}, …};
//     auto made = allot::plan({.buffers = buffers}, {.capacity = 64_KiB});
//     if (!made) …                                            // the problem is invalid: made.error()
//     made->places[1].offset; made->peak; made->bound; made->status;
//     allot::arena<allot::host::heap, allot::planned<>> memory{{}, *made};        // planned.hpp
//
//     static constexpr allot::plan_buffer known[] = {…};
//     static constexpr auto layout = allot::plan<known>();    // in a constant expression: no code at run time
//
//     problem ──► merge ──► bound ──► greedy ──► search         merge     buffers that share an offset become one
//                             │          │          │           bound     a lower bound on the peak of every plan
//                             └── equal: optimal ───┘           greedy    good plans, fast, for any number of buffers
//                                                               search    lower plans, or a proof that none exists
//
// Without a capacity, the planner minimizes the peak within the effort. With a capacity, it stops at the first plan
// that fits. If it finds no such plan, it returns the lowest plan it found, and the status reports that this plan does
// not fit.
//
// The result is deterministic: the same input yields the same plan on every machine, at run time and in constant
// expressions.
//
// When to use: the sizes and lifetimes of all buffers are known in advance, and all buffers live in one memory.
// Examples are the tensors of a neural network and the static memory of firmware.
// When not to use: sizes or lifetimes depend on data (use an arena with best_fit), there are several memories (use
// memories.hpp or moves.hpp), or buffers can be split into pages (use mixed.hpp, or for all buffers pages.hpp, which is
// always optimal).
//
// Complexity: O(n log n) for the first plan, plus the work that `effort` allows.
// Memory: `space_of_plan`: about 100 bytes a buffer, plus n² / 8 bytes if n is at most `search_at_most`. If n is at
// most 512 and `effort` is at least 4096 n, plus 4 n² bytes.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/peak_planner.hpp>
#include <allot/plan/memory_plan.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/summary.hpp>

namespace allot {
inline namespace v1 {

/// Returns the size of the workspace that `plan_into` needs.
[[nodiscard]] constexpr plan_space space_of_plan(const plan_problem& problem, const plan_options& options) noexcept {
    plan_space work = max(bound_space(problem), detail::greedy_space(problem));
    if (detail::is_searched(problem, options))
        work = max(work, detail::search_counts::of(problem, options.remember).space());
    if (detail::is_repaired(problem, options)) work = max(work, detail::conflict_search<>::space(problem));
    plan_space kept = detail::merge_space(problem);
    kept.u64 += 2 * problem.buffers.size();
    return kept + work;
}

/// Plans without a heap and writes one place for each buffer to `places`.
///
/// The planner calls `watch(plan_progress)` from time to time after it has a first plan. If `watch` returns true, the
/// planner stops and returns the best plan so far. Fails if `check_problem` rejects the problem, if `places` or
/// `workspace` is too small, if lifetimes of one buffer overlap, if constraints contradict each other, or if the sizes
/// exceed 64 bits.
template <class Watch = unwatched>
[[nodiscard]] constexpr result<plan_summary, plan_error> plan_into(const plan_problem& problem,
                                                                   std::span<plan_place> places,
                                                                   plan_workspace workspace,
                                                                   const plan_options& options = {},
                                                                   Watch watch = {}) noexcept {
    using answer = result<plan_summary, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!workspace.holds(space_of_plan(problem, options)) || places.size() < problem.buffers.size())
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::plan_sizes sizes;
    const auto merged = detail::merge_together(problem, workspace, sizes);
    if (!merged) return answer::failure(merged.error());
    const auto lowest = detail::cut(workspace.u64, problem.buffers.size());
    const auto trial = detail::cut(workspace.u64, problem.buffers.size());
    const auto bound = bound_of(merged->problem, workspace, sizes);
    if (!bound) return answer::failure(merged->as_given(bound.error()));

    detail::peak_planner planner{merged->problem, sizes, *bound, options, {lowest, trial}, workspace, watch};
    if (const plan_error error =
            planner.run(detail::is_searched(problem, options), detail::is_repaired(problem, options));
        error.reason != plan_refusal::none)
        return answer::failure(merged->as_given(error));
    for (std::size_t i = 0; i != problem.buffers.size(); ++i)
        places[i] = {lowest[(*merged)[i]], problem.buffers[i].size};
    return planner.summary();
}

/// Returns a plan for `problem`, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as `plan_into`.
template <class Watch = unwatched>
[[nodiscard]] result<memory_plan, plan_error> plan(const plan_problem& problem, const plan_options& options = {},
                                                   Watch watch = {}) {
    using answer = result<memory_plan, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_plan(problem, options)};
    memory_plan made;
    made.places.resize(problem.buffers.size());
    const auto summary = plan_into(problem, {made.places.data(), made.places.size()}, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    return made;
}

/// Does not compile: buffers were passed instead of a problem.
template <class Buffers>
    requires(std::convertible_to<const Buffers&, std::span<const plan_buffer>> &&
             !std::convertible_to<Buffers, plan_problem>)
result<memory_plan, plan_error> plan(const Buffers&, const plan_options& = {}) {
    static_assert(!sizeof(Buffers),
                  "allot: plan takes a problem, whose member has the buffers: plan({.buffers = buffers})");
    return result<memory_plan, plan_error>::failure({});
}

/// A plan of `Count` buffers that is computed in a constant expression.
template <std::size_t Count>
struct static_plan : plan_summary {
    std::array<plan_place, Count> places{};  ///< Place of each buffer.
};

namespace detail {

template <const auto& Given>
inline constexpr plan_problem problem_of{.buffers = Given};
template <const auto& Given>
    requires std::same_as<std::remove_cvref_t<decltype(Given)>, plan_problem>
inline constexpr plan_problem problem_of<Given> = Given;

/// Fails to compile unless `Reason` is `none`. The compiler's message shows the reason and a buffer.
template <plan_refusal Reason, std::size_t Buffer>
struct plan_refused {
    static_assert(Reason == plan_refusal::none,
                  "allot: invalid planning problem: fix the buffer that plan_refused<reason, buffer> names");
    static constexpr bool never = true;
};

template <std::size_t Count>
struct static_answer {
    static_plan<Count> plan;
    plan_error error;
};
template <const plan_problem& Problem, plan_options Options>
[[nodiscard]] consteval auto plan_statically() noexcept {
    static_answer<Problem.buffers.size()> made;
    plan_storage<space_of_plan(Problem, Options)> workspace;
    const auto summary = plan_into(Problem, made.plan.places, workspace, Options);
    if (summary) static_cast<plan_summary&>(made.plan) = *summary;
    else made.error = summary.error();
    return made;
}

}  // namespace detail

/// Returns a plan that is computed in a constant expression.
///
/// `Given` is an array of buffers or a `plan_problem` that views such arrays. All of them have static storage duration.
/// The default is one greedy plan. `Options` with an effort search for a lower plan. A plan that exceeds the capacity
/// of `Options` does not compile: `plan_shortfall<N>` in the compiler's message is the number of missing bytes.
template <const auto& Given, plan_options Options = at_compile_time>
[[nodiscard]] consteval auto plan() noexcept {
    constexpr auto made = detail::plan_statically<detail::problem_of<Given>, Options>();
    static_assert(detail::plan_refused<made.error.reason, made.error.which>::never);
    if constexpr (made.error.reason == plan_refusal::none)
        static_assert(
            plan_shortfall<(made.plan.peak > Options.capacity ? made.plan.peak - Options.capacity : 0)>::none);
    return made.plan;
}

}  // namespace v1
}  // namespace allot
