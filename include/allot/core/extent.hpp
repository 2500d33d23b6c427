// SPDX-License-Identifier: BSL-1.0
// extent: a contiguous range of offsets; and the allocation that a strategy returns, which is an extent plus metadata.
//
//     0        offset          offset + size
//     ├──────────┼───────────────┼──────────────►  offset space
//                └──── extent ───┘
//
// Offsets are plain unsigned integers. An arena interprets them as host addresses, as bytes from the start of a
// buffer, or as positions in several regions. A strategy without an arena can manage bus addresses, disk blocks or
// descriptors.
//
// When to use: to call a strategy directly, or to name a fixed range for `allocate_at`.
// When not to use: to hold memory from an arena. Arenas return blocks.
//
// Complexity: all operations are O(1) and constexpr.
// Memory: two offsets. An allocation adds its metadata, which takes no space when it is empty.
// Thread safety: extents and allocations are plain values.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/layout.hpp>

namespace allot {
inline namespace v1 {

/// The range of `size` offsets that starts at `offset`. It is empty, and false, when `size` is 0.
template <std::unsigned_integral Offset>
struct basic_extent {
    Offset offset = 0;  ///< The first offset.
    Offset size = 0;    ///< The number of offsets.

    /// Returns one past the last offset. Precondition: the sum fits in `Offset`. Each strategy checks that in `insert`.
    [[nodiscard]] constexpr Offset end() const noexcept { return static_cast<Offset>(offset + size); }
    /// Returns true unless the extent is empty.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return size != 0; }

    /// Returns true when all of `inner` is inside this extent. The result is correct even when the end of `inner`
    /// overflows.
    [[nodiscard]] constexpr bool contains(basic_extent inner) const noexcept {
        return inner.offset >= offset && inner.offset - offset <= size && inner.size <= size - (inner.offset - offset);
    }
    /// Compares both members.
    friend constexpr bool operator==(const basic_extent&, const basic_extent&) = default;
};

/// An extent of bytes in the address space of the target.
using extent = basic_extent<std::size_t>;

/// The metadata of a strategy that needs none. Each strategy names its own type: empty members of the same type in one
/// object must have different addresses, which would enlarge a block.
template <class Strategy>
struct no_metadata {
    /// Returns true.
    friend constexpr bool operator==(no_metadata, no_metadata) = default;
};

/// The result of a strategy's `allocate`, and the argument of its `deallocate`. It is empty, and false, on failure.
template <std::unsigned_integral Offset, class Metadata>
struct basic_allocation {
    basic_extent<Offset> where{};  ///< The allocated offsets; `where.size` is the requested size.
    ALLOT_NO_UNIQUE_ADDRESS Metadata
        metadata{};  ///< The metadata that the strategy needs at deallocation. Do not change it.

    /// Returns true unless the allocation is empty.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return where.size != 0; }
    /// Compares all members.
    friend constexpr bool operator==(const basic_allocation&, const basic_allocation&) = default;
};

}  // namespace v1
}  // namespace allot
