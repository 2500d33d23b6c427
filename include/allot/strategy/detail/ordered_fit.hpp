// SPDX-License-Identifier: BSL-1.0
// ordered_fit: best_fit over holes that remember the pending uses of their bytes, for `ordered`.
//
//     request of queue 0     │ block │ queue 0 │ queue 1 │    free    │ block │
//                                     └── 1 ──┘           └─── 1 ────┘           1: done for queue 0, taken first
//                                     └──────────── 2 ───────────────┘           2: behind a wait for queue 1
//
// Internal. A request has the knowledge of its queue: for each queue, the epoch up to which its work is done before
// work of the requesting queue runs. The search prefers the smallest bin that has suitable bytes without a wait. Only
// if no bin has such bytes, it takes bytes behind a wait for one of the queues that `permit` names. Of the places in a
// hole, it takes one that waits for the fewest queues. `taken` then returns the points to wait for.
//
// Records are never in band, because pending work may still write the bytes of a hole.
//
// Complexity: O(1) if the newest hole of the request's size is free without a wait. Otherwise a search visits the holes
// that may be too small or need a wait, at most `probes`. `settle` and `collect` visit all holes.
// Memory: that of best_fit with a side table, and pending_nodes.hpp.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/detail/pending_nodes.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Selects pending_nodes as the node store of a best_fit.
template <unsigned Queues>
struct pending_records {};

template <best_fit_options Options, std::unsigned_integral Offset, unsigned Queues>
struct best_fit_nodes<Options, Offset, pending_records<Queues>> {
    using type = pending_nodes<Offset, Options.records, static_cast<Offset>(Options.granule), Queues>;
};

/// best_fit whose requests name a queue.
template <best_fit_options Options, std::unsigned_integral Offset, unsigned Queues>
class ordered_fit : public best_fit<Options, Offset, pending_records<Queues>> {
    static_assert(Options.store == node_store::side_table);
    using base = best_fit<Options, Offset, pending_records<Queues>>;
    using typename base::bin, typename base::bins;
    using typename base::node, typename base::sizes, typename base::places, typename base::holes_type;
    using place = typename holes_type::place;
    static constexpr node none = base::none;
    static constexpr Offset nowhere = places::nowhere;
    using base::holes_;

public:
    using typename base::allocation_type, typename base::extent_type, typename base::layout_type;

    // ── the queue of the following calls ─────────────────────────────────────────────────────────────────────────

    /// Sets the queue of the following requests by its knowledge, which must outlive them.
    ALLOT_INLINE constexpr void ask(const knowledge<Queues>& by) noexcept { holes_.nodes.by = &by; }
    /// Lets the following requests wait for these queues.
    constexpr void permit(queue_set waitable) noexcept {
        waitable_ = waitable;
        holes_.nodes.clear_taken();
    }
    /// Lets the following requests wait for no queue.
    constexpr void forbid() noexcept { waitable_ = 0; }
    /// Sets the use that is pending for bytes that are freed by following calls.
    ALLOT_INLINE constexpr void give_back(epoch until, queue_set queues) noexcept {
        holes_.nodes.given_back.epoch = until;
        holes_.nodes.given_back.queues = queues;
    }
    /// Returns the queues on which blocks since `permit` must wait.
    [[nodiscard]] constexpr queue_set taken_queues() const noexcept { return holes_.nodes.taken_queues(); }
    /// Returns the epoch on a queue of `taken_queues` for which these blocks must wait.
    [[nodiscard]] constexpr epoch taken(unsigned queue) const noexcept { return holes_.nodes.taken(queue); }

