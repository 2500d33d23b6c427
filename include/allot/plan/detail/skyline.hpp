// SPDX-License-Identifier: BSL-1.0
// skyline: places buffers bottom up, always at the lowest level of the skyline.
//
//     bytes     ┌───────┐                 The skyline is the used height at each step. Its lowest stretch is filled
//       ▲       │   b   │  c fits here    first, with the buffer of the highest priority that lives only within the
//       │   ┌───┴───────┤◄─────────►┌───  stretch. If there is no such buffer, the stretch is lifted to its lower
//       │   │     a     │           │ d   neighbor, and the bytes below it are lost.
//       └───┴───────────┴───────────┴───► time
//
// Two tournament trees make a placement cheap. A tree over the skyline finds the lowest stretch. A tree over the
// buffers, in order of their beginnings, finds the highest priority among those that begin and end within the stretch.
// The search skips a subtree if all its buffers end too late, or if none has a higher priority than the best so far.
//
// The skyline considers sizes, rounded up to alignments, and one lifetime of each buffer: from its first beginning to
// its last end. It ignores everything else; `gaps` considers all of a problem and can place in the order of a skyline.
//
// Source: Sekiyama et al., Profile-guided memory optimization for deep neural networks, 2018, and Burke et al., A new
// placement heuristic for the orthogonal stock-cutting problem, Operations Research 52, 2004. The trees are new here.
// Complexity: O(n log n), plus O(log n) for each visited buffer that is live at an end of the stretch. Memory: `space`,
// 52 bytes a buffer and 28 a rank; 16 bytes of each grow to the next power of two. Thread safety: none.
#pragma once

#include <allot/plan/detail/timeline.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

class skyline {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    static constexpr std::uint64_t highest = ~std::uint64_t{0};

public:
    [[nodiscard]] static constexpr plan_space space(std::size_t buffers, std::size_t ranks) noexcept {
        return {5 * buffers + 3 * ranks + 2 + 4 * std::bit_ceil(buffers) + 2 * std::bit_ceil(ranks),
                2 * buffers + std::bit_ceil(ranks), 0};
    }

    /// Considers all buffers of the problem with a size. Precondition: the problem is valid.
    constexpr skyline(const plan_problem& problem, const timeline& time, plan_workspace& workspace) noexcept
        : buffers_{problem.buffers.data()}, ranks_{time.ranks()} {
        const auto all = static_cast<std::uint32_t>(problem.buffers.size());
        buffer_leaves_ = std::bit_ceil(all);
        rank_leaves_ = std::bit_ceil(ranks_);
        buffer_ = workspace.cut_u32(all);
        from_ = workspace.cut_u32(all);
        until_ = workspace.cut_u32(all);
        order_ = workspace.cut_u32(all);
        priority_ = workspace.cut_u32(all + 1);
        first_ = workspace.cut_u32(ranks_ + 1);
        end_ = workspace.cut_u32(ranks_);
        previous_ = workspace.cut_u32(ranks_);
        best_ = workspace.cut_u32(2 * buffer_leaves_);
        earliest_end_ = workspace.cut_u32(2 * buffer_leaves_);
        lowest_ = workspace.cut_u32(2 * rank_leaves_);
        size_ = workspace.cut_u64(all);
        offset_ = workspace.cut_u64(all);
        level_ = workspace.cut_u64(rank_leaves_);

        // Ranks by buffer, in the memory of the trees; then a counting sort of the buffers by rank.
        std::uint32_t *const begin = best_, *const end = earliest_end_;
        for (std::uint32_t i = 0; i != all; ++i) {
            begin[i] = time.rank(buffers_[i].live.from);
            end[i] = time.rank(buffers_[i].live.until);
        }
        for (const plan_revival& revival : problem.revivals) {
            begin[revival.buffer] = smaller(begin[revival.buffer], time.rank(revival.live.from));
            end[revival.buffer] = larger(end[revival.buffer], time.rank(revival.live.until));
        }
        for (std::uint32_t rank = 0; rank <= ranks_; ++rank) first_[rank] = 0;
        for (std::uint32_t i = 0; i != all; ++i)
            if (buffers_[i].size != 0) ++first_[begin[i]], ++count_;
        for (std::uint32_t rank = 0, sum = 0; rank <= ranks_; ++rank) first_[rank] = sum += first_[rank];
        for (std::uint32_t i = all; i-- != 0;) {
            if (buffers_[i].size == 0) continue;
            const std::uint32_t at = --first_[begin[i]];
            buffer_[at] = i;
            from_[at] = begin[i];
            until_[at] = end[i];
            fits_ = checked_align_up(buffers_[i].size, buffers_[i].align, size_[at]) && fits_;
        }
    }

