// SPDX-License-Identifier: BSL-1.0
// gaps: places buffers one by one, each in the smallest gap that fits; supports every feature of a problem.
//
//     bytes   ┌──────┐                     The buffer c is placed next. Only the placed buffers a, b and d live at the
//       ▲     │      │ b                   same time as c. In order of offsets, there are gaps between a and b and
//       │   ┌─┴──────┴─┐   ◄── c ──►       between b and d. c is placed, aligned, in the smallest gap that fits, or
//       │   │    a     │┌─────┐ d          above all three.
//       └───┴──────────┴┴─────┴────► time
//           │ block 0 │  block 1   │       Time is cut into blocks. Each block lists its placed buffers in order of
//                                          offsets. The lists of all blocks of c are merged.
//
// A block ends when at least as many lifetimes have begun in it as were live when it began. All lists together are
// therefore at most three times as long as the number of lifetimes, and a list is little longer than the number of
// buffers live at once. Fixed buffers and reserved ranges are placed first. A pair that is apart conflicts regardless
// of lifetimes. In the order of a skyline, no buffer is placed higher than in the skyline, because its place there is
// free.
//
// A buffer with several sizes (`plan_sizes`) is treated as if it always had its largest size. Where it is smaller
// beside another buffer, the offset of the other buffer is raised by the difference for the comparison.
//
// Source: Pisarchyk and Lee, Efficient memory management for deep neural net inference, 2020 (largest first).
// Complexity: O(length of the lists of its blocks) for a buffer, plus O(k log k) for its k conflicts if it spans
// several blocks. Memory: `space`, 188 bytes a lifetime, 96 a reserved range, 72 a pair, 12 a buffer. Thread safety:
// none.
#pragma once

#include <allot/plan/check.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/detail/timeline.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

