// SPDX-License-Identifier: BSL-1.0
// bound: the height below which no plan can be, and the step and the buffers that show it.
//
//     bytes                     ┌───┐               What lives at once must lie side by side: no plan is lower than the
//       ▲        ┌───┐   bound ─┤ c ├───┐           largest sum of sizes over all steps.
//       │   ┌────┤ b │      ┌───┤ b │ d │
//       │   │ a  │ a │      │ b │ a │ a │           Here a, b and c at `step`.
//       └───┴────┴───┴──────┴───┴───┴───┴──► time
//
// Alignment raises it. Buffers that begin at multiples of A cannot begin closer than their sizes rounded up to A; only
// what the topmost of them would be rounded by is not needed. So for each alignment A that occurs, the buffers of at
// least that alignment alone give a bound, and the largest counts. Fixed buffers, pairs that are apart and reserved
// ranges raise it too, and then `step` and `live` say where most was live. So does whatever shares no byte though it
// never lives at one step (`clique`). Buffers that are `together` must have been merged.
//
// Source: the bound is that of dynamic storage allocation, e.g. Buchsbaum et al., OPT versus LOAD in dynamic storage
// allocation, STOC 2003. Complexity: O(n log n), and O(n) for each further alignment; with pairs that are apart or
// buffers that live again, what `clique` is allowed. Memory: `bound_space`, 12 bytes a lifetime, 4 a buffer and 16 a
// reserved range, and what `clique` needs. Thread safety: pure but for the workspace.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/detail/clique.hpp>
#include <allot/plan/detail/reserved_ranges.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {

struct plan_bound {
    std::uint64_t bytes = 0;
    std::int64_t step = 0;                  // where most is live
    std::span<const std::uint32_t> live{};  // the buffers that live then, in the workspace
};

/// What `bound_of` works in.
[[nodiscard]] constexpr plan_space bound_space(const plan_problem& problem) noexcept {
    const std::size_t lives = detail::most_lives(problem);
    return plan_space{3 * lives + problem.buffers.size(), 2 * problem.reserved.size(), 0} +
           detail::clique_search::space(problem);
}

namespace detail {

/// Both ends of every lifetime, in the order of time.
class lifetime_sweep {
public:
    constexpr lifetime_sweep(const plan_problem& problem, std::uint32_t* starts, std::uint32_t* ends,
                             std::uint32_t* scratch) noexcept
        : buffers_{problem.buffers.data()},
          revivals_{problem.revivals.data()},
          buffer_count_{problem.buffers.size()},
          count_{problem.buffers.size() + problem.revivals.size()},
          starts_{starts},
          ends_{ends} {
        for (std::size_t i = 0; i != count_; ++i) starts[i] = ends[i] = static_cast<std::uint32_t>(i);
        sort_by(starts, scratch, count_, [this](std::uint32_t i) { return ordered(live(i).from); });
        sort_by(ends, scratch, count_, [this](std::uint32_t i) { return ordered(live(i).until); });
    }
    /// Calls `begin(life, step)` and `end(life)` until the former says false; lives are those of buffers, and then of
    /// revivals. What ends at a step ends before what begins.
    template <class Begin, class End>
    constexpr void run(Begin begin, End end) const noexcept {
        for (std::size_t next = 0, first = 0; next != count_; ++next) {
            const std::int64_t step = live(starts_[next]).from;
            for (; live(ends_[first]).until <= step; ++first) end(ends_[first]);
            if (!begin(starts_[next], step)) return;
        }
    }
    /// Whose life it is.
    [[nodiscard]] constexpr std::size_t buffer(std::size_t i) const noexcept {
        return i < buffer_count_ ? i : revivals_[i - buffer_count_].buffer;
    }

private:
    [[nodiscard]] constexpr const lifetime& live(std::size_t i) const noexcept {
        return i < buffer_count_ ? buffers_[i].live : revivals_[i - buffer_count_].live;
    }
    const plan_buffer* buffers_;
    const plan_revival* revivals_;
    std::size_t buffer_count_, count_;
    std::uint32_t *starts_, *ends_;
};

}  // namespace detail

