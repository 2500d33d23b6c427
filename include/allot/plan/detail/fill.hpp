// SPDX-License-Identifier: BSL-1.0
// fill: which buffers are worth most in one memory that cannot hold all, and where they lie there.
//
//     prices ──► choose by load ──► pack, exactly ──► fill the holes ──► the best so far
//                   ▲   every section is within     │                       │
//                   │   what the capacity allows    └─ cannot, or not soon: │ another choice, or with some slack
//                   └──────────────────── ruin a part, and recreate it ◄────┘
//
// A choice is improved by ruin and recreate: the buffers around a moment are taken out, and put back in another order,
// those first that are worth most for the price of their bytes (`fill_choice`). A choice that is worth more than the
// best plan is packed by `packing_search`. It is begun with as much slack as it takes until one can be packed, and goes
// on with less. What was packed gets as many more buffers as fit into its holes (`fill_holes`); and the same ruin and
// recreate goes on in the holes themselves, which needs no search. A problem that is too large for one is begun with as
// much as a greedy plan has room for.
//
// Whatever is ruined and recreated, only what lives near is looked at, and the effort counts it.
//
// Source: Schrimpf et al., Record breaking optimization results using the ruin and recreate principle, Journal of
// Computational Physics 159, 2000. Complexity: O(n log n) and the pairs that live at once, and as much more as
// the effort says. Memory: `space`, 13 words a buffer, one number a section, a problem of its own and what a search or
// a greedy plan needs. Not synchronised.
#pragma once

#include <allot/plan/detail/fill_choice.hpp>
#include <allot/plan/detail/fill_holes.hpp>
#include <allot/plan/detail/part.hpp>
#include <allot/plan/detail/search.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

class memory_fill {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, bool is_searched,
                                                    std::size_t remember) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space own;
        own.words = 2 * buffers;
        own.longs = buffers;
        plan_space work = max(greedy_space(problem), bound_space(problem));
        if (is_searched) {
            const search_counts counts{{buffers, lifetimes, problem.apart.size()}, 0, remember};
            work = max(work, plan_space{.words = counts.narrow(), .longs = counts.wide()});
        }
        return own + problem_part::space(problem) + fill_candidates::space(buffers) +
               fill_holes::space(buffers, lifetimes + problem.apart.size(), !problem.together.empty()) +
               fill_choice::space(buffers, lifetimes + problem.apart.size()) + work;
    }

    /// As large as `sizes` says, `where` as well.
    constexpr memory_fill(const plan_problem& problem, const plan_sizes& sizes, const live_sections& where,
                          prices& price, plan_workspace& workspace, bool is_searched, std::size_t remember) noexcept
        : buffers_{problem.buffers.size()},
          price_{&price},
          is_searched_{is_searched},
          remember_{remember},
          candidates_{problem, where, workspace},
          plan_{candidates_, problem.buffers.size(), workspace},
          choice_{candidates_, problem.buffers.size(), workspace},
          part_{problem, sizes, workspace} {
        kept_ = workspace.cut_words(buffers_);
        packed_ = workspace.cut_words(buffers_);
        trial_ = workspace.cut_longs(buffers_);
        workspace_ = workspace;
    }
    memory_fill(const memory_fill&) = delete;  // its parts know each other

    /// Makes a plan of those buffers of `list`, at most `effort`, and says how much of it was spent. Each of them fits
    /// the memory when it is alone there, has bytes, and is worth more than 0. Those that are fixed do not collide.
    template <class Stop>
    constexpr std::uint64_t run(std::span<const std::uint32_t> list, fill_values values, std::uint64_t capacity,
                                std::uint64_t align, std::uint64_t effort, Stop stop) noexcept {
        candidates_.begin(list, values, capacity, align);
        choice_.begin();
        plan_.begin();
        effort_ = effort;
        spent_ = 0;
        if (list.empty() || fits_whole(stop)) return spent_;
        most_ = candidates_.worth() - std::min(candidates_.price(*price_, effort), candidates_.worth());
        if (is_searched_) fill_everywhere();
        else pack_greedily(stop);
        if (goes_on(stop)) improve(stop);
        return spent_;
    }

    [[nodiscard]] constexpr bool placed(std::uint32_t buffer) const noexcept { return plan_.placed()[buffer] != 0; }
    [[nodiscard]] constexpr std::uint64_t offset(std::uint32_t buffer) const noexcept { return plan_.offset(buffer); }

