// SPDX-License-Identifier: BSL-1.0
// offset_search: decides exactly whether up to 64 buffers fit a capacity, in the order of their offsets.
//
//     bytes                            A state consists of the waiting buffers and the lowest possible offset of each.
//       ▲         ┌─────────┐          Consider a plan in which no buffer can be moved down, and the buffer with the
//       │         │    b    │          least of these offsets. Either it is placed there, and all others are as high
//       │ ┌───────┴─┐ ┌─────┴───┐      or higher. Or it is deferred: another waiting buffer blocks its place, and it
//       │ │    a    │ │    c    │      is above that one. Then the next buffer is considered, until one is placed.
//       └─┴─────────┴─┴─────────┴──►
//         a, then c, then b     time
//
// A state fails in three cases:
//   - No waiting buffer can block the place of a deferred one.
//   - The next buffer would be placed above the place of a waiting buffer. Then nothing would block that place.
//   - A deferred buffer above the lowest one that can block its place, or the waiting buffers of a section on top of
//     their lowest offset, exceed the capacity.
// A failed state is remembered. A proof also holds for all higher capacities that the ends of all failed states exceed.
//
// `search` branches on sections, which have few children if many buffers cross them. Where conflicts form no large
// sections, as pairs that are apart often do, the order of offsets proves more in the same time.
//
// The search can be interrupted and continued. Complexity: exponential in the worst case, limited by the nodes. A node
// visits the waiting buffers of all sections. Memory: `space`. Constant expressions may use it. Thread safety: one
// thread per object.
#pragma once

#include <allot/plan/detail/failed_states.hpp>
#include <allot/plan/detail/search_state.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class offset_search {
    using index = section_bitmaps<>::index;
    static constexpr std::uint64_t none = search_state<>::none;
    static constexpr std::size_t most_buffers = 64;  // a set of items is one number
    static constexpr index no_item = most_buffers;
    static constexpr std::uint64_t steps_a_node = 2;  // as many steps take at most the time of a node of `search`

public:
    /// Workspace for any problem with at most so many buffers.
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers) noexcept {
        const std::size_t frames = smaller(buffers, most_buffers) + 1;
        return {.u32 = frames, .u64 = 5 * frames + frames * frames};
    }

    constexpr offset_search() noexcept = default;
    constexpr offset_search(std::size_t buffer_count, plan_workspace& workspace) noexcept {
        if (buffer_count > most_buffers) return;
        const std::size_t frames = buffer_count + 1;
        item_ = cut(workspace.u32, frames);
        for (auto* array : {&waiting_, &deferred_, &least_}) *array = cut(workspace.u64, frames);
        print_ = cut(workspace.u64, 2 * frames);
        lowest_ = cut(workspace.u64, frames * frames);
    }

    /// Returns whether the search supports a problem and a capacity: few buffers with one size each, and ends that no
    /// number of 64 bits denotes are too high.
    [[nodiscard]] constexpr bool supports(const search_state<>& state) const noexcept {
        return !item_.empty() && !state.map().has_sizes() && state.capacity() != none;
    }

    /// Begins with a state in which all buffers wait.
    constexpr void begin(const search_state<>& state) noexcept {
        const index items = state.map().items();
        waiting_[0] = items == 0 ? 0 : ~std::uint64_t{0} >> (64 - items);
        deferred_[0] = 0;
        for (index i = 0; i != items; ++i) lowest_[i] = state.lowest(i);
        depth_ = 0;
        least_too_high_ = none;
        is_new_ = true;
        is_decided_ = has_plan_ = false;
    }
    /// Continues until it is decided or `nodes` reaches the limit. `stop()` is called from time to time; if it returns
    /// true, the search pauses and the result is true. `state` has the problem and the capacity of `begin`.
    template <class Stop>
    [[nodiscard]] constexpr bool run(const search_state<>& state, failed_states& failed, std::uint64_t& nodes,
                                     std::uint64_t limit, Stop stop) noexcept {
        while (!is_decided_ && nodes < limit) {
            if (nodes % 256 == 0 && stop()) return true;
            if (++steps_ % steps_a_node == 0) ++nodes;
            if (is_new_ && waiting_[depth_] == 0) {
                is_decided_ = has_plan_ = true;
                return false;
            }
            if ((is_new_ ? !failed.contains(take_print()) : defer(state)) && go_on(state)) continue;
            failed.add({print_[2 * depth_], print_[2 * depth_ + 1]});
            is_new_ = false;
            if (depth_ == 0) is_decided_ = true;
            else --depth_;
        }
        return false;
    }

    /// Returns whether `has_plan` is known.
    [[nodiscard]] constexpr bool is_decided() const noexcept { return is_decided_; }
    [[nodiscard]] constexpr bool has_plan() const noexcept { return has_plan_; }
    /// Returns a height such that no plan is lower. Precondition: the search is decided and has no plan.
    [[nodiscard]] constexpr std::uint64_t bound() const noexcept { return least_too_high_; }
    /// Returns the number of placed items. If there is a plan, it places all of them.
    [[nodiscard]] constexpr std::size_t placed() const noexcept { return depth_; }
    /// Returns an item by its position in the order of offsets. It is at its lowest offset above the items before it.
    [[nodiscard]] constexpr index item(std::size_t position) const noexcept { return item_[position]; }

