// SPDX-License-Identifier: BSL-1.0
// placement: positions in a hole at which a node may start, so that the caller's bytes are aligned.
//
//     low                at                          high
//      │  gap             │ header │ caller's bytes …  │
//      └ 0, or large enough to remain a hole           └ the last position at which the node fits
//
// `Nodes` is a node store. It defines the header, the granule and the smallest hole that it can record. The functions
// do arithmetic only, access no memory and are O(1).
#pragma once

#include <allot/core/arithmetic.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Arithmetic on the start of a node in a hole.
template <class Nodes, std::unsigned_integral Offset>
struct placement {
    static constexpr Offset nowhere = std::numeric_limits<Offset>::max();

    /// Returns true if a gap between two nodes is empty or large enough for a hole.
    [[nodiscard]] static constexpr bool is_hole_or_nothing(Offset gap) noexcept {
        if constexpr (Nodes::min_hole == Nodes::granule) return true;  // because gaps are multiples of the granule
        return gap == 0 || gap >= Nodes::min_hole;
    }

    /// Returns the lowest position at or after `low`; `nowhere` if it wraps.
    [[nodiscard]] static constexpr Offset lowest(Offset low, Offset align) noexcept {
        const auto mask = static_cast<Offset>(align - 1);
        const Offset step = static_cast<Offset>(0 - (low + Nodes::header)) & mask;
        const Offset gap = is_hole_or_nothing(step) ? step : static_cast<Offset>(step + align);
        return gap < step || gap > nowhere - low ? nowhere : static_cast<Offset>(low + gap);
    }

    /// Returns the highest position from `low` to `high`; `nowhere` if no position is valid.
    [[nodiscard]] static constexpr Offset highest(Offset low, Offset high, Offset align) noexcept {
        const Offset at = static_cast<Offset>(align_down<Offset>(high + Nodes::header, align) - Nodes::header);
        if (at > high || at < low) return nowhere;
        if (is_hole_or_nothing(static_cast<Offset>(at - low))) return at;
        return align <= at - low ? low : nowhere;
    }

    /// Returns a hole size that is sufficient for a node of `need` bytes wherever the hole starts; `nowhere` if that
    /// size does not fit the offset type.
    [[nodiscard]] static constexpr Offset enough(Offset need, Offset align) noexcept {
        Offset size = 0;
        if (!checked_add<Offset>(need, align, size) ||
            !checked_add<Offset>(size, Nodes::min_hole - Nodes::granule, size))
            return nowhere;
        return size;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
