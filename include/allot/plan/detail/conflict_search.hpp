// SPDX-License-Identifier: BSL-1.0
// conflict_search: moves buffers that share bytes until none do (local search with weighted conflicts).
//
//     capacity ┌───────────────────┐      Each buffer has an offset, and ends at or below the capacity. A conflict is a
//              │  ┌─────────┐      │      pair of buffers that share bytes. It costs the weight of its pair, first 1.
//              │  │    b  ┌─┼────┐ │      A step takes a buffer with a conflict, here b or c, and moves it to an offset
//              │  └───────┼─┘ c  │ │      of least cost. If no such buffer has a cheaper offset, the weights of all
//              │ ┌────┐   └──────┘ │      present conflicts grow by 1, until one of them has.
//              └─┤ a  ├────────────┘
//
// The cost of a conflict rises with the shared bytes, up to four granules of them. Of several offsets of equal cost,
// one is taken at random, with a fixed seed. A buffer with several offsets of its present cost moves in one of four
// cases. The search begins with all buffers at offset 0. It begins again with random offsets after a number of steps,
// each time after about twice as many.
//
// The search finds plans where the exact search ends without one: if many buffers live for long. It proves nothing.
//
// Sources: Morris, The breakout method for escaping from local minima, AAAI 1993 (weights of conflicts). Voudouris and
// Tsang, Guided local search, European Journal of Operational Research 113, 1999.
//
// Complexity: a step visits the buffers that live at the same time, and the multiples of the granule up to the
// capacity. A capacity of more than 1,024 of them counts as several steps. Memory: `space`: 4 n² bytes and about 160
// bytes a buffer for n buffers, of which there may be 512, and that of `search_state`. Constant expressions may use it.
// Thread safety: one thread per object.
#pragma once

#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/detail/search_state.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class conflict_search {
    using index = section_bitmaps<>::index;
    static constexpr std::size_t offsets_a_buffer = 32;  // a capacity has at most so many multiples of the granule
    static constexpr index longest_ramp = 4;             // granules over which the cost of a conflict rises
    static constexpr std::uint64_t most_turns = std::uint64_t{1} << 21;  // so that costs fit 32 bits
    static constexpr index nowhere = std::numeric_limits<index>::max();

