// SPDX-License-Identifier: BSL-1.0
// granule_sizes: the sizes of nodes without a header, in memory that is divided into granules.
//
// Internal. The functions do arithmetic only, access no memory and are O(1).
#pragma once

#include <allot/core/extent.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Arithmetic of a node store whose offsets and sizes are multiples of a granule.
template <std::unsigned_integral Offset, Offset Granule>
struct granule_sizes {
    static constexpr Offset header = 0;          // bytes of a block before the caller's bytes
    static constexpr Offset granule = Granule;   // divides sizes, and the offsets of the caller's bytes
    static constexpr Offset min_hole = Granule;  // the smallest hole that can be recorded
    static constexpr Offset tail = 0;            // bytes that are not used at the end of an extent

    /// Returns the size of the largest node in an extent of `bytes`.
    [[nodiscard]] static constexpr Offset largest_node(Offset bytes) noexcept {
        return align_down<Offset>(bytes, granule);
    }
    /// Returns the size of the node for a block of `size` bytes; 0 if `size` is 0 or if the node is larger than
    /// `Largest`. Precondition: `Largest` is the size of a node.
    template <Offset Largest>
    [[nodiscard]] static constexpr Offset node_size(Offset size) noexcept {
        const Offset whole = align_down<Offset>(static_cast<Offset>(size + (granule - 1)), granule);  // 0 when it wraps
        return Largest != largest_node(std::numeric_limits<Offset>::max()) && whole > Largest ? 0 : whole;
    }
    /// Returns the part of an extent that nodes can fill; empty if the extent is too small.
    [[nodiscard]] static constexpr basic_extent<Offset> usable(basic_extent<Offset> where) noexcept {
        Offset first = 0;
        const Offset last = align_down<Offset>(where.end(), granule);
        if (!checked_align_up<Offset>(where.offset, granule, first) || first >= last) return {};
        return {first, static_cast<Offset>(last - first)};
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
