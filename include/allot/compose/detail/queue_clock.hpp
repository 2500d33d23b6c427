// SPDX-License-Identifier: BSL-1.0
// queue_clock: the queues of `ordered`, the points on them, and the knowledge of each queue about the others.
//
//     queue 0   ──free(epoch 1)──●──free(epoch 2)──►     ● recorded when queue 1 first needs bytes of epoch 1
//                                │
//     queue 1   ─────────────────┴──►                    knows: queue 0 up to epoch 1, and all that queue 0 knew at ●
//
// Internal. `Timeline` is the driver. pending_use.hpp describes epochs. A row of knowledge belongs to a queue, or to
// the host in the row after the last queue. Two more columns stand for external points and for uses by the host. Points
// of a queue cover all earlier work of that queue. External points cover no others.
//
// A queue that was abandoned no longer runs. Its uses replaced earlier ones that it waited for. Therefore they end with
// the work of all other queues until then.
//
// Complexity: O(queues + points) for the functions that call the driver, O(1) for the others.
// Memory: one epoch for each pair of queues and for each queue in every recorded point.
// Thread safety: not synchronized.
#pragma once

#include <allot/compose/detail/host_use_list.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/core/timeline.hpp>
#include <allot/strategy/detail/pending_use.hpp>

#include <algorithm>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Queues, points and knowledge.
template <class Timeline, ordered_options Options>
class queue_clock {
    using error_type = typename Timeline::error_type;
    using point_type = typename Timeline::point_type;
    using queue_type = typename Timeline::queue_type;

public:
    static constexpr unsigned host_row = Options.queues;       // the row of the host
    static constexpr unsigned external = Options.queues;       // the column of external points
    static constexpr unsigned host_uses = Options.queues + 1;  // the column of uses by the host
    static constexpr unsigned columns = Options.queues + 2;
    static constexpr queue_set all = ~queue_set{0} >> (32 - columns);
    using row_type = knowledge<columns>;

    Timeline timeline;

    explicit queue_clock(Timeline from) noexcept : timeline{std::move(from)} {
        for (row_type& row : known_) row.until.fill(end_of_time);
        for (unsigned at = 0; at != Options.queues; ++at) known_[at].self = queue_set{1} << at;
    }

    /// Permits calls of the device that a capture by a queue forbids, because they concern other work.
    [[nodiscard]] static auto permission() noexcept {
        struct nothing {};
        if constexpr (requires { typename Timeline::relaxed_capture; }) return typename Timeline::relaxed_capture{};
        else return nothing{};
    }

    // ── queues ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Adds a queue. Returns its number; `Options.queues` if there is no room.
    [[nodiscard]] unsigned attach(queue_type queue) noexcept {
        for (unsigned at = 0; at != Options.queues; ++at) {
            if (is_running(at)) continue;
            queues_[at].native = queue;
            attached_ |= queue_set{1} << at;
            running_ |= queue_set{1} << at;
            const queue_set own = timeline.in_order(queue) ? queue_set{1} << at : 0;
            known_[at].until = known_[host_row].until;
            known_[at].own = own;
            for (row_type& row : known_)
                row.until[at] = now_;  // the uses of an earlier queue with this number are done
            ++now_;
            if (known_[at].own != 0) known_[at].until[at] = end_of_time;
            return at;
        }
        for_each_queue(lost_, [&](unsigned at) { static_cast<void>(cover(at, 0)); });  // so that a later call has room
        return Options.queues;
    }
    /// Removes a queue after it was recorded a last time. Its number is free when that point passes.
    [[nodiscard]] error_type detach(unsigned queue) noexcept {
        recorded* last = nullptr;
        if (const error_type error = record(queue, last); error != error_type{}) return error;
        last->epoch = end_of_time;
        attached_ &= ~(queue_set{1} << queue);
        return {};
    }
    /// Gives the number of a queue to another one, whose later work waits for the earlier work of the first.
    [[nodiscard]] error_type replace(unsigned queue, queue_type next) noexcept {
        recorded* last = nullptr;
        if (const error_type error = record(queue, last); error != error_type{}) return error;
        if (const error_type error = timeline.wait(next, last->point); error != error_type{}) return error;
        queues_[queue].native = next;
        row_type& row = known_[queue];
        row.own = timeline.in_order(next) ? queue_set{1} << queue : 0;
        row.until[queue] = row.own != 0 ? end_of_time : last->epoch;
        return {};
    }
    /// Returns the set of one queue if it is attached, otherwise an empty set.
    [[nodiscard]] ALLOT_INLINE queue_set attached(unsigned queue) const noexcept {
        return attached_ & queue_set{1} << (queue % 32);
    }
    /// Returns true if requests of a row are possible.
    [[nodiscard]] ALLOT_INLINE bool is_row(unsigned row) const noexcept {
        return ((attached_ | queue_set{1} << host_row) >> (row % 32) & 1U) != 0;
    }
    /// Returns all queues whose work may still run.
    [[nodiscard]] queue_set running() const noexcept { return running_; }

