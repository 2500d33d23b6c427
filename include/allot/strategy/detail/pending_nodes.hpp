// SPDX-License-Identifier: BSL-1.0
// pending_nodes: a side table whose holes remember the pending uses of their bytes, for `ordered`.
//
//     │ block │ queue 0 │ queue 1 │    free    │ block │      one hole in three segments
//               record ─► segment ─► segment
//
// Internal. Holes join as in side_table.hpp. The bytes of a joined hole are divided into segments, each with one
// pending use. The record of the hole carries the first one, a table holds the others. Adjacent segments of the same
// queues are one segment with the later epoch. If the table has no record, two segments become one that waits for both.
//
// A block that is cut out of a hole takes the pending uses of its bytes, and only these. They accumulate until
// `clear_taken`. The note of a block in use has the queues that use the block. It has the queue that allocated it if
// its bytes had pending uses: these end before later work of that queue, but not before the block is freed.
//
// Complexity: O(1) for holes of one segment, otherwise O(segments).
// Memory: 16 bytes for every record of the side table, and 24 bytes for every further segment of a hole.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/pending_use.hpp>
#include <allot/strategy/detail/side_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Node store with the pending uses of holes.
template <std::unsigned_integral Offset, std::size_t Capacity, Offset Granule, unsigned Queues>
class pending_nodes : public side_table_nodes<Offset, Capacity, Granule, pending_use>, public taken_uses<Queues> {
    using base = side_table_nodes<Offset, Capacity, Granule, pending_use>;

public:
    using base::none, base::note, base::offset, base::size, base::is_used;
    using typename base::node, typename base::cut;
    using taken_uses<Queues>::take;

    // ── the segments of a hole ───────────────────────────────────────────────────────────────────────────────────

    /// Calls `f(low, high, pending)` for each segment of a hole in ascending order, until it returns false.
    template <class Function>
    constexpr void for_each_segment(node hole, Function f) const noexcept {
        const Offset end = static_cast<Offset>(offset(hole) + size(hole));
        Offset low = offset(hole);
        const pending_use* at = &note(hole);
        while (at->next != no_record) {
            const segment& following = segments_[at->next];
            if (!f(low, following.start, *at)) return;
            low = following.start;
            at = &following;
        }
        f(low, end, *at);
    }
    /// Forgets the uses of a hole that are known to be done, and merges its segments.
    constexpr void settle(node hole, const epoch* known) noexcept {
        pending_use* at = &note(hole);
        forget_known(*at, known);
        while (at->next != no_record) {
            const record_index following = at->next;
            forget_known(segments_[following], known);
            if (absorb(*at, segments_[following])) segments_.give(following);
            else at = &segments_[following];
        }
    }
    /// Makes room for one more segment. Returns false on failure.
    [[nodiscard]] constexpr bool room_for_segment() noexcept { return segments_.room(1); }

    /// The use that is pending for bytes that a block returns when it shrinks.
    pending_use given_back;

    // ── the interface of a node store ────────────────────────────────────────────────────────────────────────────

    constexpr void remove(node hole) noexcept {
        drop_after(note(hole));
        base::remove(hole);
    }
    [[nodiscard]] constexpr node extend(basic_extent<Offset> where, Offset more) noexcept {
        if (const node hole = base::last_hole(where); hole != none) append(hole, where.end(), {});
        return base::extend(where, more);
    }
    [[nodiscard]] constexpr node shorten(basic_extent<Offset> where, Offset less) noexcept {
        const node hole = base::last_hole(where);
        const Offset left = static_cast<Offset>(size(hole) - less);
        if (left == 0) {
            drop_after(note(hole));
        } else {
            pending_use rest = cut_after(hole, static_cast<Offset>(offset(hole) + left));
            drop_after(rest);
        }
        return base::shorten(where, less);
    }
    [[nodiscard]] constexpr node split(node of, Offset at) noexcept {
        const Offset border = static_cast<Offset>(offset(of) + at);
        pending_use rest;
        if (is_used(of)) {
            rest = cut_used(of, border);
        } else {
            rest = cut_after(of, border);
        }
        const node second = base::split(of, at);
        note(second) = rest;
        return second;
    }
    [[nodiscard]] ALLOT_INLINE constexpr cut cut_front(node hole, Offset bytes, Offset left) noexcept {
        const queue_set earlier = take_front(hole, static_cast<Offset>(offset(hole) + bytes));
        const cut parts = base::cut_front(hole, bytes, left);
        note(parts.block).queues = this->users_after(earlier);
        return parts;
    }
    ALLOT_INLINE constexpr void join(node first, node second) noexcept {
        append(first, offset(second), note(second));
        base::join(first, second);
    }
    /// Marks a hole of one segment, which no other queue used, as used. Its uses are those of `users_after`.
    ALLOT_INLINE constexpr void mark_own_used(node hole, Offset bytes) noexcept { base::mark_used(hole, bytes); }
    /// Marks a node as used, and takes the pending uses of its bytes.
    ALLOT_INLINE constexpr void mark_used(node of, Offset bytes) noexcept {
        pending_use& own = note(of);
        queue_set earlier = 0;
        if (own.next != no_record) [[unlikely]]
            earlier = take_after(own);
        if (is_used(of)) {
            own.queues |= this->users_after(earlier);
        } else {
            take(own);
            own.queues = this->users_after(own.queues | earlier);
        }
        base::mark_used(of, bytes);
    }

private:
    /// A segment after the first one of its hole.
    struct segment : pending_use {
        Offset start = 0;
    };

