// SPDX-License-Identifier: BSL-1.0
// The allocator concept: whatever hands out blocks, be it an arena or something made of arenas.
//
// `allocate` is noexcept and gives an empty block on failure; `deallocate` takes a block back as it was handed out;
// `diagnose(layout)` says why `allocate` would refuse. `host_accessible`, `offsets` and `dl_device` are those of the device
// that the memory comes from; `reclaims` says which blocks can be given back for reuse, as that of a strategy does.
#pragma once

#include <allot/core/device.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {

/// The block type of an allocator, also through a reference to one.
template <class Allocator>
using block_of = typename std::remove_reference_t<Allocator>::block_type;

template <class Allocator>
concept allocator = address_model<typename std::remove_reference_t<Allocator>::address_model> &&
    requires(Allocator& allocator, layout wanted,
             block_of<Allocator> held) {
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::host_accessible), const bool>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::offsets), const offset_use>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::dl_device), const dl_device_type>;
        requires std::same_as<decltype(std::remove_reference_t<Allocator>::reclaims), const reclaim>;
        { allocator.allocate(wanted) } noexcept -> std::same_as<block_of<Allocator>>;
        { allocator.deallocate(held) } noexcept;
        { allocator.diagnose(wanted) } noexcept -> std::same_as<diagnosis>;
    };

/// True for an allocator, or a reference to one. Otherwise it does not compile, and one sentence says what to do.
template <class Allocator>
consteval bool allocator_requirements() {
    using type = std::remove_reference_t<Allocator>;
    if constexpr (allocator<Allocator>) {
    } else if constexpr (requires { typename type::offset_type; typename type::memory_type; }) {
        static_assert(!sizeof(type), "allot: this is a strategy, which hands out offsets: make an allocator of it and a "
                                     "device: allot::arena<Device, Strategy>");
    } else if constexpr (requires(type device) { device.acquire(layout{}); }) {
        static_assert(!sizeof(type), "allot: this is a device, which hands out regions: make an allocator of it: "
                                     "allot::arena<Device, Strategy>, or allot::naive<Device>");
    } else {
        static_assert(!sizeof(type), "allot: an allocator has address_model, block_type, host_accessible, offsets, "
                                     "dl_device and reclaims, and noexcept functions allocate(layout), deallocate(block) and "
                                     "diagnose(layout): use an arena, or state these");
    }
    return true;
}

/// Refinement: says whether a block lies in its memory.
template <class Allocator>
concept owning = allocator<Allocator> && requires(const std::remove_reference_t<Allocator>& allocator,
                                                  block_of<Allocator> held) {
    { allocator.owns(held) } noexcept -> std::same_as<bool>;
};

/// Refinement: gives marks, and rolls back to one.
template <class Allocator>
concept markable_allocator = allocator<Allocator> && requires(Allocator& allocator) {
    { allocator.rollback(allocator.mark()) } noexcept;
};

}  // namespace v1
}  // namespace allot
