// SPDX-License-Identifier: BSL-1.0
// timeline: maps steps to ranks 0, 1, … of the steps at which lifetimes begin.
//
//     steps   3     7  8        20   25     A lifetime [3, 8) and another that begins at 7. No lifetime begins between
//     ranks   0     1           2           two ranks. Therefore an end is equivalent to the next beginning.
//
// Two lifetimes overlap in ranks if and only if they overlap in steps. Ranks fit 32 bits and can index arrays.
//
// Complexity: O(n log n), and O(log n) for a rank. Memory: 16 bytes a lifetime. Not synchronized.
#pragma once

#include <allot/plan/problem.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The sorted beginnings of all lifetimes of a problem.
class timeline {
public:
    /// Returns the size of the workspace that the constructor needs.
    [[nodiscard]] static constexpr plan_space space(std::size_t lifetimes) noexcept { return {0, 2 * lifetimes, 0}; }

    constexpr timeline(const plan_problem& problem, plan_workspace& workspace) noexcept {
        const std::size_t lifetimes = problem.buffers.size() + problem.revivals.size();
        begins_ = workspace.cut_u64(lifetimes);
        std::uint64_t* const scratch = workspace.cut_u64(lifetimes);
        std::size_t count = 0;
        for (const plan_buffer& buffer : problem.buffers) begins_[count++] = ordered(buffer.live.from);
        for (const plan_revival& revival : problem.revivals) begins_[count++] = ordered(revival.live.from);
        sort_by(begins_, scratch, count, [](std::uint64_t begin) { return begin; });
        for (std::size_t i = 0; i != count; ++i)
            if (ranks_ == 0 || begins_[i] != begins_[ranks_ - 1]) begins_[ranks_++] = begins_[i];
    }

    /// Returns the number of ranks.
    [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
    /// Returns the rank of the first beginning at or after `step`, or `ranks()` if no lifetime begins there or later.
    [[nodiscard]] constexpr std::uint32_t rank(std::int64_t step) const noexcept {
        const std::uint64_t wanted = ordered(step);
        std::uint32_t low = 0, high = ranks_;
        while (low != high)
            if (const std::uint32_t middle = low + (high - low) / 2; begins_[middle] < wanted) low = middle + 1;
            else high = middle;
        return low;
    }

private:
    std::uint64_t* begins_ = nullptr;
    std::uint32_t ranks_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
