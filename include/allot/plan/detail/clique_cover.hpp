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
// Complexity: O(pairs × (pairs + items² × elements of a row)), at most `most_visits`, and O(rows) in any case. Memory:
// two rows of the caller. Thread safety: none.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/detail/item_set.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Joins the pairs of a table of rows.
// A template, so that only programs that use it compile it.
template <class = void>
class clique_cover {
    using index = std::uint32_t;

public:
    /// Largest number of visits of rows and of their elements, about ten milliseconds. Afterwards no set grows, and the
    /// remaining pairs stay pairs.
    static constexpr std::size_t most_visits = std::size_t{1} << 21;

    /// Row i of `rows` has the items that share no byte with item i. `size` has the size of each item. `scratch` has at
    /// least two rows.
    constexpr clique_cover(item_rows rows, plan_array<const std::uint64_t> size,
                           plan_array<std::uint64_t> scratch) noexcept
        : rows_{rows},
          size_{size},
          clique_{scratch.first(rows.width)},
          rest_{scratch.subspan(rows.width).first(rows.width)} {}

    /// Replaces the rows [begin, end), each with a pair, by sets at the first of these rows. Returns their number. The
    /// other rows become empty.
    [[nodiscard]] constexpr std::size_t join(std::size_t begin, std::size_t end) noexcept {
        std::size_t made = 0, spare = 0;
        for (std::size_t row = begin; row != end; ++row) {
            if (rows_.set(row).bits.empty()) continue;
            copy(rows_.row(row), clique_);
            if (left_ == 0) {
                clear(row);
            } else {
                grow(row);
                const std::size_t pairs = take_pairs(row, end);
                if (count() > 2 * pairs + spare) copy(rest_, clique_);
                spare += 2 * pairs - count();
            }
            copy(clique_, rows_.row(begin + made));
            rows_.find_window(begin + made++);
        }
        return made;
    }

private:
    constexpr void spend(std::size_t visits) noexcept { left_ -= smaller(left_, visits); }
    static constexpr void copy(plan_array<const std::uint64_t> from, plan_array<std::uint64_t> to) noexcept {
        for (std::size_t k = 0; k != from.size(); ++k) to[k] = from[k];
    }
    constexpr void clear(std::size_t row) const noexcept {
        set_all(rows_.row(row), std::uint64_t{0});
        rows_.find_window(row);
    }
    [[nodiscard]] constexpr std::size_t count() const noexcept {
        std::size_t items = 0;
        for (const std::uint64_t bits : clique_) items += static_cast<std::size_t>(std::popcount(bits));
        return items;
    }

    /// Adds all items that can be added to the set, which is a pair.
    constexpr void grow(std::size_t pair) noexcept {
        set_all(rest_, ~std::uint64_t{0});
        const auto keep_neighbors = [&](index item) {
            for (std::size_t k = 0; k != rows_.width; ++k) rest_[k] &= rows_.row(item)[k];
        };
        rows_.set(pair).each(clique_, keep_neighbors);
        const item_set all{rest_, 0};
        for (std::size_t most = 1; most != 0 && left_ != 0;) {
            index best = 0;
            most = 0;  // candidates that `best` leaves, and one
            spend(rows_.width);
            all.each(rest_, [&](index item) {
                spend(1);
                if (most != 0 && size_[item] < size_[best]) return;
                const item_set near = rows_.set(item);
                std::size_t leaves = 1;
                for (std::size_t k = 0; k != near.bits.size(); ++k)
                    leaves += static_cast<std::size_t>(std::popcount(near.bits[k] & rest_[near.first + k]));
                spend(near.bits.size());
                if (most != 0 && size_[item] == size_[best] && leaves <= most) return;
                best = item;
                most = leaves;
            });
            if (most == 0) continue;
            clique_[best / 64] |= std::uint64_t{1} << (best % 64);
            keep_neighbors(best);
        }
    }
    /// Moves the items of each pair in the rows [from, end) that is in the set to `rest_`. Returns the number of pairs.
    constexpr std::size_t take_pairs(std::size_t from, std::size_t end) noexcept {
        std::size_t taken = 0;
        set_all(rest_, std::uint64_t{0});
        spend(end - from);
        for (std::size_t row = from; row != end; ++row) {
            const item_set pair = rows_.set(row);
            bool is_inside = !pair.bits.empty();
            for (std::size_t k = 0; k != pair.bits.size() && is_inside; ++k)
                is_inside = (pair.bits[k] & ~clique_[pair.first + k]) == 0;
            if (!is_inside) continue;
            for (std::size_t k = 0; k != pair.bits.size(); ++k) rest_[pair.first + k] |= pair.bits[k];
            clear(row);
            ++taken;
        }
        return taken;
    }

    item_rows rows_;
    plan_array<const std::uint64_t> size_;
    plan_array<std::uint64_t> clique_, rest_;  // one bit for each item: of the set; that can be added
    std::size_t left_ = most_visits;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
