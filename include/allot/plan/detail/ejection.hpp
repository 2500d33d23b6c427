// SPDX-License-Identifier: BSL-1.0
// ejection: a plan made of another by taking few buffers out of it, and putting them back where others leave in turn.
//
//     bytes                         A height is tried, and whatever ends above it is taken out. What is out goes back
//       ▲       ┌───┐               to its place, into the smallest gap that it fits, or to where it drives out others,
//     ──┼───────│ c │─── height     which are then out themselves: those that were driven out seldom and in vain, and
//       │  ┌────┴┬──┘               whose moves are not yet spent. Here c is out, takes the place of b, and b goes
//       │  │  b  ├────┐             beside a.
//       │  └─────┤ a  │
//       └────────┴────┴──► time
//
// Attempts differ by a noise of fixed seed, and go on until one succeeds or the effort is spent.
//
// Source: Nagata and Bräysy, A powerful route minimization heuristic for the vehicle routing problem with time windows,
// Operations Research Letters 37, 2009 (who is driven out). Complexity: to begin with, O(n log n) and what lies beside
// each other in a block of `gaps` at the same bytes; then as much as is asked for, and `spent` says how much that was.
// Memory: `space`, 48 bytes a buffer, and that of `gaps` and `timeline`. Not synchronised.
#pragma once

