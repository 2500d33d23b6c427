// SPDX-License-Identifier: BSL-1.0
// clique: the heaviest set found of buffers that pairwise share no byte.
//
//      a ██████          The pairs b, c and a, c are declared apart: no two of the three buffers share a byte, although
//          b █████       at most two of them live at the same step. No plan is lower than the sum of all three sizes.
//      c         ████
//
// All buffers live at one step form such a set, and `bound` computes the heaviest of those. Any other set
// contains a pair that is apart or a buffer that lives more than once. The search starts from each such buffer in turn.
// It branches on every buffer that shares no byte with those taken, largest first, and prunes a branch if its sum
// cannot exceed the best so far. A start buffer is excluded from later starts.
//
// Complexity: at most max(64 n, min(2 n², 131072)) comparisons of two lifetimes or of a pair, or a given number if that
// is larger. Memory: `space`, 76 bytes a buffer, 4 a lifetime and 8 a pair; 0 without pairs and revivals.
// Thread safety: none.
#pragma once

#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class clique_search {
    static constexpr std::size_t lists = 8;  // of candidates, each with room for every buffer

public:
    /// Returns whether such a set may be heavier than the buffers live at one step.
    [[nodiscard]] static constexpr bool may_find(const plan_problem& problem) noexcept {
        return !problem.apart.empty() || !problem.revivals.empty() || !problem.together.empty();
    }
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        if (!may_find(problem)) return {};
        const std::size_t buffers = problem.buffers.size();
        return {(lists + 5) * buffers + 2 + most_lives(problem) + 2 * problem.apart.size(), 3 * buffers};
    }

    /// Rounds sizes up to `align`, a divisor of all alignments. Precondition: `may_find(problem)`.
    constexpr clique_search(const plan_problem& problem, const plan_sizes& sizes, std::uint64_t align,
                            plan_workspace workspace) noexcept
        : problem_{&problem}, count_{static_cast<std::uint32_t>(problem.buffers.size())} {
        const std::size_t lives = count_ + problem.revivals.size();
        first_life_ = workspace.cut_u32(count_ + 1);
        life_ = workspace.cut_u32(lives);
        first_apart_ = workspace.cut_u32(count_ + 1);
        apart_ = workspace.cut_u32(2 * problem.apart.size());
        begin_ = workspace.cut_u32(count_);
        next_ = workspace.cut_u32(count_);
        end_ = workspace.cut_u32(count_);
        candidates_ = workspace.cut_u32(lists * count_);
        weight_ = workspace.cut_u64(count_);
        sum_ = workspace.cut_u64(count_);
        rest_ = workspace.cut_u64(count_);

        for (std::size_t i = 0; i <= count_; ++i) {
            first_life_[i] = i < count_ ? 1 : 0;
            first_apart_[i] = 0;
        }
        for (const plan_revival& revival : problem.revivals) ++first_life_[revival.buffer];
        for (const plan_pair& pair : problem.apart) ++first_apart_[pair.first], ++first_apart_[pair.second];
        for (std::size_t i = 1; i <= count_; ++i) {
            first_life_[i] += first_life_[i - 1];
            first_apart_[i] += first_apart_[i - 1];
        }
        const auto weighs_at_most = [&](std::size_t i, std::uint64_t size) { weight_[i] = smaller(weight_[i], size); };
        for (std::size_t i = 0; i != count_; ++i) weight_[i] = ~std::uint64_t{0};
        for (std::size_t life = lives; life-- != 0;) {
            const std::size_t of = life < count_ ? life : problem.revivals[life - count_].buffer;
            life_[--first_life_[of]] = static_cast<std::uint32_t>(life);
            weighs_at_most(of, sizes.of_life(problem, life));
        }
        for (std::size_t pair = 0; pair != problem.apart.size(); ++pair) {
            const auto [first, second] = problem.apart[pair];
            apart_[--first_apart_[first]] = static_cast<std::uint32_t>(second);
            apart_[--first_apart_[second]] = static_cast<std::uint32_t>(first);
            weighs_at_most(first, sizes.of_first(problem, pair));
            weighs_at_most(second, sizes.of_second(problem, pair));
        }
        std::uint64_t all = 0;
        for (std::size_t i = 0; i != count_; ++i)
            fits_ = fits_ && checked_align_up(weight_[i], align, weight_[i]) && checked_add(all, weight_[i], all);
    }

    /// Returns the default number of comparisons.
    [[nodiscard]] static constexpr std::uint64_t default_comparisons(std::uint64_t buffers) noexcept {
        constexpr std::uint64_t each = 64, all = 131072;
        return buffers * larger(each, smaller<std::uint64_t>(2 * buffers, all / (buffers + 1)));
    }
    /// Returns the largest sum of sizes found, at least `best`, after at most `comparisons` or the default number.
    [[nodiscard]] constexpr std::uint64_t heaviest(std::uint64_t best, std::uint64_t comparisons) noexcept {
        left_ = larger(comparisons, default_comparisons(count_));
        for (std::uint32_t seed = 0; fits_ && seed != count_ && left_ != 0; ++seed) {
            if (weight_[seed] == 0 || (lives(seed) == 1 && partners(seed) == 0)) continue;
            best = heaviest_with(seed, best);
            weight_[seed] = 0;  // all sets with it were tried
        }
        return best;
    }

