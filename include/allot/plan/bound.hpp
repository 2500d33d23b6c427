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
// When to use: to judge the peak of a layout, or to learn which buffers prevent a lower one.
// When not to use: for the bound of a plan that `plan` made. The result of `plan` contains it.
//
// Complexity: O(n log n), plus O(n) for each further alignment, plus the budget of `clique` for problems with pairs or
// revivals.
// Memory: `bound_space`: 12 bytes a lifetime, 4 a buffer, 16 a reserved range, and the space of `clique`.
// Thread safety: reentrant; the workspace is the only state.
// Source: the bound is LOAD of dynamic storage allocation, e.g. Buchsbaum et al., OPT versus LOAD in dynamic storage
// allocation, STOC 2003.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/detail/clique.hpp>
#include <allot/plan/detail/lifetime_sweep.hpp>
#include <allot/plan/detail/reserved_ranges.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {

/// Lower bound on the height of every plan.
struct plan_bound {
    std::uint64_t bytes = 0;                 ///< no plan is lower
    std::int64_t step = 0;                   ///< step with the most live bytes
    plan_array<const std::uint32_t> live{};  ///< buffers live at `step`, in the workspace
};

/// Returns the workspace that `bound_of` needs.
[[nodiscard]] constexpr plan_space bound_space(const plan_problem& problem) noexcept {
    const std::size_t lives = detail::most_lives(problem);
    return plan_space{3 * lives + problem.buffers.size(), 2 * problem.reserved.size(), 0} +
           detail::clique_search<>::space(problem);
}

namespace detail {

/// Implementation of `bound_of` for a valid problem.
// A template, so that only programs that use it compile it.
template <class = void>
class bound_finder {
public:
    constexpr bound_finder(const plan_problem& problem, const plan_sizes& sizes, plan_workspace workspace,
                           std::uint64_t comparisons) noexcept
        : problem_{&problem},
          sizes_{&sizes},
          buffers_{problem.buffers.data()},
          count_{problem.buffers.size()},
          lifetimes_{count_ + problem.revivals.size()},
          comparisons_{comparisons},
          workspace_{workspace},
          live_{workspace_.cut_u32(count_)},
          sweep_{problem, workspace_.cut_u32(lifetimes_), workspace_.cut_u32(lifetimes_),
                 workspace_.cut_u32(lifetimes_)} {}

    /// Finds the bound and returns the first error.
    [[nodiscard]] constexpr plan_error run() noexcept {
        if (const plan_error error = each_alignment(); error.reason != plan_refusal::none) return error;
        raise_to_fixed_ends();
        if (const plan_error error = raise_to_pairs(); error.reason != plan_refusal::none) return error;
        raise_to_cliques();
        if (const plan_error error = raise_beside_reserved(); error.reason != plan_refusal::none) return error;
        list_live();
        return {};
    }
    [[nodiscard]] constexpr const plan_bound& bound() const noexcept { return bound_; }

private:
    /// The largest sum of the sizes that live at one step, of the buffers with at least a given alignment. Sizes are
    /// rounded up to that alignment.
    struct aligned_load {
        std::uint64_t highest = 0;
        std::int64_t step = 0;
        std::uint64_t padding = 0;  // the most that rounding adds to a buffer
        bool fits = true;           // false: the sum exceeds 64 bits
    };

    [[nodiscard]] constexpr plan_error each_alignment() noexcept {
        std::uint64_t alignments = 1;
        for (std::size_t i = 0; i != count_; ++i) {
            alignments |= buffers_[i].align;
            if (buffers_[i].size != 0) each_aligned_ |= buffers_[i].align;
            live_[i] = 0;
        }
        each_aligned_ = alignment_of(each_aligned_ | std::uint64_t{1} << 63);
        for (; alignments != 0; alignments &= alignments - 1) {
            const std::uint64_t align = alignment_of(alignments);
            plan_error error{};
            const aligned_load load = load_of(align, error);
            if (error.reason != plan_refusal::none) return error;
            if (align == 1 && !load.fits) return {plan_refusal::too_large, 0};
            if (!load.fits) continue;  // the rounded sizes exceed 64 bits; the sizes may not
            if (align == 1) most_ = load.highest;
            if (align == each_aligned_) rounded_ = load;
            is_rounded_ = is_rounded_ || align == each_aligned_;
            if (load.highest - smaller(load.padding, load.highest) > bound_.bytes)
                bound_ = {load.highest - load.padding, load.step, {}};
        }
        return {};
    }
    /// The sweep for alignment 1 also finds overlapping lifetimes of one buffer.
    [[nodiscard]] constexpr aligned_load load_of(std::uint64_t align, plan_error& error) const noexcept {
        const auto is_aligned = [&](std::size_t life) { return buffers_[sweep_.buffer(life)].align >= align; };
        const auto size_of = [&](std::size_t life) { return sizes_->of_life(*problem_, life); };
        aligned_load load;
        for (std::size_t life = 0; life != lifetimes_; ++life)
            if (is_aligned(life)) load.padding = larger(load.padding, (~size_of(life) + 1) & (align - 1));
        std::uint64_t sum = 0;
        sweep_.run(
            [&](std::size_t life, std::int64_t step) {
                const std::size_t i = sweep_.buffer(life);
                if (align == 1 && live_[i]++ != 0) {
                    error = {plan_refusal::overlapping_lifetimes, i};
                    return false;
                }
                std::uint64_t size = 0;
                if (is_aligned(life) && (!checked_align_up(size_of(life), align, size) || !checked_add(sum, size, sum)))
                    return load.fits = false;
                if (sum > load.highest) {
                    load.highest = sum;
                    load.step = step;
                }
                return true;
            },
            [&](std::size_t life) {
                if (align == 1) --live_[sweep_.buffer(life)];
                if (is_aligned(life)) sum -= align_up(size_of(life), align);
            });
        return load;
    }