/// The bound; or why the problem cannot be planned at all: `check_problem`, lifetimes of one buffer that overlap, or
/// more live at once than 64 bits can count.
[[nodiscard]] constexpr result<plan_bound, plan_error> bound_of(const plan_problem& problem, plan_workspace workspace,
                                                                const detail::plan_sizes& sizes = {}) noexcept {
    using answer = result<plan_bound, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none) return answer::failure(error);
    if (!problem.together.empty()) return answer::failure({plan_refusal::together_not_merged, 0});
    if (!workspace.holds(bound_space(problem))) return answer::failure({plan_refusal::workspace_too_small, 0});
    const plan_buffer* const buffers = problem.buffers.data();
    const std::size_t count = problem.buffers.size();
    const std::size_t lifetimes = count + problem.revivals.size();
    std::uint32_t* const starts = workspace.cut_words(lifetimes);
    std::uint32_t* const ends = workspace.cut_words(lifetimes);
    std::uint32_t* const scratch = workspace.cut_words(lifetimes);
    std::uint32_t* const live = workspace.cut_words(count);
    const detail::lifetime_sweep sweep{problem, starts, ends, scratch};

    std::uint64_t alignments = 1, each_aligned = 0;
    for (std::size_t i = 0; i != count; ++i) {
        alignments |= buffers[i].align;
        if (buffers[i].size != 0) each_aligned |= buffers[i].align;
        live[i] = 0;
    }
    each_aligned = alignment_of(each_aligned | std::uint64_t{1} << 63);  // the least alignment of any with bytes
    plan_error error{};
    plan_bound bound{};
    std::uint64_t most = 0;  // live at once
    std::uint64_t most_rounded = 0, most_padding = 0;  // to the least alignment
    bool rounded = false;
    for (; alignments != 0; alignments &= alignments - 1) {
        const std::uint64_t align = alignment_of(alignments);
        const auto is_aligned = [&](std::size_t life) { return buffers[sweep.buffer(life)].align >= align; };
        const auto size_of = [&](std::size_t life) { return sizes.of_life(problem, life); };
        std::uint64_t padding = 0;  // the most that rounding adds to a buffer
        for (std::size_t life = 0; life != lifetimes; ++life)
            if (is_aligned(life)) padding = std::max(padding, (~size_of(life) + 1) & (align - 1));
        std::uint64_t sum = 0, highest = 0;
        std::int64_t at = 0;
        bool fits = true;
        sweep.run(
            [&](std::size_t life, std::int64_t step) {
                const std::size_t i = sweep.buffer(life);
                if (align == 1 && live[i]++ != 0) return error = {plan_refusal::overlapping_lifetimes, i}, false;
                std::uint64_t size = 0;
                if (is_aligned(life) &&
                    (!checked_align_up(size_of(life), align, size) || !checked_add(sum, size, sum)))
                    return fits = false;
                if (sum > highest) {
                    highest = sum;
                    at = step;
                }
                return true;
            },
            [&](std::size_t life) {
                if (align == 1) --live[sweep.buffer(life)];
                if (is_aligned(life)) sum -= align_up(size_of(life), align);
            });
        if (error.reason != plan_refusal::none) return answer::failure(error);
        if (align == 1) {
            if (!fits) return answer::failure({plan_refusal::too_large, 0});
            most = highest;
        } else if (!fits) {
            continue;  // rounded sizes do not fit; the sizes themselves may
        }
        if (align == each_aligned) {
            rounded = true;
            most_rounded = highest;
            most_padding = padding;
        }
        if (highest - std::min(padding, highest) > bound.bytes) bound = {highest - padding, at, {}};
    }

    for (const plan_fixed& fixed : problem.fixed)
        if (const std::uint64_t size = buffers[fixed.buffer].size; size != 0)
            bound.bytes = std::max(bound.bytes, fixed.offset + size);
    for (std::size_t pair = 0; pair != problem.apart.size(); ++pair) {
        std::uint64_t both = 0;
        if (!checked_add(sizes.of_first(problem, pair), sizes.of_second(problem, pair), both))
            return answer::failure({plan_refusal::too_large, problem.apart[pair].first});
        bound.bytes = std::max(bound.bytes, both);
    }
    if (rounded && detail::clique_search::may_find(problem)) {
        detail::clique_search cliques{problem, sizes, each_aligned, workspace};
        const std::uint64_t heaviest = cliques.heaviest(most_rounded);
        bound.bytes = std::max(bound.bytes, heaviest - std::min(most_padding, heaviest));
        if (most_padding == 0) most = std::max(most, heaviest);
    }
    if (std::uint64_t height = 0; !problem.reserved.empty() && most != 0) {
        const std::span begins{workspace.cut_longs(problem.reserved.size()), problem.reserved.size()};
        const std::span range_ends{workspace.cut_longs(problem.reserved.size()), problem.reserved.size()};
        if (!detail::reserved_ranges{problem.reserved, begins, range_ends}.height_beside(most, height))
            return answer::failure({plan_refusal::too_large, 0});
        bound.bytes = std::max(bound.bytes, height);
    }

    std::size_t lives = 0;
    const auto lives_then = [&](lifetime when) { return when.from <= bound.step && bound.step < when.until; };
    for (std::size_t i = 0; i != count; ++i)
        if (lives_then(buffers[i].live)) live[lives++] = static_cast<std::uint32_t>(i);
    for (const plan_revival& revival : problem.revivals)
        if (lives_then(revival.live)) live[lives++] = static_cast<std::uint32_t>(revival.buffer);
    bound.live = {live, lives};
    return bound;
}

}  // namespace v1
}  // namespace allot
