// SPDX-License-Identifier: BSL-1.0
// section_tree: the sections of time at which the set of live buffers is maximal, and the sections of each buffer.
//
//     a  ██████████         From the first beginning after an end up to the next end, the set of live buffers only
//     b     ████████        grows. One section stands for that range: the moment before its first end. Two buffers are
//     c             █████   live at once if and only if they have a common section, and the buffers of a section share
//          ^      ^         no byte.
//          0      1         Each pair that is apart gets an additional section, numbered after the sections of time.
//
// A buffer may have different sizes in different sections (`plan_sizes`).
//
// A tree over all spans, in order of their beginnings, answers queries for the buffers that live in a range of
// sections. Each node stores the latest end of its subtree. `section_bitmaps` answers faster, with n² / 8 bytes.
//
// Complexity: O(n log n) to construct; O(log n) for each buffer that a query returns. Memory: `space`, at most 56 bytes
// a lifetime, 72 a pair and 4 a buffer; for a problem with `together` 8 a lifetime and 16 a pair more. Thread safety:
// concurrent readers are safe.
#pragma once

#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/detail/timeline.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

class section_tree {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t lifetimes = most_lives(problem);
        plan_space all = timeline::space(lifetimes);
        const std::size_t spans = lifetimes + 2 * problem.apart.size();
        all.u32 += lifetimes + 1 + problem.buffers.size() + 1 + 5 * spans + 2 * std::bit_ceil(spans);
        if (!problem.together.empty()) all.u64 += spans;
        return all;
    }

    /// Precondition: the problem is valid and has no `together`.
    constexpr section_tree(const plan_problem& problem, const plan_sizes& sizes, plan_workspace& workspace) noexcept
        : buffers_{problem.buffers.data()} {
        const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
        const timeline time{problem, workspace};
        const std::uint32_t ranks = time.ranks();
        std::uint32_t* const before = workspace.cut_u32(lifetimes + 1);  // by rank: number of earlier sections
        first_ = workspace.cut_u32(buffers + 1);
        const std::size_t spans = lifetimes + 2 * problem.apart.size();
        if (!sizes.lives.empty()) size_ = workspace.cut_u64(spans);
        from_ = workspace.cut_u32(spans);
        until_ = workspace.cut_u32(spans);
        owner_ = workspace.cut_u32(spans);
        order_ = workspace.cut_u32(spans);
        std::uint32_t* const scratch = workspace.cut_u32(spans);
        leaves_ = static_cast<std::uint32_t>(std::bit_ceil(spans));
        latest_ = workspace.cut_u32(2 * std::size_t{leaves_});

        for (std::uint32_t rank = 0; rank <= ranks; ++rank) before[rank] = 0;
        for (const plan_buffer& buffer : problem.buffers) before[time.rank(buffer.live.until)] = 1;
        for (const plan_revival& revival : problem.revivals) before[time.rank(revival.live.until)] = 1;
        for (std::uint32_t rank = 1; rank <= ranks; ++rank) before[rank] += before[rank - 1];
        of_time_ = before[ranks];
        count_ = of_time_ + static_cast<std::uint32_t>(problem.apart.size());

        for (std::size_t i = 0; i != buffers; ++i) first_[i] = 1;
        first_[buffers] = 0;
        for (const plan_revival& revival : problem.revivals) ++first_[revival.buffer];
        for (const plan_pair& pair : problem.apart) ++first_[pair.first], ++first_[pair.second];
        for (std::size_t i = 1; i <= buffers; ++i) first_[i] += first_[i - 1];
        const auto add = [&](std::size_t buffer, std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            const std::uint32_t at = --first_[buffer];
            from_[at] = from;
            until_[at] = until;
            owner_[at] = static_cast<std::uint32_t>(buffer);
            if (size_ != nullptr) size_[at] = size;
        };
        for (std::size_t pair = 0; pair != problem.apart.size(); ++pair) {
            const auto own = of_time_ + static_cast<std::uint32_t>(pair);
            add(problem.apart[pair].first, own, own + 1, sizes.of_first(problem, pair));
            add(problem.apart[pair].second, own, own + 1, sizes.of_second(problem, pair));
        }
        const auto add_life = [&](std::size_t buffer, lifetime live, std::size_t life) {
            add(buffer, before[time.rank(live.from)], before[time.rank(live.until)], sizes.of_life(problem, life));
        };
        for (std::size_t i = 0; i != problem.revivals.size(); ++i)
            add_life(problem.revivals[i].buffer, problem.revivals[i].live, buffers + i);
        for (std::size_t i = 0; i != buffers; ++i) add_life(i, problem.buffers[i].live, i);

        spans_ = static_cast<std::uint32_t>(spans);
        for (std::uint32_t at = 0; at != spans_; ++at) order_[at] = at;
        sort_by(order_, scratch, spans, [this](std::uint32_t at) { return std::uint64_t{from_[at]}; });
        for (std::uint32_t leaf = 0; leaf != leaves_; ++leaf)
            latest_[leaves_ + leaf] = leaf < spans_ ? until_[order_[leaf]] : 0;
        for (std::uint32_t node = leaves_; --node != 0;)
            latest_[node] = larger(latest_[2 * node], latest_[2 * node + 1]);
    }

    [[nodiscard]] constexpr std::uint32_t count() const noexcept { return count_; }
    /// Number of sections of time. Sections from this index on belong to pairs.
    [[nodiscard]] constexpr std::uint32_t of_time() const noexcept { return of_time_; }

    /// Calls `span(from, until)` for each range of sections of the buffer, the range of its first lifetime first.
    template <class Span>
    constexpr void each_span(std::uint32_t buffer, Span span) const noexcept {
        for (std::uint32_t at = first_[buffer]; at != first_[buffer + 1]; ++at) span(from_[at], until_[at]);
    }
    /// Calls `span(from, until, size)` for each range of sections of the buffer, with its size there.
    template <class Span>
    constexpr void each_size(std::uint32_t buffer, Span span) const noexcept {
        for (std::uint32_t at = first_[buffer]; at != first_[buffer + 1]; ++at)
            span(from_[at], until_[at], size_ == nullptr ? buffers_[buffer].size : size_[at]);
    }
    /// Returns whether buffers may have different sizes in different sections.
    [[nodiscard]] constexpr bool has_sizes() const noexcept { return size_ != nullptr; }
    /// Returns the least size of a buffer in any of its sections.
    [[nodiscard]] constexpr std::uint64_t least_size(std::uint32_t buffer) const noexcept {
        std::uint64_t least = buffers_[buffer].size;
        if (has_sizes())
            each_size(buffer, [&](std::uint32_t, std::uint32_t, std::uint64_t size) { least = smaller(least, size); });
        return least;
    }
    /// Returns the largest size of `buffer` in a section of `other`; 0 if the two may share bytes.
    [[nodiscard]] constexpr std::uint64_t size_beside(std::uint32_t buffer, std::uint32_t other) const noexcept {
        std::uint64_t most = 0;
        each_size(buffer, [&](std::uint32_t from, std::uint32_t until, std::uint64_t size) {
            if (size > most && meets(other, from, until)) most = size;
        });
        return most;
    }
    /// Returns whether the buffer lives in any of the sections [from, until).
    [[nodiscard]] constexpr bool meets(std::uint32_t buffer, std::uint32_t from, std::uint32_t until) const noexcept {
        for (std::uint32_t at = first_[buffer]; at != first_[buffer + 1]; ++at)
            if (from_[at] < until && from < until_[at]) return true;
        return false;
    }
    /// Calls `visit(buffer)` once for each buffer that lives in any of the sections [from, until), in an unspecified
    /// order.
    template <class Visit>
    constexpr void each_living(std::uint32_t from, std::uint32_t until, Visit visit) const noexcept {
        std::uint32_t stack[34];  // one sibling of each height
        std::uint32_t top = 0;
        if (spans_ != 0) stack[top++] = 1;
        while (top != 0) {
            const std::uint32_t node = stack[--top];
            if (latest_[node] <= from) continue;
            const auto height = static_cast<unsigned>(std::bit_width(leaves_) - std::bit_width(node));
            if (from_[order_[(node << height) - leaves_]] >= until) continue;  // the earliest of the subtree
            if (height != 0) {
                stack[top++] = 2 * node + 1;
                stack[top++] = 2 * node;
                continue;
            }
            const std::uint32_t span = order_[node - leaves_], buffer = owner_[span];
            bool first = true;
            for (std::uint32_t at = first_[buffer]; at != span && first; ++at)
                first = from_[at] >= until || from >= until_[at];
            if (first) visit(buffer);
        }
    }
    /// Returns whether the two buffers must not share a byte.
    [[nodiscard]] constexpr bool conflict(std::uint32_t a, std::uint32_t b) const noexcept {
        for (std::uint32_t at = first_[a]; at != first_[a + 1]; ++at)
            if (meets(b, from_[at], until_[at])) return true;
        return false;
    }
    /// Returns the range of sections of the buffer's first lifetime.
    [[nodiscard]] constexpr lifetime first_span(std::uint32_t buffer) const noexcept {
        return {from_[first_[buffer]], until_[first_[buffer]]};
    }

private:
    const plan_buffer* buffers_;
    std::uint64_t* size_ = nullptr;                                        // by span; null if sizes do not vary
    std::uint32_t *first_ = nullptr, *from_ = nullptr, *until_ = nullptr;  // by buffer; by span
    std::uint32_t* owner_ = nullptr;                                       // by span: its buffer
    std::uint32_t *order_ = nullptr, *latest_ = nullptr;                   // spans by beginning; the tree over them
    std::uint32_t of_time_ = 0, count_ = 0, spans_ = 0, leaves_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