    // ── knowledge ────────────────────────────────────────────────────────────────────────────────────────────────

    /// The epoch of uses that are pending from now on.
    [[nodiscard]] epoch now() const noexcept { return now_; }
    /// Returns the knowledge of a row.
    [[nodiscard]] const row_type& known(unsigned row) const noexcept { return known_[row % 32]; }
    /// Returns the columns that a request can wait for.
    [[nodiscard]] queue_set waitable() const noexcept {
        queue_set set = (running_ & ~failed_) | queue_set{1} << external;
        for_each_queue(lost_, [&](unsigned at) {
            if ((queues_[at].behind & ~set) != 0) set &= ~(queue_set{1} << at);
        });
        return set;
    }

    /// Asks the driver which points passed. Returns true if the host learned of one.
    bool poll() noexcept {
        bool learned = false;
        for (unsigned at = 0; at != Options.queues; ++at) {
            queue_state& of = queues_[at];
            failed_ &= ~(queue_set{1} << at);
            while (of.count != 0) {
                const point_state now = timeline.state(of.points[0].point);
                if (now == point_state::failed) failed_ |= queue_set{1} << at;
                if (now != point_state::passed) break;
                pass(at);
                learned = true;
            }
        }
        learned |= pass_external();
        pass_lost();
        return learned;
    }
    /// Makes work of a row run after the uses of a column up to `until`. With `handed`, hands the points to the
    /// function instead.
    template <class Handed>
    [[nodiscard]] error_type wait(unsigned row, unsigned column, epoch until, Handed&& handed) noexcept {
        if (column == external) return wait_external(row, until, handed);
        if (is_lost(column)) return wait_for_lost(row, column, handed);
        if constexpr (std::same_as<std::remove_cvref_t<Handed>, no_hand>) {
            if (row == column) return wait_for_itself(row);
        }
        recorded* at = nullptr;
        if (const error_type error = point_for(column, until, at); error != error_type{}) return error;
        if (const error_type error = wait_for(row, at->point, handed); error != error_type{}) return error;
        learn(known_[row], column, *at);
        return {};
    }
    /// Learns that later work of a row comes after the earlier work of a queue. For the host, that work is done.
    void follow(unsigned row, unsigned queue) noexcept {
        const recorded last{now_, {}, known_now(queue)};
        ++now_;
        if (row != host_row) return learn(known_[row], queue, last);
        for (row_type& each : known_) learn(each, queue, last);
        pass_lost();
    }
    /// Stands for a function that takes points, where waits are inserted.
    struct no_hand {};

    /// Returns true if a recorded point of a queue is pending.
    [[nodiscard]] bool has_points(unsigned column) const noexcept {
        return column < Options.queues && queues_[column].count != 0;  // none if it is lost
    }
    /// Makes sure that a point covers the uses of a column up to `until`.
    [[nodiscard]] error_type cover(unsigned column, epoch until) noexcept {
        if (column >= Options.queues) return {};
        recorded* at = nullptr;
        if (!is_lost(column)) return point_for(column, until, at);
        error_type error{};
        for_each_queue(queues_[column].behind, [&](unsigned other) {
            if (error == error_type{}) error = cover(other, queues_[column].lost_at);
        });
        return error;
    }

    // ── external points and uses by the host ─────────────────────────────────────────────────────────────────────

