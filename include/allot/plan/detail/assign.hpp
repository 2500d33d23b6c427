// SPDX-License-Identifier: BSL-1.0
// assign: exhaustive choice of a memory for each of a few buffers; finds the cheapest choice that can be packed.
//
//     a   0 ──────────┬── 1           Depth-first search. Each buffer gets a memory, the cheapest first. After each
//     b   0 ───┬── 1  └── 0 ── …      choice, `packing_search` packs all buffers of that memory. If they do not fit,
//     c   0 ✗  └── 0                  the next memory is tried. A branch ends if its cost plus the least cost of the
//         1 ✗      best               remaining buffers reaches the cost of the best plan.
//
// Buffers with few allowed memories come first, among them those that must be in another memory than many others, and
// among these the largest. Of equal memories that are empty, only the first is tried. After a complete search, the best
// plan is optimal, or no plan exists. A search that exhausts the effort proves nothing.
//
// Complexity: memories to the power of buffers, bounded by the effort. Memory: `space`, 44 bytes a buffer plus
// `problem_part` and `packing_search`. Not synchronized.
#pragma once

#include <allot/plan/detail/part.hpp>
#include <allot/plan/detail/search.hpp>
#include <allot/plan/detail/separation.hpp>
#include <allot/plan/memories_problem.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Depth-first search over the memories of all buffers with bytes.
// A template, so that only programs that use it compile it.
template <class = void>
class memory_assignment {
public:
    /// Returns the size of the workspace for any part of `problem`.
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem, std::size_t remember) noexcept {
        const std::size_t buffers = problem.buffers.size();
        const search_counts counts{{buffers, most_lives(problem), problem.apart.size()}, 0, remember};
        return plan_space{.u32 = 3 * buffers, .u64 = 4 * buffers + 1} + counts.space() + problem_part<>::space(problem);
    }

    /// By buffer: its allowed memories as a bit mask (nonzero if the buffer has bytes), its size times its uses, and
    /// the buffers that must be in another memory.
    struct buffer_facts {
        const std::uint64_t* allowed;
        const std::uint64_t* weight;
        const separation* separate;
    };

    constexpr memory_assignment(const plan_problem& problem, const plan_sizes& sizes,
                                std::span<const plan_memory> all_memories, buffer_facts facts, std::size_t remember,
                                plan_workspace workspace) noexcept
        : buffers_{problem.buffers},
          memories_{all_memories},
          facts_{facts},
          remember_{remember},
          part_{problem, sizes, workspace} {
        order_ = workspace.cut_u32(buffers_.size());
        memory_ = workspace.cut_u32(buffers_.size());
        std::uint32_t* const scratch = workspace.cut_u32(buffers_.size());
        offset_ = workspace.cut_u64(buffers_.size());
        trial_ = workspace.cut_u64(buffers_.size());
        paid_ = workspace.cut_u64(buffers_.size());
        rest_ = workspace.cut_u64(buffers_.size() + 1);
        workspace_ = workspace;
        for (std::uint32_t i = 0; i != buffers_.size(); ++i)
            if (buffers_[i].size != 0) order_[count_++] = i;
        sort_by(order_, scratch, count_, [&](std::uint32_t i) { return ~buffers_[i].size; });
        sort_by(order_, scratch, count_,
                [&](std::uint32_t i) { return ~std::uint64_t{facts_.separate->of(i).size()}; });
        sort_by(order_, scratch, count_, [&](std::uint32_t i) { return std::uint64_t(std::popcount(allowed(i))); });
        rest_[count_] = 0;
        for (std::size_t k = count_; k-- != 0;)
            rest_[k] = rest_[k + 1] + cost(order_[k], static_cast<std::size_t>(std::countr_zero(allowed(order_[k]))));
        for (std::size_t m = 1; m != memories_.size(); ++m) is_repeated_[m] = is_like_the_previous(m);
    }

    /// Returns the number of choices, or `most` if there are more.
    [[nodiscard]] constexpr std::uint64_t choices(std::uint64_t most) const noexcept {
        std::uint64_t all = 1;
        for (std::size_t k = 0; k != count_ && all < most; ++k)
            all *= static_cast<std::uint64_t>(std::popcount(allowed(order_[k])));
        return smaller(all, most);
    }

    /// Tries the choices that cost less than `least` until the effort is spent, and returns the spent effort. Calls
    /// `keep(cost)` for each plan that it finds. Each plan costs less than the one before. During that call, `memory`
    /// and `offset` return the places.
    template <class Keep, class Stop>
    constexpr std::uint64_t run(std::uint64_t least, std::uint64_t effort, Keep keep, Stop& stop) noexcept {
        proved_ = true;
        std::uint64_t spent = 0;
        std::size_t k = 0;  // number of buffers that have a memory
        for (std::size_t i = 0; i != count_; ++i) memory_[order_[i]] = memory_place::nowhere;
        for (std::size_t m = 0; m != memories_.size(); ++m) held_[m] = 0;
        const auto go_back = [&] {
            if (k == 0) return false;
            --held_[memory_[order_[--k]]];
            return true;
        };
        for (;;) {
            if (k == count_) {
                least = (k == 0 ? 0 : paid_[k - 1]);
                keep(least);
                if (!go_back()) break;
                continue;
            }
            const std::uint32_t i = order_[k];
            const std::uint64_t before = k == 0 ? 0 : paid_[k - 1];
            const std::uint32_t next = next_memory(i);
            if (next == memory_place::nowhere || before + cost(i, next) + rest_[k + 1] >= least) {
                memory_[i] = memory_place::nowhere;  // the next memories cost no less
                if (!go_back()) break;
                continue;
            }
            memory_[i] = next;
            if (spent >= effort || stop()) {
                proved_ = false;
                break;
            }
            if (is_excluded(i, next)) {
                ++spent;
                continue;
            }
            if (!packs(next, k, effort - spent, spent, stop)) continue;
            ++held_[next];
            paid_[k++] = before + cost(i, next);
        }
        return spent;
    }
    /// Returns whether the last run tried every choice.
    [[nodiscard]] constexpr bool proved() const noexcept { return proved_; }
    /// Memory of a buffer with bytes, during `keep`.
    [[nodiscard]] constexpr std::uint32_t memory(std::uint32_t buffer) const noexcept { return memory_[buffer]; }
    /// Offset of a buffer with bytes, during `keep`.
    [[nodiscard]] constexpr std::uint64_t offset(std::uint32_t buffer) const noexcept { return offset_[buffer]; }