private:
    /// Returns the largest sum of a set that contains `seed`, or `best` if that is larger. Depth first: each level
    /// takes one more buffer. Its candidates conflict with all taken buffers.
    [[nodiscard]] constexpr std::uint64_t heaviest_with(std::uint32_t seed, std::uint64_t best) noexcept {
        std::uint32_t depth = 0, top = 0;
        const auto open = [&](std::uint64_t sum) {
            begin_[depth] = next_[depth] = top;
            sum_[depth] = sum;
            rest_[depth] = 0;
        };
        const auto add = [&](std::uint32_t i) {
            candidates_[top++] = i;
            rest_[depth] += weight_[i];
        };
        open(weight_[seed]);
        for (std::uint32_t i = 0; i != count_ && left_ != 0; ++i)
            if (i != seed && weight_[i] != 0 && conflict(seed, i)) add(i);
        end_[0] = top;
        sort_by(candidates_, candidates_ + top, top, [this](std::uint32_t i) { return ~weight_[i]; });
        for (;;) {
            const bool more = next_[depth] != end_[depth] && sum_[depth] + rest_[depth] > best && left_ != 0;
            if (!more) {
                top = begin_[depth];
                if (depth-- == 0) return best;
                continue;
            }
            const std::uint32_t taken = candidates_[next_[depth]++];
            rest_[depth] -= weight_[taken];
            const std::uint64_t sum = sum_[depth] + weight_[taken];
            best = larger(best, sum);
            const std::uint32_t from = next_[depth], until = end_[depth];
            if (from == until || top + (until - from) > lists * std::uint64_t{count_}) continue;
            ++depth;
            open(sum);
            for (std::uint32_t k = from; k != until && left_ != 0; ++k)
                if (conflict(taken, candidates_[k])) add(candidates_[k]);
            end_[depth] = top;
        }
    }

    [[nodiscard]] constexpr std::uint32_t lives(std::uint32_t i) const noexcept {
        return first_life_[i + 1] - first_life_[i];
    }
    [[nodiscard]] constexpr std::uint32_t partners(std::uint32_t i) const noexcept {
        return first_apart_[i + 1] - first_apart_[i];
    }
    [[nodiscard]] constexpr const lifetime& live(std::uint32_t life) const noexcept {
        return life < count_ ? problem_->buffers[life].live : problem_->revivals[life - count_].live;
    }
    [[nodiscard]] constexpr bool conflict(std::uint32_t a, std::uint32_t b) noexcept {
        const std::uint64_t looks = std::uint64_t{lives(a)} * lives(b) + smaller(partners(a), partners(b));
        left_ -= smaller(left_, looks);
        for (std::uint32_t k = first_life_[a]; k != first_life_[a + 1]; ++k)
            for (std::uint32_t l = first_life_[b]; l != first_life_[b + 1]; ++l)
                if (live(life_[k]).overlaps(live(life_[l]))) return true;
        if (partners(b) < partners(a)) std::swap(a, b);
        for (std::uint32_t k = first_apart_[a]; k != first_apart_[a + 1]; ++k)
            if (apart_[k] == b) return true;
        return false;
    }

    const plan_problem* problem_;
    std::uint32_t count_;
    bool fits_ = true;                                           // the sum of all sizes fits 64 bits
    std::uint64_t left_ = 0;                                     // remaining budget of comparisons
    std::uint32_t *first_life_, *life_, *first_apart_, *apart_;  // by buffer; by position given there
    std::uint32_t *begin_, *next_, *end_;                        // by depth: range of candidates, and the next one
    std::uint32_t* candidates_;
    std::uint64_t* weight_;       // by buffer: its least size, rounded up
    std::uint64_t *sum_, *rest_;  // by depth: sums of the taken, the rest
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
