// fill: which buffers are worth most in one memory that cannot hold all, and where they lie there.
//
//     prices ──► choose by load ──► pack, exactly ──► fill the holes ──► the best so far
//                   ▲   every section is within     │                       │
//                   │   what the capacity allows    └─ cannot, or not soon: │ another choice, or with some slack
//                   └──────────────────── ruin a part, and recreate it ◄────┘
//
// A choice is improved by ruin and recreate: the buffers around a moment are taken out, and put back in another order, those
// first that are worth most for the price of their bytes. A choice that is worth more than the best plan is packed by
// `packing_search`. It is begun with as much slack as it takes until one can be packed, and goes on with less. What was
// packed gets as many more buffers as fit into its holes; and the same ruin and recreate goes on in the holes themselves,
// which needs no search and is all there is for problems that are too large for one.
//
// Source: Schrimpf et al., Record breaking optimization results using the ruin and recreate principle, Journal of
// Computational Physics 159, 2000. Complexity: O(n²) simple steps, and as many more as the effort says. Memory: `space`,
// 12 words a buffer, one number a section, a problem of its own and what a search or a greedy plan needs. Not synchronised.
#pragma once

#include <allot/plan/greedy.hpp>
#include <allot/plan/merge.hpp>
#include <allot/plan/price.hpp>
#include <allot/plan/search.hpp>

