// SPDX-License-Identifier: BSL-1.0
// together_groups: the groups of buffers that pairs put together.
#pragma once

#include <allot/plan/detail/algorithms.hpp>
#include <allot/plan/problem.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Stores the smallest index of its group for each buffer. `groups` has an element for each buffer.
constexpr void find_groups_together(std::span<std::uint32_t> groups, std::span<const plan_pair> together) noexcept {
    for (std::size_t i = 0; i != groups.size(); ++i) groups[i] = static_cast<std::uint32_t>(i);
    const auto root = [&](std::size_t of) {
        while (groups[of] != of) of = groups[of] = groups[groups[of]];
        return static_cast<std::uint32_t>(of);
    };
    for (const plan_pair& pair : together) {
        const std::uint32_t a = root(pair.first), b = root(pair.second);
        groups[larger(a, b)] = smaller(a, b);
    }
    for (std::uint32_t& group : groups) group = groups[group];  // of a smaller index, which has its root already
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
