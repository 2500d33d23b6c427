// merge: buffers that share an offset become one, so that planners need not know of them.
//
//     time  ──►  │ a ██████    │               │ ab ██████████ │ the size and the alignment of the largest, alive while
//                │ b     █████ │  together ──►                   any of them is; lifetimes that meet are one
//
// Complexity: O(n log n). Memory: `merge_space`. Thread safety: pure but for the workspace.
#pragma once

#include <allot/core/result.hpp>
#include <allot/plan/check.hpp>
#include <allot/plan/workspace.hpp>

namespace allot::inline v1 {

/// What `merge_together` works in, and what its answer lies in.
[[nodiscard]] constexpr plan_space merge_space(const plan_problem& problem) noexcept {
    if (problem.together.empty()) return {};
    plan_space space;
    const std::size_t lives = problem.buffers.size() + problem.revivals.size();
    space.words = problem.buffers.size() + 2 * lives;
    space.buffers = problem.buffers.size();
    space.revivals = lives;
    space.fixed = problem.fixed.size();
    space.pairs = problem.apart.size();
    return space;
}

/// A problem without pairs that are together, and which of its buffers each buffer has become.
struct merged_problem {
    plan_problem problem{};
    std::span<const std::uint32_t> became{};  // empty: each is itself
    [[nodiscard]] constexpr std::size_t operator[](std::size_t buffer) const noexcept {
        return became.empty() ? buffer : became[buffer];
    }
};

/// The problem with each group of buffers that are together as one buffer, in the workspace, which is cut. Two of a
/// group that are fixed are fixed to one offset, and none of a group is apart from another: or it is refused as
/// `contradiction`.
[[nodiscard]] constexpr result<merged_problem, plan_error> merge_together(const plan_problem& problem,
                                                                          plan_workspace& workspace) noexcept {
    using answer = result<merged_problem, plan_error>;
    if (const plan_error error = check_problem(problem); error.why != plan_refusal::none) return answer::failure(error);
    if (problem.together.empty()) return merged_problem{problem, {}};
    if (!workspace.holds(merge_space(problem))) return answer::failure({plan_refusal::workspace_too_small, 0});
    const std::size_t count = problem.buffers.size(), lives = count + problem.revivals.size();
    std::uint32_t* const became = workspace.cut_words(count);
    std::uint32_t* const order = workspace.cut_words(lives);
    std::uint32_t* const scratch = workspace.cut_words(lives);

    // Groups: everybody points to somebody of the group with a smaller number, and the smallest to itself.
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
    // Numbers in the order of the smallest of each group, which come first and so are known when they are asked for.
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

    const auto live = [&](std::uint32_t i) {
        return i < count ? problem.buffers[i].live : problem.revivals[i - count].live;
    };
    const auto group_of = [&](std::uint32_t i) { return became[i < count ? i : problem.revivals[i - count].buffer]; };
    for (std::size_t i = 0; i != lives; ++i) order[i] = static_cast<std::uint32_t>(i);
    detail::sort_by(order, scratch, lives, [&](std::uint32_t i) { return detail::ordered(live(i).from); });
    detail::sort_by(order, scratch, lives, [&](std::uint32_t i) { return std::uint64_t{group_of(i)}; });
    const std::span<plan_revival> revivals = detail::cut(workspace.revivals, lives);
    std::size_t revived = 0;
    for (std::size_t i = 0; i != lives;) {
        const std::uint32_t group = group_of(order[i]);
        lifetime whole = live(order[i]);
        for (++i; i != lives && group_of(order[i]) == group && live(order[i]).from <= whole.until; ++i)
            whole.until = std::max(whole.until, live(order[i]).until);
        if (buffers[group].live == lifetime{}) buffers[group].live = whole;
        else revivals[revived++] = {group, whole};
    }

    const std::span<plan_fixed> fixed = detail::cut(workspace.fixed, problem.fixed.size());
    for (std::size_t i = 0; i != fixed.size(); ++i) {
        fixed[i] = {became[problem.fixed[i].buffer], problem.fixed[i].offset};
        if (fixed[i].offset % buffers[fixed[i].buffer].align != 0)
            return answer::failure({plan_refusal::fixed_misaligned, problem.fixed[i].buffer});
    }
    const std::span<plan_pair> apart = detail::cut(workspace.pairs, problem.apart.size());
    for (std::size_t i = 0; i != apart.size(); ++i) {
        apart[i] = {became[problem.apart[i].first], became[problem.apart[i].second]};
        if (apart[i].first == apart[i].second)
            return answer::failure({plan_refusal::contradiction, problem.apart[i].first});
    }
    return merged_problem{{buffers.first(groups), revivals.first(revived), fixed, {}, apart, problem.reserved},
                          {became, count}};
}

}  // namespace allot::inline v1
