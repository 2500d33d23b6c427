// SPDX-License-Identifier: BSL-1.0
// greedy: plans tens of thousands of buffers in tens of milliseconds, and improves the plan while effort remains.
//
//     priorities ──► skyline ──► a plan ──► raise the priority of buffers above the bound, add noise to all
//         ▲                                       │
//         └───────────────────────────────────────┘         the answer is the lowest plan
//
// `skyline` makes a plan from priorities. The first four sets of priorities are products of powers of a buffer's
// lifetime and size. The search then learns from the best of them (squeaky wheel optimization): a buffer that ends
// above the bound is placed earlier in the next plan. Priorities are logarithms, so that all arithmetic is on integers
// and the result is the same on every machine.
//
// `skyline` ignores fixed buffers, reserved ranges, pairs that are apart, revivals and mixed alignments. For a problem
// with any of them, `gaps` makes each plan in the order of the skyline. Three more first plans place buffers largest
// first, by area, and longest first.
//
// Source: Joslin and Clements, Squeaky wheel optimization, JAIR 10, 1999; see also `skyline` and `gaps`.
// Complexity: for each plan that of `skyline`, usually O(n log n), or that of `gaps`, O(n × buffers live at a step).
// Memory: `greedy_space`. Thread safety: reentrant; the workspace is the only state.
#pragma once

#include <allot/plan/bound.hpp>
#include <allot/plan/detail/gaps.hpp>
#include <allot/plan/detail/skyline.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Limit of the effort: the number of buffers placed, over all plans. A buffer for which `gaps` compares many others
/// counts for more. The first plan is always made. No further plan begins if it would exceed the limit at the cost of
/// the last plan; 0 therefore means one plan. A plan as low as the bound ends the work earlier.
struct greedy_effort {
    std::uint64_t placements = 1'000'000;  ///< about half a second
};

/// Result of `greedy_plan`.
struct greedy_answer {
    std::uint64_t height = 0;  ///< highest end of a buffer
    std::uint64_t plans = 0;   ///< number of plans made
};

/// Returns whether `skyline` considers everything that the problem contains.
[[nodiscard]] constexpr bool only_sizes_and_lifetimes(const plan_problem& problem) noexcept {
    if (!problem.revivals.empty() || !problem.fixed.empty() || !problem.together.empty() || !problem.apart.empty() ||
        !problem.reserved.empty())
        return false;
    std::uint64_t alignments = 0;
    for (const plan_buffer& buffer : problem.buffers) alignments |= buffer.align;
    return (alignments & (alignments - 1)) == 0;
}

/// Returns the logarithm to base 2 in units of 1/1024, linear between powers of two.
[[nodiscard]] constexpr std::uint32_t logarithm(std::uint64_t value) noexcept {
    const auto whole = static_cast<std::uint32_t>(std::bit_width(value)) - 1;
    const std::uint64_t rest = value << (63 - whole) & ~(std::uint64_t{1} << 63);
    return whole << 10 | static_cast<std::uint32_t>(rest >> 53);
}

/// Random numbers: xorshift64* (Marsaglia, Vigna), the same sequence on every machine.
class noise {
public:
    /// Returns a number in [0, 2^bits).
    [[nodiscard]] constexpr std::uint32_t operator()(unsigned bits) noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>(state_ * 0x2545'F491'4F6C'DD1D >> (64 - bits));
    }
    /// Returns a number below `limit`.
    [[nodiscard]] constexpr std::uint32_t below(std::uint32_t limit) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{(*this)(32)} * limit >> 32);
    }

private:
    std::uint64_t state_ = 88172645463325252;
};

class greedy {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = most_lives(problem);
        plan_space all = skyline::space(buffers, lifetimes);
        all.u32 += buffers;
        all.u64 += buffers + timeline::space(lifetimes).u64;
        if (only_sizes_and_lifetimes(problem)) return all;
        const plan_space more = gaps::space(problem);
        return {all.u32 + more.u32, all.u64 + more.u64, more.extents};
    }

    constexpr greedy(const plan_problem& problem, const plan_sizes& sizes, std::uint64_t bound, std::uint64_t* offsets,
                     plan_workspace workspace) noexcept
        : buffers_{problem.buffers.data()},
          all_{problem.buffers.size()},
          bound_{bound},
          simple_{only_sizes_and_lifetimes(problem)},
          lowest_{offsets},
          offsets_{workspace.cut_u64(all_)},
          learnt_{workspace.cut_u32(all_)},
          time_{problem, workspace},
          skyline_{problem, time_, workspace} {
        if (!simple_) gaps_ = gaps{problem, sizes, time_, offsets_, workspace};
        for (std::size_t i = 0; i != all_; ++i) offsets_[i] = 0;
    }

    template <class Stop>
    [[nodiscard]] constexpr result<greedy_answer, plan_error> run(greedy_effort effort, Stop stop) noexcept {
        using answer = result<greedy_answer, plan_error>;
        if (!simple_)
            if (const std::size_t fixed = gaps_.restart(); fixed != all_)
                return answer::failure({plan_refusal::contradiction, fixed});
        bool stopped = false;  // stays true
        const auto stop_with_a_plan = [&] { return found_ && (stopped = stopped || stop()); };
        const std::size_t tries = simple_ ? 4 : std::size(tried);
        trial best = tried[0];
        std::uint64_t spent = 0;
        bool enough = false;
        do {
            const bool learning = plans_ >= tries;
            const trial now = learning ? best : tried[plans_];
            if (learning && (plans_ - tries) % 4096 == 0) forget(best);
            for (std::uint32_t place = 0; place != skyline_.count(); ++place)
                skyline_.priorities()[place] = learning ? learnt_[place] + noise_(8) : priority(now, place);
            std::uint64_t height = 0;
            const bool made = make(now.sorted, height, stop_with_a_plan);
            ++plans_;
            const std::uint64_t cost = skyline_.count() + (simple_ ? 0 : gaps_.looked_at() / 256);
            spent += cost;
            enough = spent + cost > effort.placements;
            if (!made) continue;  // exceeds 64 bits, or `stop` returned true
            if (learning) learn();
            if (found_ && height >= height_) continue;
            if (!now.sorted) best = now;
            keep(height);
        } while ((!found_ && plans_ < tries) || (found_ && height_ > bound_ && !enough && !stop_with_a_plan()));
        if (!found_) return answer::failure({plan_refusal::too_large, 0});
        return greedy_answer{height_, plans_};
    }

