// SPDX-License-Identifier: BSL-1.0
// transfer_lists: batches of freed blocks that threads pass to each other without a lock.
//
// Internal. Each size has a few slots, and a slot has room for one batch. A thread that has too many blocks of a size
// writes a batch into an empty slot. A thread that has none reads a full slot.
//
//     empty ──compare-exchange──► closed: one thread writes ──release──► full
//       ▲                                                                 │
//       └────release──── closed: one thread reads ◄───compare-exchange────┘
//
// No call waits for another one: a thread skips a slot that another thread has closed. `Item` is copied by value.
// `Atomics` is a parameter so that a model checker can replace the atomic types.
//
// Complexity: O(slots), and O(batch) to copy.
//
// Thread safety: threads may call all functions concurrently.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/target.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {
inline namespace v1 {
namespace detail {

/// The atomic types of the program.
struct standard_atomics {
    template <class T>
    using atomic = std::atomic<T>;
    /// Is called in a loop that waits for another thread.
    static void wait() noexcept { ALLOT_PAUSE(); }
};

/// The parameters of transfer lists.
struct transfer_shape {
    std::size_t lists;  // one for each size
    std::size_t slots;  // of each list
    std::size_t batch;  // items of each slot
};

template <class Item, transfer_shape Shape, class Atomics = standard_atomics>
class transfer_lists {
public:
    /// Copies up to one batch from the array into an empty slot of a list. Returns false if no slot is empty.
    bool put(std::size_t list, const Item* from, std::size_t count) noexcept {
        for (slot& to : slots_[list]) {
            if (!close(to, state::empty)) continue;
            for (std::size_t i = 0; i != count; ++i) to.items[i] = from[i];
            to.count = count;
            to.now.store(state::full, std::memory_order_release);
            return true;
        }
        return false;
    }
    /// Copies the batch of a full slot of a list into the array. Returns the number of items; 0 if no slot is full.
    std::size_t take(std::size_t list, Item* to) noexcept {
        for (slot& from : slots_[list]) {
            if (!close(from, state::full)) continue;
            const std::size_t count = from.count;
            for (std::size_t i = 0; i != count; ++i) to[i] = from.items[i];
            from.now.store(state::empty, std::memory_order_release);
            return count;
        }
        return 0;
    }

private:
    enum class state : std::uint8_t { empty, closed, full };
    // On a microcontroller there is one core, and no cache line moves.
    static constexpr std::size_t apart = is_microcontroller ? alignof(std::max_align_t) : 64;
    struct alignas(apart) slot {
        typename Atomics::template atomic<state> now{state::empty};
        std::size_t count = 0;
        Item items[Shape.batch];
    };

    /// Makes a slot the caller's if it is in a state. The order acquires what the thread before wrote or has read.
    [[nodiscard]] static bool close(slot& which, state from) noexcept {
        return which.now.load(std::memory_order_relaxed) == from &&
               which.now.compare_exchange_strong(from, state::closed, std::memory_order_acquire,
                                                 std::memory_order_relaxed);
    }

    slot slots_[Shape.lists][Shape.slots]{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
