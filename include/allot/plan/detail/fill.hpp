// SPDX-License-Identifier: BSL-1.0
// fill: chooses the most valuable buffers for a memory that cannot hold all, and places them.
//
//     prices ──► choose by load ──► pack, exactly ──► fill the holes ──► the best so far
//                   ▲   every section is within     │                       │
//                   │   the limit of the load       └─ fails, or takes too long: another choice, or more slack
//                   └──────────────────── ruin a part, and recreate it ◄────┘
//
// `fill_choice` improves a choice by ruin and recreate: it removes the buffers around a moment and adds buffers in a
// different order, best value for the price of their bytes first. `packing_search` packs each choice that is worth more
// than the best plan. The slack starts at 0, grows until a choice can be packed, and then shrinks. `fill_holes` adds
// further buffers to the holes of a packed choice, and repeats ruin and recreate there without a search. If the problem
// is too large for a search, a greedy plan makes the first packing. A choice that could not be packed is not packed
// again, as long as the class remembers it.
//
// If many buffers live at once, the search of a whole choice often fails. After many failures in a row, three quarters
// of the effort then go to parts of choices without slack: `packing_search::find_part` leaves buffers out instead of
// going back. A part becomes the plan if it is worth more.
//
// Each step of ruin and recreate only visits buffers that live nearby, and counts them as effort. If the problem is
// searched, two visits or nodes count as one placement, because they take about that time.
//
// Source: Schrimpf et al., Record breaking optimization results using the ruin and recreate principle, Journal of
// Computational Physics 159, 2000. Complexity: O(n log n + pairs that live at once), plus the given effort. Memory:
// `space`, 80 bytes a buffer, two `section_loads`, one `problem_part`, and the space of a search or of a greedy plan.
// Thread safety: none.
#pragma once

#include <allot/plan/detail/fill_choice.hpp>
#include <allot/plan/detail/fill_holes.hpp>
#include <allot/plan/detail/part.hpp>
#include <allot/plan/detail/search.hpp>

#include <array>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class memory_fill {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, bool is_searched,
                                                    std::size_t remember) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space own;
        own.u32 = 2 * buffers;
        own.u64 = buffers;
        plan_space work = max(greedy_space(problem), bound_space(problem));
        if (is_searched) {
            const search_counts counts{{buffers, lifetimes, problem.apart.size()}, 0, remember};
            work = max(work, counts.space());
        }
        return own + problem_part<>::space(problem) + fill_candidates<>::space(buffers) +
               fill_holes<>::space(buffers, lifetimes + problem.apart.size(), !problem.together.empty()) +
               fill_choice<>::space(buffers, lifetimes + problem.apart.size()) + work;
    }

    /// `sizes` and `where` describe the same problem.
    constexpr memory_fill(const plan_problem& problem, const plan_sizes& sizes, const section_tree& where,
                          prices& price, const separation& separate, plan_workspace& workspace, bool is_searched,
                          std::size_t remember) noexcept
        : buffers_{problem.buffers.size()},
          price_{&price},
          is_searched_{is_searched},
          remember_{remember},
          candidates_{problem, where, separate, workspace},
          plan_{candidates_, problem.buffers.size(), workspace},
          choice_{candidates_, problem.buffers.size(), workspace},
          part_{problem, sizes, workspace} {
        kept_ = workspace.cut_u32(buffers_);
        packed_ = workspace.cut_u32(buffers_);
        trial_ = workspace.cut_u64(buffers_);
        workspace_ = workspace;
    }
    memory_fill(const memory_fill&) = delete;  // its parts refer to each other

    /// Makes a plan of buffers of `list` and returns the spent effort. Preconditions: each buffer of `list` fits the
    /// memory alone, has bytes, and is worth more than 0; fixed buffers do not collide. `hint`: 1 for each buffer of a
    /// choice to try first, or null.
    template <class Stop>
    constexpr std::uint64_t run(plan_array<const std::uint32_t> list, fill_values values, std::uint64_t capacity,
                                std::uint64_t align, std::uint64_t effort, Stop stop,
                                const std::uint32_t* hint = nullptr) noexcept {
        candidates_.begin(list, values, capacity, align);
        choice_.begin();
        plan_.begin();
        const std::uint64_t steps = is_searched_ ? steps_a_placement : 1;
        effort_ = smaller(effort, ~std::uint64_t{0} / steps) * steps;
        spent_ = spent_on_whole_ = spent_in_part_ = turn_ = failures_ = 0;
        failed_count_ = 0;
        if (!list.empty() && !fits_whole(stop)) fill(stop, hint);
        return divided_up(spent_, steps);
    }

    [[nodiscard]] constexpr bool placed(std::uint32_t buffer) const noexcept { return plan_.placed()[buffer] != 0; }
    [[nodiscard]] constexpr std::uint64_t offset(std::uint32_t buffer) const noexcept { return plan_.offset(buffer); }

