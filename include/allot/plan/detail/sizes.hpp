// SPDX-License-Identifier: BSL-1.0
// sizes: how large buffers are in each of their lives, once those that are together were merged.
//
//     offset                              a and b are together: one buffer from then on, at one offset, but as large as
//       ▲  ┌────┐                         those of them that live. c, which lives with b alone, needs to lie above b's
//       │  │ a  │ c  │                    end, not above a's.
//       │  │  ┌─┴────┤
//       │  │  │  b   │                    So of two buffers that live at once, the lower one leaves as much below the
//       └──┴──┴──────┴──► time            upper one as it is large in those lives of it that meet one of the other's.
//
// Complexity: O(1). Memory: views of arrays of the caller's. Thread safety: any number of readers.
#pragma once

#include <allot/plan/problem.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The sizes of buffers that are not the same in all of their lives. Empty: each is as large as it says.
struct plan_sizes {
    std::span<const std::uint64_t> lives{};  // of each buffer in its first life, then of each revival
    std::span<const std::uint64_t> apart{};  // of both of each pair that is kept apart

    /// In a buffer's first life, or in a revival's, which are counted from behind the buffers on.
    [[nodiscard]] constexpr std::uint64_t of_life(const plan_problem& problem, std::size_t life) const noexcept {
        if (!lives.empty()) return lives[life];
        const std::size_t count = problem.buffers.size();
        return problem.buffers[life < count ? life : problem.revivals[life - count].buffer].size;
    }
    /// The bytes of a pair's first that share none with the second; below, of its second.
    [[nodiscard]] constexpr std::uint64_t of_first(const plan_problem& problem, std::size_t pair) const noexcept {
        return apart.empty() ? problem.buffers[problem.apart[pair].first].size : apart[2 * pair];
    }
    [[nodiscard]] constexpr std::uint64_t of_second(const plan_problem& problem, std::size_t pair) const noexcept {
        return apart.empty() ? problem.buffers[problem.apart[pair].second].size : apart[2 * pair + 1];
    }
};

/// Lives of all buffers; where some are together, as many as there may be when they were merged.
[[nodiscard]] constexpr std::size_t most_lives(const plan_problem& problem) noexcept {
    const std::size_t lives = problem.buffers.size() + problem.revivals.size();
    return problem.together.empty() ? lives : 2 * lives;
}
}  // namespace detail
}  // namespace v1
}  // namespace allot
