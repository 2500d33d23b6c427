// SPDX-License-Identifier: BSL-1.0
// merge: merges buffers that share an offset into one buffer, so that planners need not handle `together`.
//
//     time  ──►  │ a ██████    │               │ ab ██████████ │ size and alignment: the maximum of the group;
//                │ b     █████ │  together ──►                   lifetime: the union; adjacent lifetimes are joined
//
// At each step the merged buffer is as large as the largest of the group's live buffers (`plan_sizes`). It gets a
// further lifetime wherever that size changes. A pair that is apart is dropped if either buffer has no bytes.
//
// Complexity: O(n log n). Memory: `merge_space`. Thread safety: reentrant; the workspace is the only state.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/detail/sizes.hpp>
#include <allot/plan/detail/together_groups.hpp>
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the workspace that `merge_together` needs, including the memory of its result.
[[nodiscard]] constexpr plan_space merge_space(const plan_problem& problem) noexcept {
    if (problem.together.empty()) return {};
    plan_space space;
    const std::size_t lives = problem.buffers.size() + problem.revivals.size();
    space.u32 = problem.buffers.size() + 2 * lives;
    space.u64 = problem.buffers.size() + detail::most_lives(problem) + 2 * problem.apart.size();
    space.buffers = problem.buffers.size();
    space.revivals = detail::most_lives(problem);
    space.fixed = problem.fixed.size();
    space.pairs = problem.apart.size();
    return space;
}

/// A problem without `together`, and a map from the buffers of the given problem to its buffers.
struct merged_problem {
    /// The problem without `together`.
    plan_problem problem{};
    plan_array<const std::uint32_t> became{};  ///< new index, by given buffer; empty if no index changed
    /// Returns the index that a given buffer has in `problem`.
    [[nodiscard]] constexpr std::size_t operator[](std::size_t buffer) const noexcept {
        return became.empty() ? buffer : became[buffer];
    }
    /// Translates an error about a buffer of `problem` into one about the first given buffer of that group.
    [[nodiscard]] constexpr plan_error as_given(plan_error error) const noexcept {
        for (std::size_t i = 0; i != became.size(); ++i)
            if (became[i] == error.which) return {error.reason, i};
        return error;
    }
};

/// Implementation of `merge_together` for a valid problem with `together`.
// A template, so that only programs that use it compile it.
template <class = void>
class buffer_merger {
public:
    constexpr buffer_merger(const plan_problem& problem, plan_workspace& workspace) noexcept
        : problem_{&problem},
          count_{problem.buffers.size()},
          lives_{count_ + problem.revivals.size()},
          became_{workspace.cut_u32(count_)},
          order_{workspace.cut_u32(lives_)},
          scratch_{workspace.cut_u32(lives_)},
          until_{workspace.cut_u64(count_)},
          life_size_{workspace.cut_u64(most_lives(problem))},
          apart_size_{workspace.cut_u64(2 * problem.apart.size())},
          buffers_{cut(workspace.buffers, count_)},
          revivals_{cut(workspace.revivals, most_lives(problem))},
          fixed_{cut(workspace.fixed, problem.fixed.size())},
          apart_{cut(workspace.pairs, problem.apart.size())} {}

    /// Merges all groups and returns the first error.
    [[nodiscard]] constexpr plan_error run() noexcept {
        find_groups_together({became_, count_}, problem_->together);
        number_groups();
        if (const plan_error error = sort_lives(); error.reason != plan_refusal::none) return error;
        for (std::size_t next = 0; next != lives_;) next = merge_lives(next);
        if (const plan_error error = merge_fixed(); error.reason != plan_refusal::none) return error;
        return merge_apart();
    }
    [[nodiscard]] constexpr merged_problem merged() const noexcept {
        return {{.buffers = buffers_.first(groups_).as_span(),
                 .revivals = revivals_.first(revived_).as_span(),
                 .fixed = fixed_.as_span(),
                 .apart = apart_.first(pairs_).as_span(),
                 .reserved = problem_->reserved},
                {became_, count_}};
    }
    [[nodiscard]] constexpr plan_sizes sizes() const noexcept {
        if (!sized_) return {};
        return {{life_size_, groups_ + revived_}, {apart_size_, 2 * pairs_}};
    }

private:
    /// Numbers groups in the order of their smallest buffers, so that a root has its number before it is read.
    constexpr void number_groups() noexcept {
        for (std::size_t i = 0; i != count_; ++i) {
            const plan_buffer& buffer = problem_->buffers[i];
            if (became_[i] == i) {
                buffers_[groups_] = {buffer.size, {}, buffer.align};
                became_[i] = groups_++;
            } else {
                became_[i] = became_[became_[i]];
                plan_buffer& group = buffers_[became_[i]];
                group.size = larger(group.size, buffer.size);
                group.align = larger(group.align, buffer.align);
            }
        }
    }
    /// Sorts the lifetimes by group, and in each group by their first steps.
    [[nodiscard]] constexpr plan_error sort_lives() noexcept {
        for (std::size_t i = 0; i != lives_; ++i) order_[i] = static_cast<std::uint32_t>(i);
        sort_by(order_, scratch_, lives_, [&](std::uint32_t i) { return ordered(live(i).from); });
        for (std::size_t i = 0; i != count_; ++i) until_[i] = 0;
        for (std::size_t i = 0; i != lives_; ++i) {
            std::uint64_t& end = until_[buffer_of(order_[i])];
            if (ordered(live(order_[i]).from) < end) return {plan_refusal::overlapping_lifetimes, buffer_of(order_[i])};
            end = ordered(live(order_[i]).until);
        }
        sort_by(order_, scratch_, lives_, [&](std::uint32_t i) { return std::uint64_t{group_of(i)}; });
        return {};
    }
    /// Sweeps over the lifetimes of the group that begins at position `next`, and returns the position after it. A heap
    /// holds the live buffers. Its front is the largest and gives the size of the group.
    [[nodiscard]] constexpr std::size_t merge_lives(std::size_t next) noexcept {
        std::uint32_t* const heap = scratch_;
        const auto is_smaller = [&](std::uint32_t a, std::uint32_t b) { return size_of(a) < size_of(b); };
        const std::uint32_t group = group_of(order_[next]);
        const auto begins = [&] { return next != lives_ && group_of(order_[next]) == group; };
        lifetime* last = nullptr;  // last lifetime of the group so far, and its size
        std::uint64_t last_size = 0;
        std::int64_t now = 0;
        for (std::size_t living = 0; living != 0 || begins();) {
            if (living == 0) now = live(order_[next]).from;
            for (; begins() && live(order_[next]).from <= now; ++next) {
                heap[living] = order_[next];
                push_heap(heap, living++, is_smaller);
            }
            lifetime piece{now, live(heap[0]).until};
            if (begins()) piece.until = smaller(piece.until, live(order_[next]).from);
            const std::uint64_t size = size_of(heap[0]);
            if (last != nullptr && last->until == now && last_size == size) {
                last->until = piece.until;
            } else if (size != 0 || buffers_[group].size == 0) {
                last = add_life(group, piece, size, last == nullptr);
                last_size = size;
            }
            now = piece.until;
            for (; living != 0 && live(heap[0]).until <= now; --living) pop_heap(heap, living, is_smaller);
        }
        return next;
    }
    constexpr lifetime* add_life(std::uint32_t group, lifetime piece, std::uint64_t size, bool is_first) noexcept {
        sized_ = sized_ || size != buffers_[group].size;
        if (is_first) {
            life_size_[group] = size;
            buffers_[group].live = piece;
            return &buffers_[group].live;
        }
        life_size_[groups_ + revived_] = size;
        revivals_[revived_] = {group, piece};
        return &revivals_[revived_++].live;
    }

