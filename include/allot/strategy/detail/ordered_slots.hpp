// SPDX-License-Identifier: BSL-1.0
// ordered_slots: pool and page_tree whose freed slots remember their pending uses, for `ordered`.
//
//     slots             │ live │ queue 0 │ queue 1 │ queue 0 │ free │ both │
//     queue 0           newest ⇄ … ⇄ oldest                                     one list for each queue and block size,
//     queue 1           newest ⇄ … ⇄ oldest                                     in the order of their epochs
//     several queues    newest ⇄ … ⇄ oldest
//
// Internal. A freed block with a pending use stays allocated in the strategy, and is kept in the list of its queue. It
// returns to the strategy when `settle` knows that its use is done. A request takes
//   1. the newest block of its own queue,
//   2. a block of the strategy, which has no pending use,
//   3. the kept block that waits for the fewest queues: the oldest one of a queue, or one of several queues.
// In a page_tree, a block is also a part of a larger kept block, or is joined from free pages and kept blocks.
//
// Complexity: O(1) for 1 and 2. For 3, O(queues + blocks of several queues); in a page_tree O(pages). `settle` is
// O(blocks that it returns + blocks of several queues).
// Memory: 24 bytes for each slot or page, and 8 bytes for each list.
// Thread safety: not synchronized, also over a concurrent strategy.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/pending_use.hpp>
#include <allot/strategy/detail/slots_of.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// A strategy of slots whose requests name a queue.
template <class Strategy, unsigned Queues>
class ordered_slots : public ordered_requests<Queues> {
    using base = ordered_requests<Queues>;
    using base::taken_, base::given_back_;
    using typename base::asker;
    using slots = slots_of<Strategy>;
    using index = record_index;
    static constexpr index none = no_record;
    static constexpr unsigned orders = slots::largest_order + 1;
    static_assert(slots::count < no_record);

public:
    using offset_type = typename Strategy::offset_type;
    using metadata_type = typename Strategy::metadata_type;
    using memory_type = no_memory;
    using layout_type = basic_layout<offset_type>;
    using extent_type = basic_extent<offset_type>;
    using allocation_type = basic_allocation<offset_type, metadata_type>;
    static constexpr bool in_band = false;
    static constexpr reclaim reclaims = reclaim::any;
    static constexpr bool exact = false;
    static constexpr bool several_extents = false;
    static constexpr std::size_t extent_align = Strategy::extent_align;

    // ── pending uses ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Adds queues that use a live block.
    constexpr void use(allocation_type allocation, queue_set queues) noexcept {
        slots_[index_of(allocation.where.offset)].queues |= queues;
    }
    /// Returns true if `use` added a queue to a live block.
    [[nodiscard]] constexpr bool is_used(allocation_type allocation) const noexcept {
        return slots_[index_of(allocation.where.offset)].queues != 0;
    }
    /// Returns the blocks whose uses are known to be done to the strategy.
    constexpr void settle(const epoch* known) noexcept {
        for (unsigned order = 0; order != orders; ++order) {
            for (unsigned queue = 0; queue != Queues; ++queue)
                while (lists_[order][queue].oldest != none && is_known(lists_[order][queue].oldest, known))
                    release(lists_[order][queue].oldest);
            for (index at = lists_[order][Queues].newest; at != none;) {
                const index older = slots_[at].next;
                if (is_known(at, known)) release(at);
                at = older;
            }
        }
    }
    /// Takes all uses that are not known to `by`, for `taken`. The blocks keep them.
    constexpr void collect(const knowledge<Queues>& by) noexcept {
        base::ask(by);
        taken_.clear_taken();
        for_each_kept([&](index at) { taken_.take(slots_[at]); });
    }
    /// Returns `pending` if no block is available with these settings, otherwise `none`.
    [[nodiscard]] constexpr refusal lacks_place(layout_type wanted, const knowledge<Queues>& by,
                                                queue_set waitable) const noexcept {
        const bool has = strategy_.diagnose(wanted).reason == refusal::none ||
                         (is_request(wanted) && find(wanted, {&by, waitable}).at != none);
        return has ? refusal::none : refusal::pending;
    }

    // ── the interface of a strategy ──────────────────────────────────────────────────────────────────────────────

