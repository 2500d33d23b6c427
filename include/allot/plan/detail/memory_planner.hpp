// SPDX-License-Identifier: BSL-1.0
// memory_planner: chooses a memory for each buffer and packs each memory.
//
//     facts ──► fill all ──► choose ──► fill all ──► learn          fill all   one memory after the other, exactly
//               effort 0     all ways      ▲           │            choose     every choice, if there are few
//                                          └───────────┘            learn      a buffer costs what it had to pay
//
// Each step keeps the best plan. The planner ends when the cost equals the lower bound, the effort is spent, no cost
// rises, or the callback stops it. memories.hpp describes the method.
//
// Complexity: see memories.hpp. Memory: `space`. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/assign.hpp>
#include <allot/plan/detail/fill.hpp>
#include <allot/plan/detail/memory_bound.hpp>
#include <allot/plan/detail/memory_coloring.hpp>
#include <allot/plan/detail/memory_costs.hpp>
#include <allot/plan/options.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Implementation of `plan_memories_into` for a merged problem.
// A template, so that only programs that use it compile it.
template <class = void>
class memory_planner {
public:
    [[nodiscard]] static constexpr plan_space space(const memories_problem& given,
                                                    const memories_options& options) noexcept {
        const plan_problem& problem = given.buffers;
        const std::size_t buffers = problem.buffers.size();
        const bool searched = is_searched(problem, options);
        plan_space work = max(memory_bound<>::scratch_space(given, options.effort, searched),
                              memory_fill<>::space(problem, searched, options.remember));
        work = max(work, memory_costs<>::scratch_space(problem));
        if (buffers <= most_assigned) work = max(work, memory_assignment<>::space(problem, options.remember));
        work = max(work, memory_coloring<>::space(given));
        return plan_space{.u32 = 4 * buffers, .u64 = 5 * buffers} + memory_costs<>::space(given) + work;
    }

    constexpr memory_planner(const merged_problem& merged, const plan_sizes& sizes, const memories_problem& given,
                             const memories_options& options, plan_workspace& workspace) noexcept
        : facts_{merged, sizes, given, workspace}, options_{options}, count_{facts_.count()} {
        list_ = workspace.cut_u32(count_);
        memory_ = workspace.cut_u32(count_);
        best_memory_ = workspace.cut_u32(count_);
        is_cheapest_ = workspace.cut_u32(count_);
        value_ = workspace.cut_u64(count_);
        paid_ = workspace.cut_u64(count_);
        open_ = workspace.cut_u64(count_);
        offset_ = workspace.cut_u64(count_);
        best_offset_ = workspace.cut_u64(count_);
        workspace_ = workspace;
    }

    /// Reads the problem and returns its first error.
    [[nodiscard]] constexpr plan_error read() noexcept {
        if (const plan_error error = facts_.read(workspace_); error.reason != plan_refusal::none) return error;
        nowhere_cost_ = facts_.highest_cost() / 16;
        for (std::size_t i = 0; i != count_; ++i) paid_[i] = 0;
        return {};
    }
    /// Returns a lower bound on the cost of every plan.
    [[nodiscard]] constexpr std::uint64_t bound() noexcept { return bounded().run(workspace_); }
    /// Returns a lower bound on the cost of every plan that places the buffers of the best plan. No other function may
    /// follow.
    [[nodiscard]] constexpr std::uint64_t bound_of_placed() noexcept {
        for (std::size_t i = 0; i != count_; ++i)
            if (best_memory_[i] == memory_place::nowhere) facts_.exclude(i);
        return bound();
    }
    /// Returns whether the live bytes of one step prove that not all buffers can have a memory, and stores that step.
    [[nodiscard]] constexpr bool is_crowded(std::int64_t& step) const noexcept {
        return facts_.is_crowded(step, workspace_);
    }
    /// Returns the first of the given buffers that fits no allowed memory, or the number of buffers.
    [[nodiscard]] constexpr std::size_t unholdable() const noexcept { return facts_.unholdable(); }
    /// Returns whether the pairs leave no choice of memories, or each was tried without finding one that places all
    /// buffers.
    [[nodiscard]] constexpr bool is_impossible() const noexcept { return is_impossible_ || is_excluded_; }

