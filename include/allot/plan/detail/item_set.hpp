// SPDX-License-Identifier: BSL-1.0
// item_set: a view of a row of bits, one for each item.
//
//     first = 1        bits[0]   bits[1]          The row is cut to the elements that contain items. `first` is the
//         0 0 0 0 │ 0 1 1 0 │ 1 0 0 0 │ 0 0 0 0   position of the first of them in the whole row.
//
// Complexity: `contains` is O(1). `any` and `each` are O(elements of the view + items found). Memory: 24 bytes. Thread
// safety: concurrent readers are safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace allot {
inline namespace v1 {
namespace detail {

/// A set of items: 64 of them in each element. `first` is the index of `bits[0]`. All elements outside are 0.
struct item_set {
    std::span<const std::uint64_t> bits;
    std::size_t first = 0;

    /// Returns whether an item is in the set.
    [[nodiscard]] constexpr bool contains(std::size_t item) const noexcept {
        const std::size_t at = item / 64;
        return at >= first && at - first < bits.size() && (bits[at - first] >> (item % 64) & 1) != 0;
    }
    /// Returns whether `test` is true for an item that is also in `among`. Stops at the first such item.
    template <class Test>
    constexpr bool any(std::span<const std::uint64_t> among, Test test) const noexcept {
        for (std::size_t at = 0; at < bits.size(); ++at)
            for (std::uint64_t rest = bits[at] & among[first + at]; rest != 0; rest &= rest - 1)
                if (test(static_cast<std::uint32_t>(64 * (first + at)) +
                         static_cast<std::uint32_t>(std::countr_zero(rest))))
                    return true;
        return false;
    }
    /// Calls `visit(item)` for each item that is also in `among`.
    template <class Visit>
    constexpr void each(std::span<const std::uint64_t> among, Visit visit) const noexcept {
        (void)any(among, [&](std::uint32_t item) { return visit(item), false; });
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
