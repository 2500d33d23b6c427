// SPDX-License-Identifier: BSL-1.0
// pool: a strategy that hands out slots of one size, which are freed in any order.
//
//     using packets = allot::pool<allot::pool_options{.slot = 128}>;
//
//     │ slot │ free │ slot │ slot │ free │ free │ · │       · is smaller than a slot
//
// Every request up to the slot's size and alignment gets a whole slot. A larger request fails as over the limit, and a
// stricter alignment as misaligned. A pool does not search for a hole and does not fragment. The list of free slots is
// kept in the free slots or in a side table (slot_stores.hpp, slot_bitmap.hpp). With a bitmap, `allocate_at` takes a
// given slot. A bitmap takes the lowest free slot. With `pool_options::recent`, it takes one of the lowest, in fewer
// instructions if several slots are freed before others are allocated.
//
// When to use: many blocks of one size, such as packets, list nodes or pages.
//
// When not to use: blocks of many sizes, because every block takes a whole slot. Use best_fit for these.
//
// Complexity: O(1) for `allocate` and `deallocate`. Measured on a Cortex-M4 at -Os in an arena: at most 19 instructions
// in band, 17 with an index stack and 49 with a bitmap (./dev size). With `pool_store::bitmap`, `allocate` takes a slot
// that was freed below all other free slots at once, and otherwise reads one summary word for every 4096 slots. With
// `pool_store::atomic_bitmap`, `allocate` is O(count / bits of a word).
//
// Memory: a pointer and two offsets in band. In a side table, one bit or one index for every slot, and with a bitmap of
// more than 64 slots two offsets more. `pool_options::recent` adds one offset for each recent slot, and a number.
//
// Thread safety: not synchronized, except with `pool_store::atomic_bitmap`. Then threads, cores and interrupts may call
// `allocate`, `allocate_at`, `deallocate` and `diagnose` concurrently, also through an arena that does not grow. No
// call waits for another one, so that an interrupt may occur at any instruction.
#pragma once

#include <allot/core/options.hpp>
#include <allot/strategy/detail/slot_bitmap.hpp>
#include <allot/strategy/detail/slot_stores.hpp>