    /// Adds queues that use a live block.
    constexpr void use(allocation_type allocation, queue_set queues) noexcept {
        holes_.nodes.note(holes_.nodes.find(allocation)).queues |= queues;
    }
    /// Returns true if `use` added a queue to a live block.
    [[nodiscard]] constexpr bool is_used(allocation_type allocation) const noexcept {
        return holes_.nodes.note(holes_.nodes.find(allocation)).queues != 0;
    }
    /// Forgets pending uses that are known to be done. O(holes).
    constexpr void settle(const epoch* known) noexcept {
        for_each_free([&](node hole) { holes_.nodes.settle(hole, known); });
    }
    /// Takes the uses of all holes that are not known to `by`, for `taken`. The holes keep them. O(holes).
    constexpr void collect(const knowledge<Queues>& by) noexcept {
        ask(by);
        holes_.nodes.clear_taken();
        for_each_free([&](node hole) {
            holes_.nodes.for_each_segment(hole, [&](Offset, Offset, const pending_use& use) {
                holes_.nodes.take(use);
                return true;
            });
        });
    }
    /// Returns `pending` if no bytes fit with these settings, `out_of_records` if bytes fit but no record is available
    /// for the holes around them, otherwise `none`. O(holes).
    [[nodiscard]] constexpr refusal lacks_place(layout_type wanted, const knowledge<Queues>& by,
                                                queue_set waitable) const noexcept {
        const Offset need = sizes::of_node(wanted.size);
        if (find(wanted, need, {&by, waitable}).hole != none) return refusal::none;
        const place found = find(wanted, need, {&by, waitable, true});
        return found.hole == none ? refusal::pending : refusal::out_of_records;
    }

    // ── the interface of a strategy ──────────────────────────────────────────────────────────────────────────────

