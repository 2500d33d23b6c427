// SPDX-License-Identifier: BSL-1.0
// guided_cursor: finds the slot of a request in a guide whose calls are not those of the pass.
//
// Internal. The cursor is at the slot after the last match. A request matches a waiting slot with its key at most
// `window` slots away. The slot with the lowest cost wins: the same size is first, then the number of deallocations
// since the last match that differ, then the distance.
//
// Complexity: O(window) for a request. Memory: 20 bytes. Thread safety: not synchronized.
#pragma once

#include <allot/core/layout.hpp>
#include <allot/plan/pass.hpp>
#include <allot/strategy/detail/record_table.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

class guided_cursor {
public:
    /// Moves to the first slot of a pass.
    void rewind() noexcept { *this = {}; }
    /// Moves to a slot where the step ends. The next resumption in this pass needs twice as many matches.
    void leave_step(std::uint32_t slot) noexcept {
        expected_ = last_ = slot;
        matches_ = freed_ = 0;
        needed_ *= 2;
    }
    /// Notes a deallocation.
    void free() noexcept { ++freed_; }
    /// Notes a request without a slot.
    void miss() noexcept { matches_ = 0; }
    /// Moves behind a slot that a request matched, and behind those that do not wait.
    template <class IsWaiting>
    void match(std::uint32_t slot, std::uint32_t count, IsWaiting is_waiting) noexcept {
        ++matches_;
        freed_ = 0;
        expected_ = last_ = slot + 1;
        while (expected_ < count && !is_waiting(expected_)) ++expected_;
    }
    /// Returns true after enough matches without a miss for a return to the step.
    [[nodiscard]] bool is_calm() const noexcept { return matches_ >= needed_; }

    /// Returns the slot of a request, or `no_record`: one near the expected slot with the same size and key, before
    /// which the guide has as many deallocations as the program made; or one of a similar size.
    template <class IsWaiting>
    [[nodiscard]] std::uint32_t find(const guide& by, layout wanted, std::uint64_t key,
                                     IsWaiting is_waiting) const noexcept {
        std::uint32_t found = no_record;
        std::int64_t lowest = never;
        const std::int64_t center = expected_, count = static_cast<std::int64_t>(by.slots.size()) - 1;
        const std::int64_t from = center > window ? center - window : 0;
        for (std::int64_t i = from; i < count && i <= center + window; ++i) {
            const auto slot = static_cast<std::uint32_t>(i);
            const std::int64_t cost = is_waiting(slot) ? difference(by, slot, wanted, key) : never;
            if (cost >= lowest) continue;
            lowest = cost;
            found = slot;
        }
        return found;
    }

private:
    static constexpr std::int64_t window = 16;     // slots on each side of the expected one
    static constexpr std::uint32_t at_first = 32;  // matches before the first resumption in a pass
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    /// Returns how little a slot is like a request, or `never` if it is not.
    [[nodiscard]] std::int64_t difference(const guide& by, std::uint32_t i, layout wanted,
                                          std::uint64_t key) const noexcept {
        const guide_slot& slot = by.slots[i];
        if (slot.key != key) return never;
        const std::uint64_t small = slot.size < wanted.size ? slot.size : wanted.size;
        const std::uint64_t large = slot.size < wanted.size ? wanted.size : slot.size;
        if (key == 0 && large / 2 > small) return never;
        const auto deallocations = static_cast<std::int64_t>(slot.at - i);
        const auto before = last_ == 0 ? 0 : static_cast<std::int64_t>(by.slots[last_ - 1].at - (last_ - 1));
        const std::int64_t missing = deallocations - before - static_cast<std::int64_t>(freed_);
        const std::int64_t distance = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(expected_);
        const std::int64_t cost =
            4 * (missing < 0 ? -missing : missing) + 2 * (distance < 0 ? -distance : distance) + (distance < 0);
        return small == large ? cost : cost + 1000;
    }

    std::uint32_t expected_ = 0;  // the slot after the last match
    std::uint32_t last_ = 0;      // the last match, from 1; 0: none
    std::uint32_t freed_ = 0;     // deallocations since
    std::uint32_t matches_ = 0;   // since the last request without a slot
    std::uint32_t needed_ = at_first;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
