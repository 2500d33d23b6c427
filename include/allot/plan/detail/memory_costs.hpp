// SPDX-License-Identifier: BSL-1.0
// memory_costs: the weight of each buffer, and the memories that may hold it.
//
//     buffers ──► read ──► weight     size times uses, summed over the buffers that are `together`
//     uses                 allowed    the memories that are allowed and large enough, as bits
//     allowed              error      the first error of the problem
//                 is_crowded          proof that not all buffers can have a memory
//
// Complexity: O(n log n) for `read`, and for each alignment of `is_crowded`. Memory: `space` is permanent. The scratch
// of each function is in `scratch_space`. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/crowded_steps.hpp>
#include <allot/plan/detail/loads.hpp>
#include <allot/plan/detail/merge.hpp>
#include <allot/plan/detail/section_prices.hpp>
#include <allot/plan/detail/separation.hpp>
#include <allot/plan/memories_problem.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// A problem with several memories, whose buffers that are `together` have been merged.
// A template, so that only programs that use it compile it.
template <class = void>
class memory_costs {
public:
    [[nodiscard]] static constexpr plan_space space(const memories_problem& given) noexcept {
        const plan_problem& problem = given.buffers;
        const std::size_t buffers = problem.buffers.size();
        return plan_space{.u64 = 2 * buffers} + section_tree::space(problem) +
               prices::space(most_sections(problem), buffers) + separation::space(given);
    }
    /// Workspace of each single function.
    [[nodiscard]] static constexpr plan_space scratch_space(const plan_problem& problem) noexcept {
        return plan_space{.u32 = 3 * larger(most_lives(problem), problem.fixed.size()),
                          .u64 = 2 * problem.buffers.size()} +
               section_loads::space(most_sections(problem));
    }

    constexpr memory_costs(const merged_problem& merged, const plan_sizes& sizes, const memories_problem& given,
                           plan_workspace& workspace) noexcept
        : merged_{&merged},
          sizes_{sizes},
          given_{&given},
          buffers_{merged.problem.buffers.data()},
          where_{merged.problem, sizes, workspace},
          price_{where_, most_sections(given.buffers), count(), workspace},
          separate_{merged, given, workspace} {
        weight_ = workspace.cut_u64(count());
        allowed_ = workspace.cut_u64(count());
    }
    memory_costs(const memory_costs&) = delete;  // the prices refer to the sections

    /// Reads weights and allowed memories, and returns the first error of the problem.
    [[nodiscard]] constexpr plan_error read(plan_workspace scratch) noexcept {
        plan_error error = read_buffers();
        if (error.reason == plan_refusal::none) error = check_separation();
        if (error.reason == plan_refusal::none) error = check_fixed_memories();
        if (error.reason == plan_refusal::none) error = check_fixed_collisions(scratch);
        if (error.reason == plan_refusal::none) error = check_sums();
        if (error.reason == plan_refusal::none) {
            exclude_small_memories();
            exclude_taken_memories(scratch);
        }
        return error;
    }

    [[nodiscard]] constexpr const plan_problem& problem() const noexcept { return merged_->problem; }
    [[nodiscard]] constexpr const memories_problem& given() const noexcept { return *given_; }
    [[nodiscard]] constexpr const plan_sizes& sizes() const noexcept { return sizes_; }
    [[nodiscard]] constexpr std::span<const plan_memory> memories() const noexcept { return given_->memories; }
    [[nodiscard]] constexpr std::size_t count() const noexcept { return merged_->problem.buffers.size(); }
    [[nodiscard]] constexpr std::uint64_t size(std::size_t i) const noexcept { return buffers_[i].size; }
    /// Size of a buffer times its uses, by buffer.
    [[nodiscard]] constexpr const std::uint64_t* weights() const noexcept { return weight_; }
    /// Memories that may hold a buffer, as bits, by buffer.
    [[nodiscard]] constexpr const std::uint64_t* allowed() const noexcept { return allowed_; }
    /// A cost that exceeds the cost of each memory. No sum of weights times this cost exceeds 64 bits.
    [[nodiscard]] constexpr std::uint64_t highest_cost() const noexcept { return highest_cost_; }
    [[nodiscard]] constexpr const section_tree& sections() const noexcept { return where_; }
    [[nodiscard]] constexpr prices& price() noexcept { return price_; }
    [[nodiscard]] constexpr const separation& separate() const noexcept { return separate_; }

