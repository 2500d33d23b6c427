// SPDX-License-Identifier: BSL-1.0
// replanner: updates a plan with at most a given number of moves.
//
//     may all move? ──► plan from scratch ─┐
//     merge, bound ──► homes ──► ejection ─┴─► keep the better one     ejection: 0, 1, 2, 3, 4, 6, … moves in turn,
//                                                                      and several heights for each number of moves
//
// Complexity: see replan.hpp. Memory: `space_of_replan`. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/ejection.hpp>
#include <allot/plan/plan.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns whether a buffer is unchanged and its old place is valid, without regard to other buffers and fixed offsets.
[[nodiscard]] constexpr bool may_stay(const plan_problem& problem, std::size_t i, const plan_place& place) noexcept {
    const plan_buffer& buffer = problem.buffers[i];
    const std::uint64_t begin = place.offset;
    return begin != no_place.offset && place.size == buffer.size && buffer.size <= ~std::uint64_t{0} - begin &&
           begin % buffer.align == 0 && std::ranges::none_of(problem.reserved, [&](const plan_reserved& range) {
               return range.size != 0 && buffer.size != 0 && begin < range.offset + range.size &&
                      range.offset < begin + buffer.size;
           });
}
/// Returns whether `at_most` includes all unchanged buffers. Fixed buffers make this an approximation: the result may
/// be true for a slightly smaller limit.
[[nodiscard]] constexpr bool may_all_move(const plan_problem& problem, std::span<const plan_place> before,
                                          std::size_t at_most) noexcept {
    std::size_t others = 0;
    for (std::size_t i = 0; i != std::min(before.size(), problem.buffers.size()); ++i)
        others += may_stay(problem, i, before[i]);
    return others <= problem.fixed.size() || others - problem.fixed.size() <= at_most;
}

/// Computes for each group of merged buffers its home, that is the most frequent old offset of its unchanged buffers,
/// and its cost, that is the number of buffers with that offset. Uses a part of the workspace of `ejection_search`.
constexpr void find_homes(const plan_problem& problem, std::span<const plan_place> before, const merged_problem& merged,
                          plan_array<std::uint64_t> home, plan_array<std::uint32_t> cost,
                          plan_workspace workspace) noexcept {
    const plan_buffer* const groups = merged.problem.buffers.data();
    for (std::size_t group = 0; group != home.size(); ++group) {
        home[group] = no_place.offset;
        cost[group] = 0;
    }
    const auto can_be = [&](std::size_t group, std::uint64_t offset) {
        return offset != no_place.offset && offset % groups[group].align == 0 &&
               groups[group].size <= ~std::uint64_t{0} - offset;
    };
    std::uint32_t* const placed = workspace.cut_u32(before.size());
    std::uint32_t* const scratch = workspace.cut_u32(before.size());
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i != before.size(); ++i)
        if (may_stay(problem, i, before[i]) && can_be(merged[i], before[i].offset)) placed[count++] = i;
    if (!merged.became.empty()) {
        sort_by(placed, scratch, count, [&](std::uint32_t i) { return before[i].offset; });
        sort_by(placed, scratch, count, [&](std::uint32_t i) { return std::uint64_t{merged.became[i]}; });
    }
    for (std::uint32_t k = 0, as_many = 0; k != count; ++k) {
        const std::uint64_t offset = before[placed[k]].offset;
        const std::size_t group = merged[placed[k]];
        const bool again = k != 0 && merged[placed[k - 1]] == group && before[placed[k - 1]].offset == offset;
        as_many = again ? as_many + 1 : 1;
        if (as_many <= cost[group]) continue;
        home[group] = offset;
        cost[group] = as_many;
    }
    // A buffer with another size prefers its old offset.
    for (std::size_t i = 0; i != before.size(); ++i)
        if (const std::size_t group = merged[i]; home[group] == no_place.offset && can_be(group, before[i].offset))
            home[group] = before[i].offset;
    for (const plan_fixed& fixed : merged.problem.fixed) {
        home[fixed.buffer] = fixed.offset;
        cost[fixed.buffer] = ejection_search<>::never;
    }
}

/// Returns the next element of the sequence 0, 1, 2, 3, 4, 6, 8, 12, …
[[nodiscard]] constexpr std::uint64_t next_moves(std::uint64_t moves) noexcept {
    return moves < 2 ? moves + 1 : (moves & (moves - 1)) == 0 ? moves + moves / 2 : moves / 3 * 4;
}

