// SPDX-License-Identifier: BSL-1.0
// ordered_waits: the arena and the clock of an `ordered`, and its waits for the pending uses of bytes.
//
//     arena: which uses the found bytes still have ─► clock: points on the queues of these uses ─► a wait
//
// Internal. ordered.hpp decides when a request waits.
//
// Complexity: O(queues) calls of the driver; `wait_for_place` also visits the holes or pages.
// Memory: that of the members. Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/arena_access.hpp>
#include <allot/compose/detail/ordered_arena.hpp>
#include <allot/compose/detail/queue_clock.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// The members of an `ordered`. A queue is its number, which is the row of the clock.
template <class Arena, class Timeline, ordered_options Options>
class ordered_waits {
protected:
    using access = arena_access;
    using clock = queue_clock<Timeline, Options>;
    using arena_type = typename ordered_arena<Arena, clock::columns>::type;
    using block_type = typename arena_type::block_type;
    using error_type = typename Timeline::error_type;

    template <class... Arguments>
    explicit ordered_waits(Timeline from, Arguments&&... arguments) noexcept
        : clock_{std::move(from)}, arena_(std::forward<Arguments>(arguments)...) {}

    /// Applies the host's knowledge to the pending bytes.
    void settle() noexcept { access::strategy(arena_).settle(clock_.known(clock::host_row).until.data()); }
    /// Keeps an error of the driver for `diagnose`, and returns it.
    error_type note(error_type error) noexcept { return error_ = error; }
    /// Allocates from the regions that are held now, by `from(strategy, layout)`.
    template <class From>
    [[nodiscard]] block_type allocate_held(layout wanted, From from) noexcept {
        return access::allocate_held(arena_, wanted, from);
    }
    /// Makes the queue wait for the uses of a place for a block. Returns false without a place, or if the driver fails.
    template <class Handed>
    [[nodiscard]] bool wait_for_place(layout wanted, unsigned queue, Handed&& handed) noexcept {
        bool found = false;
        static_cast<void>(allocate_held(wanted, [&](auto& strategy, auto asked) {
            found = strategy.seek_behind(asked, clock_.waitable());
            return decltype(strategy.allocate(asked)){};
        }));
        return found && note(wait_for_all(queue, handed)) == error_type{};
    }
    /// Allocates a block without a wait, from a new region if necessary.
    [[nodiscard]] block_type allocate_grown(layout wanted) noexcept {
        [[maybe_unused]] const auto permitted = clock::permission();
        return arena_.allocate(wanted);
    }
    /// Records a point on each queue whose use was passed over, so that later requests take these bytes without a wait.
    void cover_passed_over() noexcept {
        const auto& strategy = arena_.strategy();
        for_each_queue(strategy.taken_queues(), [&](unsigned column) {
            if (!clock_.has_points(column)) static_cast<void>(clock_.cover(column, strategy.taken(column)));
        });
    }
    /// Makes a row wait for the uses that were taken with bytes.
    template <class Handed = typename clock::no_hand>
    [[nodiscard]] error_type wait_for_all(unsigned row, Handed&& handed = {}) noexcept {
        const auto& strategy = arena_.strategy();
        error_type error{};
        for_each_queue(strategy.taken_queues(), [&](unsigned column) {
            if (column == clock::host_uses || error != error_type{}) return;
            error = clock_.wait(row, column, strategy.taken(column), handed);
        });
        return error;
    }
    /// Records a point on each queue with a pending use, so that `poll` learns when it is done.
    void cover_all(unsigned queue) noexcept {
        auto& strategy = access::strategy(arena_);
        strategy.collect(clock_.known(queue));
        for_each_queue(strategy.taken_queues(), [&](unsigned column) {
            if (const error_type error = clock_.cover(column, strategy.taken(column)); error != error_type{})
                error_ = error;
        });
    }

    clock clock_;
    arena_type arena_;
    error_type error_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
