// SPDX-License-Identifier: BSL-1.0
// strategy: the concept of an algorithm that selects an extent of an offset space for each request.
//
// A strategy does not depend on a device. It never accesses the managed memory, unless it keeps its records in band.
// It can therefore manage any range of unsigned integers without an arena.
//
//     allot::best_fit<> disk;                                   // manages blocks of a disk
//     disk.insert({.offset = 1000, .size = 1'000'000});         // the blocks that it manages
//     auto file = disk.allocate({.size = 40, .align = 8});      // file.where.offset: 1000
//     disk.deallocate(file);
//
// Each strategy states every trait; no trait has a default. `strategy_requirements` names the first missing trait.
//
//     trait             meaning
//     offset_type       the unsigned integer type of the offset space
//     metadata_type     the value that the strategy needs at deallocation; `no_metadata<Self>` if it needs none
//     memory_type       access of an in-band store to the bytes: `at(offset)` for each offset; `no_memory` if the
//                       strategy accesses no bytes
//     in_band           true if records are inside the free memory: in the first two words of a hole, in its last word,
//                       and in the word before the hole (hardening.hpp checks all other words)
//     reclaims          the order in which deallocated blocks become free: never, lifo, fifo, any
//     exact             true if a valid request fails only when no hole fits or no record is free
//     several_extents   true if `insert` can be called again to add offsets
//
//     function                    meaning
//     insert(extent, memory)      adds offsets; returns false if the strategy cannot manage them
//     allocate(layout)            returns an allocation; on failure it is empty and nothing has changed
//     deallocate(allocation)      frees an allocation, which must be unchanged
//     capacity(allocation)        returns the usable size, which is at least the requested size
//     diagnose(layout)            returns the reason for which `allocate` would fail
//     bytes_for(count, layout)    returns the exact size of the smallest extent, aligned as the layout, that holds
//                                 `count` such allocations; 0 if no extent does
//     can_insert()                only with several extents: returns whether the strategy has the records to manage one
//                                 more extent and to allocate from it
//
// When to use: to write a strategy, to constrain templates, or to manage integers that are not memory.
// When not to use: to allocate memory. Combine a strategy with a device in an `arena`.
//
// Complexity: that of the strategy. Each strategy documents its own.
// Memory: the strategy object, and a side table or heap records where the strategy documents them.
// Thread safety: a strategy requires external synchronization, unless it satisfies `concurrent`.
#pragma once

#include <allot/core/diagnosis.hpp>
#include <allot/core/extent.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// The order of deallocation in which blocks become free for reuse.
enum class reclaim : unsigned char {
    never,  ///< Deallocation frees nothing. Only `reset` and `rollback` do.
    lifo,   ///< The newest block first, as in a stack.
    fifo,   ///< The oldest block first, as in a ring.
    any,    ///< Any block at any time.
};

/// The memory type of a strategy that accesses no memory.
struct no_memory {};

/// The memory type of an in-band store whose offsets are host addresses: byte `o` is at address `o`.
struct addressed_memory {
    /// Returns the byte at an offset.
    [[nodiscard]] static std::byte* at(std::uintptr_t offset) noexcept { return reinterpret_cast<std::byte*>(offset); }
    /// Returns the byte at an offset of a type that is wider than an address. Precondition: the offset fits in an
    /// address.
    template <std::unsigned_integral Wide>
        requires(sizeof(Wide) > sizeof(std::uintptr_t))
    [[nodiscard]] static std::byte* at(Wide offset) noexcept {
        return at(static_cast<std::uintptr_t>(offset));
    }
};

/// The layout type of a strategy.
template <class Strategy>
using layout_for = basic_layout<typename Strategy::offset_type>;
/// The extent type of a strategy.
template <class Strategy>
using extent_of = basic_extent<typename Strategy::offset_type>;
/// The allocation type of a strategy: an extent and metadata.
template <class Strategy>
using allocation_of = basic_allocation<typename Strategy::offset_type, typename Strategy::metadata_type>;

