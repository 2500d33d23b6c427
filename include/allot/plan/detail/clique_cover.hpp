// SPDX-License-Identifier: BSL-1.0
// clique_cover: joins pairs of items into sets of which no two items share a byte.
//
//      a ██████          The pairs a, c and b, c are apart, and a, b live at the same time. The set {a, b, c} replaces
//          b █████       both pairs. If the sum of its sizes exceeds the capacity, there is no plan, although each pair
//      c         ████    fits.
//
// Each pair that is in no set yet begins one. The set grows by the largest item that shares no byte with all of its
// items. Of items with equal sizes, the one that leaves the most candidates is added. A set counts its items; all sets
// together count at most two for each pair, so that they need no more memory than the pairs. A set that would exceed
// this keeps the items of the pairs that it replaces.
//
// Complexity: O(pairs × (pairs + items² × elements of a row)), at most `most_pairs` of them. Memory: two rows of the
// caller. Thread safety: none.
#pragma once

#include <allot/plan/detail/item_set.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Joins the pairs of a table of rows.
// A template, so that only programs that use it compile it.
template <class = void>
class clique_cover {
    using index = std::uint32_t;

public:
    /// Larger numbers of pairs take too long.
    static constexpr std::size_t most_pairs = 8192;

    /// Row i of `rows` has the items that share no byte with item i. `size` has the size of each item. `scratch` has at
    /// least two rows.
    constexpr clique_cover(item_rows rows, std::span<const std::uint64_t> size,
                           std::span<std::uint64_t> scratch) noexcept
        : rows_{rows},
          size_{size},
          clique_{scratch.first(rows.width)},
          rest_{scratch.subspan(rows.width, rows.width)} {}

    /// Replaces the rows [begin, end), each with a pair, by sets at the first of these rows. Returns their number. The
    /// other rows become empty.
    [[nodiscard]] constexpr std::size_t join(std::size_t begin, std::size_t end) noexcept {
        std::size_t made = 0, spare = 0;
        for (std::size_t pair = begin; pair != end; ++pair) {
            if (is_empty(pair)) continue;
            grow(pair);
            std::size_t replaced = 0;
            each_inside(pair, end, [&](std::size_t) { ++replaced; });
            if (count() > 2 * replaced + spare) {
                std::fill(rest_.begin(), rest_.end(), std::uint64_t{0});
                each_inside(pair, end, [&](std::size_t at) { add(rest_, at); });
                std::copy(rest_.begin(), rest_.end(), clique_.begin());
            }
            spare += 2 * replaced - count();
            each_inside(pair, end, [&](std::size_t at) {
                std::fill(rows_.row(at).begin(), rows_.row(at).end(), std::uint64_t{0});
                rows_.find_window(at);
            });
            std::copy(clique_.begin(), clique_.end(), rows_.row(begin + made).begin());
            rows_.find_window(begin + made++);
        }
        return made;
    }

private:
    [[nodiscard]] constexpr bool is_empty(std::size_t row) const noexcept { return rows_.set(row).bits.empty(); }
    [[nodiscard]] constexpr bool has(index item) const noexcept { return (clique_[item / 64] >> (item % 64) & 1) != 0; }
    [[nodiscard]] constexpr std::size_t count() const noexcept {
        std::size_t items = 0;
        for (const std::uint64_t bits : clique_) items += static_cast<std::size_t>(std::popcount(bits));
        return items;
    }
    constexpr void add(std::span<std::uint64_t> to, std::size_t row) const noexcept {
        for (std::size_t k = 0; k != rows_.width; ++k) to[k] |= rows_.row(row)[k];
    }

    /// Makes the set of a pair, with all items that can be added.
    constexpr void grow(std::size_t pair) noexcept {
        std::copy(rows_.row(pair).begin(), rows_.row(pair).end(), clique_.begin());
        std::fill(rest_.begin(), rest_.end(), ~std::uint64_t{0});
        const auto keep_neighbors = [&](index item) {
            for (std::size_t k = 0; k != rows_.width; ++k) rest_[k] &= rows_.row(item)[k];
        };
        rows_.set(pair).each(clique_, keep_neighbors);
        const item_set all{rest_, 0};
        for (bool grows = true; grows;) {
            index best = 0;
            std::size_t most = 0;
            grows = false;
            all.each(rest_, [&](index item) {
                std::size_t left = 1;
                for (std::size_t k = 0; k != rows_.width; ++k)
                    left += static_cast<std::size_t>(std::popcount(rest_[k] & rows_.row(item)[k]));
                if (grows && (size_[item] < size_[best] || (size_[item] == size_[best] && left <= most))) return;
                grows = true;
                best = item;
                most = left;
            });
            if (!grows) break;
            clique_[best / 64] |= std::uint64_t{1} << (best % 64);
            keep_neighbors(best);
        }
    }
    /// Calls `visit(row)` for each pair of [from, end) of which both items are in the set.
    template <class Visit>
    constexpr void each_inside(std::size_t from, std::size_t end, Visit visit) const noexcept {
        for (std::size_t row = from; row != end; ++row) {
            const item_set pair = rows_.set(row);
            if (pair.bits.empty()) continue;
            const auto first = 64 * pair.first + static_cast<std::size_t>(std::countr_zero(pair.bits.front()));
            const auto last =
                64 * (pair.first + pair.bits.size()) - 1 - static_cast<std::size_t>(std::countl_zero(pair.bits.back()));
            if (has(static_cast<index>(first)) && has(static_cast<index>(last))) visit(row);
        }
    }

    item_rows rows_;
    std::span<const std::uint64_t> size_;
    std::span<std::uint64_t> clique_, rest_;  // one bit for each item: of the set; that can be added
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