    // Places, 0 … count() − 1, are in order of beginnings.
    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] constexpr std::uint32_t buffer(std::uint32_t place) const noexcept { return buffer_[place]; }
    [[nodiscard]] constexpr std::uint32_t length(std::uint32_t place) const noexcept {
        return until_[place] - from_[place];
    }
    /// Priorities by place, to set before a run: at least 1.
    [[nodiscard]] constexpr std::uint32_t* priorities() const noexcept { return priority_; }
    /// After a run: offsets by place, and the places in the order of placement.
    [[nodiscard]] constexpr const std::uint64_t* offsets() const noexcept { return offset_; }
    [[nodiscard]] constexpr std::uint32_t* order() const noexcept { return order_; }

    /// Places all buffers. Returns false if an end exceeds 64 bits, or when `stop()` returns true. `stop()` is
    /// called from time to time.
    template <class Stop>
    [[nodiscard]] constexpr bool run(Stop stop) noexcept {
        if (count_ == 0) return true;
        if (!fits_) return false;
        plant_trees();
        for (std::uint32_t placed = 0; placed != count_;) {
            const std::uint32_t start = lowest_[1];
            const std::uint64_t level = level_[start];
            const std::uint32_t best = best_within(start, end_[start]);
            if (best == count_) {
                if (!lift(start)) return false;
                continue;
            }
            std::uint64_t offset = 0;
            if (!checked_align_up(level, buffers_[buffer_[best]].align, offset) || size_[best] > highest - offset)
                return false;
            offset_[best] = offset;
            order_[placed++] = best;
            raise(start, from_[best], until_[best], offset + size_[best]);
            remove(best);
            if (placed % 256 == 0 && stop()) return false;
        }
        return true;
    }