    template <class Watch>
    constexpr void run(memories_summary& made, Watch& watch) noexcept {
        std::uint64_t spent = 0;
        bool stopped = false, first = true;
        // The workspace was sized for the given problem. The merged problem may have fewer buffers.
        const bool searched = is_searched(facts_.given().buffers, options_);
        const auto stop = [&] {
            return stopped = stopped || (!first && watch(memories_progress{made.cost, made.unplaced, made.bound}));
        };
        const auto keep_best = [&] {
            keep_if_better(made, first);
            first = false;
        };
        const auto fill_all = [&](std::uint64_t effort) {
            plan_workspace workspace = workspace_;
            memory_fill<> fill{facts_.problem(),  facts_.sizes(), facts_.sections(), facts_.price(),
                               facts_.separate(), workspace,      searched,          options_.remember};
            spent += cascade(fill, effort, stop);
            keep_best();
        };
        const auto is_done = [&] {
            return (made.cost <= made.bound && made.unplaced == 0) || spent >= options_.effort || stop();
        };
        const bool is_colored = !facts_.separate().is_empty();
        open_memories(is_colored);
        fill_all(0);
        is_excluded_ = made.unplaced != 0 && pairs_exclude_all();
        if (!is_done() && searched) raise_bound(made);
        const std::size_t all = facts_.given().buffers.buffers.size();
        if (!is_excluded_ && !is_done() && all <= most_assigned && unholdable() == all)
            spent += assign(made, smaller((options_.effort - spent) / 2, most_choices), keep_best, stop);
        // If the next memory has room for all buffers, another round cannot learn anything.
        const bool once = !is_colored && memories().size() <= 2 && memories().back().capacity == plan_memory{}.capacity;
        // Without a search, a round places each buffer at least once.
        const auto has_effort = [&] { return searched || options_.effort - spent >= count_; };
        // Rounds with all memories and rounds with those of a coloring take turns.
        for (bool all_open = true; !is_impossible_ && !is_done() && has_effort(); all_open = !is_colored || !all_open) {
            open_memories(!all_open);
            fill_all(once ? options_.effort - spent : (options_.effort - spent) / 2 + 1);
            if (once || (!learn() && !(is_colored && all_open))) break;
        }
        made.effort = spent;
    }

    /// Memory of a merged buffer in the best plan.
    [[nodiscard]] constexpr std::uint32_t memory(std::size_t i) const noexcept { return best_memory_[i]; }
    /// Offset of a merged buffer in the best plan.
    [[nodiscard]] constexpr std::uint64_t offset(std::size_t i) const noexcept { return best_offset_[i]; }

private:
    static constexpr std::size_t most_assigned = 64;       // largest number of buffers for the exhaustive choice
    static constexpr std::uint64_t most_choices = 75'000;  // leaves effort for the other methods

    [[nodiscard]] static constexpr bool is_searched(const plan_problem& problem,
                                                    const memories_options& options) noexcept {
        return problem.buffers.size() <= options.search_at_most;
    }
    [[nodiscard]] constexpr std::span<const plan_memory> memories() const noexcept { return facts_.memories(); }
    [[nodiscard]] constexpr std::uint64_t weight(std::size_t i) const noexcept { return facts_.weights()[i]; }

    [[nodiscard]] constexpr memory_bound<> bounded() noexcept { return {facts_, options_.effort}; }
    /// Returns whether the pairs alone leave no choice of memories.
    [[nodiscard]] constexpr bool pairs_exclude_all() const noexcept {
        plan_workspace workspace = workspace_;
        return !facts_.separate().is_empty() &&
               separate_cliques<>{facts_.separate(), count_, workspace}.prove_impossible(facts_.allowed());
    }

    // ---- the best plan ---------------------------------------------------------------------------------------------

    constexpr void keep_if_better(memories_summary& made, bool is_first) noexcept {
        const memories_summary now = counted();
        const bool better = now.unplaced < made.unplaced || (now.unplaced == made.unplaced && now.cost < made.cost);
        if (!is_first && !better) return;
        made.cost = now.cost;
        made.unplaced = now.unplaced;
        for (std::size_t i = 0; i != count_; ++i) {
            best_memory_[i] = memory_[i];
            best_offset_[i] = offset_[i];
        }
    }
    [[nodiscard]] constexpr memories_summary counted() const noexcept {
        memories_summary now;
        for (std::size_t i = 0; i != count_; ++i) {
            if (memory_[i] == memory_place::nowhere) ++now.unplaced;
            else now.cost += weight(i) * memories()[memory_[i]].cost;
        }
        return now;
    }

