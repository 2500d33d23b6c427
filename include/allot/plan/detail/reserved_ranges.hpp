// SPDX-License-Identifier: BSL-1.0
// reserved_ranges: the reserved byte ranges of a problem, sorted and disjoint.
//
//     given   ███   ████   █████        Ranges that overlap or touch are merged, and empty ranges dropped. The bytes
//                      ████     ██      between two adjacent ranges are free, and an offset is in at most one range.
//     kept    ███   ███████████████
//             ──────────────────────► bytes
//
// Complexity: O(n log n) to construct, O(n) for `height_beside`, O(log n + ranges skipped) for `clear`. Memory: 16
// bytes a range, in arrays that the caller provides. Thread safety: concurrent readers are safe.
#pragma once

#include <allot/plan/workspace.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

class reserved_ranges {
public:
    constexpr reserved_ranges() noexcept = default;
    /// Precondition: no range wraps, and each array has an element for every range.
    constexpr reserved_ranges(std::span<const plan_reserved> given, plan_array<std::uint64_t> begins,
                              plan_array<std::uint64_t> ends) noexcept
        : begins_{begins}, ends_{ends} {
        std::size_t count = 0, kept = 0;
        for (const plan_reserved& range : given) {
            if (range.size == 0) continue;
            begins_[count] = range.offset;
            ends_[count++] = range.offset + range.size;
        }
        sort(begins_.data(), count);
        sort(ends_.data(), count);
        for (std::size_t first = 0, last = 0; last < count; ++last) {
            // The same number of ranges began as ended, so the next range is disjoint.
            if (last + 1 < count && begins_[last + 1] <= ends_[last]) continue;
            begins_[kept] = begins_[first];
            ends_[kept++] = ends_[last];
            first = last + 1;
        }
        begins_ = begins_.first(kept);
        ends_ = ends_.first(kept);
    }

    [[nodiscard]] constexpr plan_array<const std::uint64_t> ends() const noexcept { return ends_; }

    /// Computes the least height with `bytes` unreserved bytes below it. Returns false if it exceeds 64 bits.
    [[nodiscard]] constexpr bool height_beside(std::uint64_t bytes, std::uint64_t& height) const noexcept {
        std::uint64_t covered = 0;
        for (std::size_t k = 0; k < begins_.size() && bytes > begins_[k] - covered; ++k) {
            bytes -= begins_[k] - covered;
            covered = ends_[k];
        }
        return checked_add(covered, bytes, height);
    }

    /// Raises `offset` to the first aligned offset where `size` bytes are unreserved. Returns false if they end above
    /// `capacity`. Precondition: size <= capacity.
    constexpr bool clear(std::uint64_t size, std::uint64_t align, std::uint64_t capacity,
                         std::uint64_t& offset) const noexcept {
        if (!checked_align_up(offset, align, offset) || offset > capacity - size) return false;
        if (begins_.empty()) return true;
        std::size_t k = first_position(ends_.size(), [&](std::size_t i) { return ends_[i] > offset; });
        for (; k < begins_.size() && begins_[k] < offset + size; ++k)
            if (!checked_align_up(ends_[k], align, offset) || offset > capacity - size) return false;
        return true;
    }

private:
    plan_array<std::uint64_t> begins_, ends_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
