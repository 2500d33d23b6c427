// SPDX-License-Identifier: BSL-1.0
// queue_order: which operators of several queues run before which, and which buffers have ended before others begin.
//
//     operator ──► for each queue, the number of its operators that have surely ended when the operator begins
//     buffer   ──► the operators that must have ended, for each queue; those that have ended when it begins
#pragma once

#include <allot/plan/queued_problem.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

class queue_order {
public:
    explicit queue_order(const queued_problem& of) : queues_{1}, life_(of.buffers.size(), lifetime{0, 0}) {
        for (const std::size_t queue : of.queues) queues_ = std::max(queues_, queue + 1);
        // Operators that have ended when one ends: by queue, the index after the last one.
        std::vector<std::uint32_t> ended(of.queues.size() * queues_), begun(queues_ * of.queues.size()), last(queues_);
        std::vector<std::size_t> latest(queues_, of.queues.size());
        std::vector<queue_wait> waits{of.waits.begin(), of.waits.end()};
        std::stable_sort(waits.begin(), waits.end(),
                         [](const queue_wait& a, const queue_wait& b) { return a.operation < b.operation; });
        std::size_t next = 0;
        for (std::size_t now = 0; now != of.queues.size(); ++now) {
            std::uint32_t* const mine = begun.data() + now * queues_;
            const auto join = [&](std::size_t earlier) {
                for (std::size_t q = 0; q != queues_; ++q) mine[q] = std::max(mine[q], ended[earlier * queues_ + q]);
            };
            const std::size_t queue = of.queues[now];
            if (latest[queue] != of.queues.size()) join(latest[queue]);
            for (; next != waits.size() && waits[next].operation == now; ++next) join(waits[next].earlier);
            std::copy_n(mine, queues_, ended.data() + now * queues_);
            ended[now * queues_ + queue] = static_cast<std::uint32_t>(now + 1);
            latest[queue] = now;
        }
        const std::size_t count = of.buffers.size();
        last_.assign(count * queues_, 0);
        first_.assign(count * queues_, static_cast<std::uint32_t>(of.queues.size()));
        for (const queued_use& use : of.uses) {
            const auto step = static_cast<std::int64_t>(use.operation);
            std::uint32_t& end = last_[use.buffer * queues_ + of.queues[use.operation]];
            end = std::max(end, static_cast<std::uint32_t>(use.operation + 1));
            for (std::size_t q = 0; q != queues_; ++q) {
                std::uint32_t& first = first_[use.buffer * queues_ + q];
                first = std::min(first, begun[use.operation * queues_ + q]);
            }
            lifetime& live = life_[use.buffer];
            live = live.until == 0 ? lifetime{step, step + 1}
                                   : lifetime{std::min(live.from, step), std::max(live.until, step + 1)};
        }
    }

    /// Returns whether all uses of buffer `a` end before all uses of `b` begin. Both have uses.
    [[nodiscard]] bool is_before(std::size_t a, std::size_t b) const noexcept {
        for (std::size_t q = 0; q != queues_; ++q)
            if (last_[a * queues_ + q] > first_[b * queues_ + q]) return false;
        return true;
    }
    [[nodiscard]] bool is_used(std::size_t buffer) const noexcept { return life_[buffer].until != 0; }
    /// Returns the operators from the first use to the last one, in the order of submission.
    [[nodiscard]] lifetime life(std::size_t buffer) const noexcept { return life_[buffer]; }

private:
    std::size_t queues_;
    std::vector<std::uint32_t> last_, first_;  // by buffer and queue
    std::vector<lifetime> life_;               // by buffer
};

/// The heaviest set of buffers of which no two are ordered: the sum of all sizes minus the largest flow from buffers to
/// later buffers, in which each buffer gives and takes at most its size. The cut of the flow is the set.
class heaviest_set {
public:
    template <class Before>
    heaviest_set(std::vector<std::uint64_t> sizes, Before is_before)
        : count_{sizes.size()}, gives_{sizes}, takes_{sizes}, flow_(count_ * count_), next_(count_), later_(count_) {
        for (std::size_t a = 0; a != count_; ++a)
            for (std::size_t b = 0; b != count_; ++b)
                if (a != b && sizes[a] != 0 && sizes[b] != 0 && is_before(a, b))
                    later_[a].push_back(static_cast<std::uint32_t>(b));
        while (find_levels()) {
            std::fill(next_.begin(), next_.end(), std::size_t{0});
            for (std::size_t a = 0; a != count_; ++a)
                while (gives_[a] != 0 && givers_[a] == 0) {
                    const std::uint64_t moved = push(a, gives_[a]);
                    if (moved == 0) break;
                    gives_[a] -= moved;
                }
        }
        for (std::size_t i = 0; i != count_; ++i)
            if (givers_[i] != none && takers_[i] == none) members_.push_back(i);
    }
    [[nodiscard]] const std::vector<std::size_t>& members() const noexcept { return members_; }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// Computes the distance of each buffer, as a giver and as a taker, from givers with a rest. Returns whether a
    /// taker with a rest is reached.
    bool find_levels() {
        givers_.assign(count_, none);
        takers_.assign(count_, none);
        std::vector<std::uint32_t> open;
        for (std::size_t a = 0; a != count_; ++a)
            if (gives_[a] != 0) {
                givers_[a] = 0;
                open.push_back(static_cast<std::uint32_t>(a));
            }
        bool found = false;
        for (std::size_t at = 0; at != open.size(); ++at) {
            const std::uint32_t a = open[at];
            for (const std::uint32_t b : later_[a]) {
                if (takers_[b] != none) continue;
                takers_[b] = givers_[a] + 1;
                found = found || takes_[b] != 0;
                for (std::size_t c = 0; c != count_; ++c)  // a giver may give less to b
                    if (givers_[c] == none && flow_[c * count_ + b] != 0) {
                        givers_[c] = takers_[b] + 1;
                        open.push_back(static_cast<std::uint32_t>(c));
                    }
            }
        }
        return found;
    }
    /// Moves up to `most` along the levels. Returns the amount.
    std::uint64_t push(std::size_t a, std::uint64_t most) {
        for (; next_[a] != later_[a].size(); ++next_[a]) {
            const std::uint32_t b = later_[a][next_[a]];
            if (takers_[b] != givers_[a] + 1) continue;
            std::uint64_t moved = std::min(most, takes_[b]);
            if (moved != 0) {
                takes_[b] -= moved;
            } else {
                for (std::size_t c = 0; c != count_ && moved == 0; ++c) {
                    std::uint64_t& given = flow_[c * count_ + b];
                    if (given == 0 || givers_[c] != takers_[b] + 1) continue;
                    moved = push(c, std::min(most, given));
                    given -= moved;
                }
            }
            if (moved == 0) continue;
            flow_[a * count_ + b] += moved;
            return moved;
        }
        return 0;
    }

    std::size_t count_;
    std::vector<std::uint64_t> gives_, takes_;  // rests
    std::vector<std::uint64_t> flow_;           // by giver and taker
    std::vector<std::size_t> next_;
    std::vector<std::vector<std::uint32_t>> later_;
    std::vector<std::uint32_t> givers_, takers_;  // levels
    std::vector<std::size_t> members_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