    /// Raises the bound, and marks the cheapest choice of buffers by the loads alone, if it is known.
    constexpr void raise_bound(memories_summary& made) noexcept {
        if (least_loss<>::limits::of(options_.effort, facts_.given().buffers.buffers.size()).states == 0) return;
        const std::uint64_t most = made.unplaced == 0 ? made.cost : least_loss<>::unlimited;
        const std::uint64_t better =
            bounded().run_by_choices(made.bound, most, workspace_, [&](const least_loss<>& loss) {
                for (std::size_t i = 0; i != count_; ++i) is_cheapest_[i] = facts_.allowed()[i] & 1 ? 1 : 0;
                loss.each([&](std::uint32_t i, bool is_in) { is_cheapest_[i] = is_in ? 1 : 0; });
                cheapest_known_ = is_separated(is_cheapest_);
            });
        made.bound = larger(made.bound, better);
    }

    /// Returns whether no two of the buffers with `these[buffer] == 1` must be in different memories.
    [[nodiscard]] constexpr bool is_separated(const std::uint32_t* these) const noexcept {
        for (std::size_t i = 0; i != count_; ++i)
            if (these[i] != 0 && facts_.separate().any(i, [&](std::uint32_t other) { return these[other] != 0; }))
                return false;
        return true;
    }

    // ---- every choice of memories ----------------------------------------------------------------------------------

    /// Tries each choice of memories if there are at most `effort` choices, or if pairs that must be separate exclude
    /// many of them. Returns the spent effort.
    template <class Keep, class Stop>
    constexpr std::uint64_t assign(memories_summary& made, std::uint64_t effort, Keep keep, Stop& stop) noexcept {
        memory_assignment<> choice{facts_.problem(),  facts_.sizes(),
                                   memories(),        {facts_.allowed(), facts_.weights(), &facts_.separate()},
                                   options_.remember, workspace_};
        if (facts_.separate().is_empty() && choice.choices(effort + 1) > effort) return 0;
        const std::uint64_t none = ~std::uint64_t{0};
        const auto keep_choice = [&](std::uint64_t) {
            for (std::uint32_t i = 0; i != count_; ++i) {
                if (facts_.size(i) == 0) continue;
                memory_[i] = choice.memory(i);
                offset_[i] = choice.offset(i);
            }
            keep();
        };
        const std::uint64_t spent = choice.run(made.unplaced == 0 ? made.cost : none, effort, keep_choice, stop);
        if (choice.proved()) {
            if (made.unplaced == 0) made.bound = made.cost;
            else is_impossible_ = true;
        }
        return spent;
    }

    // ---- one memory after the other --------------------------------------------------------------------------------

