// SPDX-License-Identifier: BSL-1.0
// ejection: changes a given plan to reach a lower height with few moved buffers (ejection search).
//
//     bytes                         An attempt takes out every buffer that ends above the wanted height. A buffer that
//       ▲       ┌───┐               is out returns to its old place, or to the smallest gap that fits, or ejects other
//     ──┼───────│ c │─── height     buffers. The limit on moves must allow the ejection. A buffer's penalty counts how
//       │  ┌────┴┬──┘               often it had to eject others. The least sum of penalties is ejected.
//       │  │  b  ├────┐             Here c is out and takes the place of b, and b is placed next to a.
//       │  └─────┤ a  │
//       └────────┴────┴──► time
//
// Attempts differ by noise of a fixed seed. They repeat until one succeeds or the effort is spent.
//
// Source: Nagata and Bräysy, A powerful route minimization heuristic for the vehicle routing problem with time windows,
// Operations Research Letters 37, 2009 (choice of ejected buffers). Complexity: O(n log n) to begin, plus the extents
// of a `gaps` block that overlap in bytes; then the given effort, and `spent` reports the used part of it. Memory:
// `space`, 48 bytes a buffer and the space of `gaps` and `timeline`. Thread safety: none.
#pragma once

#include <allot/plan/detail/gaps.hpp>
#include <allot/plan/detail/greedy.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Searches from the old offsets of some buffers. The problem is valid and has no `together`.
// A template, so that only programs that use it compile it.
template <class = void>
class ejection_search {
public:
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();    // cost of a fixed buffer
    static constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();  // home of a new buffer

    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space all = gaps::space(problem);
        all.u32 += 10 * buffers;
        all.u64 += buffers + timeline::space(lifetimes).u64;
        return all;
    }

    /// `home` is the old offset of each buffer. `cost` is the number of moves to place it elsewhere: 0 for a changed
    /// buffer.
    constexpr ejection_search(const plan_problem& problem, const plan_sizes& sizes, const std::uint64_t* home,
                              const std::uint32_t* cost, plan_workspace workspace) noexcept
        : buffers_{problem.buffers.data()},
          count_{static_cast<std::uint32_t>(problem.buffers.size())},
          home_{home},
          cost_{cost},
          offsets_{workspace.cut_u64(count_)} {
        for (auto* array : {&by_end_, &waiting_, &always_out_, &touched_, &scratch_, &state_, &is_touched_, &penalty_,
                            &stamp_, &key_})
            *array = workspace.cut_u32(count_);
        const timeline time{problem, workspace};
        gaps_ = gaps{problem, sizes, time, offsets_, workspace};
    }

    /// Places each buffer at its old offset where possible. Returns the first fixed buffer that collides; the number of
    /// buffers if there is no collision.
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
        // Colliding buffers are taken out. They return in the order of fewest collisions, changed buffers last.
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
        // Highest ends first.
        sort_by(by_end_, scratch_, count_,
                [&](std::uint32_t i) { return home_[i] == nowhere ? nowhere : ~home_end(i); });
        for (std::uint32_t i = 0; i != count_; ++i)
            if (state_[i] == out) {
                always_out_[always_++] = i;
                forced_ += cost_[i];
            }
        return count_;
    }

    /// Number of moves that every attempt makes.
    [[nodiscard]] constexpr std::uint64_t forced() const noexcept { return forced_; }
    /// Number of buffers that cost no move or are always moved.
    [[nodiscard]] constexpr std::size_t at_liberty() const noexcept {
        std::size_t free = 0;
        for (std::uint32_t i = 0; i != count_; ++i) free += cost_[i] == 0 || state_[i] == out;
        return free;
    }
    /// Returns a buffer that every attempt moves; the number of buffers if there is no such buffer.
    [[nodiscard]] constexpr std::uint32_t first_forced() const noexcept {
        for (std::uint32_t at = 0; at != always_; ++at)
            if (cost_[always_out_[at]] != 0) return always_out_[at];
        return count_;
    }
    /// Returns a lower bound on the height that attempts with at most `moves` moves can reach. Precondition:
    /// moves >= forced().
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
    /// Spent effort, in placed buffers. A placement that compares many other buffers counts for more.
    [[nodiscard]] constexpr std::uint64_t spent() const noexcept {
        return placed_ + (gaps_.looked_at() + compared_) / 256;
    }

    /// Attempts once to make a plan with at most `moves` moves that ends at or below `height`. On success it is in
    /// `offsets()`.
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
                const plan_array<const plan_extent> met = gaps_.in_the_way(waiting_[noise_.below(waits_)]);
                if (met.empty()) continue;
                const std::uint32_t other = met[noise_.below(static_cast<std::uint32_t>(met.size()))].buffer;
                if (other != count_ && cost_[other] <= moves - used_) leave(other);
            }
        // Smallest keys first: the last, largest buffer is placed first.
        for (std::uint32_t at = 0; at != waits_; ++at)
            if (const std::uint32_t i = waiting_[at]; buffers_[i].size != 0)
                key_[i] = logarithm(buffers_[i].size) + (bold_ ? noise_(11) : 0);
        sort_by(waiting_, scratch_, waits_, [&](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        // Limits the number of placements, because ejections may repeat forever.
        for (std::uint64_t left = 32 + 8 * (std::uint64_t{waits_} + moves); waits_ != 0; --left)
            if (left == 0 || spent() >= limit || !settle(waiting_[--waits_], height, moves)) return false;
        return true;
    }

    /// Repeats attempts until one succeeds, the effort is spent, or `stop()` returns true. Returns whether one
    /// succeeded.
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

    /// Returns the number of placed buffers and reserved ranges that share bytes with a buffer at its old offset.
    [[nodiscard]] constexpr std::uint32_t collisions(std::uint32_t i) noexcept {
        std::uint32_t others = 0;
        if (buffers_[i].size == 0) return 0;
        for (const plan_extent& other : gaps_.in_the_way(i)) {
            if (other.buffer == i || other.begin >= home_end(i) || other.end <= home_[i]) continue;
            ++others;
        }
        return others;
    }

    /// Places a buffer that is out: at its old offset, in the smallest gap, or where other buffers are ejected.
    [[nodiscard]] constexpr bool settle(std::uint32_t i, std::uint64_t height, std::uint64_t moves) noexcept {
        ++placed_;
        const plan_array<const plan_extent> met = gaps_.in_the_way(i);
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

    /// Places a buffer where the ejected buffers have the least sum of penalties.
    [[nodiscard]] constexpr bool drive_out(std::uint32_t i, plan_array<const plan_extent> met, std::uint64_t height,
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

    /// Restores the state after `begin`.
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
