// SPDX-License-Identifier: BSL-1.0
// bound: a lower bound on the height of every plan, with the step and the buffers that prove it.
//
//     bytes                     ┌───┐               Buffers live at the same step share no bytes. No plan is lower than
//       ▲        ┌───┐   bound ─┤ c ├───┐           the largest sum of their sizes over all steps.
//       │   ┌────┤ b │      ┌───┤ b │ d │
//       │   │ a  │ a │      │ b │ a │ a │           Here the maximum is at the step where a, b and c are live.
//       └───┴────┴───┴──────┴───┴───┴───┴──► time
//
// Alignment raises the bound. Two buffers at multiples of A are at least as far apart as the lower one's size rounded
// up to A; the topmost buffer needs no rounding. For each alignment A that occurs, the buffers with at least that
// alignment give a bound, and the largest of these bounds counts. Fixed buffers, pairs that are apart, reserved ranges
// and sets of buffers that pairwise share no byte (`clique`) raise the bound too. In those cases `step` and `live`
// still describe the step with the most live bytes. Buffers that are `together` must be merged first.
//
// Source: the bound is LOAD of dynamic storage allocation, e.g. Buchsbaum et al., OPT versus LOAD in dynamic storage
// allocation, STOC 2003. Complexity: O(n log n), plus O(n) for each further alignment, plus the budget of `clique` for
// problems with pairs or revivals. Memory: `bound_space`, 12 bytes a lifetime, 4 a buffer, 16 a reserved range, and the
// space of `clique`. Thread safety: reentrant; the workspace is the only state.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/detail/clique.hpp>
#include <allot/plan/detail/reserved_ranges.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {

/// Lower bound on the height of every plan.
struct plan_bound {
    std::uint64_t bytes = 0;                ///< no plan is lower
    std::int64_t step = 0;                  ///< step with the most live bytes
    std::span<const std::uint32_t> live{};  ///< buffers live at `step`, in the workspace
};

/// Returns the workspace that `bound_of` needs.
[[nodiscard]] constexpr plan_space bound_space(const plan_problem& problem) noexcept {
    const std::size_t lives = detail::most_lives(problem);
    return plan_space{3 * lives + problem.buffers.size(), 2 * problem.reserved.size(), 0} +
           detail::clique_search::space(problem);
}

namespace detail {

/// Both ends of every lifetime, in order of time.
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
    /// Calls `begin(life, step)` and `end(life)` in order of time, until `begin` returns false. A life is an index:
    /// buffers first, then revivals. Lifetimes that end at a step end before others begin at it.
    template <class Begin, class End>
    constexpr void run(Begin begin, End end) const noexcept {
        for (std::size_t next = 0, first = 0; next != count_; ++next) {
            const std::int64_t step = live(starts_[next]).from;
            for (; live(ends_[first]).until <= step; ++first) end(ends_[first]);
            if (!begin(starts_[next], step)) return;
        }
    }
    /// Returns the buffer of a life.
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

/// Returns the lower bound. Fails if `check_problem` does, if `together` is not merged, if the workspace is too small,
/// if two lifetimes of one buffer overlap, or if the live bytes at a step exceed 64 bits.
[[nodiscard]] constexpr result<plan_bound, plan_error> bound_of(const plan_problem& problem, plan_workspace workspace,
                                                                const detail::plan_sizes& sizes = {}) noexcept {
    using answer = result<plan_bound, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
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
    each_aligned = alignment_of(each_aligned | std::uint64_t{1} << 63);  // least alignment of a buffer with bytes
    plan_error error{};
    plan_bound bound{};
    std::uint64_t most = 0;                            // live at one step
    std::uint64_t most_rounded = 0, most_padding = 0;  // with sizes rounded up to the least alignment
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
                if (is_aligned(life) && (!checked_align_up(size_of(life), align, size) || !checked_add(sum, size, sum)))
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
            continue;  // the rounded sizes exceed 64 bits; the sizes may not
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