namespace allot::inline v1::detail {

class memory_fill {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};
    static constexpr std::uint32_t widest_part = 32;  // sections on either side of a moment

public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, std::size_t search_at_most, std::size_t remember) noexcept {
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
            const search_counts counts{{buffers, lifetimes, problem.apart.size()}, remember};
            work = max(work, plan_space{.words = counts.narrow(), .longs = counts.wide()});
        }
        return own + work;
    }

    constexpr memory_fill(const plan_problem& problem, const live_sections& where, prices& price, plan_workspace& workspace,
                          std::size_t search_at_most, std::size_t remember) noexcept
        : problem_{&problem}, buffers_{problem.buffers.data()}, where_{&where}, price_{&price}, search_at_most_{search_at_most},
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
        kept_placed_ = workspace.cut_words(buffers);
        kept_at_ = workspace.cut_words(buffers);
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

    /// Makes a plan of those buffers of `list`, at most `effort`, and says how much of it was spent. Each of them fits the
    /// memory when it is alone there, and is worth `values[buffer]`, more than 0. Those that are fixed do not collide.
    template <class Stop>
    constexpr std::uint64_t run(std::span<const std::uint32_t> list, const std::uint64_t* values, std::uint64_t capacity,
                                std::uint64_t align, std::uint64_t effort, Stop stop) noexcept {
        begin(list, values, capacity, align, effort);
        if (count_ == 0 || fits_whole(stop)) return spent_;
        const std::uint64_t lost = price_->run(list_, count_, buffers_, [this](std::uint32_t i) { return values_[i]; }, capacity_,
                                               where_->count(), prices::iterations(300, effort, count_));
        for (std::size_t k = 0; k != count_; ++k)
            share_[list_[k]] = price_->share(list_[k], buffers_[list_[k]].size, values_[list_[k]]);
        sort_by(list_, scratch_, count_, [this](std::uint32_t i) { return ~buffers_[i].size; });  // what is worth as much: largest first
        most_ = all_ - std::min(lost, all_);
        for (std::size_t k = 0; k != count_; ++k)
            if (fixed_[list_[k]] != nowhere) put_at(list_[k], fixed_[list_[k]]);
        fill_holes(0, where_->count(), 0);
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
        placed_count_ = 0;
        worth_ = all_ = chosen_worth_ = 0;
        noise_ = {};
        widest_ = align;
        for (std::size_t i = 0; i != problem_->buffers.size(); ++i) chosen_[i] = placed_[i] = 0;
        for (std::uint32_t s = 0; s != where_->count(); ++s) load_[s] = 0;
        for (std::size_t k = 0; k != count_; ++k) {
            list_[k] = list[k];
            all_ += values[list[k]];
            widest_ = std::max(widest_, buffers_[list[k]].align);
        }
    }

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
        std::size_t at = placed_count_++;
        for (; at != 0 && offset_[at_[at - 1]] > offset; --at) at_[at] = at_[at - 1];
        at_[at] = buffer;
    }

    /// Places a buffer in the lowest hole that it fits, or in the smallest.
    constexpr bool place(std::uint32_t buffer, bool smallest) noexcept {
        const std::uint64_t size = buffers_[buffer].size, align = std::max(buffers_[buffer].align, align_);
        std::uint64_t top = 0, offset = nowhere, least = nowhere, from = 0;
        const auto try_hole = [&](std::uint64_t end) {
            if (!checked_align_up(top, align, from) || from > end || end - from < size || end - top >= least) return;
            offset = from;
            least = end - top;
        };
        for (std::size_t i = 0; size != 0 && i != placed_count_; ++i) {
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

    /// Those of the list that live in [from, until) and for which `is_out` says so, most worth their price first.
    template <class IsOut>
    constexpr std::size_t put_in_order(std::uint32_t from, std::uint32_t until, unsigned noise_bits, IsOut is_out) noexcept {
        std::size_t found = 0;
        for (std::size_t k = 0; k != count_; ++k) {
            const std::uint32_t buffer = list_[k];
            if (is_out(buffer) || !where_->meets(buffer, from, until)) continue;
            key_[buffer] = share_[buffer] + (noise_bits == 0 ? 0 : noise_(noise_bits));
            order_[found++] = buffer;
        }
        sort_by(order_, scratch_, found, [this](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        return found;
    }

    constexpr void fill_holes(std::uint32_t from, std::uint32_t until, unsigned noise_bits) noexcept {
        const std::size_t found = put_in_order(from, until, noise_bits, [this](std::uint32_t i) { return placed_[i] != 0; });
        for (std::size_t k = 0; k != found; ++k) place(order_[k], noise_bits == 0 || noise_(1) != 0);
    }

    constexpr void copy_placed(std::uint32_t* placed, std::uint32_t* at, std::uint64_t* offset, const std::uint32_t* from_placed,
                               const std::uint32_t* from_at, const std::uint64_t* from_offset) const noexcept {
        for (std::size_t k = 0; k != count_; ++k) {
            placed[list_[k]] = from_placed[list_[k]];
            offset[list_[k]] = from_offset[list_[k]];
            at[k] = from_at[k];
        }
    }

    /// A moment at which a buffer that is out could live, and the sections around it.
    struct part {
        std::uint32_t from, until, wanted;
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
            const std::uint32_t moment = first + below(last - first), width = below(1 + std::min(where_->count() / 8, widest_part));
            return {moment - std::min(moment, width), std::min(moment + width + 1, where_->count()), buffer, true};
        }
        return {0, 0, 0, false};
    }
    constexpr void widen(part& sections, std::uint32_t buffer) const noexcept {
        where_->each_span(buffer, [&](std::uint32_t from, std::uint32_t until) {
            sections.from = std::min(sections.from, from);
            sections.until = std::max(sections.until, until);
        });
    }

    /// Ruins a part of what is placed and recreates it, or leaves it as it was where that would lose.
    constexpr void ruin_placed() noexcept {
        spent_ += 1 + count_ / 4;
        const part ruined = some_part([this](std::uint32_t i) { return placed_[i] == 0; });
        if (!ruined.any) return;
        const std::uint64_t before = worth_;
        const std::size_t before_count = placed_count_;
        copy_placed(kept_placed_, kept_at_, kept_offset_, placed_, at_, offset_);
        part around = ruined;
        const std::uint32_t spared = below(4);
        std::size_t left = 0;
        for (std::size_t i = 0; i != placed_count_; ++i) {
            const std::uint32_t buffer = at_[i];
            if (fixed_[buffer] == nowhere && where_->meets(buffer, ruined.from, ruined.until) && below(4) >= spared) {
                placed_[buffer] = 0;
                worth_ -= values_[buffer];
                widen(around, buffer);
            } else {
                at_[left++] = buffer;
            }
        }
        placed_count_ = left;
        if (noise_(1) != 0) place(ruined.wanted, noise_(1) != 0);
        fill_holes(around.from, around.until, 4 + below(6));
        if (worth_ >= before) return;
        copy_placed(placed_, at_, offset_, kept_placed_, kept_at_, kept_offset_);
        worth_ = before;
        placed_count_ = before_count;
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
    constexpr void choose_more(std::uint32_t from, std::uint32_t until, unsigned noise_bits) noexcept {
        const std::size_t found = put_in_order(from, until, noise_bits, [this](std::uint32_t i) { return chosen_[i] != 0; });
        for (std::size_t k = 0; k != found; ++k)
            if (has_room(order_[k])) choose(order_[k], true);
    }
    /// All but `slack` of the capacity, in 1000ths.
    constexpr void limit_to(std::uint64_t slack) noexcept {
        limit_ = capacity_ - (capacity_ / 1000 * slack + capacity_ % 1000 * slack / 1000);
        if (!checked_align_up(limit_, widest_, limit_)) limit_ = capacity_;
    }

    /// Ruins a part of the choice and recreates it, or leaves it as it was where that would lose. Whether it won.
    [[nodiscard]] constexpr bool ruin_chosen() noexcept {
        spent_ += 1 + count_ / 8;
        const part ruined = some_part([this](std::uint32_t i) { return chosen_[i] == 0 && room_of(i) <= limit_; });
        if (!ruined.any) return false;
        const std::uint64_t before = chosen_worth_;
        part around = ruined;
        const std::uint32_t spared = below(4);
        for (std::size_t k = 0; k != count_; ++k) kept_[list_[k]] = chosen_[list_[k]];
        const auto take_out = [&](std::uint32_t buffer) {
            choose(buffer, false);
            widen(around, buffer);
        };
        for (std::size_t k = 0; k != count_; ++k)
            if (const std::uint32_t i = list_[k];
                chosen_[i] != 0 && fixed_[i] == nowhere && where_->meets(i, ruined.from, ruined.until) && below(4) >= spared)
                take_out(i);
        for (std::size_t k = 0; k != count_ && !has_room(ruined.wanted); ++k)
            if (const std::uint32_t i = list_[k]; chosen_[i] != 0 && fixed_[i] == nowhere && values_[i] <= values_[ruined.wanted] &&
                                                  where_->conflict(i, ruined.wanted))
                take_out(i);
        if (has_room(ruined.wanted)) choose(ruined.wanted, true);
        choose_more(around.from, around.until, 4 + below(6));
        if (chosen_worth_ < before) choose_these(kept_);
        return chosen_worth_ > before;
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
    constexpr void adopt(const std::uint32_t* these) noexcept {
        placed_count_ = 0;
        worth_ = 0;
        for (std::size_t k = 0; k != count_; ++k) placed_[list_[k]] = 0;
        for (std::size_t k = 0; k != packed_count_; ++k) {
            const std::uint32_t i = packed_[k];
            offset_[i] = trial_[k];
            placed_[i] = these[i];
            worth_ += values_[i];
            if (buffers_[i].size != 0) at_[placed_count_++] = i;
        }
        sort_by(at_, scratch_, placed_count_, [this](std::uint32_t i) { return offset_[i]; });
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
        for (std::size_t k = 0; k != count_; ++k) chosen_[list_[k]] = 1;
        adopt(chosen_);
        return true;
    }

    /// Whether the choice can be packed, as far as some steps of the search can tell. Then it is the plan, if it is better.
    template <class Stop>
    [[nodiscard]] constexpr bool pack(Stop& stop) noexcept {
        constexpr std::uint64_t patience = 2000;
        if (chosen_worth_ <= worth_) return false;
        const plan_problem chosen = problem_of(chosen_);
        const search_counts counts{section_counts::of(chosen), remember_};
        packing_search search{chosen, {{workspace_.longs.first(counts.wide()), workspace_.words.first(counts.narrow())}, remember_}};
        const search_result found = search.find(capacity_, {trial_, packed_count_}, std::min(patience, effort_ - std::min(spent_, effort_)), stop);
        spent_ += 1 + packed_count_ / 2 + found.nodes;
        if (found.answer != search_answer::found) return false;
        adopt(chosen_);
        fill_holes(0, where_->count(), 0);
        return true;
    }

    template <class Stop>
    constexpr void improve(Stop& stop) noexcept {
        constexpr std::uint64_t slacks[]{0, 10, 20, 30, 50, 80, 120, 200, 300, 500};
        constexpr int tries_for_better = 50, tries_in_holes = 4;
        const std::uint64_t tries = std::min<std::uint64_t>(300, effort_ / 16 / (1 + count_ / 8));
        const bool searched = count_ <= search_at_most_;
        std::uint64_t most_slack = 0;
        for (std::size_t i = 0; searched && i != std::size(slacks) && goes_on(stop); ++i) {
            most_slack = slacks[i];
            limit_to(most_slack);
            for (std::size_t k = 0; k != count_; ++k) kept_[list_[k]] = fixed_[list_[k]] != nowhere ? 1 : 0;
            choose_these(kept_);
            choose_more(0, where_->count(), 0);
            for (std::uint64_t k = 0; k != tries && spent_ < effort_; ++k) static_cast<void>(ruin_chosen());
            if (chosen_worth_ <= worth_ || pack(stop)) break;  // with more slack it is worth less still
        }
        for (bool some_slack = false; goes_on(stop); some_slack = !some_slack) {
            if (searched) {
                choose_these(placed_);
                limit_to(some_slack ? most_slack * below(1024) / 1024 : 0);
                bool better = false;
                for (int k = 0; k != tries_for_better && !better; ++k) better = ruin_chosen();
                if (better && pack(stop)) continue;
            }
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
    std::uint64_t worth_ = 0, chosen_worth_ = 0, all_ = 0, most_ = 0;  // of what is placed, chosen, all; no plan has more
    std::size_t count_ = 0, placed_count_ = 0, packed_count_ = 0;
    std::uint32_t *list_ = nullptr, *order_ = nullptr, *scratch_ = nullptr;
    std::uint32_t *share_ = nullptr, *key_ = nullptr;                    // by buffer: of its value in its price; with noise
    std::uint32_t *chosen_ = nullptr, *kept_ = nullptr;                  // by buffer
    std::uint32_t *number_ = nullptr, *packed_ = nullptr;                // by buffer, and back: in the problem to be packed
    std::uint32_t *placed_ = nullptr, *kept_placed_ = nullptr;           // by buffer
    std::uint32_t *at_ = nullptr, *kept_at_ = nullptr;                   // in order of offsets
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
