// SPDX-License-Identifier: BSL-1.0
// guided_slots: the slots of the guide that a guided room follows, and the state of each in the current pass.
//
//     waiting ──request──► live ──deallocation──► done              carried: a live block of the pass before
//                           └── not freed in time ─► late
//
// Internal. guided_room.hpp changes the states. A block of the pass before is `carried` while its slot waits again.
//
// Complexity: O(log slots) for `requests_before`, O(slots) for `has_live_slot`, O(1) for the others, except that
// `skip_freed` is O(1) on the average. Memory: 41 bytes for each slot on a 64-bit machine, on the heap.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/extent.hpp>
#include <allot/plan/pass.hpp>
#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The guide of a room, the position in it, and the state of its slots. `Allocation` is that of the room.
template <class Allocation>
class guided_slots {
protected:
    // States of a slot. From `carried` on, it has a live block.
    enum state : std::uint8_t { waiting, done, carried, live, late };

    /// Makes arrays for a guide. Returns false if the heap is exhausted.
    [[nodiscard]] bool reserve(std::size_t slots) noexcept {
        const auto count = static_cast<record_index>(slots);
        return (states_.capacity() >= count || states_.grow(count)) &&
               (held_.capacity() >= count || held_.grow(count)) &&
               (entries_.capacity() >= count || entries_.grow(count));
    }
    /// Takes another guide, or none. All slots wait.
    void follow(const guide* by) noexcept {
        guide_ = by;
        calls_ = by == nullptr ? nullptr : by->calls.data();
        slots_ = by == nullptr ? nullptr : by->slots.data();
        ++epoch_;
        is_pinned_ = false;
        for (std::uint32_t i = 0; i != slot_count(); ++i) is_pinned_ = is_pinned_ || slots_[i].is_pinned;
        for (std::uint32_t i = 0; i != slot_count(); ++i) states_[i] = waiting;
    }

    [[nodiscard]] std::uint32_t slot_count() const noexcept {
        return guide_ == nullptr ? 0 : static_cast<std::uint32_t>(guide_->slots.size() - 1);
    }
    /// Returns a function that returns whether a slot waits for its request.
    [[nodiscard]] auto is_waiting() const noexcept {
        return [this](std::uint32_t slot) { return states_[slot] == waiting; };
    }
    [[nodiscard]] bool has_live_slot() const noexcept {
        for (std::uint32_t i = 0; i != slot_count(); ++i)
            if (states_[i] >= carried) return true;
        return false;
    }
    /// Returns the size of the block of a slot.
    [[nodiscard]] std::size_t size_of(std::uint32_t slot) const noexcept {
        return in_step_ ? static_cast<std::size_t>(slots_[slot].size) : held_[slot].where.size;
    }
    /// Returns the place of a slot in the guide.
    [[nodiscard]] basic_extent<std::size_t> extent_of_slot(std::uint32_t i) const noexcept {
        return {static_cast<std::size_t>(slots_[i].offset), static_cast<std::size_t>(slots_[i].size)};
    }
    /// Returns whether a block is at the place of a slot.
    [[nodiscard]] bool is_faithful(std::uint32_t i, basic_extent<std::size_t> where, std::size_t align) const noexcept {
        const guide_slot& slot = slots_[i];
        return slot.is_planned && where.offset == slot.offset && where.size <= slot.size && align <= slot.align;
    }
    /// Returns the rule of the guide. Without a guide, that is best fit.
    [[nodiscard]] guide_rule rule() const noexcept { return guide_ == nullptr ? guide_rule::best_fit : guide_->rule; }

    /// Returns the number of requests of the guide before a call.
    [[nodiscard]] std::uint32_t requests_before(std::uint32_t call) const noexcept {
        std::uint32_t low = 0, high = slot_count();
        while (low != high) {
            const std::uint32_t middle = low + (high - low) / 2;
            if (slots_[middle].at < call) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    /// Moves the position behind deallocations of blocks that are freed.
    void skip_freed() noexcept {
        while ((calls_[call_] & 1U) != 0 && states_[calls_[call_] >> 1U] < carried) ++call_;
    }

    const guide* guide_ = nullptr;
    const std::uint32_t* calls_ = nullptr;
    const guide_slot* slots_ = nullptr;
    std::uint32_t call_ = 0;  // index of the guide's next call
    std::uint32_t epoch_ = 1;
    bool in_step_ = false;
    bool is_pinned_ = false;         // a slot of the guide is
    record_array<state, 0> states_;  // index: slot, as in the next two
    record_array<Allocation, 0> held_;
    record_array<std::uint64_t, 0> entries_;  // in the log
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
