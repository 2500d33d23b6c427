// SPDX-License-Identifier: BSL-1.0
// layout: how many bytes are asked for, and how aligned.
//
//     allot::layout{.size = 4096, .align = 256}
//
// A layout may hold anything a caller writes into it; `is_valid` says whether it can be served at all. Every allocator
// answers an invalid one (size 0, or an alignment that is no power of two) with an empty block.
#pragma once

#include <allot/core/arithmetic.hpp>

namespace allot {
inline namespace v1 {

/// Bytes and alignment, in the integer type of the offset space that they are asked of.
template <std::unsigned_integral Offset>
struct basic_layout {
    Offset size = 0;
    Offset align = alignof(std::max_align_t);

    [[nodiscard]] constexpr bool is_valid() const noexcept { return size != 0 && is_alignment(align); }
    friend constexpr bool operator==(const basic_layout&, const basic_layout&) = default;
};

using layout = basic_layout<std::size_t>;

/// The layout of one object of type `T`.
template <class T>
inline constexpr layout layout_of{.size = sizeof(T), .align = alignof(T)};

}  // namespace v1
}  // namespace allot