private:
    // Nodes of a search that take the time of one placement of a greedy plan.
    static constexpr std::uint64_t steps_a_placement = 2;
    static constexpr std::size_t most_failed = 64;

    template <class Stop>
    constexpr void fill(Stop& stop, const std::uint32_t* hint) noexcept {
        most_ = candidates_.worth() - smaller(candidates_.price(*price_, effort_), candidates_.worth());
        if (is_searched_) {
            fill_everywhere();
            if (hint != nullptr) pack_hint(hint, stop);
        } else pack_greedily(stop);
        if (goes_on(stop)) improve(stop);
    }
    template <class Stop>
    [[nodiscard]] constexpr bool goes_on(Stop& stop) noexcept {
        return spent_ < effort_ && plan_.worth() < most_ && !(stopped_ = stopped_ || stop());
    }

    /// Returns the buffers with `these[buffer] == 1` as a problem.
    [[nodiscard]] constexpr plan_problem problem_of(const std::uint32_t* these) noexcept {
        packed_count_ = 0;
        part_.begin();
        for (const std::uint32_t i : candidates_.list()) {
            if (these[i] == 0) continue;
            packed_[packed_count_++] = i;
            part_.add(i, candidates_.align(i));
        }
        return part_.problem();
    }
    constexpr void adopt() noexcept { plan_.adopt({packed_, packed_count_}, trial_); }
    /// Adopts the packed buffers that end within the capacity, if they are worth more than the plan.
    constexpr void adopt_what_fits() noexcept {
        std::size_t count = 0;
        std::uint64_t worth = 0;
        for (std::size_t k = 0; k != packed_count_; ++k) {
            if (candidates_.size(packed_[k]) > candidates_.capacity() - smaller(trial_[k], candidates_.capacity()))
                continue;
            worth += candidates_.value(packed_[k]);
            packed_[count] = packed_[k];
            trial_[count++] = trial_[k];
        }
        packed_count_ = count;
        if (worth > plan_.worth()) adopt();
    }
    [[nodiscard]] constexpr std::uint64_t left() const noexcept { return effort_ - smaller(spent_, effort_); }

    /// Adopts a greedy plan of all candidates if it fits the capacity. Returns whether it does.
    template <class Stop>
    [[nodiscard]] constexpr bool fits_whole(Stop& stop) noexcept {
        for (std::size_t i = 0; i != buffers_; ++i) kept_[i] = 0;
        for (const std::uint32_t i : candidates_.list()) kept_[i] = 1;
        for (const std::uint32_t i : candidates_.list())
            if (candidates_.is_barred(i, kept_)) return false;
        const plan_problem whole = problem_of(kept_);
        const auto bound = bound_of(whole, workspace_, part_.sizes());
        if (!bound || bound->bytes > candidates_.capacity()) return false;
        const std::uint64_t some = smaller<std::uint64_t>(effort_, 16 * packed_count_);
        spent_ += some;
        const auto made = greedy_plan(whole, *bound, {trial_, packed_count_}, workspace_, {some}, stop, part_.sizes());
        if (!made || made->height > candidates_.capacity()) return false;
        adopt();
        return true;
    }

    /// Tries to pack a choice that is worth more than the plan, with a limited number of search nodes, unless that
    /// failed lately. On success, the packing becomes the plan.
    template <class Stop>
    [[nodiscard]] constexpr bool pack(Stop& stop, std::uint64_t patience = 2000) noexcept {
        if (choice_.worth() <= plan_.worth()) return false;
        const std::uint64_t before = spent_;
        std::uint64_t print = 0;
        for (const std::uint32_t i : candidates_.list())
            if (choice_.chosen()[i] != 0) print += mixed(i + 1);
        for (std::size_t k = 0; k != smaller(failed_count_, most_failed); ++k)
            if (failed_[k] == print) return false;
        const plan_problem chosen = problem_of(choice_.chosen());
        packing_search<> search{chosen, {workspace_, remember_}, part_.sizes()};
        const search_result found =
            search.find(candidates_.capacity(), {trial_, packed_count_}, smaller(patience, left()), stop);
        spent_ += 1 + packed_count_ / 2 + found.nodes;
        if (found.answer != search_answer::found) {
            failed_[failed_count_++ % most_failed] = print;
            spent_on_whole_ += spent_ - before;
            ++failures_;
            return false;
        }
        adopt();
        fill_everywhere();
        failures_ = spent_on_whole_ = spent_in_part_ = 0;
        return true;
    }
    /// Tries to pack a part of the choice that is worth more than the plan. On success, the packing becomes the plan.
    [[nodiscard]] constexpr bool pack_part() noexcept {
        constexpr std::uint64_t turns = 4, all_turns = 64;
        if (choice_.worth() <= plan_.worth()) return false;
        const std::uint64_t before = spent_, turn = turn_;
        turn_ = (turn_ + turns) % all_turns;
        const plan_problem chosen = problem_of(choice_.chosen());
        packing_search<> search{chosen, {workspace_, remember_}, part_.sizes()};
        const auto part = search.find_part(candidates_.capacity(), {trial_, packed_count_}, turn, turn + turns, left(),
                                           choice_.worth() - plan_.worth(),
                                           [this](std::size_t k) { return candidates_.value(packed_[k]); });
        spent_ += 1 + packed_count_ / 2 + part.nodes;
        if (part.found) {
            adopt_what_fits();
            fill_everywhere();
        }
        spent_in_part_ += spent_ - before;
        return part.found;
    }
    template <class Stop>
    constexpr void pack_hint(const std::uint32_t* hint, Stop& stop) noexcept {
        choice_.limit_to(0);
        choice_.choose_these(hint);
        static_cast<void>(pack(stop, effort_ / 16));
    }
    /// Fills holes with a small effort for each candidate, and with a part of the remaining effort.
    constexpr void fill_everywhere() noexcept {
        const std::uint64_t count = candidates_.count(), least = is_searched_ ? 4 * count : count * 3 / 2;
        const std::uint64_t effort = effort_ == 0 ? least : smaller(left(), effort_ / 4 + least);
        plan_.fill(candidates_.everywhere(), 0, fill_holes<>::looks_for(effort));
        spent_ += plan_.looked_at() / fill_holes<>::looks_a_placement;
    }

    /// Chooses the fixed buffers, and then as many others as the capacity less the slack holds.
    constexpr void choose_anew(std::uint64_t slack) noexcept {
        choice_.limit_to(slack);
        for (const std::uint32_t i : candidates_.list()) kept_[i] = candidates_.is_fixed(i) ? 1 : 0;
        choice_.choose_these(kept_);
        choice_.choose_more(candidates_.everywhere(), 0);
    }

    /// Adopts the buffers of a greedy plan that end within the capacity. Repeats with more slack while the plan does
    /// not fit. Then fills the holes.
    template <class Stop>
    constexpr void pack_greedily(Stop& stop) noexcept {
        constexpr int tries = 6;
        std::uint64_t slack = 0;
        for (int k = 0; k == 0 || (k != tries && spent_ < effort_ / 4 && goes_on(stop)); ++k) {
            choose_anew(slack);
            const plan_problem chosen = problem_of(choice_.chosen());
            const auto bound = bound_of(chosen, workspace_, part_.sizes());
            if (!bound) break;
            const std::uint64_t some = smaller<std::uint64_t>(left(), 4 * packed_count_);
            spent_ += larger<std::uint64_t>(some, packed_count_);
            const auto made =
                greedy_plan(chosen, *bound, {trial_, packed_count_}, workspace_, {some}, stop, part_.sizes());
            if (!made) break;
            adopt_what_fits();
            if (made->height <= candidates_.capacity()) break;
            const std::uint64_t over = made->height - candidates_.capacity();
            slack += larger(over / (made->height / (1000 - slack) + 1), std::uint64_t{10} << k);
            if (slack >= 1000) break;
        }
        fill_everywhere();
    }

    /// Returns the mean number of candidates in a section.
    [[nodiscard]] constexpr std::uint64_t mean_living() const noexcept {
        std::uint64_t sum = 0;
        const auto add = [&](std::uint32_t from, std::uint32_t until) { sum += until - from; };
        for (const std::uint32_t i : candidates_.list()) candidates_.where().each_span(i, add);
        return sum / larger<std::uint64_t>(candidates_.where().count(), 1);
    }

    template <class Stop>
    constexpr void improve(Stop& stop) noexcept {
        constexpr std::uint64_t slacks[]{0, 10, 20, 30, 50, 80, 120, 200, 300, 500};
        constexpr int tries_for_better = 50, tries_in_holes = 4;
        constexpr std::uint64_t few_living = 48, many_failures = 24, share_of_parts = 3;
        if (!is_searched_) {
            while (goes_on(stop)) spent_ += plan_.ruin(left());
            return;
        }
        const std::uint64_t tries = smaller<std::uint64_t>(100, effort_ / 16 / (1 + candidates_.count() / 8));
        const bool is_crowded = mean_living() > few_living;
        std::uint64_t most_slack = 0;
        for (std::size_t i = 0; i != std::size(slacks) && goes_on(stop); ++i) {
            most_slack = slacks[i];
            choose_anew(most_slack);
            for (std::uint64_t k = 0; k != tries && spent_ < effort_; ++k) static_cast<void>(choice_.ruin(spent_));
            if (choice_.worth() <= plan_.worth() || pack(stop)) break;  // more slack would only lower the worth
        }
        // Too much slack leaves no better choice; too little leaves none that can be packed.
        for (std::uint64_t slack = most_slack; goes_on(stop);) {
            const bool in_part =
                is_crowded && failures_ >= many_failures && spent_in_part_ / share_of_parts <= spent_on_whole_;
            choice_.choose_these(plan_.placed());
            choice_.limit_to(in_part ? 0 : slack);
            bool better = false;
            for (int k = 0; k != tries_for_better && !better && spent_ < effort_; ++k) better = choice_.ruin(spent_);
            if (better && !(in_part ? pack_part() : pack(stop)))
                slack = smaller(slack + most_slack / 16 + 1, most_slack);
            else slack = slack * 3 / 4;
            for (int k = 0; k != tries_in_holes && spent_ < effort_; ++k) spent_ += plan_.ruin(left());
        }
    }

    std::size_t buffers_;
    prices* price_;
    bool is_searched_;
    std::size_t remember_;
    fill_candidates<> candidates_;
    fill_holes<> plan_;  // the best plan so far
    fill_choice<> choice_;
    problem_part<> part_;
    std::uint64_t effort_ = 0, spent_ = 0, most_ = 0;  // of which `most_` bounds the worth of every plan
    std::uint64_t failures_ = 0, spent_on_whole_ = 0, spent_in_part_ = 0;  // since a whole choice was packed
    std::uint64_t turn_ = 0;                                               // of `pack_part`
    std::uint32_t* kept_ = nullptr;                                        // by buffer: 1 if kept
    std::uint32_t* packed_ = nullptr;                                      // the buffers of the problem to pack
    std::size_t packed_count_ = 0;
    std::uint64_t* trial_ = nullptr;
    std::size_t failed_count_ = 0;
    std::array<std::uint64_t, most_failed> failed_{};  // fingerprints of the latest choices that were not packed
    plan_workspace workspace_{};
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