/// An algorithm that allocates extents and states all traits of a strategy.
template <class Strategy>
concept strategy =
    std::unsigned_integral<typename Strategy::offset_type> &&
    requires(Strategy strategy, const Strategy constant, layout_for<Strategy> wanted, extent_of<Strategy> where,
             allocation_of<Strategy> allocation, typename Strategy::memory_type memory) {
        requires std::same_as<decltype(Strategy::in_band), const bool>;
        requires std::same_as<decltype(Strategy::reclaims), const reclaim>;
        requires std::same_as<decltype(Strategy::exact), const bool>;
        requires std::same_as<decltype(Strategy::several_extents), const bool>;
        requires !Strategy::several_extents || requires {
            { constant.can_insert() } noexcept -> std::same_as<bool>;
        };
        { strategy.insert(where, memory) } noexcept -> std::same_as<bool>;
        { strategy.allocate(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
        { strategy.deallocate(allocation) } noexcept;
        { constant.capacity(allocation) } noexcept -> std::same_as<typename Strategy::offset_type>;
        { constant.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
        { Strategy::bytes_for(wanted.size, wanted) } noexcept -> std::same_as<typename Strategy::offset_type>;
    };

/// The properties of the memory that an arena's strategy manages.
struct memory_traits {
    bool host_pointers = false;  ///< Offsets are addresses that the host can read and write.
    bool grows = false;          ///< Regions are added and removed.
    bool extends = false;        ///< The end of a region moves.
    std::size_t base_align = 1;  ///< The alignment of the first offset of every region.
    std::size_t end_align = 1;   ///< The alignment of the end of every region.
    /// The size of the largest region in bytes, or the maximum value if it is unknown.
    std::size_t largest = std::numeric_limits<std::size_t>::max();
};

/// Maps a strategy to the strategy that an arena uses in memory with the given traits. The default is the strategy
/// itself. Strategies with a choice of node store specialize this template to resolve `node_store::automatic`.
template <class Strategy, memory_traits Memory>
struct strategy_in {
    /// The strategy that the arena uses.
    using type = Strategy;
};

// Refinements: each optional capability is a concept. A strategy without the capability lacks the functions.

/// A strategy that allocates a given extent if it is free, and diagnoses the failure if it is not.
template <class Strategy>
concept positional =
    strategy<Strategy> && requires(Strategy strategy, const Strategy constant, extent_of<Strategy> wanted) {
        { strategy.allocate_at(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
        { constant.diagnose_at(wanted) } noexcept -> std::same_as<diagnosis>;
    };

/// A strategy that grows or shrinks an allocation in place. `resize` takes the allocation with its old size. On
/// failure it returns false and changes nothing.
template <class Strategy>
concept resizable = strategy<Strategy> && requires(Strategy strategy, allocation_of<Strategy> allocation,
                                                   typename Strategy::offset_type size) {
    { strategy.resize(allocation, size) } noexcept -> std::same_as<bool>;
};

/// A strategy whose `reset` frees all allocations and keeps the inserted extents.
template <class Strategy>
concept resettable = strategy<Strategy> && requires(Strategy strategy) {
    { strategy.reset() } noexcept;
};

/// A strategy whose `rollback` frees every allocation that was made after a mark.
template <class Strategy>
concept markable = resettable<Strategy> && requires(Strategy strategy, const Strategy constant) {
    { strategy.rollback(constant.mark()) } noexcept;
};

/// A strategy whose functions `allocate`, `allocate_at`, `deallocate` and `diagnose` can be called concurrently by
/// threads, cores and interrupts.
template <class Strategy>
concept concurrent = strategy<Strategy> && Strategy::concurrent;

/// A strategy whose `remove` gives up an inserted extent, and returns false unless all of the extent is free.
template <class Strategy>
concept removable = strategy<Strategy> && requires(Strategy strategy, extent_of<Strategy> inserted) {
    { strategy.remove(inserted) } noexcept -> std::same_as<bool>;
};

/// A strategy that moves the end of its one inserted extent: up, or down to `least_size`. `resize_extent` returns
/// false and changes nothing if a block is in the way, if the remainder of a hole would be too small to keep, or if no
/// record is free. `size_for` returns the smallest size of the extent with which a failing request succeeds, or 0 if
/// no size suffices. A strategy with several extents also reports by `can_extend` whether it has the records for that.
template <class Strategy>
concept extendable = strategy<Strategy> && requires(Strategy strategy, const Strategy constant,
                                                    extent_of<Strategy> inserted, typename Strategy::offset_type size) {
    { strategy.resize_extent(inserted, size) } noexcept -> std::same_as<bool>;
    { constant.least_size(inserted) } noexcept -> std::same_as<typename Strategy::offset_type>;
    { constant.size_for(inserted, layout_for<Strategy>{}) } noexcept -> std::same_as<typename Strategy::offset_type>;
    requires !Strategy::several_extents || requires {
        { constant.can_extend(inserted, layout_for<Strategy>{}) } noexcept -> std::same_as<bool>;
    };
    requires !resizable<Strategy> || requires(allocation_of<Strategy> allocation) {
        // The smallest size with which a `resize` of this allocation succeeds.
        { constant.size_for(inserted, allocation, size) } noexcept -> std::same_as<typename Strategy::offset_type>;
    };
};

/// A strategy that lists the holes of an inserted extent. `for_each_hole` calls the function with the extent that a
/// request can get from each hole, and changes nothing.
template <class Strategy>
concept hole_walkable = strategy<Strategy> && requires(const Strategy constant, extent_of<Strategy> inserted) {
    {
        constant.for_each_hole(inserted, [](extent_of<Strategy>) {})
    } noexcept;
};

/// A strategy that lists the blocks of an inserted extent. `for_each_block` calls the function with the usable extent
/// of each allocated block in ascending order, and changes nothing.
template <class Strategy>
concept block_walkable = strategy<Strategy> && requires(const Strategy constant, extent_of<Strategy> inserted) {
    {
        constant.for_each_block(inserted, [](extent_of<Strategy>) {})
    } noexcept;
};

/// Returns the alignment of an extent's first offset on which `bytes_for` relies, for any layout. A strategy can state
/// it as a member `extent_align`. The default is the alignment of in-band records, or 1 without them.
template <class Strategy>
consteval std::size_t extent_align() {
    if constexpr (requires { Strategy::extent_align; }) return Strategy::extent_align;
    else return Strategy::in_band ? alignof(std::max_align_t) : 1;
}

/// Returns true for a strategy. For any other type it does not compile, and a `static_assert` names the first missing
/// requirement.
template <class Strategy>
consteval bool strategy_requirements() {
    if constexpr (!requires { requires std::unsigned_integral<typename Strategy::offset_type>; }) {
        static_assert(!sizeof(Strategy), "allot: a strategy states its offset_type, an unsigned integer");
    } else if constexpr (!requires { typename Strategy::metadata_type; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states its metadata_type; using metadata_type = "
                      "allot::no_metadata<Self> if it needs none");
    } else if constexpr (!requires { typename Strategy::memory_type; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states its memory_type; using memory_type = "
                      "allot::no_memory if it accesses no memory");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::in_band), const bool>; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states whether its records are inside the free memory: "
                      "static constexpr bool in_band");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::reclaims), const reclaim>; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states the order in which blocks become free: "
                      "static constexpr allot::reclaim reclaims");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::exact), const bool>; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states whether it fails only when no hole fits: "
                      "static constexpr bool exact");
    } else if constexpr (!requires { requires std::same_as<decltype(Strategy::several_extents), const bool>; }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy states whether insert can be called again: "
                      "static constexpr bool several_extents");
    } else if constexpr (!requires(Strategy strategy, extent_of<Strategy> where,
                                   typename Strategy::memory_type memory) {
                             { strategy.insert(where, memory) } noexcept -> std::same_as<bool>;
                         }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy accepts offsets to manage: bool insert(extent, memory) "
                      "noexcept");
    } else if constexpr (!requires(Strategy strategy, layout_for<Strategy> wanted) {
                             { strategy.allocate(wanted) } noexcept -> std::same_as<allocation_of<Strategy>>;
                         }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy returns allocations: allot::allocation_of<Strategy> "
                      "allocate(basic_layout) noexcept");
    } else if constexpr (!requires(Strategy strategy, allocation_of<Strategy> allocation) {
                             { strategy.deallocate(allocation) } noexcept;
                         }) {
        static_assert(!sizeof(Strategy), "allot: a strategy deallocates: void deallocate(allocation) noexcept");
    } else if constexpr (!requires(const Strategy strategy, allocation_of<Strategy> allocation) {
                             { strategy.capacity(allocation) } noexcept -> std::same_as<typename Strategy::offset_type>;
                         }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy reports the usable size of an allocation: offset_type "
                      "capacity(allocation) const noexcept");
    } else if constexpr (!requires(const Strategy strategy, layout_for<Strategy> wanted) {
                             { strategy.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
                         }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy diagnoses failures: allot::diagnosis "
                      "diagnose(basic_layout) const noexcept");
    } else if constexpr (!requires(const Strategy strategy) {
                             requires !Strategy::several_extents || requires {
                                 { strategy.can_insert() } noexcept -> std::same_as<bool>;
                             };
                         }) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy with several extents reports whether it can add one: "
                      "bool can_insert() const noexcept");
    } else if constexpr (!strategy<Strategy>) {
        static_assert(!sizeof(Strategy),
                      "allot: a strategy predicts the size of an extent: static offset_type "
                      "bytes_for(offset_type count, basic_layout) noexcept");
    }
    return true;
}

}  // namespace v1
}  // namespace allot