public:
    static constexpr std::size_t most_buffers = 512;

    /// Returns whether the search supports a valid problem: few buffers with one size each, few lifetimes and pairs,
    /// and neither fixed buffers, reserved ranges nor buffers that are together.
    [[nodiscard]] static constexpr bool supports(const plan_problem& problem, const plan_sizes& sizes = {}) noexcept {
        return problem.buffers.size() <= most_buffers && sizes.lives.empty() && sizes.apart.empty() &&
               problem.revivals.size() + problem.apart.size() <= most_buffers * most_buffers && problem.fixed.empty() &&
               problem.reserved.empty() && problem.together.empty();
    }
    /// Workspace for a problem with at most so many buffers, lifetimes and pairs as `problem`.
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size();
        if (buffers > most_buffers) return {};
        return counts_of(problem).space() + plan_space{.u32 = buffers * (buffers + offsets_a_buffer + 7) + 1};
    }

    /// Precondition: the search supports the problem, and `workspace` is as large as `space` of it.
    constexpr conflict_search(const plan_problem& problem, plan_workspace workspace) noexcept
        : state_{problem, counts_of(problem), workspace, {}} {
        const std::size_t buffers = problem.buffers.size();
        for (auto* array : {&offset_, &size_, &shift_, &conflicts_, &listed_, &place_, &is_new_})
            *array = cut(workspace.u32, buffers);
        cost_ = cut(workspace.u32, offsets_a_buffer * buffers + 1);
        weight_ = cut(workspace.u32, buffers * buffers);
        for (index i = 0; i != items(); ++i) {
            const std::uint64_t aligned = map().align(i) / state_.granule();  // 0 if each multiple of the granule is
            size_[i] = static_cast<index>(map().size(i) / state_.granule());
            shift_[i] = aligned == 0 ? 0 : static_cast<index>(std::countr_zero(aligned));
        }
    }

    /// Heights of plans in which no buffer can be moved down are multiples of it.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return state_.granule(); }
    /// Number of steps since the construction.
    [[nodiscard]] constexpr std::uint64_t steps() const noexcept { return steps_; }

    /// Searches offsets such that all buffers end at or below `capacity`. Writes `offsets`, by buffer, only if it finds
    /// them. Stops after about `most` steps, or if `stop()` returns true. Returns whether it found offsets. Does
    /// nothing if the capacity has too many multiples of the granule, or is below the bound.
    template <class Stop>
    [[nodiscard]] constexpr bool find(std::uint64_t capacity, plan_array<std::uint64_t> offsets, std::uint64_t most,
                                      Stop stop) noexcept {
        if (capacity < state_.bound() || capacity / granule() >= cost_.size() || !state_.start(capacity)) return false;
        height_ = static_cast<index>(capacity / granule());
        const std::uint64_t first = steps_;
        set_all(offset_, index{0});
        begin();
        std::uint64_t left = smaller(16 * std::uint64_t{items()} * items(), most_turns);
        for (std::uint64_t turns = 1; listed_count_ != 0; ++turns, --left) {
            if (steps_ - first >= most || (turns % 256 == 0 && stop())) return false;
            if (left == 0) {
                scatter();
                begin();
                left = smaller(turns, most_turns);
            }
            const index item = next();
            if (item == nowhere) {
                raise_weights();
                continue;
            }
            steps_ += 1 + height_ / 1024;
            improve(item);
        }
        for (index i = 0; i != items(); ++i) offsets[map().buffer(i)] = offset_[i] * granule();
        for (std::size_t i = items(); i != offsets.size(); ++i) offsets[map().buffer(i)] = 0;
        return true;
    }

