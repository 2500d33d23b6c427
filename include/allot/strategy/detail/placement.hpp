// SPDX-License-Identifier: BSL-1.0
// placement: where in a hole a node may begin, so that its holder's bytes are aligned and no crumb is left in front.
//
//     low                at                          high
//      │  gap             │ header │ holder's bytes …  │
//      └ nothing, or large enough to stay a hole       └ the last place where the node still fits
//
// Pure arithmetic, O(1). Nodes is a node store: its header, its granule and the smallest hole that it can keep.
#pragma once

#include <allot/core/arithmetic.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Nodes, std::unsigned_integral Offset>
struct placement {
    static constexpr Offset nowhere = std::numeric_limits<Offset>::max();

    /// Whether what lies between two nodes can be kept: as a hole, or because it is nothing.
    [[nodiscard]] static constexpr bool is_hole_or_nothing(Offset gap) noexcept { return gap == 0 || gap >= Nodes::min_hole; }

    /// The lowest place at or after `low`; `nowhere` when it would wrap.
    [[nodiscard]] static constexpr Offset lowest(Offset low, Offset align) noexcept {
        const auto mask = static_cast<Offset>(align - 1);
        const Offset step = static_cast<Offset>(0 - (low + Nodes::header)) & mask;
        const Offset gap = is_hole_or_nothing(step) ? step : static_cast<Offset>(step + align);
        return gap < step || gap > nowhere - low ? nowhere : static_cast<Offset>(low + gap);
    }

    /// The highest place from `low` to `high`; `nowhere` when there is none.
    [[nodiscard]] static constexpr Offset highest(Offset low, Offset high, Offset align) noexcept {
        const Offset at = static_cast<Offset>(align_down<Offset>(high + Nodes::header, align) - Nodes::header);
        if (at > high || at < low) return nowhere;
        if (is_hole_or_nothing(static_cast<Offset>(at - low))) return at;
        return align <= at - low ? low : nowhere;
    }

    /// The least size of a hole that has a place for `need` wherever it begins; `nowhere` when that is too much to say.
    [[nodiscard]] static constexpr Offset enough(Offset need, Offset align) noexcept {
        Offset size = 0;
        if (!checked_add<Offset>(need, align, size) || !checked_add<Offset>(size, Nodes::min_hole - Nodes::granule, size))
            return nowhere;
        return size;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