#include <allot/plan/detail/gaps.hpp>
#include <allot/plan/detail/greedy.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Of a problem that is merged and checked, with places for some of its buffers.
class ejection_search {
public:
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();  // a cost: it is fixed
    static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();  // a home

    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space all = gaps::space(problem);
        all.words += 10 * buffers;
        all.longs += buffers + timeline::space(lifetimes).longs;
        return all;
    }

    /// Of each buffer, where it was and how many moves it costs not to be there; 0 for one that has changed.
    constexpr ejection_search(const plan_problem& problem, const plan_sizes& sizes, const std::uint64_t* home,
                              const std::uint32_t* cost, plan_workspace workspace) noexcept
        : buffers_{problem.buffers.data()},
          count_{static_cast<std::uint32_t>(problem.buffers.size())},
          home_{home},
          cost_{cost},
          offsets_{workspace.cut_longs(count_)} {
        for (auto* array : {&by_end_, &waiting_, &always_out_, &touched_, &scratch_, &state_, &is_touched_, &penalty_,
                            &stamp_, &key_})
            *array = workspace.cut_words(count_);
        const timeline time{problem, workspace};
        gaps_ = gaps{problem, sizes, time, offsets_, workspace};
    }

    /// Puts everything where it was that can be there. Says which fixed buffer cannot; how many there are when all can.
    [[nodiscard]] constexpr std::size_t begin() noexcept {
        for (std::uint32_t i = 0; i != count_; ++i) {
            state_[i] = out;
            stamp_[i] = is_touched_[i] = key_[i] = 0;
            penalty_[i] = 1;
            by_end_[i] = i;
        }
        if (const std::size_t fixed = gaps_.restart(); fixed != count_) return fixed;
        sort_by(by_end_, scratch_, count_, [&](std::uint32_t i) { return home_[i]; });
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (home_[i] != nowhere && cost_[i] != never) gaps_.put(i, home_[i]);
            if (home_[i] != nowhere) state_[i] = at_home;
        }
        // What collides is taken out; then those that collide with the fewest return first, and what has changed last.
        gaps_.each_collision([&](std::uint32_t a, std::uint32_t b) {
            for (const std::uint32_t i : {a, b})
                if (i != count_) is_touched_[i] = 1;
        });
        std::uint32_t colliding = 0;
        for (std::uint32_t i = 0; i != count_; ++i) {
            if (is_touched_[i] == 0) continue;
            is_touched_[i] = 0;
            if (cost_[i] == never) continue;
            penalty_[i] = collisions(i);
            touched_[colliding++] = i;
        }
        for (std::uint32_t at = 0; at != colliding; ++at) gaps_.take(touched_[at]);
        sort_by(touched_, scratch_, colliding,
                [&](std::uint32_t i) { return std::uint64_t{cost_[i] == 0} << 32 | penalty_[i]; });
        for (std::uint32_t at = 0; at != colliding; ++at) {
            const std::uint32_t i = touched_[at];
            penalty_[i] = 1;
            if (collisions(i) == 0) gaps_.put(i, home_[i]);
            else state_[i] = out;
        }
        // From the highest on.
        sort_by(by_end_, scratch_, count_,
                [&](std::uint32_t i) { return home_[i] == nowhere ? nowhere : ~home_end(i); });
        for (std::uint32_t i = 0; i != count_; ++i)
            if (state_[i] == out) {
                always_out_[always_++] = i;
                forced_ += cost_[i];
            }
        return count_;
    }

    /// Moves that have to be made.
    [[nodiscard]] constexpr std::uint64_t forced() const noexcept { return forced_; }
    /// How many buffers may lie anywhere, or have to move.
    [[nodiscard]] constexpr std::size_t at_liberty() const noexcept {
        std::size_t free = 0;
        for (std::uint32_t i = 0; i != count_; ++i) free += cost_[i] == 0 || state_[i] == out;
        return free;
    }
    /// A buffer that has to move.
    [[nodiscard]] constexpr std::uint32_t first_forced() const noexcept {
        for (std::uint32_t at = 0; at != always_; ++at)
            if (cost_[always_out_[at]] != 0) return always_out_[at];
        return count_;
    }
    /// No plan of so many moves is lower.
    [[nodiscard]] constexpr std::uint64_t lowest_reach(std::uint64_t moves) noexcept {
        start_over();
        moves -= forced_;
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (state_[i] != at_home || buffers_[i].size == 0) continue;
            if (cost_[i] > moves) return home_end(i);
            moves -= cost_[i];
        }
        return 0;
    }
    /// What was done, in buffers placed; one for which many others were looked at counts for more.
    [[nodiscard]] constexpr std::uint64_t spent() const noexcept {
        return placed_ + (gaps_.looked_at() + compared_) / 256;
    }

    /// One go at a plan with so many moves at most that ends at or below `height`, in `offsets()`.
    [[nodiscard]] constexpr bool attempt(std::uint64_t height, std::uint64_t moves, std::uint64_t limit) noexcept {
        start_over();
        for (std::uint32_t at = 0; at != always_; ++at) waiting_[waits_++] = always_out_[at];
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (home_[i] == nowhere || home_end(i) <= height) break;
            if (state_[i] == at_home && buffers_[i].size != 0 && cost_[i] != never) leave(i);
        }
        if (used_ > moves) return false;
        bold_ = attempts_++ % 4 != 0;
        if (bold_)
            while (waits_ != 0 && noise_(1) != 0) {
                const std::span<const plan_extent> met = gaps_.in_the_way(waiting_[any(waits_)]);
                if (met.empty()) continue;
                const std::uint32_t other = met[any(static_cast<std::uint32_t>(met.size()))].buffer;
                if (other != count_ && cost_[other] <= moves - used_) leave(other);
            }
        // The largest is the first to be placed.
        for (std::uint32_t at = 0; at != waits_; ++at)
            if (const std::uint32_t i = waiting_[at]; buffers_[i].size != 0)
                key_[i] = logarithm(buffers_[i].size) + (bold_ ? noise_(11) : 0);
        sort_by(waiting_, scratch_, waits_, [&](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        // As long as something moves on; but not round and round.
        for (std::uint64_t left = 32 + 8 * (std::uint64_t{waits_} + moves); waits_ != 0; --left)
            if (left == 0 || spent() >= limit || !settle(waiting_[--waits_], height, moves)) return false;
        return true;
    }

    /// One go after another.
    template <class Stop>
    [[nodiscard]] constexpr bool find(std::uint64_t height, std::uint64_t moves, std::uint64_t effort,
                                      Stop stop) noexcept {
        const std::uint64_t limit = spent() + effort;
        do {
            if (attempt(height, moves, limit)) return true;
        } while (spent() < limit && !stop());
        return false;
    }
    [[nodiscard]] constexpr const std::uint64_t* offsets() const noexcept { return offsets_; }
    [[nodiscard]] constexpr std::uint64_t height() const noexcept {
        std::uint64_t highest = 0;
        for (std::uint32_t i = 0; i != count_; ++i)
            if (buffers_[i].size != 0) highest = std::max(highest, offsets_[i] + buffers_[i].size);
        return highest;
    }

private:
    enum : std::uint32_t { at_home, elsewhere, out };

    [[nodiscard]] constexpr std::uint64_t home_end(std::uint32_t i) const noexcept {
        return home_[i] + buffers_[i].size;
    }

    /// How many of those placed, and of reserved ranges, share bytes with a buffer at home.
    [[nodiscard]] constexpr std::uint32_t collisions(std::uint32_t i) noexcept {
        std::uint32_t others = 0;
        if (buffers_[i].size == 0) return 0;
        for (const plan_extent& other : gaps_.in_the_way(i)) {
            if (other.buffer == i || other.begin >= home_end(i) || other.end <= home_[i]) continue;
            ++others;
        }
        return others;
    }

    /// Places a buffer that is out: at home, in the smallest gap, or where others have to leave.
    [[nodiscard]] constexpr bool settle(std::uint32_t i, std::uint64_t height, std::uint64_t moves) noexcept {
        ++placed_;
        const std::span<const plan_extent> met = gaps_.in_the_way(i);
        std::uint64_t top = 0, smallest = nowhere, offset = 0;
        bool home_is_free = home_[i] != nowhere && home_end(i) <= height;
        const auto gap = [&](std::uint64_t end) {
            std::uint64_t at = 0;
            if (top >= end && buffers_[i].size != 0) return;
            if (!checked_align_up(top, buffers_[i].align, at) || at > end || buffers_[i].size > end - at) return;
            const std::uint64_t room = bold_ ? noise_(16) : end - top;
            if (room >= smallest) return;
            smallest = room;
            offset = at;
        };
        for (const plan_extent& other : met) {
            gap(std::min(other.begin, height));
            if (home_is_free && other.begin < home_end(i) && home_[i] < other.end) home_is_free = false;
            top = std::max(top, other.end);
        }
        gap(height);
        if (home_is_free && !(bold_ && smallest != nowhere && noise_(1) != 0)) put(i, home_[i]);
        else if (smallest != nowhere) put(i, offset);
        else return drive_out(i, met, height, moves);
        return true;
    }

    /// Places a buffer where those leave that matter least.
    [[nodiscard]] constexpr bool drive_out(std::uint32_t i, std::span<const plan_extent> met, std::uint64_t height,
                                           std::uint64_t moves) noexcept {
        ++penalty_[i];
        std::uint64_t least = nowhere, offset = 0;
        const auto consider = [&](std::uint64_t from) {
            std::uint64_t at = 0;
            if (!checked_align_up(from, buffers_[i].align, at) || at > height || buffers_[i].size > height - at) return;
            const std::uint64_t most = moves + (at == home_[i] ? cost_[i] : 0), end = at + buffers_[i].size;
            std::uint64_t sum = 0, used = used_;
            if (++stamps_ == 0)
                for (std::uint32_t each = stamps_++; each != count_; ++each) stamp_[each] = 0;
            for (const plan_extent& other : met) {
                if (other.begin >= end) break;
                ++compared_;
                if (other.end <= at) continue;
                if (other.buffer == count_ || cost_[other.buffer] == never) return;
                if (stamp_[other.buffer] == stamps_) continue;
                stamp_[other.buffer] = stamps_;
                if (state_[other.buffer] == at_home) used += cost_[other.buffer];
                sum += std::uint64_t{penalty_[other.buffer]} << 6;
                if (used > most || sum >= least) return;
            }
            sum += noise_(6);
            if (sum >= least) return;
            least = sum;
            offset = at;
        };
        consider(0);
        if (home_[i] != nowhere) consider(home_[i]);
        for (const plan_extent& other : met) consider(other.end);
        if (least == nowhere) return false;
        for (const plan_extent& other : met)
            if (other.begin < offset + buffers_[i].size && offset < other.end && state_[other.buffer] != out)
                leave(other.buffer);
        put(i, offset);
        return true;
    }

    /// One of 0, …, below − 1.
    [[nodiscard]] constexpr std::uint32_t any(std::uint32_t below) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{noise_(32)} * below >> 32);
    }

    constexpr void put(std::uint32_t i, std::uint64_t offset) noexcept {
        gaps_.put(i, offset);
        state_[i] = offset == home_[i] ? at_home : elsewhere;
        if (offset == home_[i]) used_ -= cost_[i];
        touch(i);
    }
    constexpr void leave(std::uint32_t i) noexcept {
        gaps_.take(i);
        if (state_[i] == at_home) used_ += cost_[i];
        state_[i] = out;
        waiting_[waits_++] = i;
        touch(i);
    }
    constexpr void touch(std::uint32_t i) noexcept {
        if (is_touched_[i] != 0) return;
        is_touched_[i] = 1;
        touched_[touches_++] = i;
    }

    /// Everything where it was, but for what cannot be there.
    constexpr void start_over() noexcept {
        for (std::uint32_t at = 0; at != touches_; ++at)
            if (const std::uint32_t i = touched_[at]; state_[i] != out) {
                gaps_.take(i);
                state_[i] = out;
            }
        for (std::uint32_t at = 0; at != always_; ++at) is_touched_[always_out_[at]] = 0;
        for (std::uint32_t at = 0; at != touches_; ++at)
            if (const std::uint32_t i = touched_[at]; is_touched_[i] != 0) {
                is_touched_[i] = 0;
                gaps_.put(i, home_[i]);
                state_[i] = at_home;
            }
        touches_ = waits_ = 0;
        used_ = forced_;
    }

    const plan_buffer* buffers_;
    std::uint32_t count_;
    const std::uint64_t* home_;
    const std::uint32_t* cost_;
    std::uint64_t* offsets_;
    std::uint32_t *by_end_ = nullptr, *waiting_ = nullptr, *always_out_ = nullptr;  // lists
    std::uint32_t *touched_ = nullptr, *scratch_ = nullptr;
    std::uint32_t *state_ = nullptr, *is_touched_ = nullptr;                // by buffer
    std::uint32_t *penalty_ = nullptr, *stamp_ = nullptr, *key_ = nullptr;  // by buffer
    std::uint32_t always_ = 0, waits_ = 0, touches_ = 0, stamps_ = 0;
    std::uint64_t forced_ = 0, used_ = 0, placed_ = 0, compared_ = 0, attempts_ = 0;
    bool bold_ = false;
    noise noise_{};
    gaps gaps_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