    /// Opens the allowed memories to each buffer, or those that a coloring leaves.
    constexpr void open_memories(bool by_color) noexcept {
        for (std::size_t i = 0; i != count_; ++i) open_[i] = facts_.allowed()[i];
        if (!by_color) return;
        plan_workspace workspace = workspace_;
        memory_coloring<> coloring{facts_, workspace};
        coloring.run(paid_);
        for (std::size_t i = 0; i != count_; ++i) open_[i] = coloring.open(i);
    }
    /// Fills one memory after the other with the remaining buffers.
    template <class Stop>
    constexpr std::uint64_t cascade(memory_fill<>& fill, std::uint64_t effort, Stop& stop) noexcept {
        std::uint64_t spent = 0;
        begin_empty();
        for (std::size_t m = 0; m != memories().size(); ++m) {
            const plan_array<const std::uint32_t> list{list_, list_candidates(m)};
            const std::uint64_t priceless = price_candidates(m, list);
            const std::uint64_t left = effort - smaller(spent, effort);
            const std::uint64_t share = m + 2 >= memories().size() ? left : left / 2;
            spent += fill.run(list, {value_, priceless}, memories()[m].capacity, memories()[m].align, share, stop,
                              m == 0 && cheapest_known_ ? is_cheapest_ : nullptr);
            for (const std::uint32_t i : list)
                if (fill.placed(i)) {
                    memory_[i] = static_cast<std::uint32_t>(m);
                    offset_[i] = fill.offset(i);
                }
        }
        return spent;
    }
    constexpr void begin_empty() noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            // A buffer without bytes fits every allowed memory.
            const bool empty = facts_.size(i) == 0 && open_[i] != 0;
            memory_[i] = empty ? static_cast<std::uint32_t>(std::countr_zero(open_[i])) : memory_place::nowhere;
            offset_[i] = 0;
        }
        for (const plan_fixed& fixed : facts_.problem().fixed) offset_[fixed.buffer] = fixed.offset;
    }
    /// Lists the buffers without a memory that memory `m` may hold, and returns their number.
    [[nodiscard]] constexpr std::size_t list_candidates(std::size_t m) noexcept {
        std::size_t some = 0;
        for (std::size_t i = 0; i != count_; ++i)
            if (memory_[i] == memory_place::nowhere && (open_[i] & memory_costs<>::bit(m)) != 0)
                list_[some++] = static_cast<std::uint32_t>(i);
        return some;
    }
    /// Computes the value of each candidate for memory `m`: the cost of the next memory that may hold it. A buffer that
    /// fits no later memory, or remained unplaced in an earlier round, has a higher value than all other buffers
    /// together. Returns the least such value.
    [[nodiscard]] constexpr std::uint64_t price_candidates(std::size_t m,
                                                           plan_array<const std::uint32_t> list) noexcept {
        const auto later = [&](std::uint32_t i) { return m == 63 ? 0 : open_[i] >> (m + 1); };
        const auto is_priceless = [&](std::uint32_t i) { return later(i) == 0 || paid_[i] >= nowhere_cost_; };
        const std::size_t some = list.size();
        std::uint64_t worth = 0;
        for (const std::uint32_t i : list) {
            const std::uint64_t next =
                later(i) == 0 ? nowhere_cost_
                              : memories()[m + 1 + static_cast<std::size_t>(std::countr_zero(later(i)))].cost;
            const std::uint64_t most = is_priceless(i) ? larger(weight(i), facts_.size(i)) : weight(i);
            value_[i] = larger<std::uint64_t>(most * (larger(next, paid_[i]) - memories()[m].cost), 1);
            worth += value_[i];
        }
        // Scales the values such that their sum fits 64 bits.
        unsigned shift = 0;
        while ((worth >> shift) + some >= ~std::uint64_t{0} / (some + 1)) ++shift;
        const std::uint64_t priceless = (worth >> shift) + some + 1;
        for (const std::uint32_t i : list)
            value_[i] = larger<std::uint64_t>(value_[i] >> shift, 1) + (is_priceless(i) ? priceless : 0);
        return priceless;
    }
    /// Records the costs of buffers that did not get the expected memory, and an increasing cost for unplaced buffers.
    /// Returns whether any cost rose.
    constexpr bool learn() noexcept {
        bool news = false;
        for (std::size_t i = 0; i != count_; ++i) {
            const std::uint64_t rising = smaller(2 * larger(paid_[i], nowhere_cost_ / 2), facts_.highest_cost());
            const std::uint64_t paid = memory_[i] == memory_place::nowhere ? rising : memories()[memory_[i]].cost;
            if (paid <= paid_[i]) continue;
            paid_[i] = paid;
            news = true;
        }
        return news;
    }

    memory_costs<> facts_;
    memories_options options_;
    std::size_t count_;
    std::uint32_t *list_ = nullptr, *memory_ = nullptr, *best_memory_ = nullptr;
    std::uint32_t* is_cheapest_ = nullptr;  // by buffer: 1 if the cheapest choice by loads has it in memory 0
    std::uint64_t* open_ = nullptr;         // by buffer: the memories that the current round tries, as bits
    std::uint64_t *value_ = nullptr, *paid_ = nullptr, *offset_ = nullptr, *best_offset_ = nullptr;
    std::uint64_t nowhere_cost_ = 0;
    plan_workspace workspace_{};
    bool is_impossible_ = false, is_excluded_ = false, cheapest_known_ = false;
};

/// Returns the workspace of `least_cost_of`.
[[nodiscard]] constexpr plan_space space_of_least_cost(const memories_problem& problem,
                                                       const memories_options& options) noexcept {
    return merge_space(problem.buffers) + memory_planner<>::space(problem, options);
}
/// Returns a lower bound on the cost of every plan, in which buffers may be split; 0 if the problem is invalid.
// A template, so that only programs that use it compile it.
template <class = void>
[[nodiscard]] constexpr std::uint64_t least_cost_of(const memories_problem& problem, const memories_options& options,
                                                    plan_workspace workspace) noexcept {
    plan_sizes sizes;
    const auto merged = merge_together(problem.buffers, workspace, sizes);
    if (!merged) return 0;
    memory_planner<> planner{*merged, sizes, problem, options, workspace};
    return planner.read().reason == plan_refusal::none ? planner.bound() : 0;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
