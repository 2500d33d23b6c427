// SPDX-License-Identifier: BSL-1.0
// layout: a requested size and alignment, in bytes.
//
//     constexpr allot::layout page{.size = 4096, .align = 256};
//
// A layout can hold any values. `is_valid` returns false when the size is 0 or the alignment is not a power of two.
// Each allocator answers an invalid layout with an empty block.
//
// When to use: as the argument of `allocate` and `diagnose`. `layout_of<T>` is the layout of one object.
// When not to use: for the result of an allocation, which is a block.
//
// Complexity: all operations are O(1) and constexpr.
// Memory: two offsets.
// Thread safety: a layout is a plain value.
#pragma once

#include <allot/core/arithmetic.hpp>

namespace allot {
inline namespace v1 {

/// A size and an alignment, in the integer type of the offset space that serves the request.
template <std::unsigned_integral Offset>
struct basic_layout {
    Offset size = 0;                           ///< The size in bytes.
    Offset align = alignof(std::max_align_t);  ///< The alignment in bytes, a power of two.

    /// Returns true when the size is not 0 and the alignment is a power of two.
    [[nodiscard]] constexpr bool is_valid() const noexcept { return size != 0 && is_alignment(align); }
    /// Compares both members.
    friend constexpr bool operator==(const basic_layout&, const basic_layout&) = default;
};

/// A layout in bytes of the target's address space.
using layout = basic_layout<std::size_t>;

/// The layout of one object of type `T`.
template <class T>
inline constexpr layout layout_of{.size = sizeof(T), .align = alignof(T)};

}  // namespace v1
}  // namespace allot
