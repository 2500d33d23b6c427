// SPDX-License-Identifier: BSL-1.0
// The strategy concept: which extent of a plain space of offsets a request gets.
//
// A strategy never touches the memory it manages, except through an in-band node store, and knows no device: it can be
// used on its own over any 32- or 64-bit range.
//
//     allot::best_fit<> disk;                                   // blocks of a disk
//     disk.insert({.offset = 1000, .size = 1'000'000});         // it may use these
//     auto file = disk.allocate({.size = 40, .align = 8});      // file.where.offset: 1000
//     disk.deallocate(file);
//
// Every trait is stated by every strategy, never defaulted; `strategy_requirements` names the first one missing.
//
//     trait             meaning
//     offset_type       unsigned integer of the offset space
//     metadata_type       what it wants back at deallocation; `no_metadata<Self>` when nothing
//     memory_type       how an in-band store reaches the bytes: `at(offset)` for every offset_type; `no_memory` when it
//                       touches none
//     in_band           records live inside the free memory: in two words at a hole's start, in its last one, and in the
//                       one in front of it (hardening.hpp looks at all others)
//     reclaims          which blocks can be given back for reuse: never, lifo, fifo, any
//     exact             a valid request is refused only when no hole fits it (or records are out)
//     several_extents   `insert` may be called again to manage more offsets
//
// Functions: `insert(extent, memory)` adds offsets to manage and refuses what it cannot; `allocate(layout)` gives a
// allocation, empty on failure, and then nothing has changed; `deallocate(allocation)` takes one back, as it was handed out;
// `capacity(allocation)` is what the holder may use, at least the size asked for; `diagnose(layout)` says why `allocate`
// would refuse; `bytes_for(count, layout)` is the exact size of the smallest extent, aligned as the layout, that holds
// `count` such allocations at once (0 when no extent does). One that manages several extents also has `can_insert()`:
// whether it has the records to take one more and to cut a block from it.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/core/extent.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

enum class reclaim : unsigned char { never, lifo, fifo, any };

/// The memory type of a strategy that touches no memory.
struct no_memory {};

/// The memory type of an in-band store whose offsets are host addresses: byte `o` is at address `o`.
struct addressed_memory {
    [[nodiscard]] static std::byte* at(std::uintptr_t offset) noexcept {
        return reinterpret_cast<std::byte*>(offset);
    }
    template <std::unsigned_integral Wide>
        requires(sizeof(Wide) > sizeof(std::uintptr_t))
    [[nodiscard]] static std::byte* at(Wide offset) noexcept {
        return at(static_cast<std::uintptr_t>(offset));
    }
};

template <class Strategy>
using layout_for = basic_layout<typename Strategy::offset_type>;
template <class Strategy>
using extent_of = basic_extent<typename Strategy::offset_type>;
template <class Strategy>
using allocation_of = basic_allocation<typename Strategy::offset_type, typename Strategy::metadata_type>;