    /// Removes all memories of a buffer, so that it has no cost.
    constexpr void exclude(std::size_t i) noexcept { allowed_[i] = 0; }
    /// Returns the first of the given buffers that fits no allowed memory, or the number of buffers.
    [[nodiscard]] constexpr std::size_t unholdable() const noexcept {
        for (std::size_t given = 0; given != given_->buffers.buffers.size(); ++given)
            if (allowed_[(*merged_)[given]] == 0) return given;
        return given_->buffers.buffers.size();
    }

    /// Returns whether the buffers that live at one step exceed all memories, or exceed the one memory that they all
    /// must live in, and stores that step.
    [[nodiscard]] constexpr bool is_crowded(std::int64_t& step, plan_workspace scratch) const noexcept {
        const crowded_steps<> crowded{merged_->problem, sizes_, memories(), allowed_, scratch};
        return crowded.find(step);
    }

    static constexpr std::uint64_t bit(std::size_t memory) noexcept { return std::uint64_t{1} << memory; }

private:
    [[nodiscard]] static constexpr std::size_t most_sections(const plan_problem& problem) noexcept {
        return most_lives(problem) + problem.apart.size();
    }
    [[nodiscard]] constexpr std::size_t original(std::size_t merged) const noexcept {
        std::size_t given = 0;
        while ((*merged_)[given] != merged) ++given;
        return given;
    }
    /// Returns the only memory of a fixed buffer. Precondition: `allowed_` has one bit.
    [[nodiscard]] constexpr const plan_memory& memory_of(const plan_fixed& fixed) const noexcept {
        return memories()[static_cast<std::size_t>(std::countr_zero(allowed_[fixed.buffer]))];
    }

    // ---- steps of `read` -------------------------------------------------------------------------------------------