    /// Allocates a block as best_fit does, if only this queue used the bytes. Otherwise returns an empty allocation.
    ALLOT_INLINE constexpr allocation_type allocate_own(layout_type wanted) noexcept {
        const Offset need = sizes::of_node(wanted.size);
        if (need == 0 || !is_alignment(wanted.align) || !sizes::is_anywhere(wanted)) return {};
        const bin own = holes_type::bin_of(need);
        if (bins::is_exact(own) && holes_.bins.head(own) != none) {
            const node hole = holes_.bins.head(own);
            if (!is_own(hole, *holes_.nodes.by)) return {};
            holes_.pop(own, hole);
            holes_.nodes.mark_own_used(hole, need);
            return holes_.allocation_of_node(hole, wanted.size);
        }
        return cut_own(holes_.bins.next(own), need, wanted.size);
    }
    /// Allocates a block without a wait.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        const Offset need = sizes::of_node(wanted.size);
        if (need == 0 || !is_alignment(wanted.align)) return {};
        return holes_.give(find(wanted, need, {holes_.nodes.by, 0}), need, wanted.size);
    }
    /// Searches a place behind a wait for `waitable`. Returns false if there is no place. Otherwise its uses are
    /// `taken`. The bytes keep them and are not allocated.
    constexpr bool seek_behind(layout_type wanted, queue_set waitable) noexcept {
        const Offset need = sizes::of_node(wanted.size);
        holes_.nodes.clear_taken();
        if (need == 0 || !is_alignment(wanted.align)) return false;
        const place found = find(wanted, need, {holes_.nodes.by, waitable});
        if (found.hole == none) return false;
        take_uses(found, need);
        return true;
    }
    /// Allocates a block without a wait, unless the hole is more than twice as large as a hole behind a wait for
    /// `waitable`. Then returns an empty allocation, and the uses to wait for are `taken`. With `keep_own`, a hole that
    /// only this queue used is always taken.
    constexpr allocation_type allocate_tight(layout_type wanted, queue_set waitable, bool keep_own) noexcept {
        const Offset need = sizes::of_node(wanted.size);
        holes_.nodes.clear_taken();
        if (need == 0 || !is_alignment(wanted.align)) return {};
        const place found = find(wanted, need, {holes_.nodes.by, 0});
        if (found.hole == none) return {};
        if (found.from > holes_.bins.next(holes_type::bin_of(need)) + bins::octave / 2 &&
            !(keep_own && is_reused(found, need))) {
            const place behind = find(wanted, need, {holes_.nodes.by, waitable}, found.from - bins::octave / 2);
            if (behind.hole != none) return take_uses(behind, need), allocation_type{};
        }
        return holes_.give(found, need, wanted.size);
    }
    /// Frees a block. Its bytes are pending until the work of `give_back` and of the block's queues is done.
    constexpr void deallocate(allocation_type allocation) noexcept {
        pending_use& note = holes_.nodes.note(holes_.nodes.find(allocation));
        note.epoch = holes_.nodes.given_back.epoch;
        note.queues |= holes_.nodes.given_back.queues;
        base::deallocate(allocation);
    }
    /// Resizes a block in place. The bytes above must be free, or behind a wait that `permit` names.
    constexpr bool resize(allocation_type allocation, Offset size) noexcept {
        const node held = holes_.nodes.find(allocation), above = holes_.nodes.hole_after(held);
        const Offset need = sizes::of_node(size), had = holes_.nodes.size(held);
        if (above != none && need > had) {
            const Offset low = holes_.nodes.offset(above), end = static_cast<Offset>(low + (need - had));
            if (need - had > holes_.nodes.size(above) || waits_in(above, low, end, {holes_.nodes.by, waitable_}) < 0)
                return false;
        }
        return holes_.nodes.room_for_segment() && base::resize(allocation, size);
    }
    /// Removes an inserted extent. Returns false and changes nothing if a block is allocated in it or a use is pending.
    constexpr bool remove(extent_type inserted) noexcept {
        const extent_type usable = sizes::usable_of(inserted);
        const node hole = usable ? holes_.hole_of(usable) : none;
        return hole != none && !is_pending(hole) && base::remove(inserted);
    }
    /// Moves the end of the inserted extent. Returns false and changes nothing if the bytes are not free.
    constexpr bool resize_extent(extent_type inserted, Offset size) noexcept {
        if (size < inserted.size) {
            const extent_type had = sizes::usable_of(inserted);
            if (!had || !holes_.nodes.knows_end()) return false;
            if (const node hole = holes_.nodes.last_hole(had); hole != none && is_pending(hole)) return false;
        }
        return base::resize_extent(inserted, size);
    }
    /// Returns the size with which the extent ends with its last block or its last pending use.
    [[nodiscard]] constexpr Offset least_size(extent_type inserted) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        const node hole = had && holes_.nodes.knows_end() ? holes_.nodes.last_hole(had) : none;
        return hole != none && is_pending(hole) ? inserted.size : base::least_size(inserted);
    }
    /// Returns the smallest size of the extent with which a request fits at its end without a wait.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        const Offset need = sizes::of_node(wanted.size);
        if (!had || need == 0 || !is_alignment(wanted.align) || !holes_.nodes.knows_end()) return 0;
        Offset low = had.end();
        if (const node hole = holes_.nodes.last_hole(had); hole != none) {
            bool was_free = false;
            holes_.nodes.for_each_segment(hole, [&](Offset from, Offset, const pending_use& use) {
                if (is_permitted(use, {holes_.nodes.by, 0}) && !was_free) low = from;
                was_free = is_permitted(use, {holes_.nodes.by, 0});
                if (!was_free) low = had.end();
                return true;
            });
        }
        return sizes::up_to(inserted, places::lowest(low, wanted.align), need);
    }
    using base::size_for;
    /// Returns the reason for which `allocate(wanted)` would fail if all waits were permitted.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        diagnosis answer = base::diagnose(wanted);
        if (answer.reason == refusal::out_of_records &&
            lacks_place(wanted, *holes_.nodes.by, ~queue_set{0}) == refusal::none)
            answer.reason = refusal::none;  // other bytes than those of best_fit need fewer records
        return answer;
    }

