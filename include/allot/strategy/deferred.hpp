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
// When to use: programs with many small blocks of different sizes in memory that the host can access. On traces of
// compilers, interpreters and servers it takes 0.3 to 1.1 times the time of `best_fit`, in the same memory within
// 3 %.
//
// When not to use: sizes that rarely repeat, or many blocks that are freed before a phase of other sizes, where
// best_fit alone is faster (a trace of jq takes 1.6 times its time); memory that the host cannot access, because the
// lists are linked through the blocks; and blocks of one size (use pool). Code that needs a bounded time sets
// `deferred_options::joins` and `best_fit_options::probes`.
//
// Complexity: O(1) if a block of the size waits, otherwise that of the strategy. A request that would fail first joins
// all waiting blocks, or `joins` of them.
//
// Memory: two offsets for every multiple of two words up to `largest`: 0.6 KiB by default. The waiting blocks.
//
// Thread safety: not synchronized. This includes const functions, which may join blocks.
//
// Source: C. Weinstock, W. Wulf, "An Efficient Algorithm for Heap Storage Allocation", SIGPLAN Notices 23 (10), 1988.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/waiting_amounts.hpp>
#include <allot/strategy/detail/waiting_blocks.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v1 {

/// Strategy that keeps small freed blocks in lists by size before it frees them in `Strategy`.
template <class Strategy, deferred_options Options = deferred_options{}>
class deferred {
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

