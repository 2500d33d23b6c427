// SPDX-License-Identifier: BSL-1.0
// deferred: an adapter that defers the joining of small blocks of a strategy with records in band.
//
//     using fast = allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>>;
//
//     lists by size     24   40   56   72 …                    deallocate: adds to the front of the list of that size
//                        │         │                            allocate: takes the first block of the list
//                        ▼         ▼
//                      block     block ─► block                 a failing request frees all of them in the strategy
//
// A freed block of at most `deferred_options::largest` bytes waits in a list of its size. The next request for that
// size takes it unchanged, so that most calls neither split a hole nor join holes. Before a request fails, all waiting
// blocks join and the strategy is asked again, so that `exact` stays true. Functions that report free memory join the
// blocks first. `resize` joins the waiting blocks directly above, one after the other until it succeeds, and no others.
// With offsets of 16 bits, whose records in band have no bit for the mark, `resize` joins no block.
//
// When to use: programs that allocate and free the same few small sizes repeatedly.
//
// When not to use: interrupts and other code that needs a bounded time, because the worst case has no bound. Also not
// for memory that the host cannot access, because the lists are linked through the blocks.
//
// Complexity: O(1) if a block of the size waits, otherwise that of the strategy. A request that would fail first frees
// all waiting blocks in the strategy, each one once.
//
// Memory: one offset for every multiple of two words up to `largest`.
//
// Thread safety: not synchronized. This includes const functions, which may join blocks.
//
// Source: C. Weinstock, W. Wulf, "An Efficient Algorithm for Heap Storage Allocation", SIGPLAN Notices 23 (10), 1988
// ("Quick Fit").
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>