private:
    template <class Stop>
    [[nodiscard]] constexpr bool goes_on(Stop& stop) noexcept {
        return spent_ < effort_ && plan_.worth() < most_ && !(stopped_ = stopped_ || stop());
    }

    /// The buffers that `these` says, as a problem of their own.
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
    /// Those that end within the capacity, where they are worth more than the plan.
    constexpr void adopt_what_fits() noexcept {
        std::size_t count = 0;
        std::uint64_t worth = 0;
        for (std::size_t k = 0; k != packed_count_; ++k) {
            if (candidates_.size(packed_[k]) > candidates_.capacity() - std::min(trial_[k], candidates_.capacity()))
                continue;
            worth += candidates_.value(packed_[k]);
            packed_[count] = packed_[k];
            trial_[count++] = trial_[k];
        }
        packed_count_ = count;
        if (worth > plan_.worth()) adopt();
    }
    [[nodiscard]] constexpr std::uint64_t left() const noexcept { return effort_ - std::min(spent_, effort_); }

    /// Whether all fit, and as low as a greedy plan comes.
    template <class Stop>
    [[nodiscard]] constexpr bool fits_whole(Stop& stop) noexcept {
        for (std::size_t i = 0; i != buffers_; ++i) kept_[i] = 0;
        for (const std::uint32_t i : candidates_.list()) kept_[i] = 1;
        const plan_problem whole = problem_of(kept_);
        const auto bound = bound_of(whole, workspace_, part_.sizes());
        if (!bound || bound->bytes > candidates_.capacity()) return false;
        const std::uint64_t some = std::min<std::uint64_t>(effort_, 16 * packed_count_);
        spent_ += some;
        const auto made =
            greedy_plan(whole, *bound, {trial_, packed_count_}, workspace_, {some}, stop, part_.sizes());
        if (!made || made->height > candidates_.capacity()) return false;
        adopt();
        return true;
    }

    /// Whether the choice can be packed, as far as some steps of the search can tell. Then it is the plan, if it is
    /// better.
    template <class Stop>
    [[nodiscard]] constexpr bool pack(Stop& stop) noexcept {
        constexpr std::uint64_t patience = 2000;
        if (choice_.worth() <= plan_.worth()) return false;
        const plan_problem chosen = problem_of(choice_.chosen());
        const search_counts counts = search_counts::of(chosen, remember_);
        const plan_arrays arrays{workspace_.longs.first(counts.wide()), workspace_.words.first(counts.narrow())};
        packing_search search{chosen, {arrays, remember_}, part_.sizes()};
        const search_result found = search.find(candidates_.capacity(), {trial_, packed_count_},
                                                std::min(patience, left()), stop);
        spent_ += 1 + packed_count_ / 2 + found.nodes;
        if (found.answer != search_answer::found) return false;
        adopt();
        fill_everywhere();
        return true;
    }
    /// As far as the effort goes, and a little for each in any case.
    constexpr void fill_everywhere() noexcept {
        constexpr std::uint64_t looks_for_each = 64;
        const std::uint64_t looks = std::min(left(), effort_ / 4) * fill_holes::looks_a_placement;
        plan_.fill(candidates_.everywhere(), 0, looks_for_each * candidates_.count() + looks);
        spent_ += plan_.looked_at() / fill_holes::looks_a_placement;
    }

    /// What is fixed, and whatever else all but so much slack has room for.
    constexpr void choose_anew(std::uint64_t slack) noexcept {
        choice_.limit_to(slack);
        for (const std::uint32_t i : candidates_.list()) kept_[i] = candidates_.is_fixed(i) ? 1 : 0;
        choice_.choose_these(kept_);
        choice_.choose_more(candidates_.everywhere(), 0);
    }

    /// What a greedy plan of all that is chosen has within the capacity, with less and less chosen; and fills the
    /// holes.
    template <class Stop>
    constexpr void pack_greedily(Stop& stop) noexcept {
        constexpr int tries = 6;
        std::uint64_t slack = 0;
        for (int k = 0; k == 0 || (k != tries && spent_ < effort_ / 4 && goes_on(stop)); ++k) {
            choose_anew(slack);
            const plan_problem chosen = problem_of(choice_.chosen());
            const auto bound = bound_of(chosen, workspace_, part_.sizes());
            if (!bound) break;
            const std::uint64_t some = std::min<std::uint64_t>(left(), 4 * packed_count_);
            spent_ += std::max<std::uint64_t>(some, packed_count_);
            const auto made =
                greedy_plan(chosen, *bound, {trial_, packed_count_}, workspace_, {some}, stop, part_.sizes());
            if (!made) break;
            adopt_what_fits();
            if (made->height <= candidates_.capacity()) break;
            const std::uint64_t over = made->height - candidates_.capacity();
            slack += std::max(over / (made->height / (1000 - slack) + 1), std::uint64_t{10} << k);
            if (slack >= 1000) break;
        }
        fill_everywhere();
    }

    template <class Stop>
    constexpr void improve(Stop& stop) noexcept {
        constexpr std::uint64_t slacks[]{0, 10, 20, 30, 50, 80, 120, 200, 300, 500};
        constexpr int tries_for_better = 50, tries_in_holes = 4;
        if (!is_searched_) {
            while (goes_on(stop)) spent_ += plan_.ruin();
            return;
        }
        const std::uint64_t tries = std::min<std::uint64_t>(100, effort_ / 16 / (1 + candidates_.count() / 8));
        std::uint64_t most_slack = 0;
        for (std::size_t i = 0; i != std::size(slacks) && goes_on(stop); ++i) {
            most_slack = slacks[i];
            choose_anew(most_slack);
            for (std::uint64_t k = 0; k != tries && spent_ < effort_; ++k) static_cast<void>(choice_.ruin(spent_));
            if (choice_.worth() <= plan_.worth() || pack(stop)) break;  // with more slack it is worth less still
        }
        // With too much slack no choice is better, with too little none can be packed.
        for (std::uint64_t slack = most_slack; goes_on(stop);) {
            choice_.choose_these(plan_.placed());
            choice_.limit_to(slack);
            bool better = false;
            for (int k = 0; k != tries_for_better && !better; ++k) better = choice_.ruin(spent_);
            if (better && !pack(stop)) slack = std::min(slack + most_slack / 16 + 1, most_slack);
            else slack = slack * 3 / 4;
            for (int k = 0; k != tries_in_holes; ++k) spent_ += plan_.ruin();
        }
    }

    std::size_t buffers_;
    prices* price_;
    bool is_searched_;
    std::size_t remember_;
    fill_candidates candidates_;
    fill_holes plan_;  // the best so far
    fill_choice choice_;
    problem_part part_;
    std::uint64_t effort_ = 0, spent_ = 0, most_ = 0;  // no plan is worth more
    std::uint32_t* kept_ = nullptr;    // by buffer: 1 for some
    std::uint32_t* packed_ = nullptr;  // those in the problem to be packed
    std::size_t packed_count_ = 0;
    std::uint64_t* trial_ = nullptr;
    plan_workspace workspace_{};
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
