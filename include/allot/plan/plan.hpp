// SPDX-License-Identifier: BSL-1.0
// plan: where each buffer lives, decided before anything runs.
//
//     allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}, .align = 64}, …};
//     auto made = allot::plan({.buffers = buffers}, {.capacity = 64_KiB});
//     if (!made) …                                            // the problem is none: made.error()
//     made->places[1].offset; made->peak; made->bound; made->status;
//     allot::arena<allot::host::heap, allot::planned<>> memory{{}, *made};        // planned.hpp
//
//     static constexpr allot::plan_buffer known[] = {…};
//     static constexpr auto layout = allot::plan<known>();    // by the compiler: no code is left of it
//
//     problem ──► merge ──► bound ──► greedy ──► search         merge     buffers that share an offset become one
//                             │          │          │           bound     what no plan can be below
//                             └── equal: optimal ───┘           greedy    good plans, fast, for any number of buffers
//                                                               search    better ones, or the proof that there are none
//
// Without a capacity the peak is made as small as the effort allows. With one, the first plan that fits it ends the
// work; where none does, the lowest that was found is the answer all the same, and the status says that it does not
// fit.
//
// The same input gives the same plan, on every machine, at run time and in constant expressions. Complexity: O(n log
// n), and as much more as `effort` says. Memory: `space_of_plan`, about 100 bytes a buffer, and n² / 8 where n is at
// most `search_at_most`. Thread safety: pure but for the workspace.
#pragma once

#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/search.hpp>
#include <allot/plan/planned.hpp>

#include <vector>

namespace allot {
inline namespace v1 {

struct plan_options {
    std::uint64_t capacity = std::numeric_limits<std::uint64_t>::max();  // bytes of the memory
    std::uint64_t effort = 500'000;     // buffers placed in trying, over all plans: a second or a few; 0 is one plan
    std::size_t search_at_most = 2048;  // buffers; more are planned by greedy alone
    std::size_t remember = 1 << 16;     // states of the search that failed; 0, or a power of two
};

enum class plan_status : unsigned char {
    optimal,        // it fits, and no plan is lower
    feasible,       // it fits
    infeasible,     // it does not, and none does: see `bound`, `step` and `live`
    out_of_budget,  // it does not; whether one does is not known
    out_of_moves,   // it does not; with more moves one may: from `replan`
};

/// For a person.
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

/// What is known while a plan is made.
struct plan_progress {
    std::uint64_t peak = 0;   // of the lowest plan so far
    std::uint64_t bound = 0;  // no plan is lower
};

/// Nobody watches.
struct unwatched {
    template <class Progress>
    [[nodiscard]] constexpr bool operator()(const Progress&) const noexcept {
        return false;
    }
};

/// A plan, but for its places.
struct plan_summary {
    plan_status status = plan_status::optimal;
    std::uint64_t peak = 0;   // the highest end of a buffer
    std::uint64_t align = 1;  // what the memory's base has to be a multiple of
    std::uint64_t bound = 0;  // no plan is lower
    std::int64_t step = 0;    // where most bytes are live
    friend constexpr bool operator==(const plan_summary&, const plan_summary&) = default;
};

namespace detail {

[[nodiscard]] constexpr bool is_searched(const plan_problem& problem, const plan_options& options) noexcept {
    return problem.buffers.size() <= options.search_at_most && options.effort != 0;
}

}  // namespace detail

/// What `plan_into` works in.
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

/// Plans into an array of the caller's, without a heap. `watch(plan_progress)` is called now and then once there is a
/// plan, and ends the work by true. Refused for what is no problem, for lifetimes of one buffer that overlap, and where
/// fixed buffers collide.
template <class Watch = unwatched>
[[nodiscard]] constexpr result<plan_summary, plan_error> plan_into(const plan_problem& problem,
                                                                   std::span<plan_place> places,
                                                                   plan_workspace workspace,
                                                                   const plan_options& options = {},
                                                                   Watch watch = {}) noexcept {
    using answer = result<plan_summary, plan_error>;
    const std::size_t all = problem.buffers.size();
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none) return answer::failure(error);
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

    // With a capacity, a plan that fits it is good enough.
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
        return found.error();
    };
    // Which height is easy to reach is not known beforehand, and often it is the lowest. So the one that is wanted is
    // given some time, and others a quarter of it each; what is found or proved narrows them. Where a proof was easy,
    // more may be: they leap ahead of the bound, by twice as much each time, so that no gap takes many steps.
    const auto try_search = [&](std::uint64_t patience) {
        constexpr std::uint64_t steps = 3;
        const detail::search_counts counts = detail::search_counts::of(work, options.remember);
        const detail::plan_arrays arrays{workspace.longs.first(counts.wide()), workspace.words.first(counts.narrow())};
        detail::packing_search search{work, {arrays, options.remember}, sizes};
        std::uint64_t leap = 0;  // granules
        for (std::uint64_t i = 0; i <= steps && may_go_on();) {
            // From the bound to just below the lowest plan; or, where a capacity that may be enough is all that is
            // asked, from that downwards.
            const bool upwards = lowest_wanted || made.bound > options.capacity;
            const std::uint64_t gap = (upwards ? peak - 1 : goal()) - made.bound, step = gap / steps;
            leap = std::min(leap, upwards && i == 0 ? gap / search.granule() / 2 : 0);
            const std::uint64_t above = leap * search.granule() + step * i;
            const std::uint64_t height = upwards ? made.bound + above : goal() - above;
            const std::uint64_t nodes =
                std::min(above == 0 ? patience : patience / 4 + 1, options.effort - spent);
            const detail::search_result found = search.find(height, trial, nodes, stop);
            spent += std::max<std::uint64_t>(found.nodes, 1);
            if (found.answer == detail::search_answer::found) keep_lower(found.height);
            if (found.answer == detail::search_answer::infeasible) {
                made.bound = std::max(made.bound, found.bound);
                leap = 2 * leap + 1;
            }
            const bool decided = found.answer == detail::search_answer::found || found.answer == detail::search_answer::infeasible;
            if (!decided && leap != 0) leap /= 4;
            else i = decided ? 0 : step == 0 ? steps + 1 : i + 1;
        }
    };

