// SPDX-License-Identifier: BSL-1.0
// loads: sum of the live bytes in each section, and the maximum over a range of sections.
//
//     maximum     9               A segment tree over the sections. An update adds bytes to the O(log n) nodes that
//              ┌──┴──┐            cover a range of sections. A node stores the maximum of its subtree, including
//              9     4 +3         the bytes added at the node itself. An update and a query each visit at most two
//            ┌─┴─┐ ┌─┴─┐          nodes of each height.
//            2   9 1   0
//
// Complexity: O(log sections) for an update or a query. Memory: `space`, 32 to 64 bytes a section. Thread safety: none.
#pragma once

#include <allot/plan/workspace.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

class section_loads {
public:
    [[nodiscard]] static constexpr plan_space space(std::size_t sections) noexcept {
        return {.u64 = 4 * std::bit_ceil(sections + 1)};
    }

    constexpr section_loads(std::size_t sections, plan_workspace& workspace) noexcept
        : leaves_{std::bit_ceil(sections + 1)},
          most_{workspace.cut_u64(2 * leaves_)},
          added_{workspace.cut_u64(2 * leaves_)} {}

    constexpr void clear() noexcept {
        for (std::size_t node = 0; node != 2 * leaves_; ++node) most_[node] = added_[node] = 0;
    }
    /// Adds bytes to the sections [from, until), or subtracts bytes that an earlier call added to the same range.
    constexpr void add(std::uint32_t from, std::uint32_t until, std::uint64_t bytes, bool in) noexcept {
        if (from == until) return;
        const std::uint64_t change = in ? bytes : 0 - bytes;
        const auto change_at = [&](std::size_t node) {
            most_[node] += change;
            added_[node] += change;
        };
        std::size_t low = leaves_ + from, high = leaves_ + until - 1;
        change_at(low);
        if (low != high) change_at(high);
        // The nodes between two parents change as a whole.
        for (; low / 2 != high / 2; low /= 2, high /= 2) {
            if (low % 2 == 0) change_at(low + 1);
            if (high % 2 != 0) change_at(high - 1);
            most_[low / 2] = most_below(low / 2);
            most_[high / 2] = most_below(high / 2);
        }
        for (low /= 2; low != 0; low /= 2) {
            const std::uint64_t most = most_below(low);
            if (most == most_[low]) break;
            most_[low] = most;
        }
    }
    /// Returns the maximum over the sections [from, until). Precondition: from < until.
    [[nodiscard]] constexpr std::uint64_t most(std::uint32_t from, std::uint32_t until) const noexcept {
        std::size_t low = leaves_ + from, high = leaves_ + until - 1;
        std::uint64_t left = most_[low], right = most_[high];
        for (; low / 2 != high / 2 && low != high; low /= 2, high /= 2) {
            if (low % 2 == 0) left = larger(left, most_[low + 1]);
            if (high % 2 != 0) right = larger(right, most_[high - 1]);
            left += added_[low / 2];
            right += added_[high / 2];
        }
        if (low != high) {  // siblings
            left = larger(left, right) + added_[low / 2];
            low /= 2;
        }
        for (low /= 2; low != 0; low /= 2) left += added_[low];
        return left;
    }

private:
    [[nodiscard]] constexpr std::uint64_t most_below(std::size_t node) const noexcept {
        return larger(most_[2 * node], most_[2 * node + 1]) + added_[node];
    }

    std::size_t leaves_;
    std::uint64_t *most_, *added_;  // by node
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