namespace allot {
inline namespace v1 {

/// Strategy that divides extents into slots of one size.
template <pool_options Options, std::unsigned_integral Offset = std::size_t>
class pool {
    static_assert(Options.slot > 0, "allot: a pool needs the size of its slots: pool_options{.slot = 128}");
    static_assert(is_alignment(Options.align), "allot: pool_options::align must be a power of two");
    static_assert(Options.align <= std::numeric_limits<Offset>::max() &&
                      Options.slot <= std::numeric_limits<Offset>::max() - (Options.align - 1),
                  "allot: pool_options::slot, rounded up to pool_options::align, does not fit the offset type: use a "
                  "wider offset type");
    static_assert(Options.recent > 0, "allot: pool_options::recent must be at least 1");
    static_assert(Options.recent == 1 || Options.store == pool_store::bitmap,
                  "allot: pool_options::recent is for pool_store::bitmap: leave it out for other stores");

public:
    static constexpr bool in_band = Options.store == pool_store::in_band;  ///< Whether free slots hold the free list.
    static constexpr bool concurrent = Options.store == pool_store::atomic_bitmap;  ///< Whether calls may overlap.

private:
    static constexpr Offset align = static_cast<Offset>(Options.align);
    static constexpr Offset slot = align_up(static_cast<Offset>(Options.slot), align);
    static constexpr std::size_t beside = Options.count > 0 ? Options.count : 1;
    // Selects the store before any is instantiated: the atomic bitmap does not compile for every core.
    static constexpr auto choose_store() noexcept {
        if constexpr (in_band) return std::type_identity<detail::slot_free_list<Offset, slot, align>>{};
        else if constexpr (Options.store == pool_store::bitmap && beside <= 64)
            return std::type_identity<detail::slot_word<Offset, slot, beside>>{};
        else if constexpr (Options.store == pool_store::bitmap)
            return std::type_identity<detail::slot_bitmap<Offset, slot, beside, Options.recent>>{};
        else if constexpr (concurrent) return std::type_identity<detail::slot_atomic_bitmap<Offset, slot, beside>>{};
        else return std::type_identity<detail::slot_index_stack<Offset, slot, beside>>{};
    }
    using store_type = typename decltype(choose_store())::type;
    static constexpr bool can_claim = Options.store == pool_store::bitmap || concurrent;

public:
    using offset_type = Offset;                                       ///< Unsigned integer type of offsets and sizes.
    using metadata_type = no_metadata<pool>;                          ///< Metadata of a block: none.
    using memory_type = typename store_type::memory_type;             ///< Access to the free list in band.
    using layout_type = basic_layout<Offset>;                         ///< Size and alignment of a request.
    using extent_type = basic_extent<Offset>;                         ///< Range of offsets.
    using allocation_type = basic_allocation<Offset, metadata_type>;  ///< Result of an allocation: its extent.
    static constexpr reclaim reclaims = reclaim::any;                 ///< Blocks are freed in any order.
    static constexpr bool exact = false;                              ///< Bytes that belong to no slot are not used.
    static constexpr bool several_extents = store_type::several_extents;  ///< True in band.
    static constexpr std::size_t extent_align = Options.align;  ///< Extent alignment that `bytes_for` assumes.
    static constexpr Offset slot_size = slot;  ///< Size of a slot: `pool_options::slot`, rounded up to its alignment.
    static constexpr std::size_t most_slots =
        Options.count;  ///< The maximum number of slots of one extent; 0: no limit.
    /// Whether `allocate` takes the slot that was freed last, or the lowest one if all free slots were never taken.
    static constexpr bool newest_first = !can_claim;

    /// Returns the part of an extent that `insert` divides into slots; empty if no slot fits.
    [[nodiscard]] static constexpr extent_type slots_in(extent_type where) noexcept {
        const Offset skipped = static_cast<Offset>(0 - where.offset) & static_cast<Offset>(align - 1);
        if (skipped > where.size) return {};
        auto count = static_cast<Offset>((where.size - skipped) / slot);
        if (Options.count != 0 && count > Options.count) count = static_cast<Offset>(Options.count);
        return {static_cast<Offset>(where.offset + skipped), static_cast<Offset>(count * slot)};
    }

    /// Returns true. Does not compile for a side table without the number of slots.
    static consteval bool pool_requirements() {
        // Checked here and not in the class, because `pool<automatic>` must be nameable before an arena selects the
        // store.
        static_assert(in_band || Options.count > 0,
                      "allot: a pool that keeps its free slots in a side table needs the number of slots: "
                      "pool_options{.slot = 128, .count = 64}");
        return true;
    }
    /// Adds an extent and divides it into as many slots as fit, at most `pool_options::count`. Returns false if no slot
    /// fits, if the extent wraps, or if the pool manages one extent already and cannot manage several.
    constexpr bool insert(extent_type where, memory_type = {}) noexcept {
        static_assert(pool_requirements());
        if (where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        const extent_type slots = slots_in(where);
        return slots && store_.insert(slots);
    }
    /// Returns true if `insert` accepts another extent: always in band, where an extent needs no record.
    [[nodiscard]] static constexpr bool can_insert() noexcept { return several_extents; }

    /// Removes an inserted extent. Returns false and changes nothing if a slot in it is in use. O(free slots) in band,
    /// and O(words) with a bitmap and O(1) with an index stack.
    constexpr bool remove(extent_type inserted) noexcept {
        const extent_type slots = slots_in(inserted);
        return slots && store_.remove(slots);
    }

    /// Returns true if a slot can hold a request.
    [[nodiscard]] static constexpr bool suits(layout_type wanted) noexcept {
        return wanted.is_valid() && wanted.size <= slot && wanted.align <= align;
    }
    /// Allocates a slot. Returns an empty allocation if the layout is invalid, larger than a slot or more aligned than
    /// a slot, or if no slot is free.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        Offset at = 0;
        if (!suits(wanted) || !store_.take(at)) return {};
        return {{at, wanted.size}, {}};
    }
    /// Frees a slot.
    constexpr void deallocate(allocation_type allocation) noexcept { store_.give(allocation.where.offset); }

    /// Allocates the slot that starts at `wanted.offset`. Returns an empty allocation if no slot starts there, if the
    /// slot is in use, or if `wanted.size` is 0 or larger than a slot. Requires a bitmap: other stores would have to
    /// search.
    constexpr allocation_type allocate_at(extent_type wanted) noexcept
        requires can_claim
    {
        if (!wanted || wanted.size > slot || !store_.take_at(wanted.offset)) return {};
        return {wanted, {}};
    }

    /// Returns the reason for which `allocate_at(wanted)` would fail.
    [[nodiscard]] constexpr diagnosis diagnose_at(extent_type wanted) const noexcept
        requires can_claim
    {
        const Offset largest = store_.empty() ? 0 : slot;
        if (!wanted) return {refusal::empty_layout, largest};
        return {wanted.size <= slot && store_.is_free(wanted.offset) ? refusal::none : refusal::not_free, largest};
    }

    /// Returns the usable bytes of a block: the size of a slot.
    [[nodiscard]] constexpr Offset capacity(allocation_type) const noexcept { return slot; }

    /// Returns the reason for which `allocate(wanted)` would fail.
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        return diagnose(wanted, store_.empty());
    }
    /// Returns the reason for which a pool would refuse a request. `full` is true if no slot is free.
    [[nodiscard]] static constexpr diagnosis diagnose(layout_type wanted, bool full) noexcept {
        const Offset largest = full ? 0 : slot;
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (wanted.size > slot) return {refusal::over_limit, largest};
        if (wanted.align > align) return {refusal::misaligned, largest};
        return {largest == 0 ? refusal::exhausted : refusal::none, largest};
    }

    /// Calls `f(extent)` with every free slot of an inserted extent. In ascending order with a bitmap.
    template <class Function>
    constexpr void for_each_hole(extent_type inserted, Function f) const noexcept {
        const extent_type slots = slots_in(inserted);
        store_.for_each_free([&](Offset at) {
            if (slots.contains({at, slot})) f(extent_type{at, slot});
        });
    }
    /// Calls `f(extent)` with every slot of an inserted extent that is in use, in ascending order. Requires a bitmap.
    template <class Function>
    constexpr void for_each_block(extent_type inserted, Function f) const noexcept
        requires can_claim
    {
        const extent_type slots = slots_in(inserted);
        for (Offset at = slots.offset; at != slots.end(); at = static_cast<Offset>(at + slot))
            if (!store_.is_free(at)) f(extent_type{at, slot});
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    /// Precondition: the extent's offset is a multiple of `extent_align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        Offset total = 0;
        if (!each.is_valid() || count == 0 || each.size > slot || each.align > align) return 0;
        if (Options.count != 0 && count > Options.count) return 0;
        return checked_multiply<Offset>(slot, count, total) ? total : 0;
    }

private:
    store_type store_;
};

/// Selects the store of a pool with `pool_store::automatic` in an arena: in band where offsets are host pointers and a
/// slot can hold an aligned pointer, an index stack otherwise.
template <pool_options Options, class Offset, memory_traits Where>
struct strategy_in<pool<Options, Offset>, Where> {
    /// Returns the options with the selected store.
    static constexpr pool_options settle(pool_options options) noexcept {
        if (options.store == pool_store::automatic && Where.host_pointers && options.slot >= sizeof(void*) &&
            options.align >= alignof(void*))
            options.store = pool_store::in_band;
        return options;
    }
    using type = pool<settle(Options), Offset>;  ///< The strategy with these options.
};

}  // namespace v1
}  // namespace allot