    /// Constructs a strategy without offsets. Every request fails until `insert`.
    deferred() noexcept = default;
    /// Moves the state. A moved-from object has no offsets and no waiting blocks.
    deferred(deferred&& other) noexcept
        : strategy_{std::move(other.strategy_)},
          waiting_{std::exchange(other.waiting_, {})},
          amounts_{std::exchange(other.amounts_, {})},
          next_{std::exchange(other.next_, first_list)},
          cut_{std::exchange(other.cut_, {})} {}
    /// Moves the state. A moved-from object has no offsets and no waiting blocks.
    deferred& operator=(deferred&& other) noexcept {
        strategy_ = std::move(other.strategy_);
        waiting_ = std::exchange(other.waiting_, {});
        amounts_ = std::exchange(other.amounts_, {});
        next_ = std::exchange(other.next_, first_list);
        cut_ = std::exchange(other.cut_, {});
        return *this;
    }

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
        if (!is_small(wanted)) return allocate_joined(wanted.size, wanted.align);
        const std::size_t list = list_for(wanted.size);
        const offset_type first = waiting_.recent[list];
        if (first == none) return refill(wanted.size, list);
        waiting_.recent[list] = blocks::next(strategy_, first);
        return use(first, wanted.size, list);
    }
    /// Adds the block to the list of its size. Frees it in the strategy if it is larger than `largest` or beside a
    /// hole.
    ALLOT_INLINE void deallocate(allocation_type allocation) noexcept {
        static_assert(is_in_band());
        const offset_type freed = allocation.where.offset;
        const record of{strategy_, freed};
        // A waiting block would keep a hole next to it from growing.
        const offset_type length = of.length_above_block();
        if (length > last || (length > looks_above && of.is_below_hole(strategy_))) return deallocate_joined(freed);
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
        const std::size_t had = length(held);
        bool done = strategy_.resize(allocation, size);
        for (offset_type above; !done && (above = blocks::waiting_above(strategy_, held)) != 0 && join(above);)
            done = strategy_.resize(allocation, size);
        amounts_.count_out(had);
        amounts_.count_in(length(held));
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
    /// Frees a block with such a record, as `deallocate` does.
    ALLOT_INLINE void deallocate_between_blocks(allocation_type allocation, offset_type found) noexcept {
        const offset_type freed = allocation.where.offset;
        const record of{freed, found};
        if (of.length_above_block() > last) return deallocate_joined(freed);
        add_waiting(freed, of);
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

private:
    using blocks = detail::waiting_blocks<Strategy>;
    using record = typename blocks::record;

    // Lengths count granules of two words, with the record before a block. All blocks of a list have its length.
    static constexpr offset_type word = sizeof(offset_type), granule = 2 * word;
    static constexpr offset_type none = std::numeric_limits<offset_type>::max();
    static_assert(Options.largest <= none / 2,
                  "allot: deferred_options::largest must be at most half of the offset type's range");
    static_assert(Options.joins > 0, "allot: deferred_options::joins must be at least 1");
    static constexpr auto largest = static_cast<offset_type>(Options.largest);
    // A block of at least this length beside a hole does not wait: its record above is not read for smaller ones.
    static constexpr std::size_t looks_above = 256 / granule;
    // The number of blocks that one call cuts from a hole, and that a deallocation joins.
    static constexpr std::size_t most_at_once = 16;
    // The number of blocks that a request joins. As an extent fills, the spare part becomes a surplus.
    static constexpr std::size_t most_for_request = std::min<std::size_t>(Options.spare == 0 ? 2 : 8, Options.joins);
    // The number of lists that `join_old` visits.
    static constexpr std::size_t most_visits = Options.joins == all_blocks ? 8 : 2;
    /// Called before every access to the memory, so that this assertion is reported first.
    static consteval bool is_in_band() {
        // Checked here and not in the class, because `deferred<Strategy>` is named before an arena selects the node
        // store.
        static_assert(Strategy::in_band && Strategy::reclaims == reclaim::any,
                      "allot: deferred needs a strategy with records in band whose blocks are freed in any order: use "
                      "best_fit, in memory that the host can access");
        return true;
    }
    /// Returns the list whose blocks all have a capacity of at least `size`.
    [[nodiscard]] static constexpr std::size_t list_for(offset_type size) noexcept {
        const auto list = static_cast<std::size_t>((size + word + granule - 1) / granule);
        return list + (list < 2 ? 1 : 0);
    }

    static constexpr std::size_t first_list = 2, last = list_for(largest);
    using amounts = detail::waiting_amounts<offset_type, last, Options.share, Options.spare>;
    using credit_type = typename amounts::credit_type;

    /// Returns true if the request is served from the lists.
    [[nodiscard]] ALLOT_INLINE static constexpr bool is_small(const layout_type& wanted) noexcept {
        return static_cast<offset_type>(wanted.size - 1) < largest && blocks::is_any_alignment(wanted.align);
    }
    /// Counts the bytes of an extent before and after a change.
    void count_room(offset_type before, offset_type after) noexcept {
        amounts_.count_room(static_cast<offset_type>(before / granule), static_cast<offset_type>(after / granule));
    }
    /// Returns the number of granules of a block.
    [[nodiscard]] std::size_t length(offset_type block) const noexcept {
        static_assert(is_in_band());
        return record{strategy_, block}.length();
    }

    /// Adds a block that is not above a hole to the recent blocks of its size.
    ALLOT_INLINE void add_waiting(offset_type freed, const record& of) noexcept {
        const auto list = static_cast<std::size_t>(of.length_above_block());
        of.set_waiting(strategy_);
        blocks::set_next(strategy_, freed, waiting_.recent[list]);
        waiting_.recent[list] = freed;
        if (!amounts_.add(list)) join_surplus();
    }
    /// Returns a block that was removed from its list as allocated.
    ALLOT_INLINE allocation_type use(offset_type block, offset_type size, std::size_t list) noexcept {
        blocks::clear_waiting(strategy_, block);
        amounts_.remove(list);
        return {{block, size}, {}};
    }
    /// Allocates a small block without the list of recently freed blocks, which is empty.
    ALLOT_NOINLINE allocation_type refill(offset_type size, std::size_t list) noexcept {
        if (const offset_type first = waiting_.old[list]; first != none) {
            waiting_.recent[list] = blocks::next(strategy_, first);
            waiting_.old[list] = none;
            return use(first, size, list);
        }
        return take_bytes(size, list);
    }
    /// Allocates a small block from the strategy, because both lists of its size are empty. A separate function, so
    /// that `refill` saves no registers for it.
    ALLOT_NOINLINE allocation_type take_bytes(offset_type size, std::size_t list) noexcept {
        amounts_.renew_for_request();
        if (const credit_type keeps = amounts_.request_keeps(); amounts_.credit() < keeps) {
            join_old(keeps, most_for_request);
            if constexpr (Options.joins != all_blocks) return counted(strategy_.allocate({size, 1}));
        } else if constexpr (Options.joins == all_blocks && blocks::cuts_several) {
            const std::size_t count = blocks_in(static_cast<offset_type>(amounts_.credit() - keeps) / 8, list);
            if (count > 1 && blocks::cuts(size)) {
                const auto given = cut(size, list, count);
                return given ? given : allocate_after_joining(size, 1);
            }
        }
        return allocate_joined(size, 1);
    }
    /// Returns the number of blocks of a list in so many granules, at most `most_at_once`.
    [[nodiscard]] static constexpr std::size_t blocks_in(std::size_t granules, std::size_t list) noexcept {
        // A division of short numbers, and only of these, because that of long ones takes many cycles.
        if (granules >= most_at_once * list) return most_at_once;
        return static_cast<std::uint32_t>(granules) / static_cast<std::uint32_t>(list);
    }
    /// Allocates up to `count` blocks from one hole, all of which but the first wait, in the order of their offsets.
    /// Precondition: no block waits in the lists of this size.
    allocation_type cut(offset_type size, std::size_t list, std::size_t count) noexcept {
        const auto given =
            blocks::cut(strategy_, size, static_cast<offset_type>(count), cut_.size, waiting_.recent[list]);
        cut_.offset = given.where.offset;
        amounts_.add_new(static_cast<offset_type>(cut_.size / granule));
        return counted(given);
    }
    ALLOT_NOINLINE allocation_type allocate_joined(offset_type size, offset_type align) noexcept {
        const allocation_type given = strategy_.allocate({size, align});
        if (!given) [[unlikely]]
            return allocate_after_joining(size, align);
        return counted(given);
    }
    /// Joins waiting blocks for a request that the strategy refused, and tries again.
    ALLOT_NOINLINE allocation_type allocate_after_joining(offset_type size, offset_type align) noexcept {
        if (!join_waiting()) return {};
        return counted(strategy_.allocate({size, align}));
    }
    /// Counts a block that the strategy allocated.
    allocation_type counted(allocation_type given) noexcept {
        if (given) amounts_.count_in(length(given.where.offset));
        return given;
    }
    /// Frees a block in the strategy, which knows its size.
    ALLOT_NOINLINE void deallocate_joined(offset_type freed) const noexcept {
        amounts_.count_out(length(freed));
        strategy_.deallocate({{freed, 0}, {}});
    }

    /// Joins the first block of a list. Precondition: the list is not empty.
    void join_first(offset_type& first, std::size_t list) const noexcept {
        const offset_type taken = first;
        first = blocks::next(strategy_, taken);
        amounts_.remove(list);
        deallocate_joined(taken);
    }
    /// Joins old blocks if more wait than deallocations keep.
    ALLOT_NOINLINE void join_surplus() noexcept {
        amounts_.renew();
        if (amounts_.credit() < 0)
            join_old(amounts_.deallocation_keeps(), Options.joins < most_at_once ? Options.joins : most_at_once);
    }
    /// Joins up to `joins` old blocks while the credit is below `keeps`, and makes the recent blocks of the visited
    /// lists old. Visits a few lists, and continues there the next time.
    void join_old(credit_type keeps, std::size_t joins) noexcept {
        for (std::size_t steps = most_visits; steps != 0 && amounts_.credit() < keeps; --steps) {
            for (; waiting_.old[next_] != none; --joins) {
                if (joins == 0 || amounts_.credit() >= keeps) return;
                join_first(waiting_.old[next_], next_);
            }
            waiting_.old[next_] = std::exchange(waiting_.recent[next_], none);
            next_ = next_ == last ? first_list : next_ + 1;
        }
    }
    /// Joins one waiting block. Its lists are searched up to 32 blocks deep, or `joins`. If it is deeper, blocks before
    /// it are joined as well, so that no call visits them again. Returns false if it is not reached within the bound.
    bool join(offset_type block) noexcept {
        const std::size_t list = record{strategy_, block}.length();
        offset_type* const both[] = {&waiting_.recent[list], &waiting_.old[list]};
        for (offset_type* const first : both) {
            offset_type before = none, each = *first;
            for (std::size_t left = Options.joins < 32 ? Options.joins : 32; left != 0 && each != none && each != block;
                 --left)
                each = blocks::next(strategy_, before = each);
            if (each != block) continue;
            if (before == none) return join_first(*first, list), true;
            join_first(each, list);
            return blocks::set_next(strategy_, before, each), true;
        }
        std::size_t left = Options.joins;
        for (offset_type* const first : both)
            while (*first != none && left-- != 0) {
                const offset_type joined = *first;
                join_first(*first, list);
                if (joined == block) return true;
            }
        return false;
    }
    /// Joins all waiting blocks, or `joins` of them. Returns false if none waits.
    bool join_waiting() noexcept {
        if (amounts_.waits() == 0) return false;
        if constexpr (Options.joins == all_blocks) join_all();
        else join_old(amounts::all, Options.joins);
        return true;
    }
    ALLOT_NOINLINE void join_all() const noexcept {
        for (std::size_t list = first_list; list <= last; ++list)
            for (offset_type* const first : {&waiting_.recent[list], &waiting_.old[list]})
                while (*first != none) join_first(*first, list);
    }

    // Mutable, because joining waiting blocks, which are free already, changes no result of a const function.
    mutable Strategy strategy_;
    mutable detail::waiting_lists<offset_type, last> waiting_;
    mutable amounts amounts_;
    std::size_t next_ = first_list;  // the list that `join_old` visits next
    extent_type cut_{};              // the block below those that were cut last, and their bytes
};

/// Selects the strategy of a deferred one in an arena.
template <class Strategy, deferred_options Options, memory_traits Where>
struct strategy_in<deferred<Strategy, Options>, Where> {
    /// The deferred strategy.
    using type = deferred<typename strategy_in<Strategy, Where>::type, Options>;
};

}  // namespace v1
}  // namespace allot
