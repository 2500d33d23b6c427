// SPDX-License-Identifier: BSL-1.0
// region_sizes: the sizes of the regions that an arena requests from its device.
//
//     a request ─► the least region in which it certainly fits ─► multiples of the granularity, within the limit
//
// Internal. growing_regions.hpp makes the requests. The functions do arithmetic only and access no memory.
//
// Complexity: that of the strategy's `bytes_for`.
#pragma once

#include <allot/arena/detail/requirements.hpp>
#include <allot/core/arithmetic.hpp>
#include <allot/core/layout.hpp>
#include <allot/core/strategy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Sizes for a request to the device: the smallest sufficient size and the size that the growth prefers. 0 for no
/// request.
struct region_step {
    std::size_t least = 0, best = 0, align = 1;
};

/// Sizes of regions. `Space` maps regions to the strategy's offsets.
template <class Device, class Strategy, class Space>
struct region_sizes {
    /// Whether the strategy may miss a hole that fits.
    static constexpr bool may_miss = !Strategy::exact && Strategy::several_extents;

    /// Returns the layout of a region in which the request certainly fits; size 0 if it fits in no region.
    [[nodiscard]] static constexpr layout region_for(layout wanted) noexcept {
        // `bytes_for` assumes this alignment of the base. Offsets that are not addresses start at 0, which has it.
        constexpr std::size_t align = extent_align<Strategy>();
        if (!wanted.is_valid() || wanted.size > Space::last_offset) return {0, 1};
        if (Device::address_model::absolute && wanted.align < align) wanted.align = align;
        const auto bytes_for = [](std::size_t size, std::size_t aligned) {
            using offset = typename Strategy::offset_type;
            return static_cast<std::size_t>(
                Strategy::bytes_for(1, {static_cast<offset>(size), static_cast<offset>(aligned)}));
        };
        std::size_t need = bytes_for(wanted.size, wanted.align);
        if constexpr (may_miss) {
            // A strategy with a limited search finds a hole only if it is larger than necessary. For slots, which are
            // equal, no larger size is possible.
            std::size_t sure = 0;
            if (need != 0 && checked_add(wanted.size, wanted.align + 2 * align + 64, sure) &&
                checked_add(sure, sure / 8 + align, sure) && sure <= Space::last_offset && bytes_for(sure, align) != 0)
                need = bytes_for(sure, align);  // `sure` has the bytes that the alignment skips
        }
        return {need <= Space::largest_extent ? need : 0, wanted.align};
    }

    /// Returns sizes for `least` and for the preferred size `next`, rounded up to the device's granularity and at most
    /// `limit`; 0 if `least` exceeds the limit.
    [[nodiscard]] static constexpr region_step within(std::size_t least, std::size_t limit, std::size_t next) noexcept {
        const std::size_t most = align_down(limit, Device::granularity);
        if (least == 0 || !checked_align_up(least, Device::granularity, least) || least > most) return {};
        if (next > most || !checked_align_up(next, Device::granularity, next)) next = most;
        return {least, next < least ? least : next, 1};
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
