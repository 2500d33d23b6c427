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
// spill.hpp or moves.hpp), or all buffers can be split into pages (use pages.hpp, which is always optimal).
//
// Complexity: O(n log n) for the first plan, plus the work that `effort` allows.
// Memory: `space_of_plan`: about 100 bytes a buffer, plus n² / 8 bytes if n is at most `search_at_most`.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/search.hpp>
#include <allot/plan/planned.hpp>

#include <vector>

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
    /// Number of failed search states to remember: 0 or a power of two.
    std::size_t remember = 1 << 16;
};

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

namespace detail {

[[nodiscard]] constexpr bool is_searched(const plan_problem& problem, const plan_options& options) noexcept {
    return problem.buffers.size() <= options.search_at_most && options.effort != 0;
}

}  // namespace detail

/// Returns the size of the workspace that `plan_into` needs.
[[nodiscard]] constexpr plan_space space_of_plan(const plan_problem& problem, const plan_options& options) noexcept {
    plan_space work = max(bound_space(problem), detail::greedy_space(problem));
    if (detail::is_searched(problem, options)) {
        const detail::search_counts counts = detail::search_counts::of(problem, options.remember);
        work = max(work, plan_space{.words = counts.narrow(), .longs = counts.wide()});
    }
    plan_space kept = detail::merge_space(problem);
    kept.longs += 2 * problem.buffers.size();
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
    const std::size_t all = problem.buffers.size();
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!workspace.holds(space_of_plan(problem, options)) || places.size() < all)
        return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::plan_sizes sizes;
    const auto merged = detail::merge_together(problem, workspace, sizes);
    if (!merged) return answer::failure(merged.error());
    const plan_problem& work = merged->problem;
    const std::size_t count = work.buffers.size();
    const std::span<std::uint64_t> lowest{workspace.cut_longs(all), count};
    const std::span<std::uint64_t> trial{workspace.cut_longs(all), count};

    const auto bound = bound_of(work, workspace, sizes);
    if (!bound) return answer::failure(merged->as_given(bound.error()));
    plan_summary made;
    made.bound = bound->bytes;
    made.step = bound->step;
    for (const plan_buffer& buffer : work.buffers) made.align = std::max(made.align, buffer.align);

    // With a capacity, the first plan that fits is the goal.
    const bool lowest_wanted = options.capacity == plan_options{}.capacity;
    const auto goal = [&] { return lowest_wanted ? made.bound : std::max(options.capacity, made.bound); };
    bool stopped = false;
    std::uint64_t peak = std::numeric_limits<std::uint64_t>::max(), spent = 0;
    const auto stop = [&] { return stopped = stopped || watch(plan_progress{peak, made.bound}); };
    const auto may_go_on = [&] { return peak > goal() && spent < options.effort && !stopped; };
    const auto keep_lower = [&](std::uint64_t height) {
        if (height >= peak) return;
        for (std::size_t i = 0; i != count; ++i) lowest[i] = trial[i];
        peak = height;
    };
    const auto try_greedy = [&](std::uint64_t placements) {
        plan_bound enough = *bound;
        enough.bytes = goal();
        const auto found = detail::greedy_plan(work, enough, trial, workspace, {placements}, stop, sizes);
        if (found) keep_lower(found->height);
        spent += placements;
        return found ? plan_error{} : found.error();
    };
    // Searches several heights in turn. The height that is easiest to reach is unknown, and is often the lowest one.
    // Therefore the goal gets the full patience and each other height a quarter of it. Each plan or proof narrows the
    // range. After a proof, the search leaps ahead of the bound and doubles the leap each time, because one easy proof
    // often follows another. This keeps the number of steps small for any gap.
    const auto try_search = [&](std::uint64_t patience) {
        constexpr std::uint64_t steps = 3;
        const detail::search_counts counts = detail::search_counts::of(work, options.remember);
        const detail::plan_arrays arrays{workspace.longs.first(counts.wide()), workspace.words.first(counts.narrow())};
        detail::packing_search search{work, {arrays, options.remember}, sizes};
        std::uint64_t leap = 0;  // granules
        for (std::uint64_t i = 0; i <= steps && may_go_on();) {
            // Upward from the bound to just below the lowest plan. If only a plan that fits the capacity is required
            // and the bound permits one, downward from the capacity.
            const bool upwards = lowest_wanted || made.bound > options.capacity;
            const std::uint64_t gap = (upwards ? peak - 1 : goal()) - made.bound, step = gap / steps;
            leap = std::min(leap, upwards && i == 0 ? gap / search.granule() / 2 : 0);
            const std::uint64_t above = leap * search.granule() + step * i;
            const std::uint64_t height = upwards ? made.bound + above : goal() - above;
            const std::uint64_t nodes = std::min(above == 0 ? patience : patience / 4 + 1, options.effort - spent);
            const detail::search_result found = search.find(height, trial, nodes, stop);
            spent += std::max<std::uint64_t>(found.nodes, 1);
            if (found.answer == detail::search_answer::found) keep_lower(found.height);
            if (found.answer == detail::search_answer::infeasible) {
                made.bound = std::max(made.bound, found.bound);
                leap = 2 * leap + 1;
            }
            const bool decided =
                found.answer == detail::search_answer::found || found.answer == detail::search_answer::infeasible;
            if (!decided && leap != 0) leap /= 4;
            else i = decided ? 0 : step == 0 ? steps + 1 : i + 1;
        }
    };

    // The first greedy plan gives the callback a plan to report. A few more follow. After that, search and greedy
    // alternate, with four times the patience in each round. Large problems use the greedy algorithm alone.
    if (const plan_error error = try_greedy(0); error.reason != plan_refusal::none)
        return answer::failure(merged->as_given(error));
    const bool searched = detail::is_searched(problem, options);
    if (may_go_on() && !stop())
        static_cast<void>(try_greedy(searched ? std::min<std::uint64_t>(options.effort, 16 * count) : options.effort));
    for (std::uint64_t patience = options.effort / 16 + 1; searched && may_go_on(); patience *= 4) {
        try_search(patience);
        if (may_go_on()) static_cast<void>(try_greedy(std::min(patience, options.effort - spent)));
    }
    const bool proved = peak <= made.bound;

    for (std::size_t i = 0; i != all; ++i) places[i] = {lowest[(*merged)[i]], problem.buffers[i].size};
    made.peak = peak;
    made.status = peak <= options.capacity        ? (proved ? plan_status::optimal : plan_status::feasible)
                  : made.bound > options.capacity ? plan_status::infeasible
                                                  : plan_status::out_of_budget;
    return made;
}

/// A plan that stores its places on the heap.
struct memory_plan : plan_summary {
    std::vector<plan_place> places;  ///< Place of each buffer, in the order of `plan_problem::buffers`.
};

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
    const auto summary = plan_into(problem, made.places, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    return made;
}

/// A plan of `Count` buffers that is computed in a constant expression.
template <std::size_t Count>
struct static_plan : plan_summary {
    std::array<plan_place, Count> places{};  ///< Place of each buffer.
};

/// Default options in constant expressions: one greedy plan, which stays within the default limits of compilers.
inline constexpr plan_options at_compile_time{.effort = 0, .remember = 0};

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