private:
    constexpr void plant_trees() noexcept {
        priority_[count_] = 0;  // for unused leaves
        for (std::uint32_t i = 0; i != buffer_leaves_; ++i) {
            best_[buffer_leaves_ + i] = i < count_ ? i : count_;
            earliest_end_[buffer_leaves_ + i] = i < count_ ? until_[i] : none;
        }
        for (std::uint32_t node = buffer_leaves_; --node != 0;) {
            best_[node] =
                priority_[best_[2 * node + 1]] > priority_[best_[2 * node]] ? best_[2 * node + 1] : best_[2 * node];
            earliest_end_[node] = smaller(earliest_end_[2 * node], earliest_end_[2 * node + 1]);
        }
        for (std::uint32_t i = 0; i != rank_leaves_; ++i) {
            level_[i] = highest;
            lowest_[rank_leaves_ + i] = i;
        }
        for (std::uint32_t node = rank_leaves_; --node != 0;) lowest_[node] = lowest_[2 * node];
        level_[0] = 0;  // the leftmost rank already wins
        end_[0] = ranks_;
        previous_[0] = none;
    }

    /// Returns the place of the highest priority that lives within [start, end); `count_` if there is no such place.
    [[nodiscard]] constexpr std::uint32_t best_within(std::uint32_t start, std::uint32_t end) const noexcept {
        std::uint32_t stack[96];  // at most two subtrees of each height, and one sibling of each height
        std::uint32_t top = 0, best = count_;
        for (std::uint32_t low = first_[start] + buffer_leaves_, high = first_[end] + buffer_leaves_; low < high;
             low /= 2, high /= 2) {
            if (low % 2 != 0) stack[top++] = low++;
            if (high % 2 != 0) stack[top++] = --high;
        }
        while (top != 0) {
            const std::uint32_t node = stack[--top], here = best_[node];
            if (earliest_end_[node] > end || priority_[here] <= priority_[best]) continue;
            if (until_[here] <= end) {
                best = here;
            } else {
                stack[top++] = 2 * node + 1;
                stack[top++] = 2 * node;
            }
        }
        return best;
    }

    constexpr void remove(std::uint32_t place) noexcept {
        best_[buffer_leaves_ + place] = count_;
        earliest_end_[buffer_leaves_ + place] = none;
        for (std::uint32_t node = (buffer_leaves_ + place) / 2; node != 0; node /= 2) {
            const std::uint32_t a = best_[2 * node], b = best_[2 * node + 1],
                                best = priority_[b] > priority_[a] ? b : a;
            const std::uint32_t c = earliest_end_[2 * node], d = earliest_end_[2 * node + 1], end = c < d ? c : d;
            if (best_[node] == best && earliest_end_[node] == end) return;
            best_[node] = best;
            earliest_end_[node] = end;
        }
    }

    constexpr void set_level(std::uint32_t rank, std::uint64_t level) noexcept {
        level_[rank] = level;
        for (std::uint32_t node = (rank_leaves_ + rank) / 2; node != 0; node /= 2) {
            const std::uint32_t a = lowest_[2 * node], b = lowest_[2 * node + 1],
                                lowest = level_[b] < level_[a] ? b : a;
            if (lowest_[node] == lowest && lowest != rank) return;
            lowest_[node] = lowest;
        }
    }

    /// Makes the stretch that begins at `start` end at `end`.
    constexpr void join(std::uint32_t start, std::uint32_t end) noexcept {
        end_[start] = end;
        if (end != ranks_) previous_[end] = start;
    }

    /// Lifts a stretch to the level of its lower neighbor and merges the two. Returns false if it has no neighbor below
    /// the highest level.
    [[nodiscard]] constexpr bool lift(std::uint32_t start) noexcept {
        const std::uint32_t left = previous_[start], right = end_[start];
        const std::uint64_t left_level = left != none ? level_[left] : highest;
        const std::uint64_t right_level = right != ranks_ ? level_[right] : highest;
        const std::uint64_t level = smaller(left_level, right_level);
        if (level == highest) return false;
        std::uint32_t end = right;
        if (right_level == level) {
            end = end_[right];
            set_level(right, highest);
        }
        set_level(start, left_level == level ? highest : level);
        join(left_level == level ? left : start, end);
        return true;
    }

    /// Raises the part [from, until) of the stretch that begins at `start` to a higher `level`.
    constexpr void raise(std::uint32_t start, std::uint32_t from, std::uint32_t until, std::uint64_t level) noexcept {
        const std::uint32_t left = previous_[start], right = end_[start];
        if (until != right) {  // the rest behind
            end_[until] = right;
            set_level(until, level_[start]);
            if (right != ranks_) previous_[right] = until;
        } else if (right != ranks_ && level_[right] == level) {
            until = end_[right];
            set_level(right, highest);
        }
        if (from != start) {  // the rest before
            join(start, from);
            set_level(from, level);
        } else if (left != none && level_[left] == level) {
            set_level(start, highest);
            from = left;
        } else {
            set_level(start, level);
        }
        join(from, until);
    }

    const plan_buffer* buffers_;
    std::uint32_t ranks_, count_ = 0;
    std::uint32_t buffer_leaves_, rank_leaves_;
    bool fits_ = true;                                             // the rounded sizes fit 64 bits
    std::uint32_t *buffer_, *from_, *until_, *priority_, *order_;  // by place
    std::uint64_t *size_, *offset_;                                // by place; sizes are rounded up
    std::uint32_t* first_;                                         // by rank: the first place that begins there
    std::uint32_t *end_, *previous_;                               // by rank: end and predecessor of its stretch
    std::uint64_t* level_;                                         // by rank; `highest` if no stretch begins there
    std::uint32_t *best_, *earliest_end_;                          // the tree over places
    std::uint32_t* lowest_;                                        // the tree over ranks
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
