// SPDX-License-Identifier: BSL-1.0
// allocator: the concept of a type that allocates blocks, such as an arena or a composition of arenas.
//
//     template <allot::allocator Allocator>
//     [[nodiscard]] auto alloc_page(Allocator& memory) noexcept { return memory.allocate({4096, 4096}); }
//
// An allocator has these members:
//
//     member              meaning
//     address_model       the address model of its blocks
//     block_type          the type of its blocks
//     host_accessible     whether the host can read and write the bytes, as stated by the device
//     offsets             how consumers use offsets, as stated by the device
//     dl_device           the DLPack device type, as stated by the device
//     reclaims            the order in which deallocated blocks become free, as stated by the strategy
//     allocate(layout)    returns a block, or an empty block on failure; noexcept
//     deallocate(block)   frees a block, which must be unchanged; noexcept
//     diagnose(layout)    returns the reason for which `allocate` would fail; noexcept
//
// When to use: to constrain templates that accept any allocator, and to write compositions.
// When not to use: to allocate. Use `arena`.
//
// Complexity: that of the allocator.
// Memory: none.
// Thread safety: that of the allocator. Most allocators require external synchronization.
#pragma once

#include <allot/core/device.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/statistics.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {

/// The block type of an allocator or of a reference to an allocator.
template <class Allocator>
using block_of = typename std::remove_reference_t<Allocator>::block_type;

/// A type, or a reference to a type, with the members of an allocator.
template <class Allocator>
concept allocator =
    address_model<typename std::remove_reference_t<Allocator>::address_model> &&
    requires(Allocator& allocator, layout wanted, block_of<Allocator> held) {
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::host_accessible), const bool>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::offsets), const offset_use>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::dl_device), const dl_device_type>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::reclaims), const reclaim>;
        { allocator.allocate(wanted) } noexcept -> std::same_as<block_of<Allocator>>;
        { allocator.deallocate(held) } noexcept;
        { allocator.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
    };

/// Returns true for an allocator or a reference to one. For any other type it does not compile, and one `static_assert`
/// states the remedy.
template <class Allocator>
consteval bool allocator_requirements() {
    using type = std::remove_reference_t<Allocator>;
    if constexpr (allocator<Allocator>) {
    } else if constexpr (requires {
                             typename type::offset_type;
                             typename type::memory_type;
                         }) {
        static_assert(!sizeof(type),
                      "allot: this is a strategy, which allocates offsets: combine it with a device: "
                      "allot::arena<Device, Strategy>");
    } else if constexpr (requires(type device) { device.acquire(layout{}); }) {
        static_assert(!sizeof(type),
                      "allot: this is a device, which acquires regions: combine it with a strategy: "
                      "allot::arena<Device, Strategy>, or use allot::naive<Device>");
    } else {
        static_assert(!sizeof(type),
                      "allot: an allocator states address_model, block_type, host_accessible, offsets, "
                      "dl_device and reclaims, and has the noexcept functions allocate(layout), "
                      "deallocate(block) and diagnose(layout): use an arena, or add these members");
    }
    return true;
}

// Refinements: each optional ability is a concept. An allocator without the ability lacks the functions.

/// An allocator whose `size()` returns the number of bytes in all of its regions.
template <class Allocator>
concept sized_allocator = allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator) {
    { allocator.size() } noexcept -> std::same_as<std::size_t>;
};

/// An allocator whose `capacity(block)` returns the usable bytes of a block, or 0 for an empty block.
template <class Allocator>
concept measuring_allocator =
    allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator, block_of<Allocator> held) {
        { allocator.capacity(held) } noexcept -> std::same_as<std::size_t>;
    };

/// An allocator whose `resize(block, size)` resizes a block in place and updates it. On failure it returns false and
/// changes nothing.
template <class Allocator>
concept resizable_allocator =
    allocator<Allocator> && requires(Allocator& allocator, block_of<Allocator>& held, std::size_t size) {
        { allocator.resize(held, size) } noexcept -> std::same_as<bool>;
    };

/// An allocator whose `trim()` releases memory without live blocks and returns the number of released bytes.
template <class Allocator>
concept trimmable_allocator = allocator<Allocator> && requires(Allocator& allocator) {
    { allocator.trim() } noexcept -> std::same_as<std::size_t>;
};

/// An allocator whose `reset()` frees every block.
template <class Allocator>
concept resettable_allocator = allocator<Allocator> && requires(Allocator& allocator) {
    { allocator.reset() } noexcept;
};

/// An allocator whose `allocate_at(extent)` allocates exactly these bytes if they are free. `diagnose_at(extent)`
/// returns the reason for which it would fail.
template <class Allocator>
concept positional_allocator = allocator<Allocator> && requires(Allocator& allocator, extent wanted) {
    { allocator.allocate_at(wanted) } noexcept -> std::same_as<block_of<Allocator>>;
    { allocator.diagnose_at(wanted) } noexcept -> std::same_as<diagnosis>;
};

/// An allocator whose `owns(block)` reports whether a block is in its memory.
template <class Allocator>
concept owning =
    allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator, block_of<Allocator> held) {
        { allocator.owns(held) } noexcept -> std::same_as<bool>;
    };

/// An allocator whose `for_each_hole(f)` calls `f(address, size)` for every hole. The size is the number of bytes that
/// one request can get from the hole.
template <class Allocator>
concept hole_walkable_allocator =
    allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator) {
        {
            allocator.for_each_hole([](auto, std::size_t) {})
        } noexcept;
    };

/// An allocator whose `for_each_block(f)` calls `f(address, size)` for every live block. The size is the requested size
/// if the allocator records it, and the usable size otherwise.
template <class Allocator>
concept block_walkable_allocator =
    allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator) {
        {
            allocator.for_each_block([](auto, std::size_t) {})
        } noexcept;
    };

/// An allocator whose `statistics()` returns its counters.
template <class Allocator>
concept counting_allocator = allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator) {
    { allocator.statistics() } noexcept -> std::same_as<allocator_statistics>;
};

/// An allocator whose `rollback(mark())` frees every block that was allocated after the mark.
template <class Allocator>
concept markable_allocator = allocator<Allocator> && requires(Allocator& allocator) {
    { allocator.rollback(allocator.mark()) } noexcept;
};

}  // namespace v1
}  // namespace allot
