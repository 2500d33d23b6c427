// SPDX-License-Identifier: BSL-1.0
// peak_planner: searches the lowest plan for one memory, or a plan that fits its capacity.
//
//     bound ──► greedy ──► greedy ──► bound ──► repair ──► search ──► greedy ──► search ──► …   patience grows fourfold
//               one plan   a few      cliques                         └─────── until the goal is reached or the effort
//                                                                              is spent
//
// The first greedy plan gives the callback a plan to report. Large problems use the greedy algorithm alone.
// The second bound is only for problems with pairs or revivals. It searches cliques, with one comparison for each
// placement that `effort` allows, and at most a million. A placement takes far more time. There is no second bound if
// the first one had as many comparisons. Conflicts are repaired only with a high effort, and take at most a quarter of
// it without finding a plan.
//
// Complexity: the first greedy plan, plus the work that `effort` allows. Memory: that of `greedy_plan`,
// `conflict_search` and `packing_search`, one after the other, and two offsets a buffer. Thread safety: not
// synchronized.
#pragma once

#include <allot/plan/detail/conflict_search.hpp>
#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/detail/search.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/summary.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns whether `plan` searches a problem, in addition to greedy plans.
[[nodiscard]] constexpr bool is_searched(const plan_problem& problem, const plan_options& options) noexcept {
    return problem.buffers.size() <= options.search_at_most && options.effort != 0;
}

/// Returns whether conflicts are repaired, in addition to searches. Fewer steps than a thousand for each buffer rarely
/// find a plan.
[[nodiscard]] constexpr bool is_repaired(const plan_problem& problem, const plan_options& options) noexcept {
    return is_searched(problem, options) && problem.buffers.size() <= conflict_search<>::most_buffers &&
           options.effort / 4 / 1024 >= problem.buffers.size();
}

/// Implementation of `plan_into` for a merged problem.
template <class Watch>
class peak_planner {
public:
    /// Arrays for the offsets of the lowest plan, which remain after `run`, and of a trial. By merged buffer.
    struct offset_arrays {
        plan_array<std::uint64_t> lowest, trial;
    };

    constexpr peak_planner(const plan_problem& problem, const plan_sizes& sizes, const plan_bound& bound,
                           const plan_options& options, offset_arrays offsets, plan_workspace workspace,
                           Watch& watch) noexcept
        : problem_{&problem},
          sizes_{&sizes},
          bound_{&bound},
          options_{options},
          lowest_{offsets.lowest.first(problem.buffers.size())},
          trial_{offsets.trial.first(problem.buffers.size())},
          workspace_{workspace},
          watch_{&watch} {
        made_.bound = bound.bytes;
        made_.step = bound.step;
        made_.peak = std::numeric_limits<std::uint64_t>::max();
        for (const plan_buffer& buffer : problem.buffers) made_.align = larger(made_.align, buffer.align);
    }

    /// Writes the lowest plan. Returns the error of the first greedy plan. `is_searched` and `is_repaired` are those of
    /// the given problem, for which the workspace was sized. The merged problem may have fewer buffers.
    [[nodiscard]] constexpr plan_error run(bool is_searched, bool is_repaired) noexcept {
        if (const plan_error error = try_greedy(0); error.reason != plan_refusal::none) return error;
        const std::uint64_t few = smaller<std::uint64_t>(options_.effort, 16 * lowest_.size());
        if (may_go_on() && !stop()) static_cast<void>(try_greedy(is_searched ? few : options_.effort));
        if (may_go_on()) raise_to_cliques();
        if (is_repaired && may_go_on() && conflict_search<>::supports(*problem_, *sizes_)) try_repair();
        for (std::uint64_t patience = options_.effort / 16 + 1; is_searched && may_go_on(); patience *= 4) {
            try_search(patience);
            if (may_go_on()) static_cast<void>(try_greedy(smaller(patience, options_.effort - spent_)));
        }
        const bool proved = made_.peak <= made_.bound;
        made_.status = made_.peak <= options_.capacity   ? (proved ? plan_status::optimal : plan_status::feasible)
                       : made_.bound > options_.capacity ? plan_status::infeasible
                                                         : plan_status::out_of_budget;
        return {};
    }
    [[nodiscard]] constexpr const plan_summary& summary() const noexcept { return made_; }

private:
    /// Returns whether the lowest plan is wanted. With a capacity, the first plan that fits is the goal.
    [[nodiscard]] constexpr bool lowest_wanted() const noexcept { return options_.capacity == plan_options{}.capacity; }
    [[nodiscard]] constexpr std::uint64_t goal() const noexcept {
        return lowest_wanted() ? made_.bound : larger(options_.capacity, made_.bound);
    }
    [[nodiscard]] constexpr bool stop() noexcept {
        return stopped_ = stopped_ || (*watch_)(plan_progress{made_.peak, made_.bound});
    }
    [[nodiscard]] constexpr bool may_go_on() const noexcept {
        return made_.peak > goal() && spent_ < options_.effort && !stopped_;
    }
    constexpr void keep_lower(std::uint64_t height) noexcept {
        // The first plan may have the largest height that there is.
        if (height >= made_.peak && height != std::numeric_limits<std::uint64_t>::max()) return;
        for (std::size_t i = 0; i != lowest_.size(); ++i) lowest_[i] = trial_[i];
        made_.peak = height;
    }

