// SPDX-License-Identifier: BSL-1.0
// separate_cliques: sets of buffers that must all be in different memories, and what they prove.
//
//     pairs  a ─── b      clique {a, b, c}: with two cheap memories, one of the three lies outside. The cheapest one
//            │ ╲   │      costs least there. With two memories at all, no plan exists.
//            c ─── ╱
//
//     pairs  a ─ b ─ c ─ d ─ e ─ a     an odd cycle: two memories do not suffice. A buffer gets a memory. Those that
//            0   1   0   1   ✗         have one memory left follow. If each of its memories fails, no plan exists.
//
// The cliques are greedy: each begins with a buffer of a list, and takes the first one that has a pair with all of its
// buffers.
//
// Complexity: O((buffers + pairs) · size of the cliques). Memory: `space`, 32 bytes a buffer; none without
// pairs. Not synchronized.
#pragma once

#include <allot/plan/detail/separation.hpp>

#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

// A template, so that only programs that use it compile it.
template <class = void>
class separate_cliques {
public:
    [[nodiscard]] static constexpr plan_space space(const memories_problem& given) noexcept {
        return {.u32 = given.separate.empty() ? 0 : 4 * given.buffers.buffers.size(),
                .u64 = given.separate.empty() ? 0 : 2 * given.buffers.buffers.size()};
    }

    /// `count`: the number of merged buffers. Precondition: the problem has pairs.
    constexpr separate_cliques(const separation& separate, std::size_t count, plan_workspace& workspace) noexcept
        : separate_{&separate}, buffers_{count} {
        for (auto* array : {&rank_, &met_, &clique_, &decided_}) *array = workspace.cut_u32(count);
        open_ = workspace.cut_u64(count);
        before_ = workspace.cut_u64(count);
    }

    /// Calls `visit(clique)` for cliques of two buffers of `list` or more, each in the order of the list. If it returns
    /// true, the buffers are in no further clique.
    template <class Visit>
    constexpr void each(plan_array<const std::uint32_t> list, Visit visit) noexcept {
        for (std::size_t i = 0; i != buffers_; ++i) rank_[i] = met_[i] = 0;
        for (std::uint32_t k = 0; k != list.size(); ++k) rank_[list[k]] = k + 1;
        for (const std::uint32_t first : list) {
            if (rank_[first] == 0) continue;
            std::uint32_t count = 0;
            for (std::uint32_t next = first; next != none; next = next_of(first, count)) {
                clique_[count++] = next;
                for (const std::uint32_t other : separate_->of(next))
                    if (met_[other] + 1 == count) met_[other] = count;
            }
            for (const std::uint32_t other : separate_->of(first)) met_[other] = 0;
            if (count > 1 && visit(plan_array<const std::uint32_t>{clique_, count}))
                for (std::uint32_t k = 0; k != count; ++k) rank_[clique_[k]] = 0;
        }
    }
    /// Sorts buffers by their number of pairs, most first. `scratch` has as many elements.
    constexpr void sort_by_pairs(std::uint32_t* list, std::uint32_t* scratch, std::size_t count) const noexcept {
        sort_by(list, scratch, count, [&](std::uint32_t i) { return ~std::uint64_t{separate_->of(i).size()}; });
    }

    /// Returns whether the pairs leave no choice of memories: a clique exceeds its memories, or each memory of a buffer
    /// excludes, one buffer after the other, all memories of another one. `allowed`: by buffer, as bits.
    [[nodiscard]] constexpr bool prove_impossible(const std::uint64_t* allowed) noexcept {
        bool is_impossible = false;
        std::size_t some = 0;
        for (std::uint32_t i = 0; i != buffers_; ++i)
            if (!separate_->of(i).empty()) decided_[some++] = i;
        sort_by_pairs(decided_, clique_, some);
        each({decided_, some}, [&](plan_array<const std::uint32_t> clique) {
            std::uint64_t possible = 0;
            for (const std::uint32_t i : clique) possible |= allowed[i];
            is_impossible = is_impossible || static_cast<std::size_t>(std::popcount(possible)) < clique.size();
            return false;
        });
        return is_impossible || each_memory_fails(allowed);
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// Returns the first buffer behind `first` in the list that has pairs with all `count` buffers of a clique, or
    /// `none`.
    [[nodiscard]] constexpr std::uint32_t next_of(std::uint32_t first, std::uint32_t count) const noexcept {
        std::uint32_t best = none;
        for (const std::uint32_t other : separate_->of(first))
            if (met_[other] == count && rank_[other] > rank_[first] && (best == none || rank_[other] < rank_[best]))
                best = other;
        return best;
    }
    /// Returns whether a buffer with two memories has none that the pairs permit. False if a buffer of a pair has more
    /// than two memories. Otherwise a memory that does not fail decides all buffers that depend on it, and the
    /// others do not depend on them.
    [[nodiscard]] constexpr bool each_memory_fails(const std::uint64_t* allowed) noexcept {
        for (std::uint32_t i = 0; i != buffers_; ++i) {
            if (std::popcount(allowed[i]) > 2 && !separate_->of(i).empty()) return false;
            open_[i] = allowed[i];
        }
        for (std::uint32_t i = 0; i != buffers_; ++i) {
            if (std::popcount(open_[i]) != 2 || separate_->of(i).empty()) continue;
            const std::uint64_t one = open_[i] & (~open_[i] + 1), other = open_[i] & ~one;
            if (!follows(i, one) && !follows(i, other)) return true;
        }
        return false;
    }
    /// Gives a buffer a memory, and then each buffer that has one memory left that memory. Returns whether each buffer
    /// keeps a memory; otherwise nothing changes.
    [[nodiscard]] constexpr bool follows(std::uint32_t buffer, std::uint64_t memory) noexcept {
        std::size_t decided = 0;  // each of them had two memories
        const auto decide = [&](std::uint32_t i, std::uint64_t only) {
            before_[i] = open_[i];
            open_[i] = only;
            decided_[decided++] = i;
        };
        bool holds = true;
        decide(buffer, memory);
        for (std::size_t k = 0; k != decided && holds; ++k)
            for (const std::uint32_t other : separate_->of(decided_[k])) {
                const std::uint64_t rest = open_[other] & ~open_[decided_[k]];
                if (rest == open_[other]) continue;
                holds = rest != 0;
                if (!holds) break;
                decide(other, rest);
            }
        for (std::size_t k = 0; k != decided && !holds; ++k) open_[decided_[k]] = before_[decided_[k]];
        return holds;
    }

    const separation* separate_;
    std::size_t buffers_;
    std::uint32_t* rank_ = nullptr;  // by buffer: position in the list; 0 for a buffer that is not in it, or taken
    std::uint32_t* met_ = nullptr;   // by buffer: with how many buffers of the clique it has pairs, the first ones
    std::uint32_t *clique_ = nullptr, *decided_ = nullptr;
    std::uint64_t *open_ = nullptr, *before_ = nullptr;  // by buffer: its memories, as bits
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