private:
    [[nodiscard]] constexpr std::uint64_t allowed(std::uint32_t buffer) const noexcept {
        return facts_.allowed[buffer];
    }
    [[nodiscard]] constexpr std::uint64_t cost(std::uint32_t buffer, std::size_t memory) const noexcept {
        return facts_.weight[buffer] * memories_[memory].cost;
    }
    /// Returns the allowed memory after the current one of a buffer, or `nowhere`.
    [[nodiscard]] constexpr std::uint32_t next_memory(std::uint32_t buffer) const noexcept {
        const std::uint32_t from = memory_[buffer] == memory_place::nowhere ? 0 : memory_[buffer] + 1;
        if (from == 64 || allowed(buffer) >> from == 0) return memory_place::nowhere;
        return from + static_cast<std::uint32_t>(std::countr_zero(allowed(buffer) >> from));
    }

    /// Returns whether a memory differs from the one before it only in its number.
    [[nodiscard]] constexpr bool is_like_the_previous(std::size_t memory) const noexcept {
        const plan_memory &one = memories_[memory - 1], &other = memories_[memory];
        if (one.capacity != other.capacity || one.align != other.align || one.cost != other.cost) return false;
        for (std::size_t k = 0; k != count_; ++k)
            if (const std::uint64_t both = allowed(order_[k]) >> (memory - 1) & 3; both == 1 || both == 2) return false;
        return true;
    }
    /// Returns whether a buffer may not join the earlier buffers of the order in a memory, or need not be tried there.
    [[nodiscard]] constexpr bool is_excluded(std::uint32_t buffer, std::uint32_t memory) const noexcept {
        if (is_repeated_[memory] && held_[memory - 1] == 0) return true;
        return facts_.separate->any(buffer, [&](std::uint32_t other) { return memory_[other] == memory; });
    }

    /// Returns whether the buffers of `memory` can be packed, among the first k + 1 buffers of the order.
    template <class Stop>
    [[nodiscard]] constexpr bool packs(std::uint32_t memory, std::size_t k, std::uint64_t effort, std::uint64_t& spent,
                                       Stop& stop) noexcept {
        part_.begin();
        std::size_t count = 0;
        const auto each = [&](auto visit) {
            for (std::size_t j = 0; j <= k; ++j)
                if (memory_[order_[j]] == memory) visit(order_[j]);
        };
        each([&](std::uint32_t i) {
            part_.add(i, larger(buffers_[i].align, memories_[memory].align));
            ++count;
        });
        const plan_problem problem = part_.problem();
        packing_search<> search{problem, {workspace_, remember_}, part_.sizes()};
        const search_result found = search.find(memories_[memory].capacity, {trial_, count}, effort, stop);
        spent += 1 + count / 2 + found.nodes;
        if (found.answer == search_answer::infeasible) return false;
        if (found.answer != search_answer::found) return proved_ = false;
        std::size_t at = 0;
        each([&](std::uint32_t i) { offset_[i] = trial_[at++]; });
        return true;
    }

    std::span<const plan_buffer> buffers_;
    std::span<const plan_memory> memories_;
    buffer_facts facts_;
    std::size_t remember_, count_ = 0;
    problem_part<> part_;
    std::uint32_t *order_ = nullptr, *memory_ = nullptr;  // buffers with bytes, in search order; memory by buffer
    std::uint64_t *offset_ = nullptr, *trial_ = nullptr;  // by buffer; by index in a memory
    std::uint64_t *paid_ = nullptr, *rest_ = nullptr;     // by position: cost up to it; least cost from it on
    plan_workspace workspace_{};
    std::array<std::uint32_t, 64> held_{};  // by memory: number of its buffers
    std::array<bool, 64> is_repeated_{};    // by memory: whether it is like the previous one
    bool proved_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
