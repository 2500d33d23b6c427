// SPDX-License-Identifier: BSL-1.0
// deferred: an adapter that defers the joining of small blocks of a strategy with records in band, so that
// freed blocks serve later requests of their size at once.
//
//     using fast = allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>>;
//
//     size          24   40   56   72 …          deallocate: adds to the front of the recent blocks of that size
//     recent         │    │    ·    ·            allocate:   takes the first block of that list
//                    ▼    ▼
//                  block  block ─► block         a request that finds its list empty takes the list of old blocks; if
//     old            ·    │    │    ·            that is empty too, it cuts several blocks from one hole of the
//                         ▼    ▼                 strategy, and all of them but one wait
//                       block  block
//
// A freed block of at most `deferred_options::largest` bytes waits in a list of its size. The next request for that
// size takes it unchanged, so that most calls neither split a hole nor join holes. A block beside a hole does not wait,
// because it would keep the hole from growing.
//
// Waiting blocks are free bytes that other sizes cannot use. As many bytes may wait as were freed since the peak of the
// small blocks in use, and a part of the allocated bytes (`deferred_options::share`). While much of the extents is
// free, a larger part may wait (`deferred_options::spare`). While more wait, each request for a small block that takes
// bytes from the strategy joins up to eight old blocks first (two without `spare`), and makes recent blocks old. Such
// requests also lower the peak. A deallocation joins blocks only if more than four times the share and the larger part
// wait. Before a request fails, all waiting blocks join and the strategy is asked again, so that `exact` stays true.
// Functions that report free memory join the blocks first. `resize` joins the waiting blocks directly above, one after
// the other until it succeeds. With offsets of 16 bits, whose records have no bit for the mark, it joins none.
//
//     bytes in use   │        ╱╲ peak
//                    │      ╱    ╲        ╱╲       as many bytes may wait as are below five quarters of the peak
//                    │    ╱        ╲____╱    ╲
//                                   └ less than a quarter of the peak
//
// A peak that has passed shows how much memory a program needs. In extents of at least one and a half times the peak,
// blocks may then wait up to five quarters of it. Blocks beside holes and blocks of up to 64 KiB wait as well: each
// eighth of a power of two has a list, whose blocks serve requests of up to a quarter less.
//
// When to use: programs with many small blocks of different sizes in memory that the host can access. On traces of
// compilers, interpreters and servers that repeat their work, it takes 0.2 to 0.9 times the time of `best_fit` in twice
// the peak, and 0.4 to 1.1 times in less memory. Nearly all of them run once in at most 1.03 times the memory of
// `best_fit`, and several times in turn in at most 1.08 times.
//
// When not to use:
// - Sizes rarely repeat, or many blocks are freed before a phase of other sizes: best_fit alone is faster (in little
//   memory, a trace of jq takes 1.7 times its time).
// - Many small blocks stay live before a request for a quarter of the peak: another trace of jq needs 1.4 times the
//   memory of best_fit, and 1.74 times if it repeats its work (1.22 and 1.26 times with `spare = 0`).
// - The host cannot access the memory: the lists are linked through the blocks.
// - All blocks have one size: use pool.
// Code that needs a bounded time sets `deferred_options::joins` and `best_fit_options::probes`.
//
// Complexity: O(1) if a block of the size waits, otherwise that of the strategy. A request that would fail first joins
// all waiting blocks, or `joins` of them.
//
// Memory: two offsets for every multiple of two words up to `largest`, and for every eighth of a power of two up to
// 4,095 such multiples: 1.5 KiB by default, 0.6 KiB without `spare`. The waiting blocks.
//
// Thread safety: not synchronized. This includes const functions, which may join blocks.
//
// Source: C. Weinstock, W. Wulf, "An Efficient Algorithm for Heap Storage Allocation", SIGPLAN Notices 23 (10), 1988.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/deferred_blocks.hpp>

