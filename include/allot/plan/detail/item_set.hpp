// SPDX-License-Identifier: BSL-1.0
// item_set: a view of a row of bits, one for each item. `item_rows` is a table of such rows.
//
//     first = 1        bits[0]   bits[1]          The row is cut to the elements that contain items. `first` is the
//         0 0 0 0 │ 0 1 1 0 │ 1 0 0 0 │ 0 0 0 0   position of the first of them in the whole row.
//
// Complexity: `contains` is O(1). `any` and `each` are O(elements of the view + items found). Memory: 24 bytes. A table
// has one bit for each item of a row, and 8 bytes a row. Thread safety: concurrent readers are safe.
#pragma once

#include <allot/plan/workspace.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// A set of items: 64 of them in each element. `first` is the index of `bits[0]`. All elements outside are 0.
struct item_set {
    plan_array<const std::uint64_t> bits;
    std::size_t first = 0;

    /// Returns whether an item is in the set.
    [[nodiscard]] constexpr bool contains(std::size_t item) const noexcept {
        const std::size_t at = item / 64;
        return at >= first && at - first < bits.size() && (bits[at - first] >> (item % 64) & 1) != 0;
    }
    /// Returns whether `test` is true for an item that is also in `among`. Stops at the first such item.
    template <class Test>
    constexpr bool any(plan_array<const std::uint64_t> among, Test test) const noexcept {
        for (std::size_t at = 0; at < bits.size(); ++at)
            for (std::uint64_t rest = bits[at] & among[first + at]; rest != 0; rest &= rest - 1)
                if (test(static_cast<std::uint32_t>(64 * (first + at)) +
                         static_cast<std::uint32_t>(std::countr_zero(rest))))
                    return true;
        return false;
    }
    /// Calls `visit(item)` for each item that is also in `among`.
    template <class Visit>
    constexpr void each(plan_array<const std::uint64_t> among, Visit visit) const noexcept {
        (void)any(among, [&](std::uint32_t item) { return visit(item), false; });
    }
};

/// A table of rows of bits. The elements that are not 0 of each row are known.
struct item_rows {
    plan_array<std::uint64_t> bits;     ///< `width` elements for each row
    plan_array<std::uint32_t> windows;  ///< first element that is not 0, and the one after the last; of each row
    std::size_t width = 0;              ///< elements of a row

    /// Returns all elements of a row.
    [[nodiscard]] constexpr plan_array<std::uint64_t> row(std::size_t at) const noexcept {
        return bits.subspan(at * width).first(width);
    }
    /// Returns the items of a row.
    [[nodiscard]] constexpr item_set set(std::size_t at) const noexcept {
        const std::uint32_t begin = windows[2 * at], end = windows[2 * at + 1];
        return {row(at).subspan(begin).first(end - begin), begin};
    }
    /// Adds an item to a row. Afterwards `find_window` is needed.
    constexpr void add(std::size_t at, std::size_t item) const noexcept {
        bits[at * width + item / 64] |= std::uint64_t{1} << (item % 64);
    }
    constexpr void find_window(std::size_t at) const noexcept {
        std::size_t begin = 0, end = width;
        while (begin < end && row(at)[begin] == 0) ++begin;
        while (begin < end && row(at)[end - 1] == 0) --end;
        windows[2 * at] = static_cast<std::uint32_t>(begin);
        windows[2 * at + 1] = static_cast<std::uint32_t>(end);
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
