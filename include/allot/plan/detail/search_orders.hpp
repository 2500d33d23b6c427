// SPDX-License-Identifier: BSL-1.0
// search_orders: the order in which the search tries buffers; a different one for each turn.
//
//     turn    0                   1         2         3, 4, …
//     first   largest total of    largest   largest   random weights, usually with noise; half of these turns
//             its sections, then  area      size      include the total
//             longest, largest
//
// A buffer's key is a weighted sum of four logarithms: its size, its lifetime, the largest total of bytes among its
// sections, and its shares of the causes of dead ends; noise is added. Each turn has its own weights. The first three
// orders are known to work well. Several orders are needed because one order may exhaust any budget where another needs
// one node a buffer. Dead ends show which buffers are hard to place. Turns from the ninth on place these earlier.
//
// Source of the weights by dead ends: Boussemart et al., Boosting systematic search by weighting constraints, ECAI
// 2004.
//
// All arithmetic is on integers with fixed seeds, so the result is the same on every machine. Complexity:
// O(n log n + sections crossed) a turn. Memory: 24 bytes a buffer, in arrays that the caller provides. Thread safety:
// one thread per object.
#pragma once

#include <allot/plan/detail/section_bitmaps.hpp>

#include <array>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns a hash in which each bit depends on all bits of `x` (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// A template, so that only programs that use it compile it.
template <class = void>
class search_orders {
    using index = section_bitmaps<>::index;

public:
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers) noexcept {
        return {.u32 = 2 * buffers, .u64 = 2 * buffers};
    }

    constexpr search_orders() noexcept = default;
    constexpr search_orders(std::size_t most, plan_workspace& workspace) noexcept
        : key_{cut(workspace.u64, most)},
          dead_ends_{cut(workspace.u64, most)},
          sorted_{cut(workspace.u32, most)},
          rank_{cut(workspace.u32, most)} {}

    /// Forgets all dead ends.
    constexpr void forget() noexcept { set_all(dead_ends_, std::uint64_t{0}); }
    /// Adds an item's share of the cause of a dead end.
    constexpr void add_dead_end(std::size_t item, std::uint64_t share) noexcept { dead_ends_[item] += share; }

    /// Computes the order of a turn.
    constexpr void take(std::uint64_t turn, const section_bitmaps<>& map) noexcept {
        struct weights {
            std::uint64_t size, length, total, noise, dead_ends;
        };
        constexpr std::array<weights, 3> first{{{1, 8, 512, 0, 0}, {1, 1, 0, 0, 0}, {8, 1, 1, 0, 0}}};
        constexpr std::uint64_t first_that_learns = 8;
        const std::uint64_t dice = mixed(turn * 0x9e3779b97f4a7c4f);
        const weights random{dice & 15, dice >> 4 & 15, (dice >> 20 & 1) * (dice >> 8 & 15) * 64,
                             (dice >> 12 & 15) * (dice >> 16 & 15) / 16,
                             turn < first_that_learns ? 0 : dice >> 24 & 15};
        const weights w = turn < first.size() ? first[static_cast<std::size_t>(turn)] : random;
        const auto by_key = sorted_.first(map.items());
        for (index i = 0; i < map.items(); ++i) {
            std::uint64_t most = 0;
            map.each_section(i, [&](index s) { most = larger(most, map.total(s)); });
            key_[i] = w.size * logarithm(map.size(i)) + w.length * logarithm(map.length(i)) +
                      w.total * logarithm(most) + w.dead_ends * logarithm(dead_ends_[i] + 1) +
                      w.noise * (mixed(turn * 0x10001 + map.buffer(i)) & 0xffff);
            by_key[i] = i;
        }
        sort(by_key.data(), by_key.size(),
             [&](index a, index b) { return key_[a] != key_[b] ? key_[a] > key_[b] : map.buffer(a) < map.buffer(b); });
        for (index k = 0; k < map.items(); ++k) rank_[by_key[k]] = k;
    }

    /// Returns an item's position in the order.
    [[nodiscard]] constexpr index rank(std::size_t item) const noexcept { return rank_[item]; }

private:
    /// Returns about 65536 log2(x): exact for powers of two, linear between them; 0 for 0.
    [[nodiscard]] static constexpr std::uint64_t logarithm(std::uint64_t x) noexcept {
        if (x == 0) return 0;
        const int whole = static_cast<int>(std::bit_width(x)) - 1;
        return (static_cast<std::uint64_t>(whole) << 16) +
               ((whole >= 16 ? x >> (whole - 16) : x << (16 - whole)) & 0xffff);
    }

    plan_array<std::uint64_t> key_;        // by item
    plan_array<std::uint64_t> dead_ends_;  // by item: shares of the dead ends that it caused
    plan_array<index> sorted_, rank_;      // items sorted by key; by item
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
