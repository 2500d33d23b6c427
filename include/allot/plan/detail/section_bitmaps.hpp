// SPDX-License-Identifier: BSL-1.0
// section_bitmaps: the sections of time of a problem, with the buffers that cross each section as a row of bits.
//
//     ────a──── ──────c──────       The set of live buffers is maximal at some steps only: at the last beginning before
//        ───b─────── ─────d───      an end. These steps are the sections. Two buffers are live at once if and only if
//        │      │      │            they cross a common section. The sizes that cross a section add up to its total:
//        s0     s1     s2           no plan is lower.
//
// Pairs that are apart cross additional sections after all sections of time. A single rule then covers the problem: two
// buffers that cross a common section share no byte. A buffer may have different sizes in different sections
// (`plan_sizes`). The rule then holds for their sizes in the common sections, and each pair has a section of its own.
// Otherwise `clique_cover` joins the pairs, because a section of several buffers has a higher total.
//
// Buffers without bytes and buffers that never live cross no section. The others are called items and are numbered in
// the order of their first sections. The items that begin between two sections are therefore a range, and sets of items
// are short rows of bits.
//
// The exact search asks for all neighbors of a buffer and all buffers of a section at each node. Rows answer that with
// a few operations, but need n² / 8 bytes. The planner of memories asks rarely and has more buffers: it uses the tree
// of `section_tree`, which needs O(n) bytes.
//
// Everything is in arrays that the caller provides; there is no heap allocation, and constant expressions may use it.
// Complexity: O(n log n + pairs that live at once + sections crossed, summed over buffers), and that of `clique_cover`.
// Memory: `section_counts`, of which (buffers + sections) × buffers bits for sets. Thread safety: concurrent readers
// are safe after construction.
#pragma once

#include <allot/plan/detail/clique_cover.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

#include <span>

