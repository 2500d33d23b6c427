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
#include <allot/plan/workspace.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the workspace that `merge_together` needs, including the memory of its result.
[[nodiscard]] constexpr plan_space merge_space(const plan_problem& problem) noexcept {
    if (problem.together.empty()) return {};
    plan_space space;
    const std::size_t lives = problem.buffers.size() + problem.revivals.size();
    space.words = problem.buffers.size() + 2 * lives;
    space.longs = problem.buffers.size() + detail::most_lives(problem) + 2 * problem.apart.size();
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
    std::span<const std::uint32_t> became{};  ///< new index, by given buffer; empty if no index changed
    /// Returns the index that a given buffer has in `problem`.
    [[nodiscard]] constexpr std::size_t operator[](std::size_t buffer) const noexcept {
        return became.empty() ? buffer : became[buffer];
    }
    /// Translates an error about a buffer of `problem` into one about the first given buffer of that group.
    [[nodiscard]] constexpr plan_error as_given(plan_error error) const noexcept {
        const auto is_it = [&](std::uint32_t group) { return group == error.which; };
        if (const auto first = std::ranges::find_if(became, is_it); first != became.end())
            error.which = static_cast<std::size_t>(first - became.begin());
        return error;
    }
};

/// Returns the problem with each group of `together` buffers merged into one. The result is in arrays cut from
/// `workspace`. `sizes` receives the size of each group in each of its lifetimes. Fails with `contradiction` if two
/// buffers of a group are apart from each other; also fails if the problem is invalid, the workspace is too small, two
/// lifetimes of one buffer overlap, or a fixed offset is misaligned or wraps for the merged buffer.
[[nodiscard]] constexpr result<merged_problem, plan_error> merge_together(const plan_problem& problem,
                                                                          plan_workspace& workspace,
                                                                          plan_sizes& sizes) noexcept {
    using answer = result<merged_problem, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    sizes = {};
    if (problem.together.empty()) return merged_problem{problem, {}};
    if (!workspace.holds(merge_space(problem))) return answer::failure({plan_refusal::workspace_too_small, 0});
    const std::size_t count = problem.buffers.size(), lives = count + problem.revivals.size();
    std::uint32_t* const became = workspace.cut_words(count);
    std::uint32_t* const order = workspace.cut_words(lives);
    std::uint32_t* const scratch = workspace.cut_words(lives);
    std::uint64_t* const until = workspace.cut_longs(count);
    std::uint64_t* const life_size = workspace.cut_longs(detail::most_lives(problem));
    std::uint64_t* const apart_size = workspace.cut_longs(2 * problem.apart.size());

    // Disjoint sets: each buffer points to a smaller index of its group, and the smallest index to itself.
    for (std::size_t i = 0; i != count; ++i) became[i] = static_cast<std::uint32_t>(i);
    const auto root = [&](std::size_t of) {
        while (became[of] != of) {
            became[of] = became[became[of]];
            of = became[of];
        }
        return of;
    };
    for (const plan_pair& pair : problem.together) {
        const std::size_t a = root(pair.first), b = root(pair.second);
        became[std::max(a, b)] = static_cast<std::uint32_t>(std::min(a, b));
    }
    // Groups are numbered in the order of their smallest buffers, so that a root has its number before it is read.
    const std::span<plan_buffer> buffers = detail::cut(workspace.buffers, count);
    std::uint32_t groups = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const plan_buffer& buffer = problem.buffers[i];
        if (became[i] == i) {
            buffers[groups] = {buffer.size, {}, buffer.align};
            became[i] = groups++;
        } else {
            became[i] = became[became[i]];
            plan_buffer& group = buffers[became[i]];
            group.size = std::max(group.size, buffer.size);
            group.align = std::max(group.align, buffer.align);
        }
    }

    const auto buffer_of = [&](std::uint32_t i) { return i < count ? i : problem.revivals[i - count].buffer; };
    const auto live = [&](std::uint32_t i) {
        return i < count ? problem.buffers[i].live : problem.revivals[i - count].live;
    };
    const auto group_of = [&](std::uint32_t i) { return became[buffer_of(i)]; };
    const auto size_of = [&](std::uint32_t i) { return problem.buffers[buffer_of(i)].size; };
    for (std::size_t i = 0; i != lives; ++i) order[i] = static_cast<std::uint32_t>(i);
    detail::sort_by(order, scratch, lives, [&](std::uint32_t i) { return detail::ordered(live(i).from); });
    for (std::size_t i = 0; i != count; ++i) until[i] = 0;
    for (std::size_t i = 0; i != lives; ++i) {
        std::uint64_t& end = until[buffer_of(order[i])];
        if (detail::ordered(live(order[i]).from) < end)
            return answer::failure({plan_refusal::overlapping_lifetimes, buffer_of(order[i])});
        end = detail::ordered(live(order[i]).until);
    }
    detail::sort_by(order, scratch, lives, [&](std::uint32_t i) { return std::uint64_t{group_of(i)}; });

    // Sweeps over the lifetimes of each group. A heap holds the live buffers. Its front is the largest and gives the
    // size of the group.
    const std::span<plan_revival> revivals = detail::cut(workspace.revivals, detail::most_lives(problem));
    std::uint32_t* const heap = scratch;
    const auto is_smaller = [&](std::uint32_t a, std::uint32_t b) { return size_of(a) < size_of(b); };
    std::size_t revived = 0;
    bool sized = false;
    for (std::size_t next = 0; next != lives;) {
        const std::uint32_t group = group_of(order[next]);
        const auto begins = [&] { return next != lives && group_of(order[next]) == group; };
        lifetime* last = nullptr;  // last lifetime of the group so far, and its size
        std::uint64_t last_size = 0;
        std::int64_t now = 0;
        for (std::size_t living = 0; living != 0 || begins();) {
            if (living == 0) now = live(order[next]).from;
            for (; begins() && live(order[next]).from <= now; ++next) {
                heap[living++] = order[next];
                std::push_heap(heap, heap + living, is_smaller);
            }
            lifetime piece{now, live(heap[0]).until};
            if (begins()) piece.until = std::min(piece.until, live(order[next]).from);
            const std::uint64_t size = size_of(heap[0]);
            if (last != nullptr && last->until == now && last_size == size) {
                last->until = piece.until;
            } else if (size != 0 || buffers[group].size == 0) {
                const bool again = last != nullptr;
                life_size[again ? groups + revived : group] = last_size = size;
                last = &(again ? (revivals[revived++] = {group, piece}).live : buffers[group].live = piece);
                sized = sized || size != buffers[group].size;
            }
            now = piece.until;
            for (; living != 0 && live(heap[0]).until <= now; --living) std::pop_heap(heap, heap + living, is_smaller);
        }
    }

    const std::span<plan_fixed> fixed = detail::cut(workspace.fixed, problem.fixed.size());
    for (std::size_t i = 0; i != fixed.size(); ++i) {
        fixed[i] = {became[problem.fixed[i].buffer], problem.fixed[i].offset};
        const plan_buffer& group = buffers[fixed[i].buffer];
        if (fixed[i].offset % group.align != 0)
            return answer::failure({plan_refusal::fixed_misaligned, problem.fixed[i].buffer});
        if (group.size > ~std::uint64_t{0} - fixed[i].offset)
            return answer::failure({plan_refusal::wraps, problem.fixed[i].buffer});
    }
    const std::span<plan_pair> apart = detail::cut(workspace.pairs, problem.apart.size());
    std::size_t pairs = 0;
    for (const plan_pair& pair : problem.apart) {
        const std::uint64_t first = problem.buffers[pair.first].size, second = problem.buffers[pair.second].size;
        if (first == 0 || second == 0) continue;
        const plan_pair merged{became[pair.first], became[pair.second]};
        if (merged.first == merged.second) return answer::failure({plan_refusal::contradiction, pair.first});
        sized = sized || first != buffers[merged.first].size || second != buffers[merged.second].size;
        apart_size[2 * pairs] = first;
        apart_size[2 * pairs + 1] = second;
        apart[pairs++] = merged;
    }
    if (sized) sizes = {{life_size, groups + revived}, {apart_size, 2 * pairs}};
    return merged_problem{
        {buffers.first(groups), revivals.first(revived), fixed, {}, apart.first(pairs), problem.reserved},
        {became, count}};
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
