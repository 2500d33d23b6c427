// SPDX-License-Identifier: BSL-1.0
// pending_ranges: a sorted list of ranges of offsets, each with a pending use, for `ordered`.
//
//     │ live │ queue 0 │ queue 1 │  free  │ live │ queue 0 │
//              range ⇄   range ⇄                   range
//
// Internal. Bytes without a range have no use. A range of a live block notes queues that use the block; its epoch is
// `until_freed` if their work is not submitted yet. Adjacent ranges of the same queues are one with the later epoch.
//
// Complexity: O(1) next to the range of the last call, and at both ends of the list. Otherwise O(ranges between).
// Memory: 40 bytes for each range, on the heap, or in the object of a microcontroller. Without room for a range, a use
// is joined to the nearest range, so that the bytes of both wait for both.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/pending_use.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The pending uses of ranges of offsets: at most `Capacity` ranges in the object, or any number on the heap.
template <std::unsigned_integral Offset, std::size_t Capacity = is_microcontroller ? 32 : 0>
class pending_ranges {
    using index = record_index;
    static constexpr index none = no_record;

public:
    /// The epoch of queues that use a live block. No other epoch is later.
    static constexpr epoch until_freed = end_of_time;

    /// Makes room for a first range. Returns false on failure.
    [[nodiscard]] constexpr bool prepare() noexcept { return ranges_.room(1); }
    [[nodiscard]] ALLOT_INLINE constexpr bool empty() const noexcept { return lowest_ == none; }

    /// Adds a use to all bytes of [low, high). Uses `until_freed` of these bytes end with it.
    constexpr void add(Offset low, Offset high, const pending_use& use) noexcept {
        for (Offset from = low; from < high;) {
            const index at = seek(from);
            if (at == none || ranges_[at].low >= high) return put(from, high, at, use);
            if (ranges_[at].low > from) {
                const Offset next = ranges_[at].low;
                put(from, next, at, use);
                from = next;
                continue;
            }
            const index inside = cut_out(at, from, high);
            range& of = ranges_[near_ = inside];
            const bool is_cut = of.low >= from && of.high <= high;  // there was room
            if (of.epoch < use.epoch || (is_cut && of.epoch == until_freed)) of.epoch = use.epoch;
            of.queues |= use.queues;
            from = of.high;
            merge(inside);
        }
    }
    /// Calls `f(use)` for each range with bytes of [low, high), until it returns false. Returns whether none did.
    template <class Function>
    constexpr bool all_of(Offset low, Offset high, Function f) const noexcept {
        for (index at = seek(low); at != none && ranges_[at].low < high; at = ranges_[at].next)
            if (!f(ranges_[at])) return false;
        return true;
    }
    /// Calls `f(use)` for each range with bytes of [low, high), and removes these bytes from the ranges.
    template <class Function>
    constexpr void take(Offset low, Offset high, Function f) noexcept {
        for (index at = seek(low); at != none && ranges_[at].low < high;) {
            f(ranges_[at]);
            const index inside = near_ = cut_out(at, low, high), next = ranges_[inside].next;
            if (ranges_[inside].low >= low && ranges_[inside].high <= high) erase(inside);
            at = next;
        }
    }
    /// Calls `f(use)` for each range, and removes the range if it returns true.
    template <class Function>
    constexpr void erase_if(Function f) noexcept {
        for (index at = lowest_; at != none;) {
            const index next = ranges_[at].next;
            if (f(ranges_[at])) erase(at);
            at = next;
        }
    }

private:
    struct range : pending_use {  // `next` is the next higher range
        index previous = none;
        Offset low = 0, high = 0;
    };

    /// Returns the lowest range that ends above `at`.
    [[nodiscard]] constexpr index seek(Offset at) const noexcept {
        if (highest_ == none || ranges_[highest_].high <= at) return none;
        if (ranges_[highest_].low <= at) return highest_;
        if (ranges_[lowest_].high > at) return lowest_;
        index found = near_;
        while (ranges_[found].high <= at) found = ranges_[found].next;
        while (ranges_[ranges_[found].previous].high > at) found = ranges_[found].previous;
        return found;
    }
    /// Adds a range to bytes without one, below the range `above`.
    constexpr void put(Offset low, Offset high, index above, const pending_use& use) noexcept {
        if (use.queues == 0) return;
        const index below = above == none ? highest_ : ranges_[above].previous;
        if (!ranges_.room(1)) return stretch(low, high, below, above, use);
        const index fresh = ranges_.take();
        ranges_[fresh].epoch = use.epoch;
        ranges_[fresh].queues = use.queues;
        ranges_[fresh].low = low;
        ranges_[fresh].high = high;
        link(fresh, below, above);
        near_ = fresh;
        merge(fresh);
    }
    /// Without room for a range, widens a range beside these bytes, which then has both uses.
    constexpr void stretch(Offset low, Offset high, index below, index above, const pending_use& use) noexcept {
        range& beside = ranges_[below != none ? below : above];
        beside.join(use);
        if (below != none) beside.high = high;
        else beside.low = low;
    }
    /// Cuts a range at `low` and `high`, if they are inside and there is room. Returns the range of the bytes between.
    [[nodiscard]] constexpr index cut_out(index at, Offset low, Offset high) noexcept {
        if (ranges_[at].low < low && split(at, low)) at = ranges_[at].next;
        if (ranges_[at].high > high) static_cast<void>(split(at, high));
        return at;
    }
    [[nodiscard]] constexpr bool split(index at, Offset border) noexcept {
        if (!ranges_.room(1)) return false;
        const index upper = ranges_.take(), above = ranges_[at].next;
        ranges_[upper] = ranges_[at];
        ranges_[upper].low = ranges_[at].high = border;
        link(upper, at, above);
        return true;
    }
    /// Merges a range with its neighbors, if they have the same queues.
    constexpr void merge(index at) noexcept {
        const index below = ranges_[at].previous;
        if (below != none && absorb(below, at)) at = below;
        if (ranges_[at].next != none) absorb(at, ranges_[at].next);
    }
    constexpr bool absorb(index at, index above) noexcept {
        range &lower = ranges_[at], &upper = ranges_[above];
        if (lower.high != upper.low || lower.queues != upper.queues) return false;
        if ((lower.epoch == until_freed) != (upper.epoch == until_freed)) return false;
        if (upper.epoch > lower.epoch) lower.epoch = upper.epoch;
        lower.high = upper.high;
        erase(above);
        near_ = at;
        return true;
    }
    constexpr void link(index at, index below, index above) noexcept {
        ranges_[at].previous = below;
        ranges_[at].next = above;
        (below == none ? lowest_ : ranges_[below].next) = at;
        (above == none ? highest_ : ranges_[above].previous) = at;
    }
    constexpr void erase(index at) noexcept {
        const index below = ranges_[at].previous, above = ranges_[at].next;
        (below == none ? lowest_ : ranges_[below].next) = above;
        (above == none ? highest_ : ranges_[above].previous) = below;
        if (near_ == at) near_ = above != none ? above : below;
        ranges_.give(at);
    }

    record_table<range, Capacity> ranges_;
    index lowest_ = none, highest_ = none;
    index near_ = none;  // a range that was changed lately
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
