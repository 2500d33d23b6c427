// SPDX-License-Identifier: BSL-1.0
// part: a subset of a problem's buffers, as a separate problem.
//
//     whole   a   b   c   d   e       Buffers are numbered in the order in which they are added. Lifetimes, fixed
//     part        0       1   2       offsets, pairs and sizes of all other buffers are omitted.
//
// Complexity: O(lifetimes + pairs + fixed buffers) of the whole problem. Memory: `space`, a problem as large as the
// whole one, and 4 bytes a buffer. Not synchronized.
#pragma once

#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Builds parts of one problem, one at a time.
// A template, so that only programs that use it compile it.
template <class = void>
class problem_part {
    static constexpr std::uint32_t absent = ~std::uint32_t{0};

public:
    /// Returns the size of the workspace for any part of `problem`.
    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        plan_space all;
        const std::size_t lives = most_lives(problem);
        all.u32 = problem.buffers.size();
        if (!problem.together.empty()) all.u64 = lives + 2 * problem.apart.size();
        all.buffers = problem.buffers.size();
        all.revivals = lives;  // merged buffers may have more revivals
        all.fixed = problem.fixed.size();
        all.pairs = problem.apart.size();
        return all;
    }

    /// Precondition: `problem` has no pairs that are `together`.
    constexpr problem_part(const plan_problem& problem, const plan_sizes& sizes, plan_workspace& workspace) noexcept
        : whole_{&problem}, whole_sizes_{sizes} {
        number_ = workspace.cut_u32(problem.buffers.size());
        buffers_ = cut(workspace.buffers, problem.buffers.size());
        revivals_ = cut(workspace.revivals, problem.revivals.size());
        fixed_ = cut(workspace.fixed, problem.fixed.size());
        pairs_ = cut(workspace.pairs, problem.apart.size());
        if (sizes.lives.empty()) return;
        life_size_ = workspace.cut_u64(problem.buffers.size() + problem.revivals.size());
        apart_size_ = workspace.cut_u64(2 * problem.apart.size());
    }

    /// Begins an empty part.
    constexpr void begin() noexcept {
        count_ = 0;
        for (std::size_t i = 0; i != whole_->buffers.size(); ++i) number_[i] = absent;
    }
    /// Adds a buffer of the whole problem with the alignment `align`.
    constexpr void add(std::uint32_t buffer, std::uint64_t align) noexcept {
        const plan_buffer& of = whole_->buffers[buffer];
        number_[buffer] = count_;
        if (is_sized()) life_size_[count_] = whole_sizes_.lives[buffer];
        buffers_[count_++] = {of.size, of.live, align};
    }
    /// Returns the problem of the added buffers, with all their constraints. The result is valid until `begin`.
    [[nodiscard]] constexpr plan_problem problem() noexcept {
        std::size_t fixed = 0;
        revived_ = paired_ = 0;
        for (std::size_t i = 0; i != whole_->revivals.size(); ++i) {
            const plan_revival& revival = whole_->revivals[i];
            if (!has(revival.buffer)) continue;
            if (is_sized()) life_size_[count_ + revived_] = whole_sizes_.lives[whole_->buffers.size() + i];
            revivals_[revived_++] = {number_[revival.buffer], revival.live};
        }
        for (const plan_fixed& each : whole_->fixed)
            if (has(each.buffer)) fixed_[fixed++] = {number_[each.buffer], each.offset};
        for (std::size_t i = 0; i != whole_->apart.size(); ++i) {
            const plan_pair& pair = whole_->apart[i];
            if (!has(pair.first) || !has(pair.second)) continue;
            if (is_sized()) {
                apart_size_[2 * paired_] = whole_sizes_.apart[2 * i];
                apart_size_[2 * paired_ + 1] = whole_sizes_.apart[2 * i + 1];
            }
            pairs_[paired_++] = {number_[pair.first], number_[pair.second]};
        }
        return {.buffers = buffers_.first(count_).as_span(),
                .revivals = revivals_.first(revived_).as_span(),
                .fixed = fixed_.first(fixed).as_span(),
                .apart = pairs_.first(paired_).as_span()};
    }
    /// Returns the sizes for the problem that the last call of `problem` returned.
    [[nodiscard]] constexpr plan_sizes sizes() const noexcept {
        if (!is_sized()) return {};
        return {{life_size_, count_ + revived_}, {apart_size_, 2 * paired_}};
    }

private:
    [[nodiscard]] constexpr bool is_sized() const noexcept { return life_size_ != nullptr; }
    [[nodiscard]] constexpr bool has(std::size_t buffer) const noexcept { return number_[buffer] != absent; }

    const plan_problem* whole_;
    plan_sizes whole_sizes_;
    std::uint32_t* number_ = nullptr;                             // index in the part, by buffer
    std::uint64_t *life_size_ = nullptr, *apart_size_ = nullptr;  // null: no lifetime has a different size
    std::uint32_t count_ = 0;
    std::size_t revived_ = 0, paired_ = 0;
    plan_array<plan_buffer> buffers_{};
    plan_array<plan_revival> revivals_{};
    plan_array<plan_fixed> fixed_{};
    plan_array<plan_pair> pairs_{};
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