    /// Adds an external point. Returns its epoch; 0 if there is no room.
    [[nodiscard]] epoch add_external(point_type& point) noexcept {
        if (external_count_ == Options.external && !(poll() && external_count_ != Options.external)) return 0;
        externals_[external_count_].point = std::exchange(point, point_type{});
        return externals_[external_count_++].epoch = begin(external);
    }
    /// Starts a use by the host. Returns its epoch; 0 if there is no room.
    [[nodiscard]] epoch begin_host_use() noexcept {
        return host_uses_.is_full() ? 0 : host_uses_.add(begin(host_uses));
    }
    [[nodiscard]] bool is_host_use(epoch use) const noexcept { return host_uses_.contains(use); }
    /// Ends a use by the host. Returns false if there is no such use.
    bool end_host_use(epoch use) noexcept {
        if (!host_uses_.remove(use)) return false;
        for (row_type& row : known_) row.until[host_uses] = host_uses_.ended_until();
        return true;
    }

    /// Releases all points, and treats all uses as done.
    void forget_all() noexcept {
        for (queue_state& of : queues_)
            while (of.count != 0) timeline.release(of.points[--of.count].point);
        running_ = attached_;
        lost_ = 0;
        while (external_count_ != 0) timeline.release(externals_[--external_count_].point);
        host_uses_.clear();
        failed_ = 0;
        for (row_type& row : known_) row.until.fill(now_);
        ++now_;
        for (unsigned at = 0; at != Options.queues; ++at) {
            if (!is_running(at))
                for (row_type& row : known_) row.until[at] = end_of_time;
            else if (known_[at].own != 0) known_[at].until[at] = end_of_time;
        }
        for (row_type& row : known_) row.until[external] = row.until[host_uses] = end_of_time;
    }

    /// Releases the points of a queue that no longer runs. Its number is free when the other queues have done their
    /// work.
    void forget(unsigned at) noexcept {
        queue_state& of = queues_[at];
        while (of.count != 0) timeline.release(of.points[--of.count].point);
        const queue_set bit = queue_set{1} << at;
        attached_ &= ~bit;
        failed_ &= ~bit;
        lost_ |= bit;
        of.behind = running_ & ~lost_;
        if (external_count_ != 0) of.behind |= queue_set{1} << external;
        of.lost_at = now_++;
        pass_lost();
    }

private:
    [[nodiscard]] bool is_running(unsigned queue) const noexcept { return (running_ >> queue & 1U) != 0; }
    [[nodiscard]] bool is_lost(unsigned queue) const noexcept { return (lost_ >> queue & 1U) != 0; }

    struct recorded {
        detail::epoch epoch = 0;
        point_type point{};
        epochs<columns> knows{};
    };
    struct queue_state {
        queue_type native{};
        unsigned count = 0;
        recorded points[Options.points];  // in the order of their epochs
        queue_set behind = 0;             // the queues that a lost queue may have waited for
        epoch lost_at = 0;
    };
    struct external_point {
        detail::epoch epoch = 0;
        point_type point{};
    };