private:
    /// The queue of a search, and whether the search includes places without records for the holes around them.
    struct asker {
        const knowledge<Queues>* known;
        queue_set waitable;
        bool without_records = false;
    };

    /// Returns true if a hole has one segment, which only the requesting queue may still use.
    [[nodiscard]] ALLOT_INLINE constexpr bool is_own(node hole, const knowledge<Queues>& by) const noexcept {
        const pending_use& use = holes_.nodes.note(hole);
        return use.next == no_record && (use.queues & ~by.own) == 0;
    }
    [[nodiscard]] static constexpr bool is_permitted(const pending_use& use, asker by) noexcept {
        return (use.unknown(by.known->until.data()) & ~by.waitable) == 0;
    }
    /// Returns true if a byte of a hole has a pending use. Call `settle` first.
    [[nodiscard]] constexpr bool is_pending(node hole) const noexcept {
        bool pending = false;
        holes_.nodes.for_each_segment(hole, [&](Offset, Offset, const pending_use& use) {
            pending = pending || use.queues != 0;
            return !pending;
        });
        return pending;
    }
    template <class Function>
    constexpr void for_each_free(Function f) const noexcept {
        for (bin b = holes_.bins.next(0); b != bins::count; b = holes_.bins.after(b))
            for (node hole = holes_.bins.head(b); hole != none; hole = holes_.nodes.next(hole)) f(hole);
    }

    /// Cuts a block from the front of a hole of a bin if only this queue used the hole. A separate function, so that
    /// `allocate_own` saves no registers for it.
    ALLOT_NOINLINE constexpr allocation_type cut_own(bin from, Offset need, Offset size) noexcept {
        if (from == bins::count) return {};
        const node hole = bins::is_exact(from) ? holes_.bins.head(from) : holes_.lowest_of(from, need);
        if (hole == none || !is_own(hole, *holes_.nodes.by)) return {};
        return holes_.cut_front(hole, from, holes_.nodes.size(hole), need, size);
    }

    // ── searching ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the best place in the bins below `end`, in the order of best_fit: the first holes of the smallest bin,
    /// then the bins whose holes are all large enough, then all holes of the bins between.
    [[nodiscard]] constexpr place find(layout_type wanted, Offset need, asker by,
                                       bin end = bins::count) const noexcept {
        const bin first = holes_.bins.next(holes_type::bin_of(need));
        const Offset enough = sizes::is_anywhere(wanted) ? need : places::enough(need, wanted.align);
        const bin large = holes_type::bin_of(enough), sure = bins::is_exact(large) ? large : large + 1;
        std::size_t left = Options.probes;
        if (first >= end) return {};
        std::size_t few = Options.candidates < left ? Options.candidates : left;
        place found = best_in(first, wanted, need, by, few);
        for (bin b = sure; found.hole == none && b < end && (b = holes_.bins.next(b)) < end; ++b)
            found = best_in(b, wanted, need, by, left);
        for (bin b = first; found.hole == none && b < sure && b < end; b = holes_.bins.after(b))
            found = best_in(b, wanted, need, by, left);
        return found;
    }
    /// Returns true if each byte of a place was used before by the requesting queue, and by no other since.
    [[nodiscard]] constexpr bool is_reused(place found, Offset need) const noexcept {
        bool reused = true;
        holes_.nodes.for_each_segment(found.hole, [&](Offset from, Offset to, const pending_use& use) {
            if (from < found.at + need && to > found.at) reused = reused && use.queues == holes_.nodes.by->own;
            return reused;
        });
        return reused;
    }
    constexpr void take_uses(place found, Offset need) noexcept {
        holes_.nodes.for_each_segment(found.hole, [&](Offset from, Offset to, const pending_use& use) {
            if (from < found.at + need && to > found.at) holes_.nodes.take(use);
            return true;
        });
    }
    /// Returns the best of the first places in a bin. Visits at most `left` holes.
    [[nodiscard]] constexpr place best_in(bin b, layout_type wanted, Offset need, asker by,
                                          std::size_t& left) const noexcept {
        place best;
        int least = 0;
        unsigned candidates = Options.candidates;
        for (node hole = holes_.bins.head(b); hole != none && candidates != 0; hole = holes_.nodes.next(hole)) {
            if (left-- == 0) return left = 0, best;
            const spot found = spot_in(hole, wanted, need, by);
            if (found.at == nowhere) continue;
            --candidates;
            if (best.hole != none && (found.waits > least || (found.waits == least && found.at > best.at))) continue;
            best = {hole, b, found.at};
            least = found.waits;
        }
        return best;
    }
    /// A position in a hole, and the number of queues that it waits for.
    struct spot {
        Offset at = nowhere;
        int waits = 0;
    };
    /// Returns the position in a hole that waits for the fewest queues; the lowest of these, or the highest for a large
    /// block.
    [[nodiscard]] constexpr spot spot_in(node hole, layout_type wanted, Offset need, asker by) const noexcept {
        const Offset start = holes_.nodes.offset(hole), size = holes_.nodes.size(hole);
        if (size < need) return {};
        const bool large = sizes::is_large(wanted.size);
        const auto last = static_cast<Offset>(start + (size - need));
        if (!large && is_own(hole, *by.known)) {
            const Offset at = places::lowest(start, wanted.align);
            if (at > last) return {};
            if (has_records(hole, at, need, by)) return {at, 0};
        }
        spot best;
        holes_.nodes.for_each_segment(hole, [&](Offset low, Offset high, const pending_use& use) {
            if (!is_permitted(use, by)) return true;
            // The lowest position from the start of this segment; for a large block, the highest up to its end.
            Offset at = nowhere;
            if (!large) at = places::lowest(low, wanted.align);
            else if (high - start >= need) at = places::highest(start, static_cast<Offset>(high - need), wanted.align);
            if (at > last || !has_records(hole, at, need, by)) return true;
            const int waits = waits_in(hole, at, static_cast<Offset>(at + need), by);
            if (waits < 0) return true;
            if (best.at == nowhere || waits < best.waits || (waits == best.waits && large)) best = {at, waits};
            return by.waitable != 0 || large;
        });
        if (best.at != nowhere || holes_.nodes.has_room(2)) return best;
        // The other end of the hole may need fewer records.
        const Offset edge = large ? start : last;
        if (places::lowest(edge, wanted.align) != edge || !has_records(hole, edge, need, by)) return best;
        const int waits = waits_in(hole, edge, static_cast<Offset>(edge + need), by);
        return waits < 0 ? best : spot{edge, waits};
    }
    [[nodiscard]] constexpr bool has_records(node hole, Offset at, Offset need, asker by) const noexcept {
        return by.without_records || holes_.has_room({hole, 0, at}, need);
    }
    /// Returns the number of queues that bytes of a hole wait for; -1 if a wait is not permitted.
    [[nodiscard]] constexpr int waits_in(node hole, Offset low, Offset end, asker by) const noexcept {
        queue_set rest = 0;
        holes_.nodes.for_each_segment(hole, [&](Offset from, Offset to, const pending_use& use) {
            if (from < end && to > low) rest |= use.unknown(by.known->until.data());
            return to < end;
        });
        return (rest & ~by.waitable) != 0 ? -1 : std::popcount(rest);
    }

    queue_set waitable_ = 0;
};

}  // namespace detail

/// Selects the bounds of an ordered_fit in an arena, as for best_fit.
template <best_fit_options Options, class Offset, unsigned Queues, memory_traits Where>
struct strategy_in<detail::ordered_fit<Options, Offset, Queues>, Where> {
    /// The strategy with the selected options.
    using type = detail::ordered_fit<detail::best_fit_options_in<Options, Where>(), Offset, Queues>;
};

}  // namespace v1
}  // namespace allot
