// SPDX-License-Identifier: BSL-1.0
// timeline: steps as ranks, 0, 1, …, of the steps at which lifetimes begin.
//
//     steps   3     7  8        20   25     a lifetime [3, 8) and another from 7 on: between two beginnings nothing can
//     ranks   0     1           2           come to lie beside a buffer, so an end is as good as the next beginning
//
// Whether two lifetimes overlap is the same in ranks as in steps, and ranks fit 32 bits and index arrays.
// Complexity: O(n log n), and O(log n) for a rank. Memory: 16 bytes a lifetime. Not synchronised.
#pragma once

#include <allot/plan/problem.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

class timeline {
public:
    [[nodiscard]] static constexpr plan_space space(std::size_t lifetimes) noexcept { return {0, 2 * lifetimes, 0}; }

    constexpr timeline(const plan_problem& problem, plan_workspace& workspace) noexcept {
        const std::size_t lifetimes = problem.buffers.size() + problem.revivals.size();
        begins_ = workspace.cut_longs(lifetimes);
        std::uint64_t* const scratch = workspace.cut_longs(lifetimes);
        std::size_t count = 0;
        for (const plan_buffer& buffer : problem.buffers) begins_[count++] = ordered(buffer.live.from);
        for (const plan_revival& revival : problem.revivals) begins_[count++] = ordered(revival.live.from);
        sort_by(begins_, scratch, count, [](std::uint64_t begin) { return begin; });
        for (std::size_t i = 0; i != count; ++i)
            if (ranks_ == 0 || begins_[i] != begins_[ranks_ - 1]) begins_[ranks_++] = begins_[i];
    }

    [[nodiscard]] constexpr std::uint32_t ranks() const noexcept { return ranks_; }
    /// The rank of the first beginning at or after `step`; `ranks()` when there is none.
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
