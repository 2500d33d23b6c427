// SPDX-License-Identifier: BSL-1.0
// pool: slots of one size, given back in any order, with nothing to search and nothing to fragment.
//
//     using packets = allot::pool<allot::pool_options{.slot = 128}>;
//
//     │ slot │ free │ slot │ slot │ free │ free │ · │       · is less than a slot
//
// Which slots are free is kept in the free slots themselves, or beside them (slot_stores.hpp). Every request up to the
// slot's size and alignment gets a whole slot; others are refused as over the limit or misaligned. Allocate and
// deallocate are O(1); measured on a Cortex-M4, -Os, in an arena: at most 19 instructions in band, 17 with an index stack, 49
// with a bitmap (./dev size). Memory: none in band; a bit or an index a slot beside. With a bitmap, a given slot can be claimed.
//
// Not synchronised, but with pool_store::atomic_bitmap: then allocate, claim, deallocate and diagnose may be called by threads,
// cores and interrupts at once, also of an arena that does not grow. No call ever waits for another, so that an interrupt may
// come at any instruction. O(count / bits of a word).
#pragma once

#include <allot/core/options.hpp>
#include <allot/strategy/detail/slot_stores.hpp>

namespace allot {
inline namespace v1 {

template <pool_options Options, std::unsigned_integral Offset = std::size_t>
class pool {
    static_assert(Options.slot > 0, "allot: a pool needs the size of its slots: pool_options{.slot = 128}");
    static_assert(is_alignment(Options.align), "allot: pool_options::align is a power of two");
    static_assert(Options.align <= std::numeric_limits<Offset>::max() &&
                      Options.slot <= std::numeric_limits<Offset>::max() - (Options.align - 1),
                  "allot: pool_options::slot, rounded up to pool_options::align, does not fit the offset type: use a wider one");

public:
    static constexpr bool in_band = Options.store == pool_store::in_band;
    static constexpr bool concurrent = Options.store == pool_store::atomic_bitmap;

private:
    static constexpr Offset align = static_cast<Offset>(Options.align);
    static constexpr Offset slot = align_up(static_cast<Offset>(Options.slot), align);
    static constexpr std::size_t beside = Options.count > 0 ? Options.count : 1;
    // Chosen before it is instantiated: a core without atomic operations has the others.
    static constexpr auto choose_store() noexcept {
        if constexpr (in_band) return std::type_identity<detail::slot_free_list<Offset, slot, align>>{};
        else if constexpr (Options.store == pool_store::bitmap) return std::type_identity<detail::slot_bitmap<Offset, slot, beside>>{};
        else if constexpr (concurrent) return std::type_identity<detail::slot_atomic_bitmap<Offset, slot, beside>>{};
        else return std::type_identity<detail::slot_index_stack<Offset, slot, beside>>{};
    }
    using store_type = typename decltype(choose_store())::type;
    static constexpr bool can_claim = Options.store == pool_store::bitmap || concurrent;

public:
    using offset_type = Offset;
    using metadata_type = no_metadata<pool>;
    using memory_type = typename store_type::memory_type;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using allocation_type = basic_allocation<Offset, metadata_type>;
    static constexpr reclaim reclaims = reclaim::any;
    static constexpr bool exact = false;  // a hole that is no slot is not used
    static constexpr bool several_extents = store_type::several_extents;
    static constexpr std::size_t extent_align = Options.align;

    /// As many slots as fit, at most `count`. False when there is not one, or the store manages an extent already.
    constexpr bool insert(extent_type where, memory_type = {}) noexcept {
        // Not in the class: an `automatic` pool must be nameable before an arena settles where its slots are kept.
        static_assert(in_band || Options.count > 0,
                      "allot: a pool that keeps its free slots beside the memory needs their number: "
                      "pool_options{.slot = 128, .count = 64}");
        if (where.size > std::numeric_limits<Offset>::max() - where.offset) return false;
        const extent_type slots = slots_in(where);
        return slots && store_.insert(slots);
    }
    /// Whether one more extent can be managed: in band always, and then it takes no record.
    [[nodiscard]] static constexpr bool can_insert() noexcept { return several_extents; }

    /// Gives an inserted extent up again; false, and nothing changed, unless all of it is free. O(free slots).
    constexpr bool remove(extent_type inserted) noexcept {
        const extent_type slots = slots_in(inserted);
        return slots && store_.remove(slots);
    }

    constexpr allocation_type allocate(layout_type wanted) noexcept {
        Offset at = 0;
        if (!wanted.is_valid() || wanted.size > slot || wanted.align > align || !store_.take(at)) return {};
        return {{at, wanted.size}, {}};
    }
    constexpr void deallocate(allocation_type allocation) noexcept { store_.give(allocation.where.offset); }

    /// Gives the slot that begins with exactly this extent, if it is free. With a bitmap; other stores would have to search.
    constexpr allocation_type allocate_at(extent_type wanted) noexcept
        requires can_claim
    {
        if (!wanted || wanted.size > slot || !store_.take_at(wanted.offset)) return {};
        return {wanted, {}};
    }

    /// Why `allocate_at` would refuse.
    [[nodiscard]] constexpr diagnosis diagnose_at(extent_type wanted) const noexcept
        requires can_claim
    {
        const Offset largest = store_.empty() ? 0 : slot;
        if (!wanted) return {refusal::empty_layout, largest};
        return {wanted.size <= slot && store_.is_free(wanted.offset) ? refusal::none : refusal::not_free, largest};
    }

    [[nodiscard]] constexpr Offset capacity(allocation_type) const noexcept { return slot; }

    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        const Offset largest = store_.empty() ? 0 : slot;
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (wanted.size > slot) return {refusal::over_limit, largest};
        if (wanted.align > align) return {refusal::misaligned, largest};
        return {largest == 0 ? refusal::exhausted : refusal::none, largest};
    }

    /// The size of the smallest extent, aligned as the slots, that holds `count` such allocations; 0 when none does.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        Offset total = 0;
        if (!each.is_valid() || count == 0 || each.size > slot || each.align > align) return 0;
        if (Options.count != 0 && count > Options.count) return 0;
        return checked_multiply<Offset>(slot, count, total) ? total : 0;
    }

private:
    [[nodiscard]] static constexpr extent_type slots_in(extent_type where) noexcept {
        const Offset skipped = static_cast<Offset>(0 - where.offset) & static_cast<Offset>(align - 1);
        if (skipped > where.size) return {};
        auto count = static_cast<Offset>((where.size - skipped) / slot);
        if (Options.count != 0 && count > Options.count) count = static_cast<Offset>(Options.count);
        return {static_cast<Offset>(where.offset + skipped), static_cast<Offset>(count * slot)};
    }

    store_type store_;
};

/// In band where the host has pointers and a slot can hold one, aligned; an index stack otherwise.
template <pool_options Options, class Offset, memory_traits Where>
struct strategy_in<pool<Options, Offset>, Where> {
    static constexpr pool_options settle(pool_options options) noexcept {
        if (options.store == pool_store::automatic && Where.host_pointers && options.slot >= sizeof(void*) &&
            options.align >= alignof(void*))
            options.store = pool_store::in_band;
        return options;
    }
    using type = pool<settle(Options), Offset>;
};

}  // namespace v1
}  // namespace allot
