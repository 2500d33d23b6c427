// SPDX-License-Identifier: BSL-1.0
// sizes: the size of a merged buffer in each of its lifetimes.
//
//     offset                              a and b are `together`: they become one buffer with one offset. Its size at a
//       ▲  ┌────┐                         step is the largest of the members that live then. c lives at the same time
//       │  │ a  │ c  │                    as b only. It must be above the end of b, not above the end of a.
//       │  │  ┌─┴────┤
//       │  │  │  b   │                    If two buffers live at the same time, the distance of their offsets is at
//       └──┴──┴──────┴──► time            least the size of the lower one in the lifetimes that overlap the upper one.
//
// Complexity: O(1). Memory: views of arrays of the caller. Thread safety: any number of concurrent readers.
#pragma once

#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Sizes of buffers that differ between their lifetimes. If the spans are empty, each buffer keeps its own size.
struct plan_sizes {
    plan_array<const std::uint64_t> lives{};  ///< Size of each buffer in its first lifetime, then in each revival.
    plan_array<const std::uint64_t> apart{};  ///< Both sizes of each pair that is `apart`.

    /// Returns the size in a lifetime. Lifetime i is the first one of buffer i. The revivals follow the buffers.
    [[nodiscard]] constexpr std::uint64_t of_life(const plan_problem& problem, std::size_t life) const noexcept {
        if (!lives.empty()) return lives[life];
        const std::size_t count = problem.buffers.size();
        return problem.buffers[life < count ? life : problem.revivals[life - count].buffer].size;
    }
    /// Returns the bytes of the first buffer of a pair that may not overlap the second.
    [[nodiscard]] constexpr std::uint64_t of_first(const plan_problem& problem, std::size_t pair) const noexcept {
        return apart.empty() ? problem.buffers[problem.apart[pair].first].size : apart[2 * pair];
    }
    /// Returns the bytes of the second buffer of a pair that may not overlap the first.
    [[nodiscard]] constexpr std::uint64_t of_second(const plan_problem& problem, std::size_t pair) const noexcept {
        return apart.empty() ? problem.buffers[problem.apart[pair].second].size : apart[2 * pair + 1];
    }
};

/// Returns an upper bound on the number of lifetimes after pairs that are `together` have been merged.
[[nodiscard]] constexpr std::size_t most_lives(const plan_problem& problem) noexcept {
    const std::size_t lives = problem.buffers.size() + problem.revivals.size();
    return problem.together.empty() ? lives : 2 * lives;
}
}  // namespace detail
}  // namespace v1
}  // namespace allot