#include <cstring>
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
    static constexpr bool exact = Strategy::exact;           ///< Whether a request fails only if no hole fits.
    static constexpr bool several_extents = Strategy::several_extents;  ///< Whether several extents are managed.

    /// Constructs a strategy without offsets. Every request fails until `insert`.
    deferred() noexcept = default;
    /// Moves the state. A moved-from object has no offsets and no waiting blocks.
    deferred(deferred&& other) noexcept
        : strategy_{std::move(other.strategy_)}, waiting_{std::exchange(other.waiting_, {})}, memory_{other.memory_} {}
    /// Moves the state. A moved-from object has no offsets and no waiting blocks.
    deferred& operator=(deferred&& other) noexcept {
        strategy_ = std::move(other.strategy_);
        waiting_ = std::exchange(other.waiting_, {});
        memory_ = other.memory_;
        return *this;
    }

    /// Adds an extent, as `Strategy::insert` does.
    bool insert(extent_type where, memory_type memory = {}) noexcept {
        require_in_band();
        memory_ = memory;
        return strategy_.insert(where, memory);
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
        return strategy_.remove(inserted);
    }
    /// Joins all waiting blocks, then moves the end of the extent.
    bool resize_extent(extent_type inserted, offset_type size) noexcept
        requires extendable<Strategy>
    {
        join_all();
        return strategy_.resize_extent(inserted, size);
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

    /// Allocates a waiting block of the size, or a block of the strategy. If the strategy fails, joins all waiting
    /// blocks and tries again.
    allocation_type allocate(layout_type wanted) noexcept {
        if (wanted.is_valid() && wanted.align <= granule && wanted.size <= largest) {
            offset_type& first = waiting_.first[list_for(wanted.size)];
            if (first != none) {
                const allocation_type given{{take(first), wanted.size}, {}};
                if constexpr (marks) strategy_.clear_waiting(given);
                return given;
            }
        }
        return or_joined([&] { return strategy_.allocate(wanted); });
    }
    /// Adds the block to the list of its size. A block larger than `largest` is freed in the strategy.
    void deallocate(allocation_type allocation) noexcept {
        const offset_type size = strategy_.capacity(allocation);
        if (size > largest) return strategy_.deallocate(allocation);
        offset_type& first = waiting_.first[(size + word) / granule];
        if constexpr (marks) strategy_.set_waiting(allocation);
        set_next(allocation.where.offset, first);
        first = allocation.where.offset;
    }

    /// Allocates exactly this extent. If the strategy fails, joins all waiting blocks and tries again.
    allocation_type allocate_at(extent_type wanted) noexcept
        requires positional<Strategy>
    {
        return or_joined([&] { return strategy_.allocate_at(wanted); });
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
        bool done = strategy_.resize(allocation, size);
        if constexpr (marks) {
            for (allocation_type above; !done && (above = strategy_.waiting_above(allocation));
                 done = strategy_.resize(allocation, size))
                join(above);
        }
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
    // The header of a block in band precedes it by one word, and nodes are multiples of two words. A list therefore
    // holds blocks whose capacities are equal.
    static constexpr offset_type word = sizeof(offset_type), granule = 2 * word;
    static constexpr offset_type none = std::numeric_limits<offset_type>::max();
    static_assert(Options.largest <= none / 2,
                  "allot: deferred_options::largest must be at most half of the offset type's range");
    static constexpr auto largest = static_cast<offset_type>(Options.largest);

    /// Called before every access to the memory, so that this assertion is reported first.
    ALLOT_INLINE static constexpr void require_in_band() noexcept {
        // Checked here and not in the class, because `deferred<Strategy>` must be nameable before an arena selects the
        // strategy's node store.
        static_assert(Strategy::in_band && Strategy::reclaims == reclaim::any,
                      "allot: deferred needs a strategy with records in band whose blocks are freed in any order: use "
                      "best_fit, in memory that the host can access");
    }
    [[nodiscard]] ALLOT_INLINE std::byte* at(offset_type offset) const noexcept {
        require_in_band();
        if constexpr (in_band) return memory_.at(offset);
        else return nullptr;
    }

    /// Returns the list whose blocks all have a capacity of at least `size`. If the smallest blocks of a strategy are
    /// larger, the first lists stay empty.
    [[nodiscard]] static constexpr std::size_t list_for(offset_type size) noexcept {
        return size <= word ? 2 : static_cast<std::size_t>((size + word + granule - 1) / granule);
    }

    /// Whether a waiting block is distinguishable from a block in use.
    static constexpr bool marks = resizable<Strategy> && requires(const Strategy strategy, allocation_type allocation) {
        { strategy.waiting_above(allocation) } -> std::same_as<allocation_type>;
    };

    /// Returns the block that follows another one in its list.
    [[nodiscard]] ALLOT_INLINE offset_type next_of(offset_type waits) const noexcept {
        if constexpr (detail::sanitizer::is_on) return detail::sanitizer::read_record<offset_type>(at(waits));
        offset_type next;
        std::memcpy(&next, at(waits), sizeof next);
        return next;
    }
    ALLOT_INLINE void set_next(offset_type waits, offset_type next) const noexcept {
        if constexpr (detail::sanitizer::is_on) return detail::sanitizer::write_record(at(waits), next);
        std::memcpy(at(waits), &next, sizeof next);
    }

    /// Removes the block that follows `before` in its list.
    offset_type take_after(offset_type before) noexcept {
        offset_type next = next_of(before);
        const offset_type taken = take(next);
        set_next(before, next);
        return taken;
    }
    /// Removes the first block of a list. Precondition: the list is not empty.
    offset_type take(offset_type& first) const noexcept {
        const offset_type taken = first;
        first = next_of(taken);
        return taken;
    }

    /// Frees one waiting block in the strategy. Its list is searched up to 32 blocks deep. If the block is deeper, all
    /// blocks before it are freed as well, so that repeated calls do not visit the same blocks again.
    void join(allocation_type waits) noexcept {
        offset_type& first = waiting_.first[(waits.where.size + word) / granule];
        offset_type before = none, each = first;
        for (unsigned left = 32; left != 0 && each != waits.where.offset; --left) {
            before = each;
            each = next_of(before);
        }
        if (each != waits.where.offset)
            while (first != waits.where.offset) strategy_.deallocate({{take(first), 0}, {}});
        else if (before != none) return strategy_.deallocate({{take_after(before), 0}, {}});
        strategy_.deallocate({{take(first), 0}, {}});
    }

    /// Returns the result of `ask`. If it fails and blocks wait, joins them and calls `ask` again.
    template <class Ask>
    auto or_joined(Ask ask) noexcept {
        auto answer = ask();
        if (!answer && join_all()) answer = ask();
        return answer;
    }
    /// Frees all waiting blocks in the strategy. Returns true if a block waited. Sizes are not passed, because a record
    /// in band contains the size.
    bool join_all() const noexcept {
        bool any = false;
        for (offset_type& first : waiting_.first) {
            while (first != none) {
                strategy_.deallocate({{take(first), 0}, {}});
                any = true;
            }
        }
        return any;
    }

    struct lists {
        offset_type first[list_for(largest) + 1];
        lists() noexcept {
            for (offset_type& each : first) each = none;
        }
    };

    // Mutable, because joining waiting blocks, which are free already, changes no result of a const function.
    mutable Strategy strategy_;
    mutable lists waiting_;
    ALLOT_NO_UNIQUE_ADDRESS memory_type memory_{};
};

/// Selects the strategy of a deferred one in an arena.
template <class Strategy, deferred_options Options, memory_traits Where>
struct strategy_in<deferred<Strategy, Options>, Where> {
    /// The deferred strategy.
    using type = deferred<typename strategy_in<Strategy, Where>::type, Options>;
};

}  // namespace v1
}  // namespace allot