private:
    /// Weights of a priority: lifetime^length × size^size, as a sum of logarithms.
    struct trial {
        std::uint32_t length, size;
        bool sorted;  // place in the order of priorities; otherwise in the order of the skyline
    };
    static constexpr trial tried[]{{1, 1, false}, {2, 1, false}, {1, 0, false}, {0, 1, false},
                                   {0, 1, true},  {1, 1, true},  {1, 0, true}};

    [[nodiscard]] constexpr std::uint32_t priority(trial of, std::uint32_t place) const noexcept {
        return 1 + of.length * logarithm(skyline_.length(place)) +
               of.size * logarithm(buffers_[skyline_.buffer(place)].size);
    }

    template <class Stop>
    [[nodiscard]] constexpr bool make(bool sorted, std::uint64_t& height, Stop stop) noexcept {
        const std::uint32_t count = skyline_.count();
        if (sorted) {
            const std::uint32_t* const priorities = skyline_.priorities();
            for (std::uint32_t i = 0; i != count; ++i) skyline_.order()[i] = i;
            sort_by(skyline_.order(), learnt_, count, [=](std::uint32_t i) { return std::uint64_t{~priorities[i]}; });
        } else if (!skyline_.run(stop)) {
            return false;
        }
        if (simple_) {
            for (std::uint32_t place = 0; place != count; ++place) {
                const std::uint32_t buffer = skyline_.buffer(place);
                offsets_[buffer] = skyline_.offsets()[place];
                height = larger(height, offsets_[buffer] + buffers_[buffer].size);
            }
            return true;
        }
        if (gaps_.restart() != all_) return false;
        for (std::uint32_t i = 0; i != count; ++i)
            if (!gaps_.place(skyline_.buffer(skyline_.order()[i])) || (i % 64 == 0 && stop())) return false;
        height = gaps_.height();
        return true;
    }

    constexpr void keep(std::uint64_t height) noexcept {
        found_ = true;
        height_ = height;
        for (std::size_t i = 0; i != all_; ++i) lowest_[i] = offsets_[i];
    }
    constexpr void forget(trial best) noexcept {
        for (std::uint32_t place = 0; place != skyline_.count(); ++place) learnt_[place] = priority(best, place);
    }
    constexpr void learn() noexcept {
        for (std::uint32_t place = 0; place != skyline_.count(); ++place) {
            const std::uint32_t buffer = skyline_.buffer(place);
            if (offsets_[buffer] + buffers_[buffer].size > bound_) learnt_[place] += noise_(10);
        }
    }

    const plan_buffer* buffers_;
    std::size_t all_;
    std::uint64_t bound_;
    bool simple_;
    std::uint64_t *lowest_, *offsets_;  // by buffer: of the lowest plan, and of the current one
    std::uint32_t* learnt_;             // by place of the skyline
    timeline time_;
    skyline skyline_;
    gaps gaps_{};
    noise noise_{};
    std::uint64_t height_ = 0, plans_ = 0;
    bool found_ = false;
};

/// Returns the workspace that `greedy_plan` needs.
[[nodiscard]] constexpr plan_space greedy_space(const plan_problem& problem) noexcept {
    return detail::greedy::space(problem);
}

/// Writes an offset for each buffer to `offsets`. `bound` is the result of `bound_of`; a plan as low as it ends the
/// work. Once a plan exists, `stop()` is called from time to time, and the work ends when it returns true. Fails if the
/// problem is invalid, its `together` is not merged, the workspace or `offsets` is too small, fixed buffers collide, or
/// no plan fits 64 bits.
template <class Stop>
[[nodiscard]] constexpr result<greedy_answer, plan_error> greedy_plan(
    const plan_problem& problem, const plan_bound& bound, plan_array<std::uint64_t> offsets, plan_workspace workspace,
    greedy_effort effort, Stop stop, const plan_sizes& sizes = {}) noexcept {
    using answer = result<greedy_answer, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (!problem.together.empty()) return answer::failure({plan_refusal::together_not_merged, 0});
    if (!workspace.holds(greedy_space(problem)) || offsets.size() < problem.buffers.size())
        return answer::failure({plan_refusal::workspace_too_small, 0});
    return detail::greedy{problem, sizes, bound.bytes, offsets.data(), workspace}.run(effort, stop);
}
/// Same, without a stop condition.
[[nodiscard]] constexpr result<greedy_answer, plan_error> greedy_plan(const plan_problem& problem,
                                                                      const plan_bound& bound,
                                                                      plan_array<std::uint64_t> offsets,
                                                                      plan_workspace workspace,
                                                                      greedy_effort effort = {}) noexcept {
    return greedy_plan(problem, bound, offsets, workspace, effort, [] { return false; });
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
