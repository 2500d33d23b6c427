// SPDX-License-Identifier: BSL-1.0
// pending_use: the work after which freed bytes can be reused, for `ordered`.
//
//     epochs     │    1    │    2    │    3    │           an epoch ends when a point is recorded on any queue
//     queue 0    ──free────●───────────free───►            {queues 0, epoch 1}: done when the point ● passes
//     queue 1    ────────────────free──●──────►            {queues 1, epoch 2}: done when the point ● passes
//
// Internal. Queues are numbered. One counter of epochs serves all queues. A pending use names queues and an epoch: the
// work that was submitted to these queues before the end of that epoch. A point on a queue covers the uses of that
// queue whose epoch is at most the point's. Knowledge is one epoch for each queue: the uses up to it are done.
//
// Complexity: O(queues named).
// Memory: 16 bytes.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/record_table.hpp>

#include <array>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// A number of an epoch. 0 precedes all work.
using epoch = std::uint64_t;
/// The epoch that follows all work.
inline constexpr epoch end_of_time = std::numeric_limits<epoch>::max();

/// A set of queues: bit `n` stands for queue `n`.
using queue_set = std::uint32_t;

/// One epoch for each of the queues.
template <unsigned Queues>
using epochs = std::array<epoch, Queues>;

/// The knowledge of a queue: for each queue, the epoch up to which its work is done before work of this queue runs.
template <unsigned Queues>
struct knowledge {
    epochs<Queues> until{};
    queue_set self = 0;  // the queue itself; empty for the host
    queue_set own = 0;   // `self` if its work runs in order: its uses are always known
};

/// Calls `f(queue)` for each queue of a set.
template <class Function>
ALLOT_INLINE constexpr void for_each_queue(queue_set set, Function f) noexcept {
    for (; set != 0; set &= set - 1) f(static_cast<unsigned>(std::countr_zero(set)));
}

/// The work after which bytes can be reused. `next` links the pending uses of one hole.
struct pending_use {
    detail::epoch epoch = 0;
    queue_set queues = 0;
    record_index next = no_record;

    /// Returns the queues whose work is not known to be done. `known` points to one epoch for each queue.
    [[nodiscard]] ALLOT_INLINE constexpr queue_set unknown(const detail::epoch* known) const noexcept {
        queue_set rest = 0;
        for_each_queue(queues, [&](unsigned queue) {
            if (epoch > known[queue]) rest |= queue_set{1} << queue;
        });
        return rest;
    }
    /// Adds the uses of `other`.
    constexpr void join(const pending_use& other) noexcept {
        queues |= other.queues;
        if (other.queues != 0 && other.epoch > epoch) epoch = other.epoch;
    }
};

/// The uses that requests of a queue took with their bytes, and must wait for.
template <unsigned Queues>
class taken_uses {
public:
    /// The knowledge of the queue that allocates.
    const knowledge<Queues>* by = &nothing;
    /// Starts to accumulate the uses that are not in this knowledge.
    constexpr void clear_taken() noexcept { taken_queues_ = 0; }
    /// The queues whose uses were taken since `clear_taken`.
    [[nodiscard]] constexpr queue_set taken_queues() const noexcept { return taken_queues_; }
    /// The latest epoch that was taken from a queue of `taken_queues`.
    [[nodiscard]] constexpr epoch taken(unsigned queue) const noexcept { return taken_[queue]; }
    /// Adds a pending use to the taken ones.
    ALLOT_INLINE constexpr void take(const pending_use& use) noexcept {
        if ((use.queues & ~by->own) != 0) take_unowned(use);
    }
    /// Returns the queues of a new block whose bytes had these pending uses: the queue that allocates, whose later work
    /// runs after them. Work that is submitted to it before the block is freed covers them.
    [[nodiscard]] ALLOT_INLINE constexpr queue_set users_after(queue_set earlier) const noexcept {
        return earlier != 0 ? by->self : 0;
    }

private:
    ALLOT_NOINLINE constexpr void take_unowned(const pending_use& use) noexcept {
        for_each_queue(use.unknown(by->until.data()), [&](unsigned queue) {
            const queue_set bit = queue_set{1} << queue;
            if ((taken_queues_ & bit) == 0 || taken_[queue] < use.epoch) taken_[queue] = use.epoch;
            taken_queues_ |= bit;
        });
    }

    static constexpr knowledge<Queues> nothing{};
    queue_set taken_queues_ = 0;
    epochs<Queues> taken_{};
};

/// The queue of the following requests, and the uses that following calls give back.
template <unsigned Queues>
class ordered_requests {
public:
    /// Sets the queue of the following requests by its knowledge, which must outlive them.
    ALLOT_INLINE constexpr void ask(const knowledge<Queues>& by) noexcept { taken_.by = &by; }
    /// Sets the use that is pending for bytes that are freed by following calls.
    ALLOT_INLINE constexpr void give_back(epoch until, queue_set queues) noexcept {
        given_back_.epoch = until;
        given_back_.queues = queues;
    }
    /// Returns the queues on which the last block must wait.
    [[nodiscard]] constexpr queue_set taken_queues() const noexcept { return taken_.taken_queues(); }
    /// Returns the epoch on a queue of `taken_queues` for which this block must wait.
    [[nodiscard]] constexpr epoch taken(unsigned queue) const noexcept { return taken_.taken(queue); }

protected:
    /// The queue of a search, and the queues that it may wait for.
    struct asker {
        const knowledge<Queues>* known;
        queue_set waitable;
        /// Returns the number of queues that a set of unknown uses waits for; -1 if a wait is not permitted.
        [[nodiscard]] constexpr int waits(queue_set unknown) const noexcept {
            return (unknown & ~waitable) != 0 ? -1 : std::popcount(unknown);
        }
    };

    taken_uses<Queues> taken_;
    pending_use given_back_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