namespace allot {
inline namespace v1 {

/// Strategy that keeps small freed blocks in lists by size before it frees them in `Strategy`.
template <class Strategy, deferred_options Options = deferred_options{}>
class deferred : detail::deferred_blocks<Strategy, Options> {
    using base = detail::deferred_blocks<Strategy, Options>;
    using base::add_waiting;
    using base::allocate_large;
    using base::amounts_;
    using base::count_room;
    using base::counted;
    using base::cut_;
    using base::deallocate_unlisted;
    using base::is_in_band;
    using base::is_small;
    using base::join;
    using base::join_all;
    using base::join_waiting;
    using base::largest_listed;
    using base::last;
    using base::length_of;
    using base::list_for;
    using base::looks_above;
    using base::none;
    using base::pop;
    using base::refill;
    using base::strategy_;
    using base::use;
    using base::waiting_;
    using typename base::blocks;
    using typename base::record;

public:
    using offset_type = typename Strategy::offset_type;      ///< Unsigned integer type of offsets and sizes.
    using metadata_type = typename Strategy::metadata_type;  ///< Metadata of a block.
    using memory_type = typename Strategy::memory_type;      ///< Access to the managed memory.
    using layout_type = layout_for<Strategy>;                ///< Size and alignment of a request.
    using extent_type = extent_of<Strategy>;                 ///< Range of offsets.
    using allocation_type = allocation_of<Strategy>;         ///< Result of an allocation: its extent and metadata.
    static constexpr bool in_band = Strategy::in_band;       ///< Whether records are kept in the memory.
    static constexpr reclaim reclaims = reclaim::any;        ///< Blocks are freed in any order.
    /// Whether a request fails only if no hole fits.
    static constexpr bool exact = Strategy::exact && Options.joins == all_blocks;
    static constexpr bool several_extents = Strategy::several_extents;  ///< Whether several extents are managed.

    /// Adds an extent, as `Strategy::insert` does.
    bool insert(extent_type where, memory_type memory = {}) noexcept {
        static_assert(is_in_band());
        if (!strategy_.insert(where, memory)) return false;
        count_room(0, where.size);
        return true;
    }
    /// Returns true if `insert` accepts another extent.
    [[nodiscard]] bool can_insert() const noexcept
        requires several_extents
    {
        return strategy_.can_insert();
    }
    /// Joins all waiting blocks, then removes an extent.
    bool remove(extent_type inserted) noexcept
        requires removable<Strategy>
    {
        join_all();
        if (!strategy_.remove(inserted)) return false;
        count_room(inserted.size, 0);
        return true;
    }
    /// Joins all waiting blocks, then moves the end of the extent.
    bool resize_extent(extent_type inserted, offset_type size) noexcept
        requires extendable<Strategy>
    {
        join_all();
        if (!strategy_.resize_extent(inserted, size)) return false;
        count_room(inserted.size, size);
        return true;
    }
    /// Joins all waiting blocks, then returns the smallest size for `resize_extent`.
    [[nodiscard]] offset_type least_size(extent_type inserted) const noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.least_size(inserted);
    }
    /// Joins all waiting blocks, then returns the extent's smallest size with which a request fits at its end.
    [[nodiscard]] offset_type size_for(extent_type inserted, layout_type wanted) const noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.size_for(inserted, wanted);
    }
    /// Returns true if records are available for an extension by `size_for(inserted, wanted)`.
    [[nodiscard]] bool can_extend(extent_type inserted, layout_type wanted) const noexcept
        requires extendable<Strategy> && several_extents
    {
        return strategy_.can_extend(inserted, wanted);
    }
    /// Returns the extent's smallest size with which the last block can be resized to `size`.
    [[nodiscard]] offset_type size_for(extent_type inserted, allocation_type allocation,
                                       offset_type size) const noexcept
        requires extendable<Strategy> && resizable<Strategy>
    {
        return strategy_.size_for(inserted, allocation, size);
    }

    /// Allocates a waiting block of the size, or a block of the strategy. If the strategy fails, joins waiting blocks
    /// and tries again.
    ALLOT_INLINE allocation_type allocate(layout_type wanted) noexcept {
        static_assert(is_in_band());
        if (!is_small(wanted)) return allocate_large(wanted.size, wanted.align);
        const std::size_t list = list_for(wanted.size);
        const offset_type first = waiting_.recent[list];
        if (first == none) return refill(wanted.size, list);
        pop(waiting_.recent[list], first);
        return use(first, wanted.size, list);
    }
    /// Adds the block to the list of its size. Frees it in the strategy if it is larger than `largest` or beside a
    /// hole, unless memory is ample after a peak.
    ALLOT_INLINE void deallocate(allocation_type allocation) noexcept {
        static_assert(is_in_band());
        const offset_type freed = allocation.where.offset;
        // Decided before the record is read, which is often not in the cache.
        if (allocation.where.size > largest_listed) return deallocate_unlisted(freed);
        const record of{strategy_, freed};
        // A waiting block would keep a hole next to it from growing.
        const offset_type length = of.length_above_block();
        if (length > last || (length > looks_above && of.is_below_hole(strategy_))) return deallocate_unlisted(freed);
        add_waiting(freed, of);
    }

