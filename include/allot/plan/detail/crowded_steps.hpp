// SPDX-License-Identifier: BSL-1.0
// crowded_steps: proof that not all buffers can have a memory, from the bytes that live at one step.
//
//     all memories        ██████████████      Each buffer counts with its size rounded up to its alignment, because it
//     live at the step    ███████████████▒    begins at a multiple of it. So does each part of a divided buffer. The
//                                             same holds for one memory and the buffers that no other may hold, and for
//                                             the buffers of at least an alignment.
//
// Complexity: O(n log n) for each alignment and memory. Memory: 12 bytes a lifetime, of the caller.
// Not synchronized.
#pragma once

#include <allot/plan/bound.hpp>
#include <allot/plan/detail/lifetime_sweep.hpp>
#include <allot/plan/memories_problem.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class crowded_steps {
public:
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        return {.u32 = 3 * most_lives(problem)};
    }
    /// `allowed` has the possible memories of each buffer, as bits. Precondition: `problem` has no `together`.
    constexpr crowded_steps(const plan_problem& problem, const plan_sizes& sizes,
                            std::span<const plan_memory> all_memories, const std::uint64_t* allowed,
                            plan_workspace scratch) noexcept
        : problem_{&problem},
          sizes_{sizes},
          memories_{all_memories},
          allowed_{allowed},
          sweep_{problem, scratch.cut_u32(lives()), scratch.cut_u32(lives()), scratch.cut_u32(lives())} {}

    /// Returns whether there is such a step, and stores it.
    [[nodiscard]] constexpr bool find(std::int64_t& step) const noexcept {
        std::uint64_t least_align = memories_[0].align, alignments = 0;
        for (const plan_memory& memory : memories_) least_align = smaller(least_align, memory.align);
        for (const plan_buffer& buffer : problem_->buffers) alignments |= larger(buffer.align, least_align);
        for (; alignments != 0; alignments &= alignments - 1)
            for (std::size_t m = 0; m <= memories_.size(); ++m)
                if (const std::uint64_t mask = m == memories_.size() ? ~std::uint64_t{0} : std::uint64_t{1} << m;
                    are_crowded(mask, {alignment_of(alignments), least_align}, step))
                    return true;
        return false;
    }

private:
    struct least_alignments {
        std::uint64_t of_buffers, of_memories;
    };

    [[nodiscard]] constexpr std::size_t lives() const noexcept {
        return problem_->buffers.size() + problem_->revivals.size();
    }
    /// Returns whether the buffers that only the memories of `mask` may hold, and that have at least the alignment
    /// `align.of_buffers`, exceed these memories at one step.
    [[nodiscard]] constexpr bool are_crowded(std::uint64_t mask, least_alignments align,
                                             std::int64_t& step) const noexcept {
        std::uint64_t room = 0, here = 0, sum = 0;
        for (std::size_t k = 0; k != memories_.size(); ++k)
            if ((mask >> k & 1) != 0 &&
                (!checked_align_up(memories_[k].capacity, align.of_buffers, here) || !checked_add(room, here, room)))
                return false;
        const auto size_of = [&](std::size_t life) {
            const std::size_t i = sweep_.buffer(life);
            const bool counts = larger(problem_->buffers[i].align, align.of_memories) >= align.of_buffers &&
                                allowed_[i] != 0 && (allowed_[i] & ~mask) == 0;
            // The sum does not wrap, because the buffer fits a memory.
            return counts ? align_up(sizes_.of_life(*problem_, life), align.of_buffers) : 0;
        };
        bool crowded = false;
        sweep_.run(
            [&](std::size_t life, std::int64_t now) {
                crowded = !checked_add(sum, size_of(life), sum) || sum > room;
                if (crowded) step = now;
                return !crowded;
            },
            [&](std::size_t life) { sum -= size_of(life); });
        return crowded;
    }

    const plan_problem* problem_;
    plan_sizes sizes_;
    std::span<const plan_memory> memories_;
    const std::uint64_t* allowed_;
    lifetime_sweep sweep_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