    [[nodiscard]] constexpr plan_error merge_fixed() noexcept {
        for (std::size_t i = 0; i != fixed_.size(); ++i) {
            const plan_fixed& given = problem_->fixed[i];
            fixed_[i] = {became_[given.buffer], given.offset};
            const plan_buffer& group = buffers_[fixed_[i].buffer];
            if (given.offset % group.align != 0) return {plan_refusal::fixed_misaligned, given.buffer};
            if (group.size > ~std::uint64_t{0} - given.offset) return {plan_refusal::wraps, given.buffer};
        }
        return {};
    }
    [[nodiscard]] constexpr plan_error merge_apart() noexcept {
        for (const plan_pair& pair : problem_->apart) {
            const std::uint64_t first = problem_->buffers[pair.first].size;
            const std::uint64_t second = problem_->buffers[pair.second].size;
            if (first == 0 || second == 0) continue;
            const plan_pair merged{became_[pair.first], became_[pair.second]};
            if (merged.first == merged.second) return {plan_refusal::contradiction, pair.first};
            sized_ = sized_ || first != buffers_[merged.first].size || second != buffers_[merged.second].size;
            apart_size_[2 * pairs_] = first;
            apart_size_[2 * pairs_ + 1] = second;
            apart_[pairs_++] = merged;
        }
        return {};
    }

    // A life is an index: buffers first, then revivals.
    [[nodiscard]] constexpr std::size_t buffer_of(std::uint32_t life) const noexcept {
        return life < count_ ? life : problem_->revivals[life - count_].buffer;
    }
    [[nodiscard]] constexpr const lifetime& live(std::uint32_t life) const noexcept {
        return life < count_ ? problem_->buffers[life].live : problem_->revivals[life - count_].live;
    }
    [[nodiscard]] constexpr std::uint32_t group_of(std::uint32_t life) const noexcept {
        return became_[buffer_of(life)];
    }
    [[nodiscard]] constexpr std::uint64_t size_of(std::uint32_t life) const noexcept {
        return problem_->buffers[buffer_of(life)].size;
    }

    const plan_problem* problem_;
    std::size_t count_, lives_;
    std::uint32_t *became_, *order_, *scratch_;        // group by buffer; lives
    std::uint64_t *until_, *life_size_, *apart_size_;  // last end by buffer; size by merged life and by pair
    plan_array<plan_buffer> buffers_;                  // of the merged problem
    plan_array<plan_revival> revivals_;
    plan_array<plan_fixed> fixed_;
    plan_array<plan_pair> apart_;
    std::uint32_t groups_ = 0;
    std::size_t revived_ = 0, pairs_ = 0;
    bool sized_ = false;
};

/// Returns the problem with each group of `together` buffers merged into one. The result is in arrays cut from
/// `workspace`. `sizes` receives the size of each group in each of its lifetimes. Fails with `contradiction` if two
/// buffers of a group are apart from each other; also fails if the problem is invalid, the workspace is too small, two
/// lifetimes of one buffer overlap, or a fixed offset is misaligned or wraps for the merged buffer.
// A template, so that only programs that use it compile it.
template <class = void>
[[nodiscard]] constexpr result<merged_problem, plan_error> merge_together(const plan_problem& problem,
                                                                          plan_workspace& workspace,
                                                                          plan_sizes& sizes) noexcept {
    using answer = result<merged_problem, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    sizes = {};
    if (problem.together.empty()) return merged_problem{problem, {}};
    if (!workspace.holds(merge_space(problem))) return answer::failure({plan_refusal::workspace_too_small, 0});
    buffer_merger<> merger{problem, workspace};
    if (const plan_error error = merger.run(); error.reason != plan_refusal::none) return answer::failure(error);
    sizes = merger.sizes();
    return merger.merged();
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