    // One plan, so that there is something to tell whoever watches; a few more; then search and greedy by turns, with
    // four times the patience each time. Many buffers are for greedy alone.
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
    made.status = peak <= options.capacity ? (proved ? plan_status::optimal : plan_status::feasible)
                  : made.bound > options.capacity ? plan_status::infeasible
                                                  : plan_status::out_of_budget;
    return made;
}

/// A plan on the heap.
struct memory_plan : plan_summary {
    std::vector<plan_place> places;
};

/// Plans on the heap. Throws what the heap throws; refused as `plan_into` is.
template <class Watch = unwatched>
[[nodiscard]] result<memory_plan, plan_error> plan(const plan_problem& problem, const plan_options& options = {},
                                                   Watch watch = {}) {
    using answer = result<memory_plan, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none) return answer::failure(error);
    plan_heap workspace{space_of_plan(problem, options)};
    memory_plan made;
    made.places.resize(problem.buffers.size());
    const auto summary = plan_into(problem, made.places, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    return made;
}

/// A plan that the compiler made.
template <std::size_t Count>
struct static_plan : plan_summary {
    std::array<plan_place, Count> places{};
};

/// What a compiler does in its ordinary limits.
inline constexpr plan_options at_compile_time{.effort = 0, .remember = 0};

namespace detail {

template <const auto& Given>
inline constexpr plan_problem problem_of{.buffers = Given};
template <const auto& Given>
    requires std::same_as<std::remove_cvref_t<decltype(Given)>, plan_problem>
inline constexpr plan_problem problem_of<Given> = Given;

/// Does not compile unless `Why` is none: the message shows the reason, and a buffer.
template <plan_refusal Why, std::size_t Buffer>
struct plan_refused {
    static_assert(Why == plan_refusal::none,
                  "allot: no plan can be made of these buffers: plan_refused<reason, buffer> names the reason and a buffer");
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
    made.error = summary.error();
    return made;
}

}  // namespace detail

/// Plans in a constant expression: an array of buffers, or a problem of such arrays, that has static storage duration.
/// By default it is one greedy plan; `Options` with an effort search for a better one. A plan above their capacity does not
/// compile: `plan_shortfall<N>` in the message says by how many bytes.
template <const auto& Given, plan_options Options = at_compile_time>
[[nodiscard]] consteval auto plan() noexcept {
    constexpr auto made = detail::plan_statically<detail::problem_of<Given>, Options>();
    static_assert(detail::plan_refused<made.error.reason, made.error.which>::never);
    if constexpr (made.error.reason == plan_refusal::none)
        static_assert(plan_shortfall<(made.plan.peak > Options.capacity ? made.plan.peak - Options.capacity : 0)>::none);
    return made.plan;
}

}  // namespace v1
}  // namespace allot
