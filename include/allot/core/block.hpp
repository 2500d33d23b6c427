// SPDX-License-Identifier: BSL-1.0
// block: the value that an allocator returns, with an address, a size and metadata; and region, its counterpart for
// devices.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> arena{{}, 64_KiB};
//     auto block = arena.allocate({.size = 256, .align = 32});
//     if (block) std::memset(block.address, 0, block.size);
//     arena.deallocate(block);
//
// A block is a small value and owns nothing. Return it to its allocator unchanged, or reset the allocator as a whole.
//
// When to use: to hold memory from any allot allocator.
// When not to use: to own memory. A block has no destructor that deallocates it.
//
// Complexity: all operations are O(1) and constexpr.
// Memory: a block with a pointer as its address and empty metadata is 16 bytes on a 64-bit machine. It is passed in two
// registers.
// Thread safety: blocks and regions are plain values.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/extent.hpp>

namespace allot {
inline namespace v1 {

/// An allocated piece of memory. It is empty, and false, after a failed allocation.
template <class Address, class Metadata>
struct block {
    Address address{};     ///< The first byte.
    std::size_t size = 0;  ///< The requested size in bytes; 0 for an empty block.
    /// The value that the allocator needs at deallocation. Do not change it.
    ALLOT_NO_UNIQUE_ADDRESS Metadata metadata{};

    /// Returns true unless the block is empty.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }
    /// Compares all members.
    friend constexpr bool operator==(const block&, const block&) = default;
};

/// A contiguous piece of a device's memory. It carries the alignment of its base, because arithmetic on an opaque
/// handle cannot determine that alignment later.
template <class Address>
struct region {
    Address base{};         ///< The first byte.
    std::size_t size = 0;   ///< The size in bytes; 0 for an empty region.
    std::size_t align = 1;  ///< The alignment of the base in bytes, as the device guarantees it. A power of two.

    /// Returns true unless the region is empty.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }
    /// Compares all members.
    friend constexpr bool operator==(const region&, const region&) = default;
};

}  // namespace v1
}  // namespace allot