private:
    [[nodiscard]] static constexpr std::uint64_t bit(index item) noexcept { return std::uint64_t{1} << item; }
    /// Returns the items of a set as bits.
    [[nodiscard]] static constexpr std::uint64_t bits_of(item_set set) noexcept {
        return set.bits.empty() ? 0 : set.bits[0];
    }
    [[nodiscard]] static constexpr int neighbours_of(index item, const section_bitmaps<>& map) noexcept {
        return std::popcount(bits_of(map.neighbours(item)));
    }
    /// Returns the first item of a set. Loops remove it by `rest &= rest - 1`; functions would take longer to compile.
    [[nodiscard]] static constexpr index first(std::uint64_t items) noexcept {
        return static_cast<index>(std::countr_zero(items));
    }
    [[nodiscard]] constexpr bool is_deferred(index item) const noexcept { return (deferred_[depth_] & bit(item)) != 0; }
    /// Lowest offset of an item in the current frame.
    [[nodiscard]] constexpr std::uint64_t& lowest(index item) const noexcept {
        return lowest_[depth_ * least_.size() + item];
    }
    /// Returns whether an end is within the capacity. Records it otherwise.
    [[nodiscard]] constexpr bool is_within(std::uint64_t end, const search_state<>& state) noexcept {
        if (end <= state.capacity()) return true;
        least_too_high_ = smaller(least_too_high_, end);
        return false;
    }

    /// Returns the fingerprint of the current frame's first state, and keeps it.
    constexpr fingerprint take_print() noexcept {
        fingerprint print{};
        for (std::uint64_t rest = waiting_[depth_]; rest != 0; rest &= rest - 1)
            print.add(first(rest), lowest(first(rest)), is_deferred(first(rest)) ? 2 : 1);
        print_[2 * depth_] = print.first;
        print_[2 * depth_ + 1] = print.second;
        return print;
    }
    /// Defers the item that was placed last, and those after it that are identical. Returns whether that is possible.
    [[nodiscard]] constexpr bool defer(const search_state<>& state) noexcept {
        const index item = item_[depth_];
        if (state.is_fixed(item)) return false;
        std::uint64_t same = bit(item);
        for (std::uint64_t rest = waiting_[depth_] & ~same; rest != 0; rest &= rest - 1)
            if (first(rest) > item && (same & bit(state.map().twin(first(rest)))) != 0) same |= bit(first(rest));
        deferred_[depth_] |= same;
        return true;
    }
    /// Places the next item in a new frame. Returns false if no item can be next.
    [[nodiscard]] constexpr bool go_on(const search_state<>& state) noexcept {
        const index item = next(state.map());
        if (item == no_item) return false;
        const std::uint64_t deferred_end = lift_deferred(item, state);  // before `highest_end`
        if (!is_within(larger(deferred_end, highest_end(state.map())), state)) return false;
        item_[depth_] = item;
        is_new_ = place(item, state);
        return true;
    }
    /// Returns the waiting item to place next, or `no_item`. Sets the least offsets to the lowest ones.
    [[nodiscard]] constexpr index next(const section_bitmaps<>& map) noexcept {
        const std::uint64_t waiting = waiting_[depth_];
        index best = no_item;
        std::uint64_t end = none;
        for (std::uint64_t rest = waiting; rest != 0; rest &= rest - 1) {
            const index i = first(rest);
            least_[i] = lowest(i);
            end = smaller(end, lowest(i) + map.size(i));
            if (is_deferred(i) || (map.twin(i) != i && (waiting & bit(map.twin(i))) != 0)) continue;
            if (best == no_item || lowest(i) < lowest(best) ||
                (lowest(i) == lowest(best) && neighbours_of(i, map) > neighbours_of(best, map)))
                best = i;
        }
        return best == no_item || lowest(best) >= end ? no_item : best;
    }
    /// Raises the least offsets of deferred items above an item that can block the place of each. Returns the highest
    /// end of a deferred item; `none` if it has no such item.
    [[nodiscard]] constexpr std::uint64_t lift_deferred(index next, const search_state<>& state) noexcept {
        const section_bitmaps<>& map = state.map();
        const std::uint64_t waiting = waiting_[depth_], deferred = deferred_[depth_] & waiting;
        for (std::uint64_t rest = deferred; rest != 0; rest &= rest - 1)
            least_[first(rest)] = larger(least_[first(rest)], lowest(next));
        std::uint64_t highest = 0;
        for (std::uint64_t rest = deferred; rest != 0; rest &= rest - 1) {
            const index i = first(rest);
            std::uint64_t above = none;
            for (std::uint64_t others = bits_of(map.neighbours(i)) & waiting; others != 0; others &= others - 1) {
                const index j = first(others);
                if (least_[j] < lowest(i) + map.size(i)) above = smaller(above, least_[j] + map.size(j));
            }
            highest = larger(highest, above == none ? none : state.end_from(i, above));
            least_[i] = larger(least_[i], above);
        }
        return highest;
    }
    /// Returns the highest end of a section whose waiting items are on top of their least offset.
    [[nodiscard]] constexpr std::uint64_t highest_end(const section_bitmaps<>& map) const noexcept {
        std::uint64_t highest = 0;
        for (index s = 0; s != map.sections(); ++s) {
            std::uint64_t sum = 0, bottom = none;
            for (std::uint64_t rest = bits_of(map.members(s)) & waiting_[depth_]; rest != 0; rest &= rest - 1) {
                sum += map.size(first(rest));
                bottom = smaller(bottom, least_[first(rest)]);
            }
            if (sum != 0) highest = larger(highest, bottom > none - sum ? none : bottom + sum);
        }
        return highest;
    }
    /// Places an item in a new frame. Returns false if another item does not fit above it.
    [[nodiscard]] constexpr bool place(index item, const search_state<>& state) noexcept {
        const std::uint64_t top = lowest(item) + state.map().size(item);
        const std::uint64_t waiting = waiting_[depth_] & ~bit(item);
        std::uint64_t deferred = deferred_[depth_] & waiting;
        ++depth_;
        for (std::uint64_t rest = waiting; rest != 0; rest &= rest - 1)
            lowest(first(rest)) = lowest_[(depth_ - 1) * least_.size() + first(rest)];
        std::uint64_t highest = 0;
        for (std::uint64_t rest = bits_of(state.map().neighbours(item)) & waiting; rest != 0; rest &= rest - 1) {
            const index i = first(rest);
            if (lowest(i) >= top) continue;
            lowest(i) = top;
            deferred &= ~bit(i);
            highest = larger(highest, state.is_fixed(i) ? none : state.end_from(i, lowest(i)));
        }
        if (!is_within(highest, state)) {
            --depth_;
            return false;
        }
        waiting_[depth_] = waiting;
        deferred_[depth_] = deferred;
        return true;
    }

    // By depth: the waiting and the deferred items, the two numbers of a fingerprint, and the item to place next.
    plan_array<std::uint64_t> waiting_, deferred_, print_;
    plan_array<index> item_;
    plan_array<std::uint64_t> lowest_;  // by depth and item: the lowest offset above the placed items
    plan_array<std::uint64_t> least_;   // by item, in the current frame: no offset is lower
    std::size_t depth_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t least_too_high_ = none;
    bool is_new_ = true;  // the current frame places its first item
    bool is_decided_ = false, has_plan_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
