// SPDX-License-Identifier: BSL-1.0
// statistics: the counters of an allocator, and the state of its holes.
//
//     allot::counted<allot::arena<allot::host::heap, allot::best_fit<>>> memory{{{}, 16_MiB}};
//     auto block = memory.allocate({.size = 256});
//     const allot::allocator_statistics now = memory.statistics();
//     print(now.used, now.peak, now.largest_hole, now.fragmentation());
//
// `counted` keeps the counters (compose/counted.hpp). The holes are listed at the time of the call, if the allocator
// can list them. Otherwise `free`, `largest_hole` and `holes` are 0.
//
// When to use: to report how much memory is in use, and why a large request fails although many bytes are free.
// When not to use: to find the block that holds the memory. Use `tagged`.
//
// Complexity: O(1) for every function. Memory: 8 words.
// Thread safety: a value.
#pragma once

#include <cstddef>

namespace allot {
inline namespace v1 {

/// Counters of an allocator. All sizes are in bytes.
struct allocator_statistics {
    std::size_t used = 0;          ///< The requested size of all live blocks.
    std::size_t count = 0;         ///< The number of live blocks.
    std::size_t peak = 0;          ///< The maximum of `used`.
    std::size_t requests = 0;      ///< The number of requests for a block, including the refused ones.
    std::size_t refusals = 0;      ///< The number of requests that failed.
    std::size_t free = 0;          ///< The size of all holes.
    std::size_t largest_hole = 0;  ///< The size of the largest hole.
    std::size_t holes = 0;         ///< The number of holes.

    /// Returns the share of the free bytes that is outside the largest hole: 0 if one hole has all free bytes or if no
    /// byte is free, almost 1 if all holes are small.
    [[nodiscard]] constexpr double fragmentation() const noexcept {
        return free == 0 ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(free);
    }

    /// Adds the counters of another allocator. `largest_hole` becomes the larger one. `peak` becomes the sum, which is
    /// an upper bound, because both peaks may have occurred at different times.
    constexpr allocator_statistics& operator+=(const allocator_statistics& other) noexcept {
        used += other.used;
        count += other.count;
        peak += other.peak;
        requests += other.requests;
        refusals += other.refusals;
        free += other.free;
        if (other.largest_hole > largest_hole) largest_hole = other.largest_hole;
        holes += other.holes;
        return *this;
    }
    /// Compares all members.
    friend constexpr bool operator==(const allocator_statistics&, const allocator_statistics&) = default;
};

}  // namespace v1
}  // namespace allot
