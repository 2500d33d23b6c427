// fill: which buffers are worth most in one memory that cannot hold all, and where they lie there.
//
//     prices ──► choose by load ──► pack, exactly ──► fill the holes ──► the best so far
//                   ▲   every section is within     │                       │
//                   │   what the capacity allows    └─ cannot, or not soon: │ another choice, or with some slack
//                   └──────────────────── ruin a part, and recreate it ◄────┘
//
// A choice is improved by ruin and recreate: the buffers around a moment are taken out, and put back in another order,
// those first that are worth most for the price of their bytes. A choice that is worth more than the best plan is
// packed by `packing_search`. It is begun with as much slack as it takes until one can be packed, and goes on with
// less. What was packed gets as many more buffers as fit into its holes; and the same ruin and recreate goes on in the
// holes themselves, which needs no search. A problem that is too large for one is begun with as much as a greedy plan
// has room for.
//
// Whatever is ruined and recreated, only what lives near is looked at, and the effort counts it.
//
// Source: Schrimpf et al., Record breaking optimization results using the ruin and recreate principle, Journal of
// Computational Physics 159, 2000. Complexity: O(n log n) and the pairs that live at once, and as much more as
// the effort says. Memory: `space`, 13 words a buffer, one number a section, a problem of its own and what a search or
// a greedy plan needs. Not synchronised.
#pragma once

#include <allot/plan/greedy.hpp>
#include <allot/plan/merge.hpp>
#include <allot/plan/price.hpp>
#include <allot/plan/search.hpp>

namespace allot::inline v1::detail {

class memory_fill {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
    static constexpr std::uint32_t widest_part = 32;  // sections on either side of a moment
    static constexpr std::uint32_t unlisted = ~std::uint32_t{0};

public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, std::size_t search_at_most,
                                                    std::size_t remember) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
        plan_space own;
        own.words = 13 * buffers;
        own.longs = 4 * buffers + lifetimes + problem.apart.size();
        own.buffers = buffers;
        own.revivals = lifetimes;  // of buffers that were merged, more may be revivals
        own.fixed = problem.fixed.size();
        own.pairs = problem.apart.size();
        plan_space work = max(greedy_space(problem), bound_space(problem));
        if (buffers <= search_at_most) {
            const search_counts counts{{buffers, lifetimes, problem.apart.size()}, 0, remember};
            work = max(work, plan_space{.words = counts.narrow(), .longs = counts.wide()});
        }
        return own + work;
    }

    constexpr memory_fill(const plan_problem& problem, const live_sections& where, prices& price,
                          plan_workspace& workspace, std::size_t search_at_most, std::size_t remember) noexcept
        : problem_{&problem},
          buffers_{problem.buffers.data()},
          where_{&where},
          price_{&price},
          search_at_most_{search_at_most},
          remember_{remember} {
        const std::size_t buffers = problem.buffers.size();
        list_ = workspace.cut_words(buffers);
        order_ = workspace.cut_words(buffers);
        scratch_ = workspace.cut_words(buffers);
        share_ = workspace.cut_words(buffers);
        key_ = workspace.cut_words(buffers);
        chosen_ = workspace.cut_words(buffers);
        kept_ = workspace.cut_words(buffers);
        number_ = workspace.cut_words(buffers);
        packed_ = workspace.cut_words(buffers);
        placed_ = workspace.cut_words(buffers);
        at_ = workspace.cut_words(buffers);
        removed_ = workspace.cut_words(buffers);
        rank_ = workspace.cut_words(buffers);
        fixed_ = workspace.cut_longs(buffers);
        offset_ = workspace.cut_longs(buffers);
        kept_offset_ = workspace.cut_longs(buffers);
        trial_ = workspace.cut_longs(buffers);
        load_ = workspace.cut_longs(where.count());
        sub_buffers_ = cut(workspace.buffers, buffers);
        sub_revivals_ = cut(workspace.revivals, problem.revivals.size());
        sub_fixed_ = cut(workspace.fixed, problem.fixed.size());
        sub_pairs_ = cut(workspace.pairs, problem.apart.size());
        workspace_ = workspace;
        for (std::size_t i = 0; i != buffers; ++i) fixed_[i] = nowhere;
        for (const plan_fixed& fixed : problem.fixed) fixed_[fixed.buffer] = fixed.offset;
    }

    /// Makes a plan of those buffers of `list`, at most `effort`, and says how much of it was spent. Each of them fits
    /// the memory when it is alone there, and is worth `values[buffer]`, more than 0. Those that are fixed do not
    /// collide.
    template <class Stop>
    constexpr std::uint64_t run(std::span<const std::uint32_t> list, const std::uint64_t* values,
                                std::uint64_t capacity, std::uint64_t align, std::uint64_t effort, Stop stop) noexcept {
        begin(list, values, capacity, align, effort);
        if (count_ == 0 || fits_whole(stop)) return spent_;
        const std::uint64_t lost = price_->run(
            list_, count_, buffers_, [this](std::uint32_t i) { return values_[i]; }, capacity_, where_->count(),
            prices::iterations(300, effort, count_));
        for (std::size_t k = 0; k != count_; ++k)
            share_[list_[k]] = price_->share(list_[k], buffers_[list_[k]].size, values_[list_[k]]);
        most_ = all_ - std::min(lost, all_);
        for (std::size_t k = 0; k != count_; ++k)
            if (fixed_[list_[k]] != nowhere) put_at(list_[k], fixed_[list_[k]]);
        fill_holes(everywhere(), 0);
        if (goes_on(stop)) improve(stop);
        return spent_;
    }

    [[nodiscard]] constexpr bool placed(std::uint32_t buffer) const noexcept { return placed_[buffer] != 0; }
    [[nodiscard]] constexpr std::uint64_t offset(std::uint32_t buffer) const noexcept { return offset_[buffer]; }