    constexpr void raise_to_fixed_ends() noexcept {
        for (const plan_fixed& fixed : problem_->fixed)
            if (const std::uint64_t size = buffers_[fixed.buffer].size; size != 0)
                bound_.bytes = larger(bound_.bytes, fixed.offset + size);
    }
    [[nodiscard]] constexpr plan_error raise_to_pairs() noexcept {
        for (std::size_t pair = 0; pair != problem_->apart.size(); ++pair) {
            std::uint64_t both = 0;
            if (!checked_add(sizes_->of_first(*problem_, pair), sizes_->of_second(*problem_, pair), both))
                return {plan_refusal::too_large, problem_->apart[pair].first};
            bound_.bytes = larger(bound_.bytes, both);
        }
        return {};
    }
    constexpr void raise_to_cliques() noexcept {
        if (!is_rounded_ || !clique_search<>::may_find(*problem_)) return;
        clique_search<> cliques{*problem_, *sizes_, each_aligned_, workspace_};
        const std::uint64_t heaviest = cliques.heaviest(rounded_.highest, comparisons_);
        bound_.bytes = larger(bound_.bytes, heaviest - smaller(rounded_.padding, heaviest));
        if (rounded_.padding == 0) most_ = larger(most_, heaviest);
    }
    [[nodiscard]] constexpr plan_error raise_beside_reserved() noexcept {
        const std::size_t count = problem_->reserved.size();
        if (count == 0 || most_ == 0) return {};
        plan_workspace workspace = workspace_;
        const plan_array begins = cut(workspace.u64, count), ends = cut(workspace.u64, count);
        std::uint64_t height = 0;
        if (!reserved_ranges{problem_->reserved, begins, ends}.height_beside(most_, height))
            return {plan_refusal::too_large, 0};
        bound_.bytes = larger(bound_.bytes, height);
        return {};
    }
    constexpr void list_live() noexcept {
        std::size_t lives = 0;
        const auto lives_then = [&](lifetime when) { return when.from <= bound_.step && bound_.step < when.until; };
        for (std::size_t i = 0; i != count_; ++i)
            if (lives_then(buffers_[i].live)) live_[lives++] = static_cast<std::uint32_t>(i);
        for (const plan_revival& revival : problem_->revivals)
            if (lives_then(revival.live)) live_[lives++] = static_cast<std::uint32_t>(revival.buffer);
        bound_.live = {live_, lives};
    }

    const plan_problem* problem_;
    const plan_sizes* sizes_;
    const plan_buffer* buffers_;
    std::size_t count_, lifetimes_;
    std::uint64_t comparisons_;  // of `clique`, if more than its default number
    plan_workspace workspace_;
    std::uint32_t* live_;  // by buffer: number of live lifetimes; then the live buffers
    lifetime_sweep sweep_;
    plan_bound bound_{};
    std::uint64_t each_aligned_ = 0;  // least alignment of a buffer with bytes
    std::uint64_t most_ = 0;          // live at one step
    aligned_load rounded_{};          // for the least alignment
    bool is_rounded_ = false;
};

}  // namespace detail

/// Returns the lower bound. Fails if `check_problem` does, if `together` is not merged, if the workspace is too small,
/// if two lifetimes of one buffer overlap, or if the live bytes at a step exceed 64 bits. `comparisons` raises the
/// limit of the search for sets of buffers that pairwise share no byte.
// A template, so that only programs that use it compile it.
template <class = void>
[[nodiscard]] constexpr result<plan_bound, plan_error> bound_of(const plan_problem& problem, plan_workspace workspace,
                                                                const detail::plan_sizes& sizes = {},
                                                                std::uint64_t comparisons = 0) noexcept {
    using answer = result<plan_bound, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!problem.together.empty()) return answer::failure({plan_refusal::together_not_merged, 0});
    if (!workspace.holds(bound_space(problem))) return answer::failure({plan_refusal::workspace_too_small, 0});
    detail::bound_finder<> finder{problem, sizes, workspace, comparisons};
    if (const plan_error error = finder.run(); error.reason != plan_refusal::none) return answer::failure(error);
    return finder.bound();
}

}  // namespace v1
}  // namespace allot