class gaps {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        const std::size_t met = lifetimes + problem.reserved.size() + problem.apart.size();
        return {3 * (buffers + 1) + 5 * lifetimes + 6 + 2 * problem.apart.size(), lifetimes,
                3 * lifetimes + problem.reserved.size() + 2 * met};
    }

    gaps() = default;
    /// `offsets` has one element for each buffer and receives the offsets.
    constexpr gaps(const plan_problem& problem, const plan_sizes& sizes, const timeline& time, std::uint64_t* offsets,
                   plan_workspace& workspace) noexcept
        : problem_{&problem}, sizes_{sizes}, buffers_{problem.buffers.data()}, offsets_{offsets}, ranks_{time.ranks()} {
        const std::size_t count = problem.buffers.size(), lifetimes = count + problem.revivals.size();
        placed_ = workspace.cut_u32(count + 1);
        first_lifetime_ = workspace.cut_u32(count + 1);
        first_apart_ = workspace.cut_u32(count + 1);
        from_ = workspace.cut_u32(lifetimes);
        until_ = workspace.cut_u32(lifetimes);
        size_ = workspace.cut_u64(lifetimes);
        block_ = workspace.cut_u32(lifetimes + 2);
        begin_ = workspace.cut_u32(lifetimes + 2);
        end_ = workspace.cut_u32(lifetimes + 2);
        apart_ = workspace.cut_u32(2 * problem.apart.size());
        met_ = workspace.extents.data();
        const std::size_t met = lifetimes + problem.reserved.size() + problem.apart.size();
        scratch_ = met_ + met;
        lists_ = scratch_ + met;

        // Lifetimes and partners by buffer: a counting sort that fills from the back.
        for (std::size_t i = 0; i <= count; ++i) {
            first_apart_[i] = 0;
            first_lifetime_[i] = i < count ? 1 : 0;
        }
        for (const plan_revival& revival : problem.revivals) ++first_lifetime_[revival.buffer];
        for (const plan_pair& pair : problem.apart) ++first_apart_[pair.first], ++first_apart_[pair.second];
        for (std::size_t i = 1; i <= count; ++i) {
            first_lifetime_[i] += first_lifetime_[i - 1];
            first_apart_[i] += first_apart_[i - 1];
        }
        const auto add = [&](std::size_t buffer, lifetime live, std::size_t life) {
            const std::uint32_t at = --first_lifetime_[buffer];
            from_[at] = time.rank(live.from);
            until_[at] = time.rank(live.until);
            size_[at] = sizes.of_life(problem, life);
        };
        for (std::size_t i = 0; i != problem.revivals.size(); ++i)
            add(problem.revivals[i].buffer, problem.revivals[i].live, count + i);
        for (std::size_t i = 0; i != count; ++i) add(i, buffers_[i].live, i);
        for (std::size_t i = 0; i != problem.apart.size(); ++i) {
            apart_[--first_apart_[problem.apart[i].first]] = static_cast<std::uint32_t>(2 * i + 1);
            apart_[--first_apart_[problem.apart[i].second]] = static_cast<std::uint32_t>(2 * i);
        }
        cut_blocks(lifetimes, static_cast<std::uint32_t>(problem.reserved.size()));
    }

    /// Removes all buffers, then places the reserved ranges and the fixed buffers. Returns the first fixed buffer that
    /// collides; the number of buffers if there is no collision.
    [[nodiscard]] constexpr std::size_t restart() noexcept {
        const auto count = static_cast<std::uint32_t>(problem_->buffers.size());
        height_ = looked_at_ = 0;
        for (std::uint32_t i = 0; i != count; ++i) {
            offsets_[i] = 0;
            placed_[i] = 0;
        }
        for (std::uint32_t block = 0; block != blocks_; ++block) end_[block] = begin_[block];
        for (const plan_reserved& range : problem_->reserved)
            if (range.size != 0 && ranks_ != 0) insert({range.offset, range.offset + range.size, 0, ranks_, count});
        for (const plan_fixed& fixed : problem_->fixed) {
            const auto buffer = static_cast<std::uint32_t>(fixed.buffer);
            if (placed_[buffer] != 0) {  // fixed twice
                if (offsets_[buffer] != fixed.offset) return buffer;
                continue;
            }
            if (const std::uint64_t end = fixed.offset + buffers_[buffer].size; end != fixed.offset)
                for (std::uint32_t i = 0, met = meet(buffer); i != met; ++i)
                    if (met_[i].begin < end && fixed.offset < met_[i].end) return buffer;
            put(buffer, fixed.offset);
        }
        return count;
    }

    /// Places a buffer unless it is already placed. Returns false if its end exceeds 64 bits.
    [[nodiscard]] constexpr bool place(std::uint32_t buffer) noexcept {
        if (placed_[buffer] != 0) return true;
        constexpr std::uint64_t none = ~std::uint64_t{0};
        const std::uint64_t size = buffers_[buffer].size, align = buffers_[buffer].align;
        std::uint64_t top = 0, smallest = none, offset = 0;
        const std::uint32_t met = meet(buffer);
        for (const plan_extent *other = met_, *const end = met_ + met; other != end; ++other) {
            if (other->begin > top) {
                const std::uint64_t gap = other->begin - top, padding = (~top + 1) & (align - 1);
                if (gap < smallest && gap >= size && gap - size >= padding) {
                    smallest = gap;
                    offset = top + padding;
                }
            }
            if (other->end > top) top = other->end;
        }
        if (smallest == none && (!checked_align_up(top, align, offset) || size > none - offset)) return false;
        put(buffer, offset);
        return true;
    }

    [[nodiscard]] constexpr std::uint64_t height() const noexcept { return height_; }
    /// Number of extents compared since the last `restart`.
    [[nodiscard]] constexpr std::uint64_t looked_at() const noexcept { return looked_at_; }

    /// Returns the placed extents that must not share a byte with `buffer`, in order of offsets. There is one extent
    /// for each lifetime that overlaps one of the buffer's, including its own if it is placed. A reserved range has the
    /// number of buffers as its buffer. Valid until the next call.
    [[nodiscard]] constexpr plan_array<const plan_extent> in_the_way(std::uint32_t buffer) noexcept {
        const std::uint32_t met = meet(buffer);
        return {met_, met};
    }
    /// Calls `visit(a, b)`, at least once, for every two placed buffers that wrongly share bytes. A reserved range has
    /// the number of buffers as its index.
    template <class Visit>
    constexpr void each_collision(Visit visit) const noexcept {
        for (std::uint32_t block = 0; block != blocks_; ++block)
            for (std::uint32_t a = begin_[block]; a != end_[block]; ++a)
                for (std::uint32_t b = a + 1; b != end_[block] && lists_[b].begin < lists_[a].end; ++b)
                    if (lists_[a].from < lists_[b].until && lists_[b].from < lists_[a].until)
                        visit(lists_[a].buffer, lists_[b].buffer);
        for (std::size_t i = 0; i != problem_->apart.size(); ++i) {
            const auto a = static_cast<std::uint32_t>(problem_->apart[i].first);
            const auto b = static_cast<std::uint32_t>(problem_->apart[i].second);
            const std::uint64_t a_size = sizes_.of_first(*problem_, i), b_size = sizes_.of_second(*problem_, i);
            if (placed_[a] != 0 && placed_[b] != 0 && a_size != 0 && b_size != 0 &&
                offsets_[a] < offsets_[b] + b_size && offsets_[b] < offsets_[a] + a_size)
                visit(a, b);
        }
    }
    /// Places a buffer at an offset without a check for collisions; `height` never decreases. Preconditions: the buffer
    /// is not placed, and its end fits 64 bits.
    constexpr void put(std::uint32_t buffer, std::uint64_t offset) noexcept {
        placed_[buffer] = 1;
        offsets_[buffer] = offset;
        if (buffers_[buffer].size == 0) return;
        const std::uint64_t end = offset + buffers_[buffer].size;
        height_ = larger(height_, end);
        for (std::uint32_t at = first_lifetime_[buffer]; at != first_lifetime_[buffer + 1]; ++at)
            insert({offset, offset + size_[at], from_[at], until_[at], buffer});
    }
    /// Removes a placed buffer.
    constexpr void take(std::uint32_t buffer) noexcept {
        placed_[buffer] = 0;
        if (buffers_[buffer].size == 0) return;
        for (std::uint32_t at = first_lifetime_[buffer]; at != first_lifetime_[buffer + 1]; ++at)
            for (std::uint32_t block = block_[from_[at]]; block <= block_[until_[at] - 1]; ++block)
                remove(buffer, from_[at], block);
    }