private:
    constexpr void begin(std::span<const std::uint32_t> list, const std::uint64_t* values, std::uint64_t capacity,
                         std::uint64_t align, std::uint64_t effort) noexcept {
        values_ = values;
        capacity_ = capacity;
        align_ = align;
        effort_ = effort;
        spent_ = 0;
        count_ = list.size();
        near_ = 0;
        worth_ = all_ = chosen_worth_ = 0;
        noise_ = {};
        widest_ = align;
        for (std::size_t i = 0; i != problem_->buffers.size(); ++i) {
            chosen_[i] = placed_[i] = 0;
            rank_[i] = unlisted;
        }
        for (std::uint32_t s = 0; s != where_->count(); ++s) load_[s] = 0;
        for (std::size_t k = 0; k != count_; ++k) {
            list_[k] = list[k];
            all_ += values[list[k]];
            widest_ = std::max(widest_, buffers_[list[k]].align);
        }
        // Worth as much: largest first.
        sort_by(list_, scratch_, count_, [this](std::uint32_t i) { return ~buffers_[i].size; });
        for (std::size_t k = 0; k != count_; ++k) rank_[list_[k]] = static_cast<std::uint32_t>(k);
    }

    struct sections {
        std::uint32_t from, until;
    };
    [[nodiscard]] constexpr sections everywhere() const noexcept { return {0, where_->count()}; }

    template <class Stop>
    [[nodiscard]] constexpr bool goes_on(Stop& stop) noexcept {
        return spent_ < effort_ && worth_ < most_ && !(stopped_ = stopped_ || stop());
    }

    // ---- by offsets: what is placed, which is the best plan so far -----------------------------------------------

    constexpr void put_at(std::uint32_t buffer, std::uint64_t offset) noexcept {
        offset_[buffer] = offset;
        placed_[buffer] = 1;
        worth_ += values_[buffer];
        if (buffers_[buffer].size == 0) return;
        std::size_t at = near_++;
        for (; at != 0 && offset_[at_[at - 1]] > offset; --at) at_[at] = at_[at - 1];
        at_[at] = buffer;
    }

    /// Finds what lies in these sections, in order of offsets.
    constexpr void look_at(sections where) noexcept {
        near_ = 0;
        where_->each_living(where.from, where.until, [&](std::uint32_t i) {
            if (placed_[i] != 0 && buffers_[i].size != 0) at_[near_++] = i;
        });
        sort_by(at_, scratch_, near_, [this](std::uint32_t i) { return offset_[i]; });
    }
    [[nodiscard]] constexpr sections sections_of(std::uint32_t buffer) const noexcept {
        sections all{unlisted, 0};
        widen(all, buffer);
        return all;
    }
    constexpr void widen(sections& all, std::uint32_t buffer) const noexcept {
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            all.from = std::min(all.from, from);
            all.until = std::max(all.until, until);
        });
    }

    /// Places a buffer in the lowest hole that it fits, or in the smallest. What lies near it was looked at.
    constexpr bool place(std::uint32_t buffer, bool smallest) noexcept {
        const std::uint64_t size = buffers_[buffer].size, align = std::max(buffers_[buffer].align, align_);
        std::uint64_t top = 0, offset = nowhere, least = nowhere, from = 0;
        const auto try_hole = [&](std::uint64_t end) {
            if (!checked_align_up(top, align, from) || from > end || end - from < size || end - top >= least) return;
            offset = from;
            least = end - top;
        };
        for (std::size_t i = 0; size != 0 && i != near_; ++i) {
            const std::uint32_t other = at_[i];
            if (offset_[other] + buffers_[other].size <= top || !where_->conflict(buffer, other)) continue;
            if (offset_[other] > top) try_hole(offset_[other]);
            if (offset != nowhere && !smallest) break;
            top = std::max(top, offset_[other] + buffers_[other].size);
        }
        if (offset == nowhere || smallest) try_hole(capacity_);
        if (offset == nowhere) return false;
        put_at(buffer, offset);
        return true;
    }

    /// Those of the list that live in these sections and for which `is_out` says so, most worth their price first.
    template <class IsOut>
    constexpr std::size_t put_in_order(sections where, unsigned noise_bits, IsOut is_out) noexcept {
        std::size_t found = 0;
        const auto put = [&](std::uint32_t buffer) {
            if (rank_[buffer] == unlisted || is_out(buffer)) return;
            key_[buffer] = share_[buffer] + (noise_bits == 0 ? 0 : noise_(noise_bits));
            order_[found++] = buffer;
        };
        if (where.from == 0 && where.until == where_->count())
            for (std::size_t k = 0; k != count_; ++k) put(list_[k]);
        else
            where_->each_living(where.from, where.until, put);
        sort_by(order_, scratch_, found, [this](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        return found;
    }

    /// Places what it can of those that live in these sections, and says how many it tried.
    constexpr std::size_t fill_holes(sections where, unsigned noise_bits) noexcept {
        constexpr std::size_t many = 1024;
        const std::size_t found = put_in_order(where, noise_bits, [this](std::uint32_t i) { return placed_[i] != 0; });
        for (std::size_t k = 0; k != found; ++k) widen(where, order_[k]);
        look_at(where);
        const bool one_by_one = found + near_ > many;  // what lies near each is little of what lies near any
        for (std::size_t k = 0; k != found; ++k) {
            if (one_by_one) look_at(sections_of(order_[k]));
            place(order_[k], noise_bits == 0 || noise_(1) != 0);
        }
        return found;
    }

    /// A moment at which a buffer that is out could live, and the sections around it.
    struct part {
        sections where;
        std::uint32_t wanted;
        bool any;
    };
    [[nodiscard]] constexpr std::uint32_t below(std::uint32_t limit) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{noise_(32)} * limit >> 32);
    }
    template <class IsOut>
    [[nodiscard]] constexpr part some_part(IsOut is_out) noexcept {
        const auto count = static_cast<std::uint32_t>(count_);
        const std::uint32_t start = below(count);
        for (std::uint32_t k = 0; k != count; ++k) {
            const std::uint32_t buffer = list_[(start + k) % count];
            if (!is_out(buffer)) continue;
            const lifetime span = where_->first_span(buffer);
            const auto first = static_cast<std::uint32_t>(span.from), last = static_cast<std::uint32_t>(span.until);
            const std::uint32_t moment = first + below(last - first),
                                width = below(1 + std::min(where_->count() / 8, widest_part));
            return {{moment - std::min(moment, width), std::min(moment + width + 1, where_->count())}, buffer, true};
        }
        return {{0, 0}, 0, false};
    }
    /// Ruins a part of what is placed and recreates it, or leaves it as it was where that would lose.
    constexpr void ruin_placed() noexcept {
        ++spent_;
        const part ruined = some_part([this](std::uint32_t i) { return placed_[i] == 0; });
        if (!ruined.any) return;
        const std::uint64_t before = worth_;
        sections around = ruined.where;
        const std::uint32_t spared = below(4);
        std::size_t removed = 0;
        look_at(ruined.where);
        for (std::size_t k = 0; k != near_; ++k) {
            const std::uint32_t buffer = at_[k];
            if (fixed_[buffer] != nowhere || below(4) < spared) continue;
            removed_[removed++] = buffer;
            kept_offset_[buffer] = offset_[buffer];
            placed_[buffer] = 0;
            worth_ -= values_[buffer];
            widen(around, buffer);
        }
        if (noise_(1) != 0) {
            look_at(sections_of(ruined.wanted));
            place(ruined.wanted, noise_(1) != 0);
        }
        const bool wanted = placed_[ruined.wanted] != 0;
        const std::size_t tried = fill_holes(around, 4 + below(6));
        spent_ += (near_ + tried) / 4;
        if (worth_ >= before) return;
        if (wanted) placed_[ruined.wanted] = 0;
        for (std::size_t k = 0; k != tried; ++k) placed_[order_[k]] = 0;
        for (std::size_t k = 0; k != removed; ++k) {
            placed_[removed_[k]] = 1;
            offset_[removed_[k]] = kept_offset_[removed_[k]];
        }
        worth_ = before;
    }

    // ---- by load: what could be placed if only sizes mattered ----------------------------------------------------

    [[nodiscard]] constexpr std::uint64_t room_of(std::uint32_t buffer) const noexcept {
        std::uint64_t room = buffers_[buffer].size;
        return checked_align_up(room, std::max(buffers_[buffer].align, align_), room) ? room : buffers_[buffer].size;
    }
    [[nodiscard]] constexpr bool has_room(std::uint32_t buffer) const noexcept {
        const std::uint64_t room = room_of(buffer);
        bool fits = room <= limit_;
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            for (std::uint32_t s = from; fits && s != until; ++s) fits = load_[s] <= limit_ - room;
        });
        return fits;
    }
    constexpr void choose(std::uint32_t buffer, bool in) noexcept {
        const std::uint64_t room = room_of(buffer);
        chosen_[buffer] = in ? 1 : 0;
        chosen_worth_ = in ? chosen_worth_ + values_[buffer] : chosen_worth_ - values_[buffer];
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            for (std::uint32_t s = from; s != until; ++s) load_[s] = in ? load_[s] + room : load_[s] - room;
        });
    }
    constexpr void choose_these(const std::uint32_t* these) noexcept {
        for (std::size_t k = 0; k != count_; ++k)
            if (chosen_[list_[k]] != 0 && these[list_[k]] == 0) choose(list_[k], false);
        for (std::size_t k = 0; k != count_; ++k)
            if (chosen_[list_[k]] == 0 && these[list_[k]] != 0) choose(list_[k], true);
    }
    /// Chooses what it can of those that live in these sections, and says how many it tried.
    constexpr std::size_t choose_more(sections where, unsigned noise_bits) noexcept {
        const std::size_t found = put_in_order(where, noise_bits, [this](std::uint32_t i) { return chosen_[i] != 0; });
        for (std::size_t k = 0; k != found; ++k)
            if (has_room(order_[k])) choose(order_[k], true);
        return found;
    }
    /// All but `slack` of the capacity, in 1000ths.
    constexpr void limit_to(std::uint64_t slack) noexcept {
        limit_ = capacity_ - (capacity_ / 1000 * slack + capacity_ % 1000 * slack / 1000);
        if (!checked_align_up(limit_, widest_, limit_)) limit_ = capacity_;
    }

    /// Ruins a part of the choice and recreates it, or leaves it as it was where that would lose. Whether it won.
    [[nodiscard]] constexpr bool ruin_chosen() noexcept {
        ++spent_;
        const part ruined = some_part([this](std::uint32_t i) { return chosen_[i] == 0 && room_of(i) <= limit_; });
        if (!ruined.any) return false;
        const std::uint64_t before = chosen_worth_;
        sections around = ruined.where;
        const std::uint32_t spared = below(4), wanted = ruined.wanted;
        std::size_t removed = 0;
        const auto take_out = [&](std::uint32_t buffer) {
            removed_[removed++] = buffer;
            choose(buffer, false);
            widen(around, buffer);
        };
        where_->each_living(ruined.where.from, ruined.where.until, [&](std::uint32_t i) {
            if (chosen_[i] != 0 && fixed_[i] == nowhere && below(4) >= spared) take_out(i);
        });
        if (!has_room(wanted)) {
            std::size_t worse = 0;
            const sections all = sections_of(wanted);
            where_->each_living(all.from, all.until, [&](std::uint32_t i) {
                if (chosen_[i] != 0 && fixed_[i] == nowhere && values_[i] <= values_[wanted] &&
                    where_->conflict(i, wanted))
                    order_[worse++] = i;
            });
            sort_by(order_, scratch_, worse, [this](std::uint32_t i) { return std::uint64_t{rank_[i]}; });
            for (std::size_t k = 0; k != worse && !has_room(wanted); ++k) take_out(order_[k]);
        }
        const bool has_wanted = has_room(wanted);
        if (has_wanted) choose(wanted, true);
        const std::size_t tried = choose_more(around, 4 + below(6));
        spent_ += (removed + tried) / 4;
        if (chosen_worth_ >= before) return chosen_worth_ > before;
        if (has_wanted) choose(wanted, false);
        for (std::size_t k = 0; k != tried; ++k)
            if (chosen_[order_[k]] != 0) choose(order_[k], false);
        for (std::size_t k = 0; k != removed; ++k) choose(removed_[k], true);
        return false;
    }

    // ---- both ------------------------------------------------------------------------------------------------------

    /// The buffers that `these` says, as a problem of their own.
    [[nodiscard]] constexpr plan_problem problem_of(const std::uint32_t* these) noexcept {
        packed_count_ = 0;
        std::size_t revivals = 0, fixed = 0, pairs = 0;
        for (std::size_t k = 0; k != count_; ++k) {
            const std::uint32_t i = list_[k];
            if (these[i] == 0) continue;
            number_[i] = static_cast<std::uint32_t>(packed_count_);
            packed_[packed_count_] = i;
            sub_buffers_[packed_count_++] = {buffers_[i].size, buffers_[i].live, std::max(buffers_[i].align, align_)};
        }
        const auto has = [&](std::size_t buffer) { return these[buffer] != 0; };
        for (const plan_revival& revival : problem_->revivals)
            if (has(revival.buffer)) sub_revivals_[revivals++] = {number_[revival.buffer], revival.live};
        for (const plan_fixed& each : problem_->fixed)
            if (has(each.buffer)) sub_fixed_[fixed++] = {number_[each.buffer], each.offset};
        for (const plan_pair& pair : problem_->apart)
            if (has(pair.first) && has(pair.second)) sub_pairs_[pairs++] = {number_[pair.first], number_[pair.second]};
        return {.buffers = sub_buffers_.first(packed_count_),
                .revivals = sub_revivals_.first(revivals),
                .fixed = sub_fixed_.first(fixed),
                .apart = sub_pairs_.first(pairs)};
    }
    constexpr void adopt() noexcept {
        worth_ = 0;
        for (std::size_t k = 0; k != count_; ++k) placed_[list_[k]] = 0;
        for (std::size_t k = 0; k != packed_count_; ++k) {
            const std::uint32_t i = packed_[k];
            offset_[i] = trial_[k];
            placed_[i] = 1;
            worth_ += values_[i];
        }
    }

    /// Whether all fit, and as low as a greedy plan comes.
    template <class Stop>
    [[nodiscard]] constexpr bool fits_whole(Stop& stop) noexcept {
        for (std::size_t k = 0; k != count_; ++k) chosen_[list_[k]] = 1;
        const plan_problem whole = problem_of(chosen_);
        for (std::size_t k = 0; k != count_; ++k) chosen_[list_[k]] = 0;
        const auto bound = bound_of(whole, workspace_);
        if (!bound || bound->bytes > capacity_) return false;
        const std::uint64_t some = std::min<std::uint64_t>(effort_, 16 * count_);
        spent_ += some;
        const auto made = greedy_plan(whole, *bound, {trial_, count_}, workspace_, {some}, stop);
        if (!made || made->height > capacity_) return false;
        adopt();
        return true;
    }

    /// Whether the choice can be packed, as far as some steps of the search can tell. Then it is the plan, if it is
    /// better.
    template <class Stop>
    [[nodiscard]] constexpr bool pack(Stop& stop) noexcept {
        constexpr std::uint64_t patience = 2000;
        if (chosen_worth_ <= worth_) return false;
        const plan_problem chosen = problem_of(chosen_);
        const search_counts counts = search_counts::of(chosen, remember_);
        const plan_arrays arrays{workspace_.longs.first(counts.wide()), workspace_.words.first(counts.narrow())};
        packing_search search{chosen, {arrays, remember_}};
        const search_result found = search.find(capacity_, {trial_, packed_count_},
                                                std::min(patience, effort_ - std::min(spent_, effort_)), stop);
        spent_ += 1 + packed_count_ / 2 + found.nodes;
        if (found.answer != search_answer::found) return false;
        adopt();
        fill_holes(everywhere(), 0);
        return true;
    }

    /// Chooses as much as a greedy plan comes to have room for.
    template <class Stop>
    constexpr void pack_greedily(Stop& stop) noexcept {
        constexpr int tries = 6;
        std::uint64_t slack = 0;
        for (int k = 0; k != tries && goes_on(stop); ++k) {
            limit_to(slack);
            for (std::size_t i = 0; i != count_; ++i) kept_[list_[i]] = fixed_[list_[i]] != nowhere ? 1 : 0;
            choose_these(kept_);
            choose_more(everywhere(), 0);
            if (chosen_worth_ <= worth_) return;  // with more slack it is worth less still
            const plan_problem chosen = problem_of(chosen_);
            const auto bound = bound_of(chosen, workspace_);
            if (!bound) return;
            spent_ += packed_count_;
            const auto made =
                greedy_plan(chosen, *bound, {trial_, packed_count_}, workspace_, {4 * packed_count_}, stop);
            if (!made) return;
            if (made->height <= capacity_) {
                adopt();
                fill_holes(everywhere(), 0);
                return;
            }
            slack += std::max((made->height - capacity_) / (made->height / (1000 - slack) + 1), std::uint64_t{10} << k);
            if (slack >= 1000) return;
        }
    }

    template <class Stop>
    constexpr void improve(Stop& stop) noexcept {
        constexpr std::uint64_t slacks[]{0, 10, 20, 30, 50, 80, 120, 200, 300, 500};
        constexpr int tries_for_better = 50, tries_in_holes = 4;
        if (count_ > search_at_most_) {
            pack_greedily(stop);
            while (goes_on(stop)) ruin_placed();
            return;
        }
        const std::uint64_t tries = std::min<std::uint64_t>(100, effort_ / 16 / (1 + count_ / 8));
        const bool searched = count_ <= search_at_most_;
        std::uint64_t most_slack = 0;
        for (std::size_t i = 0; searched && i != std::size(slacks) && goes_on(stop); ++i) {
            most_slack = slacks[i];
            limit_to(most_slack);
            for (std::size_t k = 0; k != count_; ++k) kept_[list_[k]] = fixed_[list_[k]] != nowhere ? 1 : 0;
            choose_these(kept_);
            choose_more(everywhere(), 0);
            for (std::uint64_t k = 0; k != tries && spent_ < effort_; ++k) static_cast<void>(ruin_chosen());
            if (chosen_worth_ <= worth_ || pack(stop)) break;  // with more slack it is worth less still
        }
        // With too much slack no choice is better, with too little none can be packed.
        for (std::uint64_t slack = most_slack; goes_on(stop);) {
            choose_these(placed_);
            limit_to(slack);
            bool better = false;
            for (int k = 0; k != tries_for_better && !better; ++k) better = ruin_chosen();
            if (better && !pack(stop)) slack = std::min(slack + most_slack / 16 + 1, most_slack);
            else slack = slack * 3 / 4;
            for (int k = 0; k != tries_in_holes; ++k) ruin_placed();
        }
    }

    const plan_problem* problem_;
    const plan_buffer* buffers_;
    const live_sections* where_;
    prices* price_;
    std::size_t search_at_most_, remember_;
    const std::uint64_t* values_ = nullptr;
    std::uint64_t capacity_ = 0, align_ = 1, widest_ = 1, limit_ = 0;
    std::uint64_t effort_ = 0, spent_ = 0;
    std::uint64_t worth_ = 0, chosen_worth_ = 0;  // of what is placed; of what is chosen
    std::uint64_t all_ = 0, most_ = 0;            // what all are worth; no plan is worth more
    std::size_t count_ = 0, near_ = 0, packed_count_ = 0;
    std::uint32_t *list_ = nullptr, *order_ = nullptr, *scratch_ = nullptr;
    std::uint32_t *share_ = nullptr, *key_ = nullptr;      // by buffer: of its value in its price; with noise
    std::uint32_t *chosen_ = nullptr, *kept_ = nullptr;    // by buffer
    std::uint32_t *number_ = nullptr, *packed_ = nullptr;  // by buffer, and back: in the problem to be packed
    std::uint32_t *placed_ = nullptr, *rank_ = nullptr;    // by buffer: 1 when it is; its place in the list
    std::uint32_t *at_ = nullptr, *removed_ = nullptr;     // what was looked at, by offsets; what was ruined
    std::uint64_t *fixed_ = nullptr, *offset_ = nullptr, *kept_offset_ = nullptr;  // by buffer
    std::uint64_t *trial_ = nullptr, *load_ = nullptr;
    std::span<plan_buffer> sub_buffers_{};
    std::span<plan_revival> sub_revivals_{};
    std::span<plan_fixed> sub_fixed_{};
    std::span<plan_pair> sub_pairs_{};
    plan_workspace workspace_{};
    noise noise_{};
    bool stopped_ = false;
};

}  // namespace allot::inline v1::detail