    constexpr bool insert(extent_type where, no_memory = {}) noexcept {
        if (!strategy_.insert(where, {})) return false;
        origin_ = slots::origin_of(where.offset);
        strategy_.for_each_hole(where, [&](extent_type hole) {
            const std::size_t first = index_of(hole.offset);
            for (std::size_t at = first; at != first + hole.size / slots::size; ++at) slots_[at].state = stage::free;
        });
        return true;
    }
    /// Allocates a block that only this queue used, or one without a pending use.
    ALLOT_INLINE constexpr allocation_type allocate_own(layout_type wanted) noexcept {
        if (!is_request(wanted)) return {};
        if (const queue_set own = taken_.by->own; own != 0) {
            list& in = lists_[order_of(wanted.size)][lowest_one(own)];
            if (const index newest = in.newest; newest != none && is_aligned(newest, wanted.align)) {
                in.newest = slots_[newest].next;
                (in.newest == none ? in.oldest : slots_[in.newest].newer) = none;
                return give(newest, wanted.size);
            }
        }
        const allocation_type given = strategy_.allocate(wanted);
        return given ? give(index_of(given.where.offset), wanted.size) : given;
    }
    /// Allocates a block without a wait.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        const allocation_type given = allocate_own(wanted);
        return given ? given : allocate_kept(wanted, {taken_.by, 0});
    }
    /// `allocate`: blocks without a wait are never larger than those behind a wait.
    constexpr allocation_type allocate_tight(layout_type wanted, queue_set, bool) noexcept {
        taken_.clear_taken();
        return allocate(wanted);
    }
    /// Searches a place behind a wait for `waitable`. Returns false if there is no place. Otherwise its uses are
    /// `taken`. The blocks keep them and are not allocated.
    constexpr bool seek_behind(layout_type wanted, queue_set waitable) noexcept {
        taken_.clear_taken();
        const place found = is_request(wanted) ? find(wanted, {taken_.by, waitable}) : place{};
        if (found.at == none) return false;
        if constexpr (orders == 1) taken_.take(slots_[found.at]);
        else for_each_kept_in(found.at, order_of(wanted.size), [&](index kept) { taken_.take(slots_[kept]); });
        return true;
    }
    /// Frees a block. Its bytes are pending until the work of `give_back` and of the block's queues is done.
    constexpr void deallocate(allocation_type allocation) noexcept {
        const index at = index_of(allocation.where.offset);
        slots_[at].epoch = given_back_.epoch;
        slots_[at].queues |= given_back_.queues;
        if (slots_[at].queues != 0) return keep(at, order_of(allocation.where.size));
        slots_[at].state = stage::free;
        strategy_.deallocate(allocation);
    }
    [[nodiscard]] constexpr offset_type capacity(allocation_type allocation) const noexcept {
        return strategy_.capacity(allocation);
    }
    /// Returns the reason for which `allocate(wanted)` would fail if all waits were permitted.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        diagnosis answer = strategy_.diagnose(wanted);
        const asker any{taken_.by, ~queue_set{0}};
        for (unsigned order = orders; order-- != 0;) {
            const auto bytes = static_cast<offset_type>(slots::size << order);
            if (bytes > answer.largest_hole && find({bytes, 1}, any).at != none) answer.largest_hole = bytes;
        }
        if (!is_request(wanted) || answer.reason == refusal::none) return answer;
        if (find(wanted, any).at != none) answer.reason = refusal::none;
        else answer.reason = free_slots() >> order_of(wanted.size) == 0 ? refusal::exhausted : refusal::fragmented;
        return answer;
    }
    /// Calls `f(extent)` with every hole of the strategy and every kept block, in no order.
    template <class Function>
    constexpr void for_each_hole(extent_type inserted, Function f) const noexcept {
        strategy_.for_each_hole(inserted, f);
        for_each_kept([&](index at) { f(extent_at(at, slots_[at].order)); });
    }
    template <class Function>
    constexpr void for_each_block(extent_type inserted, Function f) const noexcept
        requires block_walkable<Strategy>
    {
        strategy_.for_each_block(inserted, [&](extent_type used) {
            if (slots_[index_of(used.offset)].state == stage::live) f(used);
        });
    }
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return Strategy::bytes_for(count, each);
    }

