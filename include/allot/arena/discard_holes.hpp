// SPDX-License-Identifier: BSL-1.0
// discard_holes: returns the pages inside the holes of an arena to the operating system. The arena keeps the addresses.
//
//     allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>> memory{
//         allot::host::virtual_memory{64_GiB}};
//     const std::size_t bytes = allot::discard_holes(memory, 128_KiB);   // holes of at least 128 KiB
//
//     │ block │ record │ page │ page │ record │ block │
//                      └── discarded ┘                              records and blocks keep their bytes
//
// `trim` of an arena releases only regions without blocks, or the end of the region. This function works between
// blocks. Discarded pages use no memory until a later block writes to them. If the device states `discarded_is_zero`,
// they read as zero.
//
// An arena with `hardening::debug` first checks all freed bytes. Later writes to them are not detected.
//
// When to use: after a peak, or when large blocks were freed.
// When not to use: on memory that other processes or devices read. For each free: a later write faults page by page.
//
// Complexity: O(nodes), because it visits all holes; one call of the system for each large hole.
// Memory: none.
// Thread safety: that of the arena: not synchronized.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/arena/detail/arena_access.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/arithmetic.hpp>

namespace allot {
inline namespace v1 {

/// A device that returns the memory of whole pages of a region to the system, and keeps their addresses.
template <class Device>
concept discarding_device = requires(const Device device, void* from, std::size_t size) {
    { device.discard(from, size) } noexcept -> std::same_as<bool>;
    { device.discard_unit() } noexcept -> std::same_as<std::size_t>;
    requires std::same_as<decltype(Device::discarded_is_zero), const bool>;
};

/// Discards the whole pages of a range in which no bytes are needed. Returns the number of discarded bytes.
template <discarding_device Device>
std::size_t discard_pages(const Device& device, void* from, std::size_t size) noexcept {
    const std::size_t page = device.discard_unit(), at = raw_pointer::position(from);
    const std::size_t first = align_up(at, page), end = align_down(at + size, page);
    if (first >= end || !device.discard(raw_pointer::locate(from, first - at), end - first)) return 0;
    return end - first;
}

namespace detail {
template <class Arena>
concept arena_with_holes = hole_walkable_allocator<Arena> && requires { typename Arena::device_type; };
}  // namespace detail

/// Discards the pages inside all holes of at least `threshold` bytes. Returns the number of discarded bytes, which
/// includes pages that were never written.
template <detail::arena_with_holes Arena>
std::size_t discard_holes(Arena& arena, std::size_t threshold) noexcept {
    using device_type = typename Arena::device_type;
    static_assert(discarding_device<device_type>,
                  "allot: discard_holes needs a device that discards pages: use host::virtual_memory");
    // Records in band are in the first and the last words of a hole.
    constexpr std::size_t word = Arena::strategy_type::in_band ? sizeof(typename Arena::strategy_type::offset_type) : 0;
    detail::arena_access::forget_freed(arena);
    std::size_t discarded = 0;
    arena.for_each_hole([&](void* hole, std::size_t size) {
        if (size >= threshold && size > 4 * word)
            discarded += discard_pages(arena.device(), raw_pointer::locate(hole, 2 * word), size - 3 * word);
    });
    return discarded;
}
/// Does not compile: a wrapper around an arena, or another object, was passed instead of the arena.
template <class Other>
    requires(!detail::arena_with_holes<Other>)
std::size_t discard_holes(Other&, std::size_t) noexcept {
    static_assert(!sizeof(Other),
                  "allot: discard_holes takes an arena: of synchronized, pass the one that locked(function) passes to "
                  "the function; of another wrapper, pass the arena that it refers to");
    return 0;
}

}  // namespace v1
}  // namespace allot