    static constexpr void forget_known(pending_use& use, const epoch* known) noexcept {
        if (use.unknown(known) == 0) use.queues = 0;
    }
    /// Merges `second`, which follows `first`, if both have the same queues. Returns false otherwise. External points
    /// and uses by the host, in the last two columns, end in any order: they merge only if they are the same.
    [[nodiscard]] ALLOT_INLINE static constexpr bool absorb(pending_use& first, const pending_use& second) noexcept {
        if (first.queues != second.queues) return false;
        if (first.queues >> (Queues - 2) != 0 && first.epoch != second.epoch) return false;
        if (second.epoch > first.epoch) first.epoch = second.epoch;
        first.next = second.next;
        return true;
    }
    /// Appends a list of segments that starts at `border` to the list of a node.
    ALLOT_INLINE constexpr void append(node to, Offset border, const pending_use& list) noexcept {
        pending_use& own = note(to);
        if (own.next == no_record && !is_used(to) && absorb(own, list)) return;
        append_to_list(to, border, list);
    }
    ALLOT_NOINLINE constexpr void append_to_list(node to, Offset border, pending_use list) noexcept {
        const bool has_room = segments_.room(1);  // may move the segments
        pending_use* last = &note(to);
        bool is_of_block = is_used(to);
        for (; last->next != no_record; is_of_block = false) last = &segments_[last->next];
        if (!is_of_block && absorb(*last, list)) return;
        if (!has_room) {
            last->join(list);
            last->next = list.next;
            return;
        }
        const record_index fresh = segments_.take();
        static_cast<pending_use&>(segments_[fresh]) = list;
        segments_[fresh].start = border;
        last->next = fresh;
    }
    /// Frees the segments after the first one.
    constexpr void drop_after(pending_use& first) noexcept {
        while (first.next != no_record) {
            const record_index dropped = first.next;
            first.next = segments_[dropped].next;
            segments_.give(dropped);
        }
    }
    /// Takes the uses of the segments after the first one, and frees them. Returns their queues.
    constexpr queue_set take_after(pending_use& first) noexcept {
        queue_set taken = 0;
        for (record_index i = first.next; i != no_record; i = segments_[i].next) {
            take(segments_[i]);
            taken |= segments_[i].queues;
        }
        drop_after(first);
        return taken;
    }
    /// Cuts the list of a node at `border`, which is inside the node. Returns the list of the bytes from there.
    [[nodiscard]] constexpr pending_use cut_after(node of, Offset border) noexcept {
        pending_use* at = &note(of);
        while (at->next != no_record && segments_[at->next].start < border) at = &segments_[at->next];
        pending_use rest = *at;
        if (at->next != no_record && segments_[at->next].start == border) {
            rest = segments_[at->next];
            segments_.give(at->next);
        }
        at->next = no_record;
        return rest;
    }
    /// `cut_after` for a block in use, which may have joined the hole above: takes the rest of that hole.
    [[nodiscard]] constexpr pending_use cut_used(node of, Offset border) noexcept {
        pending_use& own = note(of);
        const bool in_block = own.next == no_record || segments_[own.next].start > border;
        pending_use rest = cut_after(of, border);
        if (in_block) {
            const record_index following = rest.next;
            rest = given_back;
            rest.queues |= own.queues;
            rest.next = following;
        } else {
            own.queues |= this->users_after(take_after(own));
        }
        return rest;
    }
    /// Takes the uses of the bytes below `border`, which is inside the hole, and removes their segments. Returns their
    /// queues.
    ALLOT_INLINE constexpr queue_set take_front(node hole, Offset border) noexcept {
        pending_use& own = note(hole);
        if (own.next != no_record) [[unlikely]]
            return take_front_of_list(hole, border);
        take(own);
        return own.queues;
    }
    ALLOT_NOINLINE constexpr queue_set take_front_of_list(node hole, Offset border) noexcept {
        pending_use& own = note(hole);
        queue_set taken = own.queues;
        take(own);
        while (own.next != no_record && segments_[own.next].start <= border) {
            const record_index following = own.next;
            const bool is_cut = segments_[following].start < border;
            own = segments_[following];
            segments_.give(following);
            if (!is_cut) continue;
            take(own);
            taken |= own.queues;
        }
        return taken;
    }

    record_table<segment, Capacity> segments_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