    /// Allocates exactly this extent. If the strategy fails, joins waiting blocks and tries again.
    allocation_type allocate_at(extent_type wanted) noexcept
        requires positional<Strategy>
    {
        const allocation_type given = strategy_.allocate_at(wanted);
        return counted(given || !join_waiting() ? given : strategy_.allocate_at(wanted));
    }
    /// Joins all waiting blocks, then returns the reason for which `allocate_at(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose_at(extent_type wanted) const noexcept
        requires positional<Strategy>
    {
        join_all();
        return strategy_.diagnose_at(wanted);
    }
    /// Resizes a block in place. Joins waiting blocks directly above it until that succeeds.
    bool resize(allocation_type allocation, offset_type size) noexcept
        requires resizable<Strategy>
    {
        static_assert(is_in_band());
        const offset_type held = allocation.where.offset;
        const std::size_t had = length_of(held);
        bool done = strategy_.resize(allocation, size);
        for (offset_type above; !done && (above = blocks::waiting_above(strategy_, held)) != 0 && join(above);)
            done = strategy_.resize(allocation, size);
        amounts_.count_out(had);
        amounts_.count_in(length_of(held));
        return done;
    }
    /// Returns the usable bytes of a block: at least its size.
    [[nodiscard]] offset_type capacity(allocation_type allocation) const noexcept {
        return strategy_.capacity(allocation);
    }
    /// Returns true if the records around a block are intact. `inside` is the extent that contains the block.
    [[nodiscard]] bool is_sound(allocation_type allocation, extent_type inside) const noexcept
        requires requires(const Strategy strategy) { strategy.is_sound(allocation, inside); }
    {
        return strategy_.is_sound(allocation, inside);
    }
    /// The same for a block whose record has the right size.
    [[nodiscard]] ALLOT_INLINE bool is_sound_beside(allocation_type allocation, extent_type inside) const noexcept
        requires requires(const Strategy strategy) { strategy.is_sound_beside(allocation, inside); }
    {
        return strategy_.is_sound_beside(allocation, inside);
    }
    /// Returns true if the records at both ends of a block are those of blocks, and no hole is below. Stores the record
    /// of the block. `most` is the number of granules from the start of the block to the end of its extent.
    [[nodiscard]] ALLOT_INLINE bool is_between_blocks(allocation_type allocation, offset_type most,
                                                      offset_type& found) const noexcept
        requires requires(const Strategy strategy) { strategy.is_between_blocks(allocation, most, found); }
    {
        return strategy_.is_between_blocks(allocation, most, found);
    }
    /// Returns the usable bytes of a block with such a record.
    [[nodiscard]] ALLOT_INLINE static offset_type capacity_between_blocks(offset_type found) noexcept {
        return Strategy::capacity_between_blocks(found);
    }
    /// Returns the number of granules of the largest block that waits.
    [[nodiscard]] static constexpr offset_type most_between_blocks() noexcept { return static_cast<offset_type>(last); }
    /// Frees a block with such a record, as `deallocate` does. Precondition: it has at most `most_between_blocks()`
    /// granules.
    ALLOT_INLINE void deallocate_between_blocks(allocation_type allocation, offset_type found) noexcept {
        add_waiting(allocation.where.offset, record{allocation.where.offset, found});
    }
    /// Calls `f(extent, is_allocated)` with the usable bytes of each record in band of an inserted extent, in ascending
    /// order. A damaged record has no bytes and is the last one. Waiting blocks are not allocated, and stay so.
    template <class Function>
    void for_each_record(extent_type inserted, Function f) const noexcept
        requires requires(const Strategy strategy) { strategy.for_each_record(inserted, f); }
    {
        strategy_.for_each_record(inserted, f);
    }
    /// Returns the number of bytes above a new block that were cut from the same hole: records were written in them.
    [[nodiscard]] offset_type cut_above(allocation_type allocation) const noexcept {
        return allocation.where.offset == cut_.offset ? cut_.size : 0;
    }
    /// Joins all waiting blocks, then returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] diagnosis diagnose(layout_type wanted) const noexcept {
        join_all();
        return strategy_.diagnose(wanted);
    }
    /// Joins all waiting blocks, then calls `f(extent)` with the usable bytes of every hole of an inserted extent.
    template <class Function>
        requires hole_walkable<Strategy>
    void for_each_hole(extent_type inserted, Function f) const noexcept {
        join_all();
        strategy_.for_each_hole(inserted, f);
    }
    /// Joins all waiting blocks, then calls `f(extent)` with the usable bytes of every block of an inserted extent.
    template <class Function>
        requires block_walkable<Strategy>
    void for_each_block(extent_type inserted, Function f) const noexcept {
        join_all();
        strategy_.for_each_block(inserted, f);
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    [[nodiscard]] static constexpr offset_type bytes_for(offset_type count, layout_type each) noexcept {
        return Strategy::bytes_for(count, each);
    }
};

/// Selects the strategy of a deferred one in an arena.
template <class Strategy, deferred_options Options, memory_traits Where>
struct strategy_in<deferred<Strategy, Options>, Where> {
    /// The deferred strategy.
    using type = deferred<typename strategy_in<Strategy, Where>::type, Options>;
};

}  // namespace v1
}  // namespace allot
