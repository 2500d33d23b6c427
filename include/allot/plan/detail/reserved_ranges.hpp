// SPDX-License-Identifier: BSL-1.0
// reserved_ranges: the bytes that are somebody else's all the time, in order and apart from each other.
//
//     given   ███   ████   █████        Ranges that overlap or touch become one, and one of no bytes is none: what lies
//                      ████     ██      between two of them is free, and an offset lies in one of them at most.
//     kept    ███   ███████████████
//             ──────────────────────► bytes
//
// Complexity: O(n log n) to begin with, then O(n) for a height, and for an offset O(log n) and as many as it is moved
// past. Memory: 16 bytes a range, in arrays of the caller's. Thread safety: any number of readers.
#pragma once

#include <allot/plan/problem.hpp>

#include <algorithm>
#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

class reserved_ranges {
public:
    constexpr reserved_ranges() noexcept = default;
    /// Precondition: no range wraps, and either array has a place for each.
    constexpr reserved_ranges(std::span<const plan_reserved> given, std::span<std::uint64_t> begins,
                              std::span<std::uint64_t> ends) noexcept
        : begins_{begins}, ends_{ends} {
        std::size_t count = 0, kept = 0;
        for (const plan_reserved& range : given) {
            if (range.size == 0) continue;
            begins_[count] = range.offset;
            ends_[count++] = range.offset + range.size;
        }
        std::ranges::sort(begins_.first(count));
        std::ranges::sort(ends_.first(count));
        for (std::size_t first = 0, last = 0; last < count; ++last) {
            // As many began as ended: apart.
            if (last + 1 < count && begins_[last + 1] <= ends_[last]) continue;
            begins_[kept] = begins_[first];
            ends_[kept++] = ends_[last];
            first = last + 1;
        }
        begins_ = begins_.first(kept);
        ends_ = ends_.first(kept);
    }

    [[nodiscard]] constexpr std::span<const std::uint64_t> ends() const noexcept { return ends_; }

    /// The least height with so many bytes below it that nobody has reserved. False when it does not fit.
    [[nodiscard]] constexpr bool height_beside(std::uint64_t bytes, std::uint64_t& height) const noexcept {
        std::uint64_t covered = 0;
        for (std::size_t k = 0; k < begins_.size() && bytes > begins_[k] - covered; ++k) {
            bytes -= begins_[k] - covered;
            covered = ends_[k];
        }
        return checked_add(covered, bytes, height);
    }

    /// Moves an offset up to the first that is aligned and has `size` bytes that nobody has reserved. False when they
    /// end above the capacity. Precondition: the size is within it.
    constexpr bool clear(std::uint64_t size, std::uint64_t align, std::uint64_t capacity,
                         std::uint64_t& offset) const noexcept {
        if (!checked_align_up(offset, align, offset) || offset > capacity - size) return false;
        if (begins_.empty()) return true;
        auto k = static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
        for (; k < begins_.size() && begins_[k] < offset + size; ++k)
            if (!checked_align_up(ends_[k], align, offset) || offset > capacity - size) return false;
        return true;
    }

private:
    std::span<std::uint64_t> begins_, ends_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