    /// Raises the bound by a longer search for buffers that pairwise share no byte.
    constexpr void raise_to_cliques() noexcept {
        constexpr std::uint64_t most = 1'000'000;  // about ten milliseconds, in which the callback is not called
        const std::uint64_t comparisons = smaller(options_.effort, most);
        if (!clique_search<>::may_find(*problem_)) return;
        if (comparisons <= clique_search<>::default_comparisons(lowest_.size())) return;  // the first bound had as many
        if (const auto found = bound_of(*problem_, workspace_, *sizes_, comparisons))
            made_.bound = larger(made_.bound, found->bytes);
    }
    constexpr plan_error try_greedy(std::uint64_t placements) noexcept {
        plan_bound enough = *bound_;
        enough.bytes = goal();
        const auto found =
            greedy_plan(*problem_, enough, trial_, workspace_, {placements}, [&] { return stop(); }, *sizes_);
        if (found) keep_lower(found->height);
        spent_ += placements;
        return found ? plan_error{} : found.error();
    }

    /// Searches several heights in turn. The height that is easiest to reach is unknown, and is often the lowest one.
    /// Therefore the goal gets the full patience and each other height a quarter of it. Each plan or proof narrows the
    /// range. After a proof, the search leaps ahead of the bound and doubles the leap each time, because one easy proof
    /// often follows another. This keeps the number of steps small for any gap.
    constexpr void try_search(std::uint64_t patience) noexcept {
        constexpr std::uint64_t steps = 3;
        packing_search<> search{*problem_, {workspace_, options_.remember}, *sizes_};
        std::uint64_t leap = 0;  // granules
        for (std::uint64_t i = 0; i <= steps && may_go_on();) {
            // Upward from the bound to just below the lowest plan. If only a plan that fits the capacity is required
            // and the bound permits one, downward from the capacity.
            const bool upwards = lowest_wanted() || made_.bound > options_.capacity;
            const std::uint64_t gap = (upwards ? made_.peak - 1 : goal()) - made_.bound;
            const std::uint64_t step = gap < search.granule() ? 0 : gap / steps;  // such heights have the same plans
            leap = smaller(leap, upwards && i == 0 ? gap / search.granule() / 2 : 0);
            const std::uint64_t above = leap * search.granule() + step * i;
            const std::uint64_t height = upwards ? made_.bound + above : goal() - above;
            const bool decided = is_decided(search, height, above == 0 ? patience : patience / 4 + 1, leap);
            if (!decided && leap != 0) leap /= 4;
            else i = decided ? 0 : step == 0 ? steps + 1 : i + 1;
        }
    }
    /// Repairs conflicts at lower heights, each time half of the way to the goal, until no plan is found for a while.
    constexpr void try_repair() noexcept {
        conflict_search<> search{*problem_, workspace_};
        while (may_go_on()) {
            const std::uint64_t half = (made_.peak - goal()) / 2 / search.granule() * search.granule();
            const std::uint64_t height = lowest_wanted() ? goal() + half : goal();
            const std::uint64_t most = smaller(options_.effort / 4, options_.effort - spent_), before = search.steps();
            const bool found = search.find(height, trial_, most, [&] { return stop(); });
            spent_ += search.steps() - before;
            if (!found) return;
            keep_lower(height_of(trial_));
        }
    }
    [[nodiscard]] constexpr std::uint64_t height_of(plan_array<const std::uint64_t> offsets) const noexcept {
        std::uint64_t height = 0;
        for (std::size_t i = 0; i != offsets.size(); ++i)
            if (const std::uint64_t size = problem_->buffers[i].size; size != 0)
                height = larger(height, offsets[i] + size);
        return height;
    }
    /// Searches one height. Returns whether the search found a plan or a proof. A proof raises `leap`.
    [[nodiscard]] constexpr bool is_decided(packing_search<>& search, std::uint64_t height, std::uint64_t patience,
                                            std::uint64_t& leap) noexcept {
        const std::uint64_t nodes = smaller(patience, options_.effort - spent_);
        const search_result found = search.find(height, trial_, nodes, [&] { return stop(); });
        spent_ += larger<std::uint64_t>(found.nodes, 1);
        if (found.answer == search_answer::found) keep_lower(found.height);
        if (found.answer == search_answer::infeasible) {
            made_.bound = larger(made_.bound, found.bound);
            leap = 2 * leap + 1;
        }
        return found.answer == search_answer::found || found.answer == search_answer::infeasible;
    }

    const plan_problem* problem_;
    const plan_sizes* sizes_;
    const plan_bound* bound_;
    plan_options options_;
    plan_array<std::uint64_t> lowest_, trial_;
    plan_workspace workspace_;
    Watch* watch_;
    plan_summary made_{};
    std::uint64_t spent_ = 0;
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
