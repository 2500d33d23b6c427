// SPDX-License-Identifier: BSL-1.0
// cover_table: the least sums of shares of buffers whose sizes together cover an excess, by dynamic programming.
//
//     units to cover     0    1    2    3        A row has the least sums of the buffers from the j-th on, by units to
//     from buffer 0      0    2    5    7        cover. The first row has the solution of the knapsack. With a row of
//     from buffer 1      0    3    5    ∞        the buffers before the j-th, it also gives the least sums with the
//     no buffer          0    ∞    ∞    ∞        j-th buffer in the cover, and without it.
//
// Complexity: O(count × units) for `fill` and for `each_change`. Memory: `space`, at most 512 KiB or 16 bytes a
// buffer for the table. Not synchronized.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/workspace.hpp>

#include <cstdint>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class cover_table {
    static constexpr std::size_t most_cells = 1 << 16;

public:
    /// Sums from here on stand for an excess that cannot be covered.
    static constexpr std::uint64_t impossible = std::uint64_t{1} << 62;

    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t units) noexcept {
        return {.u64 = cells(buffers, units) + 2 * (units + 1)};
    }
    constexpr cover_table(std::size_t count, std::size_t units, plan_workspace& workspace) noexcept
        : most_units_{units},
          cells_{cells(count, units)},
          cell_{workspace.cut_u64(cells_)},
          row_{workspace.cut_u64(units + 1)},
          new_row_{workspace.cut_u64(units + 1)} {}

    /// Returns the largest number of units to cover by `count` buffers.
    [[nodiscard]] constexpr std::size_t most_units(std::size_t count) const noexcept {
        return smaller(most_units_, cells_ / (count + 1) - 1);
    }
    /// Computes the table. `units(j)` is the size of the j-th buffer, at most `need` + 1.
    template <class Units>
    constexpr void fill(std::uint64_t* share, std::size_t count, std::size_t need, Units units) noexcept {
        share_ = share;
        count_ = count;
        need_ = need;
        width_ = need + 1;
        std::size_t before = 0, after = 0;  // units of the buffers before the j-th, and from it on
        for (std::size_t k = 0; k != count; ++k) before += units(k);
        std::uint64_t* below = cell_ + count * width_;
        for (std::size_t e = rest_of(before); e != width_; ++e) below[e] = e == 0 ? 0 : impossible;
        for (std::size_t j = count; j != 0; below -= width_) {
            const std::size_t size = units(--j), covered = smaller(after, need) + 1;
            before -= size;
            after += size;
            const std::size_t coverable = smaller(after, need) + 1;
            std::uint64_t* const row = below - width_;
            const std::uint64_t* const rest = below - size;
            const std::uint64_t own = share[j];
            std::size_t e = rest_of(before);  // the buffers before cover no more
            for (; e < smaller(size, covered); ++e) row[e] = smaller(below[e], own);
            for (; e < smaller(size, coverable); ++e) row[e] = own;
            for (; e < covered; ++e) row[e] = smaller(below[e], own + rest[e]);
            for (; e < coverable; ++e) row[e] = own + rest[e];
            for (; e < width_; ++e) row[e] = impossible;
            if (before >= need) row[0] = 0;
        }
    }
    /// Returns the least sum of shares of the buffers from the j-th on that cover `units`. Precondition: the buffers
    /// before it can cover the rest.
    [[nodiscard]] constexpr std::uint64_t least(std::size_t j, std::size_t units) const noexcept {
        return least_from(j)[units];
    }
    /// The same by units, from 0 to `need`.
    [[nodiscard]] constexpr const std::uint64_t* least_from(std::size_t j) const noexcept { return cell_ + j * width_; }
    /// Calls `change(j, is_out, more)` for each buffer for which `wants(j, is_out)` is true. `is_out` is its place in a
    /// choice with the least sum of shares. `more` is the difference to the least sum with the other place. `change`
    /// may lower the share of a buffer that is in by at most `more`. `units` is that of `fill`. Precondition: the
    /// excess can be covered.
    template <class Units, class Wants, class Change>
    constexpr void each_change(Units units, Wants wants, Change change) noexcept {
        const std::uint64_t all = least(0, need_);
        std::size_t before = 0, needed = need_;  // units that the buffers before the j-th cover, at most `need_`
        row_[0] = 0;
        for (std::size_t j = 0; j != count_; ++j) {
            const std::size_t size = units(j);
            const std::uint64_t* const others = least_from(j + 1);
            const bool is_out = needed != 0 && least(j, needed) != others[needed];
            if (is_out) needed -= smaller(needed, size);
            if (wants(j, is_out)) {
                std::uint64_t other = 2 * impossible;
                if (is_out)
                    for (std::size_t e = 0; e <= before; ++e) other = smaller(other, row_[e] + others[need_ - e]);
                else {
                    other = others[rest_of(size)];
                    for (std::size_t e = 0; e <= before && e + size <= need_; ++e)
                        other = smaller(other, row_[e] + others[need_ - size - e]);
                    other += share_[j];
                }
                change(j, is_out, other - all);
            }
            if (j + 1 == count_) break;
            const std::uint64_t share = share_[j];
            const std::size_t covered = smaller(before + size, need_);
            std::size_t e = 0;
            for (; e <= smaller(before, size); ++e) new_row_[e] = smaller(row_[e], share);
            for (; e <= before; ++e) new_row_[e] = smaller(row_[e], share + row_[e - size]);
            for (; e <= smaller(size, covered); ++e) new_row_[e] = share;
            for (; e <= covered; ++e) new_row_[e] = share + row_[e - size];
            before = covered;
            std::swap(row_, new_row_);
        }
    }

private:
    [[nodiscard]] static constexpr std::size_t cells(std::size_t buffers, std::size_t units) noexcept {
        return smaller((buffers + 1) * (units + 1), larger(most_cells, 2 * (buffers + 1)));
    }
    [[nodiscard]] constexpr std::size_t rest_of(std::size_t covered) const noexcept {
        return need_ - smaller(need_, covered);
    }

    std::size_t most_units_, cells_, width_ = 1, count_ = 0, need_ = 0;
    std::uint64_t* share_ = nullptr;                     // by buffer
    std::uint64_t* cell_;                                // the table, by rows
    std::uint64_t *row_ = nullptr, *new_row_ = nullptr;  // least sums of the buffers before the j-th, by units
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