/// Implementation of `replan_into` for a valid problem.
template <class Watch>
class replanner {
    static constexpr std::uint64_t nowhere = ejection_search<>::nowhere;

public:
    constexpr replanner(const plan_problem& problem, std::span<const plan_place> before, std::size_t at_most,
                        std::span<plan_place> places, const plan_options& options, Watch& watch) noexcept
        : problem_{&problem}, before_{before}, at_most_{at_most}, places_{places}, options_{options}, watch_{&watch} {}

    /// Writes the best plan. Returns the first error.
    [[nodiscard]] constexpr plan_error run(plan_workspace workspace) noexcept {
        if (may_all_move(*problem_, before_, at_most_)) {
            const plan_error error = plan_from_scratch(workspace);
            if (error.reason != plan_refusal::none) return error;
        }
        plan_sizes sizes;
        const auto merged = merge_together(*problem_, workspace, sizes);
        if (!merged) return merged.error();
        merged_ = *merged;
        const auto bound = bound_of(merged_.problem, workspace, sizes);
        if (!bound) return merged_.as_given(bound.error());
        begin_with(*bound);

        const std::size_t all = problem_->buffers.size(), groups = merged_.problem.buffers.size();
        home_ = cut(workspace.u64, all).first(groups);
        cost_ = cut(workspace.u32, all).first(groups);
        counted_ = cut(workspace.u32, all);
        find_homes(*problem_, before_, merged_, home_, cost_, workspace);
        ejection_search<> search{merged_.problem, sizes, home_.data(), cost_.data(), workspace};
        if (const std::size_t fixed = search.begin(); fixed != groups)
            return merged_.as_given({plan_refusal::contradiction, fixed});
        count_moves();
        if (search.forced() + strayed_ > at_most_) return {plan_refusal::too_few_moves, first_forced(search)};
        const bool one_choice = search.at_liberty() <= 1;  // before an attempt takes buffers out
        if (search.attempt(nowhere, search.forced(), nowhere)) keep(search);
        if (!found_) return {plan_refusal::too_large, 0};
        improve(search, one_choice);
        made_.status = status();
        return {};
    }
    [[nodiscard]] constexpr const plan_summary& summary() const noexcept { return made_; }
    /// Number of unchanged buffers whose offset differs from the old plan.
    [[nodiscard]] constexpr std::size_t moved() const noexcept { return moved_; }

private:
    /// Fails as `plan_into` does, except if all plans that it tried exceed 64 bits.
    [[nodiscard]] constexpr plan_error plan_from_scratch(plan_workspace workspace) noexcept {
        const auto made =
            plan_into(*problem_, places_, workspace, options_, [this](const plan_progress& now) { return stops(now); });
        found_ = static_cast<bool>(made);
        if (found_) made_ = *made;
        return found_ || made.error().reason == plan_refusal::too_large ? plan_error{} : made.error();
    }
    constexpr void begin_with(const plan_bound& bound) noexcept {
        made_.bound = std::max(made_.bound, bound.bytes);
        made_.step = bound.step;
        for (const plan_buffer& buffer : merged_.problem.buffers) made_.align = std::max(made_.align, buffer.align);
    }
    [[nodiscard]] constexpr bool stops(const plan_progress& now) noexcept {
        return stopped_ = stopped_ || (*watch_)(now);
    }

    // ---- moves -----------------------------------------------------------------------------------------------------

    /// Unchanged buffers count as moved, except buffers that are fixed themselves.
    constexpr void count_moves() noexcept {
        const auto is_fixed = [&](std::size_t i) {
            return cost_[merged_[i]] == ejection_search<>::never &&
                   std::ranges::any_of(problem_->fixed, [&](const plan_fixed& fixed) { return fixed.buffer == i; });
        };
        for (std::size_t i = 0; i != counted_.size(); ++i) {
            counted_[i] = i < before_.size() && may_stay(*problem_, i, before_[i]) && !is_fixed(i) ? 1 : 0;
            others_ += counted_[i];
            strayed_ += strays(i);
            moved_ += found_ && counted_[i] != 0 && before_[i].offset != places_[i].offset;
        }
        found_ = found_ && moved_ <= at_most_;
    }
    /// Returns whether a buffer counts, and its group has another home than its old offset.
    [[nodiscard]] constexpr bool strays(std::size_t i) const noexcept {
        return counted_[i] != 0 && before_[i].offset != home_[merged_[i]];
    }
    /// Returns a buffer that must move. Precondition: there is one.
    [[nodiscard]] constexpr std::size_t first_forced(const ejection_search<>& search) const noexcept {
        std::size_t which = 0;
        while (counted_[which] == 0 || (merged_[which] != search.first_forced() && !strays(which))) ++which;
        return which;
    }