    [[nodiscard]] constexpr plan_error read_buffers() noexcept {
        const std::uint64_t all = memories().size() == 64 ? ~std::uint64_t{0} : bit(memories().size()) - 1;
        for (std::size_t i = 0; i != count(); ++i) {
            weight_[i] = 0;
            allowed_[i] = all;
        }
        for (std::size_t given = 0; given != given_->buffers.buffers.size(); ++given) {
            const std::size_t i = (*merged_)[given];
            std::uint64_t weight = 0;
            if (!checked_multiply(given_->buffers.buffers[given].size, given_->uses.empty() ? 1 : given_->uses[given],
                                  weight) ||
                !checked_add(weight_[i], weight, weight_[i]))
                return {plan_refusal::too_large, given};
            if (!given_->allowed.empty()) allowed_[i] &= given_->allowed[given];
        }
        return {};
    }
    [[nodiscard]] constexpr plan_error check_separation() const noexcept {
        for (const plan_pair& pair : given_->separate)
            if (separation::counts(*given_, pair) && (*merged_)[pair.first] == (*merged_)[pair.second])
                return {plan_refusal::contradiction, pair.first};
        return {};
    }
    [[nodiscard]] constexpr plan_error check_fixed_memories() const noexcept {
        for (const plan_fixed& fixed : merged_->problem.fixed) {
            if (!std::has_single_bit(allowed_[fixed.buffer]))
                return {plan_refusal::fixed_in_no_one_memory, original(fixed.buffer)};
            if (fixed.offset % memory_of(fixed).align != 0)
                return {plan_refusal::fixed_misaligned, original(fixed.buffer)};
        }
        return {};
    }
    /// Ensures that no sum of costs wraps, and no sum of the values of buffers in a memory.
    [[nodiscard]] constexpr plan_error check_sums() noexcept {
        if (!checked_multiply(larger<std::uint64_t>(memories().back().cost, 1), std::uint64_t{64}, highest_cost_))
            return {plan_refusal::too_large, 0};
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i != count(); ++i) {
            std::uint64_t most = 0;
            if (!checked_multiply(larger(larger(weight_[i], buffers_[i].size), std::uint64_t{1}), highest_cost_,
                                  most) ||
                !checked_add(sum, most, sum))
                return {plan_refusal::too_large, original(i)};
        }
        return {};
    }
    constexpr void exclude_small_memories() noexcept {
        for (std::size_t i = 0; i != count(); ++i)
            for (std::size_t m = 0; m != memories().size(); ++m)
                if (buffers_[i].size > memories()[m].capacity) allowed_[i] &= ~bit(m);
        for (const plan_fixed& fixed : merged_->problem.fixed)
            if (const std::uint64_t size = buffers_[fixed.buffer].size;
                allowed_[fixed.buffer] != 0 && size != 0 && fixed.offset > memory_of(fixed).capacity - size)
                allowed_[fixed.buffer] = 0;
    }

    /// Excludes the only possible memory of a buffer for the buffers that must be in another one.
    constexpr void exclude_taken_memories(plan_workspace scratch) noexcept {
        if (separate_.is_empty()) return;
        std::uint32_t* const decided = scratch.cut_u32(count());  // each buffer at most once
        std::size_t some = 0;
        for (std::uint32_t i = 0; i != count(); ++i)
            if (std::has_single_bit(allowed_[i])) decided[some++] = i;
        for (std::size_t k = 0; k != some; ++k)
            for (const std::uint32_t other : separate_.of(decided[k])) {
                const std::uint64_t before = allowed_[other];
                allowed_[other] &= ~allowed_[decided[k]];
                if (allowed_[other] != before && std::has_single_bit(allowed_[other])) decided[some++] = other;
            }
    }

    // ---- fixed buffers ---------------------------------------------------------------------------------------------

    /// The fixed buffers with bytes, sorted by their first and by their last bytes.
    struct fixed_buffers {
        std::uint32_t *begins = nullptr, *ends = nullptr;
        std::uint64_t *is_fixed = nullptr, *offset = nullptr;  // by buffer
        std::size_t count = 0;
        std::uint64_t memories = 0;  // bits
    };

    /// Returns an error if two fixed buffers collide in one memory.
    [[nodiscard]] constexpr plan_error check_fixed_collisions(plan_workspace scratch) noexcept {
        fixed_buffers fixed;
        section_loads taken{where_.count(), scratch};
        if (const plan_error error = read_fixed(fixed, scratch); error.reason != plan_refusal::none) return error;
        for (std::uint64_t rest = fixed.memories; rest != 0; rest &= rest - 1) {
            taken.clear();
            const std::size_t i = first_collision(fixed, rest & (~rest + 1), taken);
            if (i == count()) continue;
            if (!given_->buffers.together.empty()) return check_fixed_pairs(fixed);
            return {plan_refusal::contradiction, original(i)};
        }
        return {};
    }
    /// Returns an error if a buffer is fixed at two offsets.
    [[nodiscard]] constexpr plan_error read_fixed(fixed_buffers& all, plan_workspace& scratch) const noexcept {
        const auto given = merged_->problem.fixed;
        all.begins = scratch.cut_u32(given.size());
        all.ends = scratch.cut_u32(given.size());
        std::uint32_t* const sorted = scratch.cut_u32(given.size());
        all.is_fixed = scratch.cut_u64(count());
        all.offset = scratch.cut_u64(count());
        for (std::size_t i = 0; i != count(); ++i) all.is_fixed[i] = 0;
        for (const plan_fixed& each : given) {
            const auto i = static_cast<std::uint32_t>(each.buffer);
            const bool known = all.is_fixed[i] != 0;
            if (known && all.offset[i] != each.offset) return {plan_refusal::contradiction, original(i)};
            all.is_fixed[i] = 1;
            all.offset[i] = each.offset;
            if (known || buffers_[i].size == 0) continue;
            all.memories |= allowed_[i];
            all.begins[all.count] = all.ends[all.count] = i;
            ++all.count;
        }
        sort_by(all.begins, sorted, all.count, [&](std::uint32_t i) { return all.offset[i]; });
        sort_by(all.ends, sorted, all.count, [&](std::uint32_t i) { return all.offset[i] + buffers_[i].size; });
        return {};
    }
    /// Returns the first buffer that collides with a lower one in `memory`, or the number of buffers. A sweep over the
    /// offsets counts the buffers in each section.
    [[nodiscard]] constexpr std::size_t first_collision(const fixed_buffers& fixed, std::uint64_t memory,
                                                        section_loads& taken) const noexcept {
        const auto take = [&](std::uint32_t i, bool in) {
            where_.each_span(i, [&](std::uint32_t from, std::uint32_t until) { taken.add(from, until, 1, in); });
        };
        for (std::size_t next = 0, first = 0; next != fixed.count; ++next) {
            const std::uint32_t i = fixed.begins[next];
            for (; fixed.offset[fixed.ends[first]] + buffers_[fixed.ends[first]].size <= fixed.offset[i]; ++first)
                if (allowed_[fixed.ends[first]] == memory) take(fixed.ends[first], false);
            if (allowed_[i] != memory) continue;
            bool collides = false;
            where_.each_span(i, [&](std::uint32_t from, std::uint32_t until) {
                collides = collides || taken.most(from, until) != 0;
            });
            if (collides) return i;
            take(i, true);
        }
        return count();
    }
    /// The same check for each pair of given buffers. A merged buffer may be larger than the members that live.
    [[nodiscard]] constexpr plan_error check_fixed_pairs(const fixed_buffers& fixed) const noexcept {
        const auto all = given_->buffers.buffers;
        for (std::size_t a = 0; a != all.size(); ++a)
            for (std::size_t b = 0; b != a && fixed.is_fixed[(*merged_)[a]] != 0; ++b) {
                const std::size_t one = (*merged_)[a], other = (*merged_)[b];
                if (fixed.is_fixed[other] != 0 && one != other && allowed_[one] == allowed_[other] &&
                    all[a].size != 0 && all[b].size != 0 && fixed.offset[one] < fixed.offset[other] + all[b].size &&
                    fixed.offset[other] < fixed.offset[one] + all[a].size && conflict(a, b))
                    return {plan_refusal::contradiction, a};
            }
        return {};
    }
    /// Returns whether two given buffers must not share a byte.
    [[nodiscard]] constexpr bool conflict(std::size_t a, std::size_t b) const noexcept {
        bool meets = lives_with(a, given_->buffers.buffers[b].live);
        for (const plan_revival& each : given_->buffers.revivals)
            meets = meets || (each.buffer == b && lives_with(a, each.live));
        for (const plan_pair& each : given_->buffers.apart)
            meets = meets || (each.first == a && each.second == b) || (each.first == b && each.second == a);
        return meets;
    }
    [[nodiscard]] constexpr bool lives_with(std::size_t given, lifetime live) const noexcept {
        bool meets = given_->buffers.buffers[given].live.overlaps(live);
        for (const plan_revival& each : given_->buffers.revivals)
            meets = meets || (each.buffer == given && each.live.overlaps(live));
        return meets;
    }

    const merged_problem* merged_;
    plan_sizes sizes_;
    const memories_problem* given_;
    const plan_buffer* buffers_;
    section_tree where_;
    prices price_;
    separation separate_;
    std::uint64_t *weight_ = nullptr, *allowed_ = nullptr;  // by buffer
    std::uint64_t highest_cost_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