namespace allot {
inline namespace v1 {
namespace detail {

/// Counts that determine the sizes of the arrays.
struct section_counts {
    std::size_t buffers = 0;    ///< buffers
    std::size_t lifetimes = 0;  ///< buffers and revivals
    std::size_t pairs = 0;      ///< pairs that are apart

    /// Returns the counts of a problem.
    [[nodiscard]] static constexpr section_counts of(const plan_problem& problem) noexcept {
        return {problem.buffers.size(), detail::most_lives(problem), problem.apart.size()};
    }
    /// Largest number of sections.
    [[nodiscard]] constexpr std::size_t sections() const noexcept { return lifetimes + pairs; }
    /// Number of 64-bit elements of a set of items.
    [[nodiscard]] constexpr std::size_t row() const noexcept { return (buffers + 63) / 64; }
    /// Workspace that `section_bitmaps` needs.
    [[nodiscard]] constexpr plan_space space() const noexcept {
        return {.u32 = 7 * buffers + 3 * sections() + 2,
                .u64 = 5 * buffers + 4 * lifetimes + 4 * pairs + sections() + (buffers + sections()) * row()};
    }
};

/// The sections of a problem, and the items that cross them.
// A template, so that only programs that use it compile it.
template <class = void>
class section_bitmaps {
public:
    using index = std::uint32_t;
    static constexpr std::uint64_t free_to_choose = std::numeric_limits<std::uint64_t>::max();

    constexpr section_bitmaps() noexcept = default;
    /// Preconditions: all indices of `problem` are in range, alignments are powers of two, and `workspace` is as large
    /// as `section_counts` requires. Cuts the arrays.
    constexpr section_bitmaps(const plan_problem& problem, plan_workspace& workspace,
                              const plan_sizes& sizes) noexcept {
        take_arrays(section_counts::of(problem), workspace);
        find_sections(problem, sizes);
        order_items(problem, sizes);
        sized_ = !sizes.lives.empty() || !sizes.apart.empty();
        find_spans([&](auto visit) { each_span(problem, sizes, visit); });
        find_members();
        join_pairs(problem, sizes);
    }

    /// Number of buffers.
    [[nodiscard]] constexpr std::size_t buffers() const noexcept { return size_.size(); }
    /// Number of items: buffers that cross a section.
    [[nodiscard]] constexpr index items() const noexcept { return items_; }
    /// Number of sections.
    [[nodiscard]] constexpr index sections() const noexcept { return sections_; }

    /// Returns whether buffers may have different sizes in different sections.
    [[nodiscard]] constexpr bool has_sizes() const noexcept { return sized_; }
    /// Returns whether a buffer is fixed at two offsets or at a misaligned offset.
    [[nodiscard]] constexpr bool contradictory() const noexcept { return contradictory_; }

    /// Returns the buffer of an item. Numbers from items() to buffers() denote buffers that cross no section.
    [[nodiscard]] constexpr std::size_t buffer(std::size_t item) const noexcept { return buffer_[item]; }
    /// Returns the largest size of an item in any section.
    [[nodiscard]] constexpr std::uint64_t size(std::size_t item) const noexcept { return size_[item]; }
    /// Returns the least distance from the offset of `item` up to the offset of `other`, if `other` is placed above it:
    /// the largest size of `item` in the sections that both cross.
    [[nodiscard]] constexpr std::uint64_t size_below(std::size_t item, std::size_t other) const noexcept {
        if (is_even(item)) return size_[item];
        std::uint64_t most = 0;
        for (index k = span_begin_[item]; k < span_begin_[item + 1]; ++k)
            for (index l = span_begin_[other]; l < span_begin_[other + 1]; ++l)
                if (from(spans_[k]) < until(spans_[l]) && from(spans_[l]) < until(spans_[k]))
                    most = larger(most, span_size_[k]);
        return most;
    }
    /// Returns the greatest common divisor of an item's sizes.
    [[nodiscard]] constexpr std::uint64_t granule(std::size_t item) const noexcept {
        std::uint64_t common = size_[item];
        if (is_even(item)) return common;
        for (index k = span_begin_[item]; k < span_begin_[item + 1]; ++k)
            common = common_divisor(common, span_size_[k]);
        return common;
    }
    /// Returns the alignment of an item.
    [[nodiscard]] constexpr std::uint64_t align(std::size_t item) const noexcept { return align_[item]; }
    /// Returns the fixed offset of an item, or `free_to_choose`.
    [[nodiscard]] constexpr std::uint64_t fixed(std::size_t item) const noexcept { return fixed_[item]; }

    /// Returns the number of steps in the lifetimes of an item.
    [[nodiscard]] constexpr std::uint64_t length(std::size_t item) const noexcept { return length_[item]; }
    /// Returns the bounds of a range [first, last) that contains all sections of an item.
    [[nodiscard]] constexpr index first(std::size_t item) const noexcept { return first_[item]; }
    [[nodiscard]] constexpr index last(std::size_t item) const noexcept { return last_[item]; }
    /// Returns the first item whose first section is `section` or later. `section` may equal sections().
    [[nodiscard]] constexpr index first_item(std::size_t section) const noexcept { return first_item_[section]; }
    /// Returns the last earlier item that is identical except for its index; the item itself if there is no such item.
    [[nodiscard]] constexpr index twin(std::size_t item) const noexcept { return twin_[item]; }

    /// Returns the sum of the sizes that cross a section, saturated at 2^64 − 1.
    [[nodiscard]] constexpr std::uint64_t total(std::size_t section) const noexcept { return total_[section]; }
    /// Returns the items that cross a section.
    [[nodiscard]] constexpr item_set members(std::size_t section) const noexcept {
        return rows_.set(buffers() + section);
    }
    /// Returns the items that cross a common section with an item.
    [[nodiscard]] constexpr item_set neighbours(std::size_t item) const noexcept { return rows_.set(item); }

    /// Returns whether `test` is true for each section of an item. Stops at the first section for which it is false.
    template <class Test>
    constexpr bool all_sections(std::size_t item, Test test) const noexcept {
        for (index k = span_begin_[item]; k < span_begin_[item + 1]; ++k)
            for (index s = from(spans_[k]), end = until(spans_[k]); s < end; ++s)
                if (!test(s)) return false;
        return true;
    }
    template <class Visit>
    constexpr void each_section(std::size_t item, Visit visit) const noexcept {
        (void)all_sections(item, [&](index s) { return visit(s), true; });
    }
    /// Calls `visit(section, size)` for each section of an item, with its size there.
    template <class Visit>
    constexpr void each_size(std::size_t item, Visit visit) const noexcept {
        for (index k = span_begin_[item]; k < span_begin_[item + 1]; ++k)
            for (index s = from(spans_[k]), end = until(spans_[k]); s < end; ++s) visit(s, span_size_[k]);
    }

private:
    /// Returns whether an item certainly has the same size in all of its sections.
    [[nodiscard]] constexpr bool is_even(std::size_t item) const noexcept {
        return !sized_ || item >= items_ || span_begin_[item + 1] - span_begin_[item] == 1;
    }
    // A span is a range of sections, packed into one number. Numbers compare as spans do.
    [[nodiscard]] static constexpr std::uint64_t span_of(std::uint64_t from, std::uint64_t until) noexcept {
        return from << 32 | until;
    }
    [[nodiscard]] static constexpr index from(std::uint64_t span) noexcept { return static_cast<index>(span >> 32); }
    [[nodiscard]] static constexpr index until(std::uint64_t span) noexcept { return static_cast<index>(span); }

    constexpr void take_arrays(section_counts counts, plan_workspace& workspace) noexcept {
        rows_.width = counts.row();
        for (auto* array : {&size_, &align_, &fixed_, &length_, &earliest_})
            *array = cut(workspace.u64, counts.buffers);
        steps_ = cut(workspace.u64, 2 * counts.lifetimes);
        times_ = steps_.first(counts.lifetimes);
        spans_ = cut(workspace.u64, counts.lifetimes + 2 * counts.pairs);
        span_size_ = cut(workspace.u64, counts.lifetimes + 2 * counts.pairs);
        total_ = cut(workspace.u64, counts.sections());
        rows_.bits = cut(workspace.u64, (counts.buffers + counts.sections()) * rows_.width);
        for (auto* array : {&buffer_, &item_, &first_, &last_}) *array = cut(workspace.u32, counts.buffers);
        twin_ = item_;
        span_begin_ = cut(workspace.u32, counts.buffers + 1);
        first_item_ = cut(workspace.u32, counts.sections() + 1);
        rows_.windows = cut(workspace.u32, 2 * (counts.buffers + counts.sections()));
        set_all(length_, std::uint64_t{0});
        set_all(total_, std::uint64_t{0});
        set_all(rows_.bits, std::uint64_t{0});
    }

    /// Calls `visit(buffer, lifetime, size)` for every lifetime that is not empty and has bytes.
    template <class Visit>
    static constexpr void each_lifetime(const plan_problem& problem, const plan_sizes& sizes, Visit visit) noexcept {
        const auto counts = [&](std::size_t buffer, lifetime live, std::size_t life) {
            const std::uint64_t size = sizes.of_life(problem, life);
            if (live.from < live.until && size != 0) visit(buffer, live, size);
        };
        const std::size_t count = problem.buffers.size();
        for (std::size_t b = 0; b < count; ++b) counts(b, problem.buffers[b].live, b);
        for (std::size_t r = 0; r < problem.revivals.size(); ++r)
            counts(problem.revivals[r].buffer, problem.revivals[r].live, count + r);
    }
    /// Calls `visit(pair)` for every pair of which both buffers have bytes.
    template <class Visit>
    static constexpr void each_pair(const plan_problem& problem, const plan_sizes& sizes, Visit visit) noexcept {
        for (std::size_t p = 0; p < problem.apart.size(); ++p)
            if (sizes.of_first(problem, p) != 0 && sizes.of_second(problem, p) != 0) visit(p);
    }

    constexpr void find_sections(const plan_problem& problem, const plan_sizes& sizes) noexcept {
        const std::size_t lifetimes = steps_.size() / 2;
        const auto starts = steps_.first(lifetimes), ends = steps_.subspan(lifetimes);
        std::size_t lives = 0;
        each_lifetime(problem, sizes, [&](std::size_t, lifetime live, std::uint64_t) {
            starts[lives] = ordered(live.from);
            ends[lives++] = ordered(live.until);
        });
        sort(starts.data(), lives);
        sort(ends.data(), lives);
        // The set of live buffers is maximal at the last start before an end: the step of a section. `times_`
        // overwrites starts that are already read.
        for (std::size_t s = 0, e = 0; s < lives;) {
            while (s < lives && starts[s] < ends[e]) ++s;
            times_[time_sections_++] = starts[s - 1];
            while (s < lives && ends[e] <= starts[s]) ++e;
        }
        sections_ = time_sections_;
        each_pair(problem, sizes, [&](std::size_t) { ++sections_; });
    }

    /// Calls `visit(buffer, span, size)` for every lifetime.
    template <class Visit>
    constexpr void each_time_span(const plan_problem& problem, const plan_sizes& sizes, Visit visit) const noexcept {
        const auto section = [&](std::int64_t time) {
            return first_position(time_sections_, [&](std::size_t s) { return times_[s] >= ordered(time); });
        };
        each_lifetime(problem, sizes, [&](std::size_t buffer, lifetime live, std::uint64_t size) {
            visit(buffer, span_of(section(live.from), section(live.until)), size);
        });
    }
    /// Calls `visit(buffer, span, size)` for every lifetime and for both buffers of each pair.
    template <class Visit>
    constexpr void each_span(const plan_problem& problem, const plan_sizes& sizes, Visit visit) const noexcept {
        each_time_span(problem, sizes, visit);
        std::uint64_t own = time_sections_;
        each_pair(problem, sizes, [&](std::size_t pair) {
            const std::uint64_t span = span_of(own, own + 1);
            visit(problem.apart[pair].first, span, sizes.of_first(problem, pair));
            visit(problem.apart[pair].second, span, sizes.of_second(problem, pair));
            ++own;
        });
    }

    constexpr void order_items(const plan_problem& problem, const plan_sizes& sizes) noexcept {
        constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
        set_all(earliest_, never);
        each_span(problem, sizes, [&](std::size_t buffer, std::uint64_t span, std::uint64_t) {
            earliest_[buffer] = smaller<std::uint64_t>(earliest_[buffer], from(span));
        });
        for (index i = 0; i != buffers(); ++i) buffer_[i] = i;
        sort(buffer_.data(), buffers(),
             [&](index a, index b) { return earliest_[a] != earliest_[b] ? earliest_[a] < earliest_[b] : a < b; });
        for (std::size_t i = 0; i < buffers(); ++i) {
            const plan_buffer& buffer = problem.buffers[buffer_[i]];
            item_[buffer_[i]] = static_cast<index>(i);
            size_[i] = buffer.size;
            align_[i] = buffer.align;
            fixed_[i] = free_to_choose;
            if (earliest_[buffer_[i]] != never) ++items_;
        }
        for (const plan_fixed& fixed : problem.fixed) {
            std::uint64_t& offset = fixed_[item_[fixed.buffer]];
            if (offset != free_to_choose && offset != fixed.offset) contradictory_ = true;
            if (fixed.offset % problem.buffers[fixed.buffer].align != 0) contradictory_ = true;
            offset = fixed.offset;
        }
        each_lifetime(problem, sizes, [&](std::size_t buffer, lifetime live, std::uint64_t) {
            length_[item_[buffer]] += static_cast<std::uint64_t>(live.until) - static_cast<std::uint64_t>(live.from);
        });
    }

    /// `each(visit)` calls `visit(buffer, span, size)` for every span.
    template <class Each>
    constexpr void find_spans(Each each) noexcept {
        set_all(span_begin_, index{0});
        each([&](std::size_t buffer, std::uint64_t, std::uint64_t) { ++span_begin_[item_[buffer]]; });
        for (std::size_t i = 0; i < buffers(); ++i) span_begin_[i + 1] += span_begin_[i];
        each([&](std::size_t buffer, std::uint64_t span, std::uint64_t size) {
            const index k = --span_begin_[item_[buffer]];
            spans_[k] = span;
            span_size_[k] = size;
        });
        // Adjacent or overlapping spans of one item are joined if their sizes are equal.
        index kept = 0;
        for (index i = 0, begin = 0; i < items_; ++i) {
            const index end = span_begin_[i + 1];
            if (sized_) sort_spans(begin, end);
            else sort(spans_.data() + begin, end - begin);
            span_begin_[i] = kept;
            for (; begin < end; ++begin) {
                const std::uint64_t span = spans_[begin];
                if (kept > span_begin_[i] && from(span) <= until(spans_[kept - 1]) &&
                    span_size_[kept - 1] == span_size_[begin]) {
                    spans_[kept - 1] = span_of(from(spans_[kept - 1]), larger(until(spans_[kept - 1]), until(span)));
                } else {
                    span_size_[kept] = span_size_[begin];
                    spans_[kept++] = span;
                }
            }
            first_[i] = from(spans_[span_begin_[i]]);
            last_[i] = until(spans_[kept - 1]);
        }
        span_begin_[items_] = kept;
        for (index s = 0, i = 0; s <= sections_; ++s) {
            while (i < items_ && first_[i] < s) ++i;
            first_item_[s] = i;
        }
        for (index i = 0; i < items_; ++i) {
            twin_[i] = i;
            for (index j = i; j-- > 0 && first_[j] == first_[i] && twin_[i] == i;)
                if (same(i, j)) twin_[i] = j;
        }
    }
    /// Sorts spans by time. They are usually in reverse order, so that a reversal and an insertion sort are fast.
    constexpr void sort_spans(index begin, index end) noexcept {
        for (index k = begin, l = end; k + 1 < l; ++k) {
            std::swap(spans_[k], spans_[--l]);
            std::swap(span_size_[k], span_size_[l]);
        }
        for (index k = begin; k < end; ++k)
            for (index l = k; l > begin && spans_[l] < spans_[l - 1]; --l) {
                std::swap(spans_[l], spans_[l - 1]);
                std::swap(span_size_[l], span_size_[l - 1]);
            }
    }
    [[nodiscard]] constexpr bool same(index i, index j) const noexcept {
        const index first = span_begin_[i], other = span_begin_[j], count = span_begin_[i + 1] - first;
        if (size_[i] != size_[j] || align_[i] != align_[j] || fixed_[i] != fixed_[j]) return false;
        if (span_begin_[j + 1] - other != count) return false;
        for (index k = 0; k != count; ++k)
            if (spans_[first + k] != spans_[other + k] || (sized_ && span_size_[first + k] != span_size_[other + k]))
                return false;
        return true;
    }

    constexpr void find_members() noexcept {
        for (index i = 0; i < items_; ++i)
            each_size(i, [&](index s, std::uint64_t size) {
                rows_.add(buffers() + s, i);
                add_total(s, size);
            });
        for (index s = 0; s < sections_; ++s) rows_.find_window(buffers() + s);
        // Two items that cross a common section both cross the section at which the later span begins.
        for (index i = 0; i < items_; ++i)
            for (index k = span_begin_[i]; k < span_begin_[i + 1]; ++k)
                each_member(from(spans_[k]), [&](index j) {
                    if (j != i) rows_.add(i, j), rows_.add(j, i);
                });
        for (index i = 0; i < items_; ++i) rows_.find_window(i);
    }
    /// Replaces the sections of pairs by sections of more buffers. The neighbors of all items stay the same, and the
    /// order of items too, because each one has a section of time.
    constexpr void join_pairs(const plan_problem& problem, const plan_sizes& sizes) noexcept {
        if (sized_ || sections_ == time_sections_ || first_[items_ - 1] >= time_sections_) return;
        clique_cover<> cover{rows_, size_, earliest_};
        sections_ = time_sections_ + static_cast<index>(cover.join(buffers() + time_sections_, buffers() + sections_));
        for (index i = 0; i < items_; ++i) item_[buffer_[i]] = i;  // `find_spans` replaces it by twins
        find_spans([&](auto visit) {
            each_time_span(problem, sizes, visit);
            for (index s = time_sections_; s < sections_; ++s)
                each_member(s, [&](index i) { visit(buffer_[i], span_of(s, s + 1), size_[i]); });
        });
        for (index s = time_sections_; s < sections_; ++s) {
            total_[s] = 0;
            each_member(s, [&](index i) { add_total(s, size_[i]); });
        }
    }
    template <class Visit>
    constexpr void each_member(std::size_t section, Visit visit) const noexcept {
        members(section).each(rows_.row(buffers() + section), visit);
    }
    constexpr void add_total(std::size_t section, std::uint64_t size) noexcept {
        if (!checked_add(total_[section], size, total_[section]))
            total_[section] = std::numeric_limits<std::uint64_t>::max();
    }

    plan_array<std::uint64_t> size_, align_, fixed_, length_, earliest_, steps_, times_, spans_, span_size_, total_;
    plan_array<index> buffer_, item_, twin_, first_, last_, span_begin_, first_item_;
    item_rows rows_{};  // neighbors of each item, then members of each section
    index items_ = 0, sections_ = 0, time_sections_ = 0;
    bool contradictory_ = false, sized_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