private:
    [[nodiscard]] static constexpr state_counts counts_of(const plan_problem& problem) noexcept {
        return {section_counts::of(problem), 0};
    }
    [[nodiscard]] constexpr const section_bitmaps<>& map() const noexcept { return state_.map(); }
    [[nodiscard]] constexpr index items() const noexcept { return map().items(); }
    [[nodiscard]] constexpr index& weight(index i, index j) const noexcept {
        return weight_[std::size_t{i} * items() + j];
    }
    template <class Visit>
    constexpr void each_neighbour(index item, Visit visit) const noexcept {
        const item_set others = map().neighbours(item);
        for (std::size_t at = 0; at != others.bits.size(); ++at)
            for (std::uint64_t rest = others.bits[at]; rest != 0; rest &= rest - 1)
                visit(static_cast<index>(64 * (others.first + at)) + static_cast<index>(std::countr_zero(rest)));
    }
    [[nodiscard]] constexpr bool collides(index i, index offset, index j) const noexcept {
        return offset < offset_[j] + size_[j] && offset_[j] < offset + size_[i];
    }

    /// Moves all items to random offsets.
    constexpr void scatter() noexcept {
        for (index i = 0; i != items(); ++i)
            offset_[i] = noise_.below(((height_ - size_[i]) >> shift_[i]) + 1) << shift_[i];
    }
    /// Begins with the present offsets and equal weights.
    constexpr void begin() noexcept {
        set_all(weight_, index{1});
        set_all(conflicts_, index{0});
        set_all(place_, nowhere);
        set_all(is_new_, index{1});
        listed_count_ = 0;
        for (index i = 0; i != items(); ++i) {
            each_neighbour(i, [&](index j) {
                if (collides(i, offset_[i], j)) ++conflicts_[i];
            });
            relist(i);
        }
    }
    /// Lists an item if and only if it has a conflict.
    constexpr void relist(index item) noexcept {
        const bool listed = conflicts_[item] != 0;
        if (listed == (place_[item] != nowhere)) return;
        if (listed) {
            place_[item] = listed_count_;
            listed_[listed_count_++] = item;
        } else {
            const index last = listed_[--listed_count_];
            listed_[place_[item]] = last;
            place_[last] = place_[item];
            place_[item] = nowhere;
        }
    }
    /// Returns an item with a conflict that may have a cheaper offset; `nowhere` if no item has.
    [[nodiscard]] constexpr index next() noexcept {
        index at = noise_.below(listed_count_);
        for (index left = listed_count_; left != 0; --left, at = at + 1 == listed_count_ ? 0 : at + 1)
            if (is_new_[listed_[at]] != 0) return listed_[at];
        return nowhere;
    }
    constexpr void raise_weights() noexcept {
        for (index at = 0; at != listed_count_; ++at) {
            const index i = listed_[at];
            is_new_[i] = 1;
            each_neighbour(i, [&](index j) {
                if (j < i || !collides(i, offset_[i], j)) return;
                ++weight(i, j);
                ++weight(j, i);
            });
        }
    }
    /// Moves an item to an offset of least cost. The cost of a neighbor rises and falls with the shared bytes at the
    /// ends of its range, and is level between. `cost_` first has the changes of the slope.
    constexpr void improve(index item) noexcept {
        const index size = size_[item], last = height_ - size;
        const index between = (index{1} << shift_[item]) - 1;  // bits of an offset that is not aligned
        index cost = 0, slope = 0;
        is_new_[item] = 0;
        for (index at = 0; at <= last; ++at) cost_[at] = 0;
        each_neighbour(item, [&](index j) {
            const std::int64_t end = offset_[j] + size_[j], begin = std::int64_t{offset_[j]} - size;
            const index ramp = smaller(smaller(size, size_[j]), longest_ramp);
            const auto bend = [&](std::int64_t at, index change) {
                if (at > last) return;
                if (at >= 0) cost_[static_cast<std::size_t>(at)] += change;
                else slope += change, cost += change * static_cast<index>(-at);
            };
            bend(begin, weight(item, j));
            bend(begin + ramp, 0 - weight(item, j));
            bend(end - ramp, 0 - weight(item, j));
            bend(end, weight(item, j));
        });
        index least = nowhere, ties = 0;
        for (index at = 0; at <= last; ++at) {
            slope += cost_[at];
            cost_[at] = cost;
            if ((at & between) == 0) {
                ties = cost < least ? 1 : ties + (cost == least ? 1 : 0);
                least = smaller(cost, least);
            }
            cost += slope;
        }
        if (cost_[offset_[item]] == least && (ties == 1 || noise_(2) != 0)) return;
        index at = 0;
        for (index skip = noise_.below(ties); cost_[at] != least || (at & between) != 0 || skip-- != 0;) ++at;
        move(item, at);
    }
    constexpr void move(index item, index offset) noexcept {
        each_neighbour(item, [&](index j) {
            const bool before = collides(item, offset_[item], j), after = collides(item, offset, j);
            if (before || after) is_new_[j] = 1;
            if (before == after) return;
            conflicts_[j] = after ? conflicts_[j] + 1 : conflicts_[j] - 1;
            conflicts_[item] = after ? conflicts_[item] + 1 : conflicts_[item] - 1;
            relist(j);
        });
        offset_[item] = offset;
        relist(item);
    }

    search_state<> state_;
    plan_array<index> offset_, size_, shift_;  // by item, in granules; shift: of the alignment
    plan_array<index> conflicts_, is_new_;     // by item: number; 1 if a neighbor moved since its offset was chosen
    plan_array<index> listed_, place_;         // items with conflicts; by item: the position there
    plan_array<index> cost_;                   // by position: the weights of conflicts there
    plan_array<index> weight_;                 // by pair
    index height_ = 0, listed_count_ = 0;      // in granules; number
    std::uint64_t steps_ = 0;
    noise noise_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