template <class Strategy>
concept strategy = std::unsigned_integral<typename Strategy::offset_type> &&
    requires(Strategy strategy, const Strategy constant, layout_for<Strategy> wanted, extent_of<Strategy> where,
             allocation_of<Strategy> allocation, typename Strategy::memory_type memory) {
        requires std::same_as<decltype(Strategy::in_band), const bool>;
        requires std::same_as<decltype(Strategy::reclaims), const reclaim>;
        requires std::same_as<decltype(Strategy::exact), const bool>;
        requires std::same_as<decltype(Strategy::several_extents), const bool>;
        requires !Strategy::several_extents || requires { { constant.can_insert() } noexcept -> std::same_as<bool>; };
        { strategy.insert(where, memory) } noexcept -> std::same_as<bool>;
        { strategy.allocate(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
        { strategy.deallocate(allocation) } noexcept;
        { constant.capacity(allocation) } noexcept -> std::same_as<typename Strategy::offset_type>;
        { constant.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
        { Strategy::bytes_for(wanted.size, wanted) } noexcept -> std::same_as<typename Strategy::offset_type>;
    };

/// What an arena knows about the memory that its strategy will manage.
struct memory_traits {
    bool host_pointers = false;  // offsets are addresses, and the host may read and write there
    bool grows = false;          // regions come and go
    bool extends = false;        // a region's end moves
    std::size_t base_align = 1;  // what the first offset of every region is a multiple of
    std::size_t end_align = 1;   // and the end of every region
    std::size_t largest = std::numeric_limits<std::size_t>::max();  // bytes of the largest region, as far as it is known
};

/// What a strategy becomes in such memory: itself, unless its author specialises this, as those with a choice of node
/// store do to settle `node_store::automatic`.
template <class Strategy, memory_traits Memory>
struct strategy_in {
    using type = Strategy;
};

// Refinements. A caller asks for the capability by its concept; nothing pretends to have one.

/// Gives exactly the extent that is asked for, when it is free, and says why it would not.
template <class Strategy>
concept positional =
    strategy<Strategy> && requires(Strategy strategy, const Strategy constant, extent_of<Strategy> wanted) {
        { strategy.allocate_at(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
        { constant.diagnose_at(wanted) } noexcept -> std::same_as<diagnosis>;
    };

/// Grows or shrinks an allocation where it stands; false, and nothing changed, when it cannot. The allocation carries its old size.
template <class Strategy>
concept resizable =
    strategy<Strategy> && requires(Strategy strategy, allocation_of<Strategy> allocation, typename Strategy::offset_type size) {
        { strategy.resize(allocation, size) } noexcept -> std::same_as<bool>;
    };

/// Forgets every allocation at once and keeps what was inserted.
template <class Strategy>
concept resettable = strategy<Strategy> && requires(Strategy strategy) {
    { strategy.reset() } noexcept;
};

/// Gives marks, and rolls back to one: everything allocated since is free again.
template <class Strategy>
concept markable = resettable<Strategy> && requires(Strategy strategy, const Strategy constant) {
    { strategy.rollback(constant.mark()) } noexcept;
};

/// May be asked to allocate, claim, deallocate and diagnose by threads, cores and interrupts at once.
template <class Strategy>
concept concurrent = strategy<Strategy> && Strategy::concurrent;

/// Gives an inserted extent up again, when all of it is free.
template <class Strategy>
concept removable = strategy<Strategy> && requires(Strategy strategy, extent_of<Strategy> inserted) {
    { strategy.remove(inserted) } noexcept -> std::same_as<bool>;
};

/// Moves the end of the one inserted extent: up, or down as far as `least_size` says. False, and nothing changed, when
/// something lives there, what would be left of a hole is too small to be kept, or no record is left. `size_for` is the
/// least size of the extent with which a request is served that is refused now; 0 when no size does. A strategy with
/// records says by `can_extend` whether it has those for it.
template <class Strategy>
concept extendable = strategy<Strategy> && requires(Strategy strategy, const Strategy constant,
                                                    extent_of<Strategy> inserted,
                                                    typename Strategy::offset_type size) {
    { strategy.resize_extent(inserted, size) } noexcept -> std::same_as<bool>;
    { constant.least_size(inserted) } noexcept -> std::same_as<typename Strategy::offset_type>;
    { constant.size_for(inserted, layout_for<Strategy>{}) } noexcept -> std::same_as<typename Strategy::offset_type>;
    requires !Strategy::several_extents || requires {
        { constant.can_extend(inserted, layout_for<Strategy>{}) } noexcept -> std::same_as<bool>;
    };
    requires !resizable<Strategy> || requires(allocation_of<Strategy> allocation) {
        // The same for a `resize` of this allocation.
        { constant.size_for(inserted, allocation, size) } noexcept -> std::same_as<typename Strategy::offset_type>;
    };
};

/// The alignment that `bytes_for` needs of an extent's first offset, for any layout.
/// A strategy says it by `extent_align`, unless its records in band, or nothing, need it.
template <class Strategy>
consteval std::size_t extent_align() {
    if constexpr (requires { Strategy::extent_align; }) return Strategy::extent_align;
    else return Strategy::in_band ? alignof(std::max_align_t) : 1;
}

/// Names the first requirement that a would-be strategy misses. True for a strategy; otherwise it does not compile.
template <class Strategy>
consteval bool strategy_requirements() {
    if constexpr (!requires { requires std::unsigned_integral<typename Strategy::offset_type>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states its offset_type, an unsigned integer");
    } else if constexpr (!requires { typename Strategy::metadata_type; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states its metadata_type; using metadata_type = "
                                         "allot::no_metadata<Self> when it wants nothing back");
    } else if constexpr (!requires { typename Strategy::memory_type; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states its memory_type; using memory_type = "
                                         "allot::no_memory when it touches no memory");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::in_band), const bool>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states whether its records live inside the free memory: "
                                         "static constexpr bool in_band");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::reclaims), const reclaim>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states which blocks it takes back for reuse: "
                                         "static constexpr allot::reclaim reclaims");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::exact), const bool>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states whether it refuses only when no hole fits: "
                                         "static constexpr bool exact");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::several_extents), const bool>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states whether insert may be called again: "
                                         "static constexpr bool several_extents");
    } else if constexpr (!requires(Strategy strategy, extent_of<Strategy> where,
                                   typename Strategy::memory_type memory) {
                             { strategy.insert(where, memory) } noexcept -> std::same_as<bool>;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy takes offsets to manage: bool insert(extent, memory) "
                                         "noexcept");
    } else if constexpr (!requires(Strategy strategy, layout_for<Strategy> wanted) {
                             { strategy.allocate(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy gives allocations: allot::allocation_of<Strategy> "
                                         "allocate(basic_layout) noexcept");
    } else if constexpr (!requires(Strategy strategy, allocation_of<Strategy> allocation) {
                             { strategy.deallocate(allocation) } noexcept;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy takes allocations back: void deallocate(allocation) noexcept");
    } else if constexpr (!requires(const Strategy strategy, allocation_of<Strategy> allocation) {
                             { strategy.capacity(allocation) } noexcept -> std::same_as<typename Strategy::offset_type>;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy says what an allocation's holder may use: offset_type "
                                         "capacity(allocation) const noexcept");
    } else if constexpr (!requires(const Strategy strategy, layout_for<Strategy> wanted) {
                             { strategy.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy says why it would refuse: allot::diagnosis "
                                         "diagnose(basic_layout) const noexcept");
    } else if constexpr (!requires(const Strategy strategy) {
                             requires !Strategy::several_extents || requires {
                                 { strategy.can_insert() } noexcept -> std::same_as<bool>;
                             };
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy with several extents says whether it can take one more: bool "
                                         "can_insert() const noexcept");
    } else if constexpr (!strategy<Strategy>) {
        static_assert(!sizeof(Strategy), "allot: a strategy's capacity is predictable: static offset_type "
                                         "bytes_for(offset_type count, basic_layout) noexcept");
    }
    return true;
}

}  // namespace v1
}  // namespace allot