    // ---- the search ------------------------------------------------------------------------------------------------

    /// Returns the lowest peak that is worth an effort. With a capacity, the first plan that fits is the goal.
    [[nodiscard]] constexpr std::uint64_t goal() const noexcept {
        const bool lowest_wanted = options_.capacity == plan_options{}.capacity;
        return lowest_wanted ? made_.bound : std::max(options_.capacity, made_.bound);
    }
    [[nodiscard]] constexpr bool stop() noexcept { return stopped_ || (found_ && stops({made_.peak, made_.bound})); }
    /// Keeps the plan of `search` if it is better than the best one.
    constexpr void keep(const ejection_search<>& search) noexcept {
        std::size_t moved = 0;
        for (std::size_t i = 0; i != counted_.size(); ++i)
            moved += counted_[i] != 0 && before_[i].offset != search.offsets()[merged_[i]];
        peak_ = search.height();
        const std::uint64_t old_excess = std::max(made_.peak, goal()), excess = std::max(peak_, goal());
        if (found_ && excess >= old_excess && (excess != old_excess || moved >= moved_)) return;
        for (std::size_t i = 0; i != counted_.size(); ++i)
            places_[i] = {search.offsets()[merged_[i]], problem_->buffers[i].size};
        made_.peak = peak_;
        moved_ = moved;
        found_ = true;
    }
    /// Allows more and more moves. `one_choice` means that the fewest moves leave no choice but the gap of one buffer.
    constexpr void improve(ejection_search<>& search, bool one_choice) noexcept {
        const std::uint64_t begun = search.spent(), forced = search.forced() + strayed_;
        const auto left = [&] { return options_.effort - std::min(options_.effort, search.spent() - begun); };
        for (std::uint64_t moves = 0; moves <= std::min(at_most_, others_) && peak_ > goal() && !stop();
             moves = next_moves(moves)) {
            if (moves < forced) continue;
            const std::uint64_t reach = std::max(search.lowest_reach(moves - strayed_), goal());
            if (moves == forced && one_choice) {
                while (peak_ > reach && search.attempt(peak_ - 1, search.forced(), nowhere)) keep(search);
                continue;
            }
            const std::uint64_t until = search.spent() + std::min(options_.effort / 16, left() / 4);
            for (std::uint64_t patience = options_.effort / 256 + 1; peak_ > reach && search.spent() < until && !stop();
                 patience *= 4)
                try_heights(search, moves - strayed_, {reach, until, patience});
        }
    }
    struct search_limits {
        std::uint64_t reach, until, patience;  // lowest height; spent effort at the end; effort of one height
    };
    /// Tries heights from `reach` up to just below the lowest plan, and begins again after each success.
    constexpr void try_heights(ejection_search<>& search, std::uint64_t moves, search_limits limits) noexcept {
        constexpr std::uint64_t steps = 3;
        for (std::uint64_t i = 0; i <= steps && peak_ > limits.reach && search.spent() < limits.until;) {
            const std::uint64_t step = (peak_ - 1 - limits.reach) / steps;
            const std::uint64_t height = i == steps ? peak_ - 1 : limits.reach + step * i;
            const bool lower = search.find(height, moves, std::min(limits.patience, limits.until - search.spent()),
                                           [this] { return stop(); });
            if (lower) keep(search);
            i = lower ? 0 : step == 0 && i == 0 ? steps : i + 1;
        }
    }
    [[nodiscard]] constexpr plan_status status() const noexcept {
        if (made_.peak <= options_.capacity)
            return made_.peak <= made_.bound ? plan_status::optimal : plan_status::feasible;
        if (made_.bound > options_.capacity) return plan_status::infeasible;
        return at_most_ >= others_ ? plan_status::out_of_budget : plan_status::out_of_moves;
    }

    const plan_problem* problem_;
    std::span<const plan_place> before_;
    std::size_t at_most_;
    std::span<plan_place> places_;
    plan_options options_;
    Watch* watch_;
    merged_problem merged_{};
    plan_array<std::uint64_t> home_{};              // by group
    plan_array<std::uint32_t> cost_{}, counted_{};  // by group; by buffer: 1 if a move of it counts
    plan_summary made_{};
    std::size_t moved_ = 0, others_ = 0, strayed_ = 0;  // others_: buffers that count
    std::uint64_t peak_ = nowhere;                      // lowest peak of the search, without the plan from scratch
    bool found_ = false, stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
