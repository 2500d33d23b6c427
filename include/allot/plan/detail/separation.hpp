// SPDX-License-Identifier: BSL-1.0
// separation: the buffers that must be in another memory than a buffer.
//
//     pairs {a,b} {a,c}            first    0     2  3  4         The others of buffer i are other[first[i]] up to
//                                  other    b c   a  a            other[first[i + 1]].
//
// Complexity: O(buffers + pairs) to construct. Memory: `space`, 4 bytes a buffer and 8 a pair; none without pairs.
// Thread safety: concurrent readers are safe.
#pragma once

#include <allot/plan/detail/merge.hpp>
#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The pairs of `memories_problem::separate`, by merged buffer.
class separation {
public:
    [[nodiscard]] static constexpr plan_space space(const memories_problem& problem) noexcept {
        if (problem.separate.empty()) return {};
        return {.u32 = problem.buffers.buffers.size() + 1 + 2 * problem.separate.size()};
    }

    /// Without pairs.
    constexpr separation() = default;
    /// Precondition: `given` is valid.
    constexpr separation(const merged_problem& merged, const memories_problem& given,
                         plan_workspace& workspace) noexcept {
        if (given.separate.empty()) return;
        const std::size_t buffers = merged.problem.buffers.size();
        first_ = workspace.cut_u32(given.buffers.buffers.size() + 1);
        other_ = workspace.cut_u32(2 * given.separate.size());
        for (std::size_t i = 0; i <= buffers; ++i) first_[i] = 0;
        const auto each_pair = [&](auto visit) {
            for (const plan_pair& pair : given.separate)
                if (counts(given, pair)) visit(merged[pair.first], merged[pair.second]);
        };
        each_pair([&](std::size_t a, std::size_t b) { ++first_[a], ++first_[b]; });
        for (std::size_t i = 0, sum = 0; i <= buffers; ++i) first_[i] = static_cast<std::uint32_t>(sum += first_[i]);
        each_pair([&](std::size_t a, std::size_t b) {
            other_[--first_[a]] = static_cast<std::uint32_t>(b);
            other_[--first_[b]] = static_cast<std::uint32_t>(a);
        });
    }

    /// Returns whether a pair restricts anything: both buffers have bytes.
    [[nodiscard]] static constexpr bool counts(const memories_problem& given, const plan_pair& pair) noexcept {
        return given.buffers.buffers[pair.first].size != 0 && given.buffers.buffers[pair.second].size != 0;
    }
    /// Returns the buffers that must be in another memory than `buffer`, one for each pair.
    [[nodiscard]] constexpr plan_array<const std::uint32_t> of(std::size_t buffer) const noexcept {
        if (first_ == nullptr) return {};
        return {other_ + first_[buffer], first_[buffer + 1] - first_[buffer]};
    }
    /// Returns whether `is(other)` is true for a buffer that must be in another memory than `buffer`.
    template <class Is>
    [[nodiscard]] constexpr bool any(std::size_t buffer, Is is) const noexcept {
        for (const std::uint32_t other : of(buffer))
            if (is(other)) return true;
        return false;
    }
    /// Returns whether the problem has no pairs.
    [[nodiscard]] constexpr bool is_empty() const noexcept { return first_ == nullptr; }

private:
    std::uint32_t *first_ = nullptr, *other_ = nullptr;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