private:
    constexpr void cut_blocks(std::size_t lifetimes, std::uint32_t reserved) noexcept {
        constexpr std::uint32_t least = 16;                        // shorter lists are not worth a merge
        std::uint32_t *const begun = begin_, *const ended = end_;  // by rank, temporarily
        for (std::uint32_t rank = 0; rank <= ranks_; ++rank) begun[rank] = ended[rank] = 0;
        for (std::size_t i = 0; i != lifetimes; ++i) ++begun[from_[i]], ++ended[until_[i]];
        std::uint32_t live = 0, here = 0, enough = 0;
        for (std::uint32_t rank = 0; rank != ranks_; ++rank) {
            live -= ended[rank];
            if (rank == 0 || here >= enough) {
                here = 0;
                enough = larger(live + reserved, least);
                ++blocks_;
            }
            block_[rank] = blocks_ - 1;
            here += begun[rank];
            live += begun[rank];
        }
        // Length of each list: a running sum of the lifetimes that begin, less those that ended in earlier blocks.
        for (std::uint32_t block = 0; block <= blocks_; ++block) begin_[block] = end_[block] = 0;
        for (std::size_t i = 0; i != lifetimes; ++i) ++begin_[block_[from_[i]]], ++end_[block_[until_[i] - 1] + 1];
        std::uint32_t in = 0, sum = 0;
        for (std::uint32_t block = 0; block != blocks_; ++block) {
            in += begin_[block];
            in -= end_[block];
            begin_[block] = sum;
            sum += in + reserved;
        }
    }

    /// Collects the extents that must not share a byte with `buffer` in `met_`, in order of offsets. Returns their
    /// number.
    [[nodiscard]] constexpr std::uint32_t meet(std::uint32_t buffer) noexcept {
        const std::uint32_t first = first_lifetime_[buffer], last = first_lifetime_[buffer + 1];
        std::uint32_t from = from_[first], until = until_[first], count = 0;
        for (std::uint32_t at = first + 1; at != last; ++at) {
            from = smaller(from, from_[at]);
            until = larger(until, until_[at]);
        }
        const std::uint32_t first_block = block_[from], last_block = block_[until - 1];
        for (std::uint32_t block = first_block; block <= last_block; ++block) {
            looked_at_ += end_[block] - begin_[block];
            for (const plan_extent *other = lists_ + begin_[block], *const end = lists_ + end_[block]; other != end;
                 ++other)
                if (other->from < until && from < other->until &&
                    (block == first_block || block_[other->from] == block) &&
                    (last - first == 1 || overlaps(first, last, *other)))
                    met_[count++] = *other;
        }
        if (!sizes_.lives.empty())
            for (std::uint32_t i = 0; i != count; ++i) raise(met_[i], buffer, size_beside(first, last, met_[i]));
        for (std::uint32_t at = first_apart_[buffer]; at != first_apart_[buffer + 1]; ++at) {
            const std::uint32_t pair = apart_[at] / 2;
            const bool is_second = apart_[at] % 2 != 0;
            const auto other =
                static_cast<std::uint32_t>(is_second ? problem_->apart[pair].second : problem_->apart[pair].first);
            std::uint64_t own = sizes_.of_first(*problem_, pair), its = sizes_.of_second(*problem_, pair);
            if (!is_second) std::swap(own, its);
            if (placed_[other] == 0 || own == 0 || its == 0) continue;
            met_[count] = {offsets_[other], offsets_[other] + its, 0, 0, other};
            raise(met_[count++], buffer, own);
        }
        if (first_block != last_block || first_apart_[buffer] != first_apart_[buffer + 1] || !sizes_.lives.empty())
            merge(count);
        return count;
    }
    /// Returns the largest size of the buffer in those of its lifetimes that overlap `other`.
    [[nodiscard]] constexpr std::uint64_t size_beside(std::uint32_t first, std::uint32_t last,
                                                      const plan_extent& other) const noexcept {
        std::uint64_t most = 0;
        for (std::uint32_t at = first; at != last; ++at)
            if (other.from < until_[at] && from_[at] < other.until) most = larger(most, size_[at]);
        return most;
    }
    /// Raises the beginning of an extent by the difference between the buffer's largest size and `size`.
    constexpr void raise(plan_extent& other, std::uint32_t buffer, std::uint64_t size) const noexcept {
        if (!checked_add(other.begin, buffers_[buffer].size - size, other.begin)) other.begin = ~std::uint64_t{0};
    }
    /// Sorts the collected extents by merging. Runs that are already in order are copied.
    constexpr void merge(std::uint32_t count) noexcept {
        plan_extent *source = met_, *target = scratch_;
        for (std::uint32_t width = 1; width < count; width *= 2) {
            for (std::uint32_t begin = 0; begin < count; begin += 2 * width) {
                const std::uint32_t middle = smaller(begin + width, count), end = smaller(middle + width, count);
                std::uint32_t a = begin, b = middle, to = begin;
                if (b != end && source[b].begin < source[b - 1].begin)
                    while (a != middle && b != end)
                        target[to++] = source[b].begin < source[a].begin ? source[b++] : source[a++];
                while (a != middle) target[to++] = source[a++];
                while (b != end) target[to++] = source[b++];
            }
            std::swap(source, target);
        }
        met_ = source;  // the sorted array
        scratch_ = target;
    }
    [[nodiscard]] constexpr bool overlaps(std::uint32_t first, std::uint32_t last,
                                          const plan_extent& other) const noexcept {
        for (std::uint32_t at = first; at != last; ++at)
            if (other.from < until_[at] && from_[at] < other.until) return true;
        return false;
    }

    constexpr void insert(const plan_extent& extent) noexcept {
        for (std::uint32_t block = block_[extent.from]; block <= block_[extent.until - 1]; ++block) {
            std::uint32_t at = end_[block]++;
            for (; at != begin_[block] && lists_[at - 1].begin > extent.begin; --at) lists_[at] = lists_[at - 1];
            lists_[at] = extent;
        }
    }
    constexpr void remove(std::uint32_t buffer, std::uint32_t from, std::uint32_t block) noexcept {
        std::uint32_t low = begin_[block], high = end_[block];  // first extent with that beginning
        while (low != high)
            if (const std::uint32_t middle = low + (high - low) / 2; lists_[middle].begin < offsets_[buffer])
                low = middle + 1;
            else high = middle;
        plan_extent* at = lists_ + low;
        while (at->buffer != buffer || at->from != from) ++at;
        for (plan_extent* const last = lists_ + --end_[block]; at != last; ++at) at[0] = at[1];
    }

    const plan_problem* problem_ = nullptr;
    plan_sizes sizes_{};
    const plan_buffer* buffers_ = nullptr;
    std::uint64_t* offsets_ = nullptr;
    std::uint32_t ranks_ = 0, blocks_ = 0;
    std::uint64_t height_ = 0, looked_at_ = 0;
    std::uint32_t* placed_ = nullptr;                                               // by buffer: 1 if placed
    std::uint32_t *first_lifetime_ = nullptr, *from_ = nullptr, *until_ = nullptr;  // by buffer; by position from there
    std::uint64_t* size_ = nullptr;                                                 // by the same position
    // By buffer; by position given there: twice the index of a pair, plus 1 if the partner is its second.
    std::uint32_t *first_apart_ = nullptr, *apart_ = nullptr;
    std::uint32_t* block_ = nullptr;                   // by rank
    std::uint32_t *begin_ = nullptr, *end_ = nullptr;  // by block: its list
    plan_extent *lists_ = nullptr, *met_ = nullptr, *scratch_ = nullptr;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