private:
    /// The state of the slot at the start of a block. All other slots of a block are `free`.
    enum class stage : unsigned char { absent, free, live, kept };

    struct slot : pending_use {  // `next` is the block that was freed before
        index newer = none;
        unsigned char order = 0;
        stage state = stage::absent;
    };
    struct list {
        index newest = none, oldest = none;
    };
    /// A position for a block, and the number of queues that it waits for.
    struct place {
        index at = none;
        int waits = 0;
        detail::epoch epoch = 0;
    };

    [[nodiscard]] constexpr index index_of(offset_type at) const noexcept {
        return static_cast<index>(static_cast<offset_type>(at - origin_) / slots::size);
    }
    [[nodiscard]] constexpr extent_type extent_at(index at, unsigned order) const noexcept {
        return {static_cast<offset_type>(origin_ + static_cast<offset_type>(at * slots::size)),
                static_cast<offset_type>(slots::size << order)};
    }
    [[nodiscard]] static constexpr unsigned order_of(offset_type size) noexcept {
        if constexpr (orders == 1) return 0;
        else return static_cast<unsigned>(std::bit_width(static_cast<offset_type>((size - 1) / slots::size)));
    }
    [[nodiscard]] static constexpr bool is_request(layout_type wanted) noexcept {
        return wanted.is_valid() && wanted.align <= slots::largest_align &&
               wanted.size <= static_cast<offset_type>(slots::size << slots::largest_order);
    }
    /// Returns true if a block starts at a multiple of `align`, which is more than its size only in a page_tree.
    [[nodiscard]] constexpr bool is_aligned([[maybe_unused]] index at,
                                            [[maybe_unused]] offset_type align) const noexcept {
        if constexpr (orders == 1) return true;
        else return (at & static_cast<index>((align - 1) / slots::size)) == 0;
    }
    [[nodiscard]] constexpr bool is_known(index at, const epoch* known) const noexcept {
        return slots_[at].unknown(known) == 0;
    }
    constexpr allocation_type allocate_kept(layout_type wanted, asker by) noexcept {
        const place found = is_request(wanted) ? find(wanted, by) : place{};
        if (found.at == none) return {};
        take_place(found.at, order_of(wanted.size));
        slots_[found.at].queues = taken_.by->self;  // its later work runs after the uses of these slots
        return give(found.at, wanted.size);
    }
    constexpr allocation_type give(index at, offset_type size) noexcept {
        slots_[at].order = static_cast<unsigned char>(order_of(size));
        slots_[at].state = stage::live;
        return {{extent_at(at, 0).offset, size}, {}};
    }

    // ── lists of kept blocks ─────────────────────────────────────────────────────────────────────────────────────

    /// Returns the list of the blocks that these queues may still use: one or more.
    [[nodiscard]] ALLOT_INLINE constexpr list& list_of(queue_set queues, unsigned order) noexcept {
        return lists_[order][(queues & (queues - 1)) == 0 ? lowest_one(queues) : Queues];
    }
    /// Adds a block to the list of its queue. It is the newest one, unless its use began before the block was freed.
    constexpr void keep(index at, unsigned order) noexcept {
        slot& kept = slots_[at];
        kept.order = static_cast<unsigned char>(order);
        kept.state = stage::kept;
        list& in = list_of(kept.queues, order);
        kept.newer = none;
        kept.next = in.newest;
        while (kept.next != none && slots_[kept.next].epoch > kept.epoch) {
            kept.newer = kept.next;
            kept.next = slots_[kept.next].next;
        }
        (kept.newer == none ? in.newest : slots_[kept.newer].next) = at;
        (kept.next == none ? in.oldest : slots_[kept.next].newer) = at;
    }
    constexpr void unlink(index at) noexcept {
        const slot& kept = slots_[at];
        list& in = list_of(kept.queues, kept.order);
        (kept.newer == none ? in.newest : slots_[kept.newer].next) = kept.next;
        (kept.next == none ? in.oldest : slots_[kept.next].newer) = kept.newer;
    }
    /// Gives a kept block back to the strategy.
    constexpr void release(index at) noexcept {
        unlink(at);
        slots_[at].queues = 0;
        slots_[at].state = stage::free;
        strategy_.deallocate({extent_at(at, slots_[at].order), {}});
    }
    template <class Function>
    constexpr void for_each_kept(Function f) const noexcept {
        for (const auto& of_order : lists_)
            for (const list& in : of_order)
                for (index at = in.newest; at != none; at = slots_[at].next) f(at);
    }

    // ── searching ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the place that waits for the fewest queues; of these, that of the earliest epoch.
    [[nodiscard]] constexpr place find(layout_type wanted, asker by) const noexcept {
        const unsigned order = order_of(wanted.size);
        place best;
        const auto consider = [&](index at) {
            if (at == none || !is_aligned(at, wanted.align)) return;
            choose({at, by.waits(slots_[at].unknown(by.known->until.data())), slots_[at].epoch}, best);
        };
        for (unsigned queue = 0; queue != Queues; ++queue) consider(lists_[order][queue].oldest);
        for (index at = lists_[order][Queues].newest; at != none; at = slots_[at].next) consider(at);
        if constexpr (orders != 1) {
            if (best.at == none || best.waits != 0) find_in_pages(order, wanted.align, by, best);
        }
        return best;
    }
    static constexpr void choose(place found, place& best) noexcept {
        if (found.waits < 0) return;
        if (best.at == none || found.waits < best.waits || (found.waits == best.waits && found.epoch < best.epoch))
            best = found;
    }
    /// Searches all positions of a block in a page_tree.
    constexpr void find_in_pages(unsigned order, offset_type align, asker by, place& best) const noexcept {
        const std::size_t pages = std::size_t{1} << order;
        for (std::size_t first = 0; first + pages <= slots::count; first += pages) {
            const auto at = static_cast<index>(first);
            if (!is_aligned(at, align)) continue;
            queue_set unknown = 0;
            detail::epoch latest = 0;
            const bool is_free = for_each_kept_in(at, order, [&](index kept) {
                unknown |= slots_[kept].unknown(by.known->until.data());
                if (slots_[kept].epoch > latest) latest = slots_[kept].epoch;
            });
            if (is_free) choose({at, by.waits(unknown), latest}, best);
        }
    }
    /// Calls `f(block)` for each kept block with pages of the block at `at`. Returns false if one of its pages is live.
    template <class Function>
    constexpr bool for_each_kept_in(index at, unsigned order, Function f) const noexcept {
        for (unsigned larger = order + 1; larger < orders; ++larger) {
            const index around = at >> larger << larger;
            const slot& of = slots_[around];
            if (around == at || of.order < larger || (of.state != stage::live && of.state != stage::kept)) continue;
            if (of.state == stage::kept) f(around);
            return of.state == stage::kept;
        }
        for (index i = at; i < at + (index{1} << order); i += pages_at(i)) {
            if (slots_[i].state == stage::live || slots_[i].state == stage::absent) return false;
            if (slots_[i].state == stage::kept) f(i);
        }
        return true;
    }
    /// Returns the number of slots of the block at `at`; 1 if no block starts there.
    [[nodiscard]] constexpr index pages_at(index at) const noexcept {
        return slots_[at].state == stage::free || slots_[at].state == stage::absent ? 1 : index{1} << slots_[at].order;
    }
    /// Returns the number of slots that are free or kept.
    [[nodiscard]] constexpr std::size_t free_slots() const noexcept {
        std::size_t total = 0;
        for (std::size_t at = 0; at < slots::count; at += pages_at(static_cast<index>(at)))
            if (slots_[at].state == stage::free || slots_[at].state == stage::kept)
                total += pages_at(static_cast<index>(at));
        return total;
    }

    // ── taking ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Takes a place that `find` returned, with its uses.
    constexpr void take_place(index at, unsigned order) noexcept {
        if constexpr (orders != 1) {
            index around = none;
            for_each_kept_in(at, order, [&](index kept) { around = kept; });
            if (around == none || slots_[around].order < order) return join(at, order);
            cut(around, at, order);
        } else {
            unlink(at);
            taken_.take(slots_[at]);
        }
    }
    /// Takes a part of a kept block. The other parts are kept as blocks of their own.
    constexpr void cut(index around, index at, unsigned order) noexcept {
        unlink(around);
        const pending_use use = slots_[around];
        taken_.take(use);
        slots_[around].state = stage::free;
        for (unsigned left = slots_[around].order; left-- != order;) {
            const index upper = around + (index{1} << left), rest = at < upper ? upper : around;
            if (at >= upper) around = upper;
            slots_[rest].epoch = use.epoch;
            slots_[rest].queues = use.queues;
            keep(rest, left);
        }
    }
    /// Takes a block that consists of smaller kept blocks and free pages.
    constexpr void join(index at, unsigned order) noexcept {
        for (index i = at, next = at; i < at + (index{1} << order); i = next) {
            next = i + pages_at(i);
            if (slots_[i].state != stage::kept) continue;
            taken_.take(slots_[i]);
            release(i);
        }
        static_cast<void>(strategy_.allocate_at(extent_at(at, order)));
    }

    Strategy strategy_;
    offset_type origin_ = 0;  // the offset of slot 0
    list lists_[orders][Queues + 1];
    slot slots_[slots::count];
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