    /// Returns the earliest point of a queue that covers its uses up to `until`. Records one if no point does.
    [[nodiscard]] error_type point_for(unsigned at, epoch until, recorded*& found) noexcept {
        queue_state& of = queues_[at];
        for (unsigned i = 0; i != of.count; ++i)
            if (of.points[i].epoch >= until) {
                found = &of.points[i];
                return {};
            }
        return record(at, found);
    }
    [[nodiscard]] error_type record(unsigned at, recorded*& fresh) noexcept {
        queue_state& of = queues_[at];
        if (of.count == Options.points) {  // the next point covers the work before the oldest one
            if (const error_type error = timeline.record(of.native, of.points[0].point); error != error_type{})
                return error;
            std::rotate(of.points, of.points + 1, of.points + of.count);
        } else {
            if (const error_type error = timeline.record(of.native, of.points[of.count].point); error != error_type{})
                return error;
            ++of.count;
        }
        fresh = &of.points[of.count - 1];
        fresh->epoch = now_;
        fresh->knows = known_now(at);
        ++now_;
        return {};
    }
    /// Returns the knowledge of a queue, without knowledge about later epochs.
    [[nodiscard]] epochs<columns> known_now(unsigned queue) const noexcept {
        epochs<columns> knows{};
        for (unsigned i = 0; i != columns; ++i) knows[i] = std::min(known_[queue].until[i], now_);
        return knows;
    }
    /// Adds what is known after a point on queue `column`.
    static void learn(row_type& row, unsigned column, const recorded& point) noexcept {
        for (unsigned i = 0; i != columns; ++i) row.until[i] = std::max(row.until[i], point.knows[i]);
        row.until[column] = std::max(row.until[column], point.epoch);
    }
    /// Learns that the oldest point of a queue passed.
    void pass(unsigned at) noexcept {
        queue_state& of = queues_[at];
        for (row_type& row : known_) learn(row, at, of.points[0]);
        timeline.release(of.points[0].point);
        std::rotate(of.points, of.points + 1, of.points + of.count);
        if (--of.count == 0 && attached(at) == 0) running_ &= ~(queue_set{1} << at);
    }
    /// Learns which lost queues waited for no work that still runs.
    void pass_lost() noexcept {
        for (queue_set before = 0; before != lost_;) {  // one may have waited for another
            before = lost_;
            for_each_queue(before, [&](unsigned at) {
                queue_state& of = queues_[at];
                for_each_queue(of.behind, [&](unsigned other) {
                    if (known_[host_row].until[other] >= of.lost_at) of.behind &= ~(queue_set{1} << other);
                });
                if (of.behind != 0) return;
                for (row_type& row : known_) row.until[at] = end_of_time;
                lost_ &= ~(queue_set{1} << at);
                running_ &= ~(queue_set{1} << at);
            });
        }
    }
    bool pass_external() noexcept {
        unsigned left = 0;
        for (unsigned i = 0; i != external_count_; ++i) {
            if (timeline.state(externals_[i].point) == point_state::passed) timeline.release(externals_[i].point);
            else if (left != i) std::swap(externals_[left++], externals_[i]);
            else ++left;
        }
        if (left == std::exchange(external_count_, left)) return false;
        const epoch until = left == 0 ? end_of_time : externals_[0].epoch - 1;
        for (row_type& row : known_) row.until[external] = std::max(row.until[external], until);
        return true;
    }
    /// Starts a use in a column whose uses end in any order.
    [[nodiscard]] epoch begin(unsigned column) noexcept {
        for (row_type& row : known_) row.until[column] = std::min(row.until[column], now_ - 1);
        return now_++;
    }

    template <class Handed>
    [[nodiscard]] error_type wait_for(unsigned row, const point_type& point, Handed& handed) noexcept {
        if constexpr (!std::same_as<std::remove_cvref_t<Handed>, no_hand>) {
            handed(point);
            return {};
        } else {
            return row == host_row ? timeline.wait_on_host(point) : timeline.wait(queues_[row].native, point);
        }
    }
    [[nodiscard]] error_type wait_for_itself(unsigned row) noexcept {
        if (const error_type error = timeline.barrier(queues_[row].native); error != error_type{}) return error;
        known_[row].until[row] = now_++;
        return {};
    }
    /// Makes work of a row run after all that a lost queue may have waited for.
    template <class Handed>
    [[nodiscard]] error_type wait_for_lost(unsigned row, unsigned column, Handed& handed) noexcept {
        error_type error{};
        for_each_queue(queues_[column].behind, [&](unsigned other) {
            const epoch until = queues_[column].lost_at;
            if (error == error_type{} && known_[row].until[other] < until) error = wait(row, other, until, handed);
        });
        if (error == error_type{}) known_[row].until[column] = end_of_time;
        return error;
    }
    template <class Handed>
    [[nodiscard]] error_type wait_external(unsigned row, epoch until, Handed& handed) noexcept {
        for (unsigned i = 0; i != external_count_ && externals_[i].epoch <= until; ++i) {
            if (externals_[i].epoch <= known_[row].until[external]) continue;
            if (const error_type error = wait_for(row, externals_[i].point, handed); error != error_type{})
                return error;
        }
        known_[row].until[external] = std::max(known_[row].until[external], until);
        return {};
    }

    queue_state queues_[Options.queues];
    row_type known_[Options.queues + 1];
    queue_set attached_ = 0, running_ = 0;  // a queue that was detached runs until its last point passes
    epoch now_ = 1;
    queue_set failed_ = 0;  // queues with a point that the driver cannot answer for
    queue_set lost_ = 0;    // queues that were abandoned
    external_point externals_[Options.external];
    unsigned external_count_ = 0;
    host_use_list<Options.external> host_uses_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
