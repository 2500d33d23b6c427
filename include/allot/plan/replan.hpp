// SPDX-License-Identifier: BSL-1.0
// replan: updates a plan after a few buffers have changed, and moves at most a given number of the other buffers.
//
//     auto made = allot::plan(problem).value();              // later, buffers[7] has grown:
//     auto again = allot::replan(problem, made.places, 4);   // places it anywhere, and moves at most four others
//     if (!again) …                                          // invalid, or more moves are necessary: again.error()
//     again->places; again->peak; again->moved; again->status;
//
//     before                   after, at_most = 1     `before` has a place for each buffer. A buffer counts as changed
//       ▲  ┌────┐                ▲  ┌──────┐          if its place is `unplaced`, has another size, or is no longer
//       │  │ b  ├────┐           │  │  c   ├────┐     valid: misaligned, reserved, or different from a fixed offset.
//       │  ├──┬─┘ d  │           │  ├──┬───┘ d  │     Changed buffers move freely. Every other buffer keeps its offset
//       │  │c │ ┌────┤  c grew   │  │b │   ┌────┤     or counts as moved. Here c has grown and took the place of b,
//       └──┴──┴─┴─a──┴─►         └──┴──┴───┴─a──┴─►   and `moved` is 1.
//
// Unchanged buffers may collide, because one of them now lives longer or must be kept apart. Then one of them must move
// and counts as moved. To avoid this, mark the changed buffer as `unplaced`. The planner keeps the buffers that collide
// with the fewest others. If the remaining ones are more than `at_most`, the result is the error `too_few_moves`.
// Buffers that are `together` move together, and each counts. Their home is the offset that most of them had. To remove
// a buffer, omit it from both arrays.
//
// The algorithm: `ejection_search` tries heights between the lowest peak that so few moves can reach and the lowest
// plan so far. It allows 0, 1, 2, 3, 4, 6, 8, 12, … moves in turn. A larger limit therefore never yields a higher plan.
// With a capacity, it stops at the first plan that fits. If all other buffers may move, `plan` is tried as well.
//
// Sizes and offsets are in bytes. The caller chooses the steps of lifetimes.
//
// When to use: a plan is in use, and moving a buffer is expensive, because its contents must be copied or its address
// is stored elsewhere.
// When not to use: nothing depends on the old plan. `plan` yields lower plans.
//
// Complexity: the setup of `ejection_search`, plus the work that `effort` allows.
// Memory: `space_of_replan`: about 270 bytes a buffer. If all other buffers may move, at least `space_of_plan`.
// Thread safety: the functions have no state. Concurrent calls need separate workspaces.
#pragma once

#include <allot/plan/detail/ejection.hpp>
#include <allot/plan/plan.hpp>

namespace allot {
inline namespace v1 {

/// Place in the old plan for a buffer that is new or may move freely.
inline constexpr plan_place unplaced{std::numeric_limits<std::uint64_t>::max(), 0};

/// Properties of an updated plan, without its places.
struct replan_summary : plan_summary {
    std::size_t moved = 0;  ///< Number of unchanged buffers whose offset differs from the old plan.
    /// Compares all members.
    friend constexpr bool operator==(const replan_summary&, const replan_summary&) = default;
};

namespace detail {

/// Returns whether a buffer is unchanged and its old place is valid, without regard to other buffers and fixed offsets.
[[nodiscard]] constexpr bool may_stay(const plan_problem& problem, std::size_t i, const plan_place& place) noexcept {
    const plan_buffer& buffer = problem.buffers[i];
    const std::uint64_t begin = place.offset;
    return begin != unplaced.offset && place.size == buffer.size && buffer.size <= ~std::uint64_t{0} - begin &&
           begin % buffer.align == 0 && std::ranges::none_of(problem.reserved, [&](const plan_reserved& range) {
               return range.size != 0 && buffer.size != 0 && begin < range.offset + range.size &&
                      range.offset < begin + buffer.size;
           });
}
/// Returns whether `at_most` includes all unchanged buffers. Fixed buffers make this an approximation: the result may
/// be true for a slightly smaller limit.
[[nodiscard]] constexpr bool may_all_move(const plan_problem& problem, std::span<const plan_place> before,
                                          std::size_t at_most) noexcept {
    std::size_t others = 0;
    for (std::size_t i = 0; i != std::min(before.size(), problem.buffers.size()); ++i)
        others += may_stay(problem, i, before[i]);
    return others <= problem.fixed.size() || others - problem.fixed.size() <= at_most;
}

/// Computes for each group of merged buffers its home, that is the most frequent old offset of its unchanged buffers,
/// and its cost, that is the number of buffers with that offset. Uses a part of the workspace of `ejection_search`.
constexpr void find_homes(const plan_problem& problem, std::span<const plan_place> before,
                          const detail::merged_problem& merged, std::span<std::uint64_t> home,
                          std::span<std::uint32_t> cost, plan_workspace workspace) noexcept {
    const plan_buffer* const groups = merged.problem.buffers.data();
    for (std::size_t group = 0; group != home.size(); ++group) {
        home[group] = unplaced.offset;
        cost[group] = 0;
    }
    const auto can_be = [&](std::size_t group, std::uint64_t offset) {
        return offset != unplaced.offset && offset % groups[group].align == 0 &&
               groups[group].size <= ~std::uint64_t{0} - offset;
    };
    std::uint32_t* const placed = workspace.cut_words(before.size());
    std::uint32_t* const scratch = workspace.cut_words(before.size());
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i != before.size(); ++i)
        if (may_stay(problem, i, before[i]) && can_be(merged[i], before[i].offset)) placed[count++] = i;
    if (!merged.became.empty()) {
        sort_by(placed, scratch, count, [&](std::uint32_t i) { return before[i].offset; });
        sort_by(placed, scratch, count, [&](std::uint32_t i) { return std::uint64_t{merged.became[i]}; });
    }
    for (std::uint32_t k = 0, as_many = 0; k != count; ++k) {
        const std::uint64_t offset = before[placed[k]].offset;
        const std::size_t group = merged[placed[k]];
        const bool again = k != 0 && merged[placed[k - 1]] == group && before[placed[k - 1]].offset == offset;
        as_many = again ? as_many + 1 : 1;
        if (as_many <= cost[group]) continue;
        home[group] = offset;
        cost[group] = as_many;
    }
    // A buffer with another size prefers its old offset.
    for (std::size_t i = 0; i != before.size(); ++i)
        if (const std::size_t group = merged[i]; home[group] == unplaced.offset && can_be(group, before[i].offset))
            home[group] = before[i].offset;
    for (const plan_fixed& fixed : merged.problem.fixed) {
        home[fixed.buffer] = fixed.offset;
        cost[fixed.buffer] = detail::ejection_search::never;
    }
}

/// Returns the next element of the sequence 0, 1, 2, 3, 4, 6, 8, 12, …
[[nodiscard]] constexpr std::uint64_t next_moves(std::uint64_t moves) noexcept {
    return moves < 2 ? moves + 1 : (moves & (moves - 1)) == 0 ? moves + moves / 2 : moves / 3 * 4;
}

}  // namespace detail

/// Returns the size of the workspace that `replan_into` needs.
[[nodiscard]] constexpr plan_space space_of_replan(const plan_problem& problem, std::span<const plan_place> before,
                                                   std::size_t at_most, const plan_options& options) noexcept {
    plan_space space =
        detail::merge_space(problem) + max(detail::ejection_search::space(problem), bound_space(problem));
    space.longs += problem.buffers.size();
    space.words += 2 * problem.buffers.size();
    return detail::may_all_move(problem, before, at_most) ? max(space, space_of_plan(problem, options)) : space;
}

/// Updates a plan without a heap and writes one place for each buffer to `places`.
///
/// At most `at_most` unchanged buffers get another offset than in `before`. If `before` is shorter than the list of
/// buffers, the remaining buffers are new. The planner calls `watch(plan_progress)` from time to time after it has a
/// first plan. If `watch` returns true, the planner stops and returns the best plan so far. Fails under the same
/// conditions as `plan_into`. Also fails if more moves are necessary (`too_few_moves`), and if `before` has more places
/// than there are buffers (`no_such_buffer`).
template <class Watch = unwatched>
[[nodiscard]] constexpr result<replan_summary, plan_error> replan_into(
    const plan_problem& problem, std::span<const plan_place> before, std::size_t at_most, std::span<plan_place> places,
    plan_workspace workspace, const plan_options& options = {}, Watch watch = {}) noexcept {
    using answer = result<replan_summary, plan_error>;
    const std::size_t all = problem.buffers.size();
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    if (before.size() > all) return answer::failure({plan_refusal::no_such_buffer, all});
    if (!workspace.holds(space_of_replan(problem, before, at_most, options)) || places.size() < all)
        return answer::failure({plan_refusal::workspace_too_small, 0});
    replan_summary made;
    bool found = false, stopped = false;
    const auto watched = [&](const plan_progress& now) { return stopped = stopped || watch(now); };

    // From scratch, if that is allowed.
    const bool may_all_move = detail::may_all_move(problem, before, at_most);
    if (may_all_move) {
        const auto from_scratch = plan_into(problem, places, workspace, options, watched);
        if (!from_scratch && from_scratch.error().reason != plan_refusal::too_large)
            return answer::failure(from_scratch.error());
        if (from_scratch) static_cast<plan_summary&>(made) = *from_scratch;
        found = static_cast<bool>(from_scratch);
    }

    detail::plan_sizes sizes;
    const auto merged = detail::merge_together(problem, workspace, sizes);
    if (!merged) return answer::failure(merged.error());
    const plan_problem& work = merged->problem;
    const auto bound = bound_of(work, workspace, sizes);
    if (!bound) return answer::failure(merged->as_given(bound.error()));
    made.bound = std::max(made.bound, bound->bytes);
    made.step = bound->step;
    for (const plan_buffer& buffer : work.buffers) made.align = std::max(made.align, buffer.align);

    const std::span<std::uint64_t> home{workspace.cut_longs(all), work.buffers.size()};
    const std::span<std::uint32_t> cost{workspace.cut_words(all), work.buffers.size()};
    const std::span<std::uint32_t> counted{workspace.cut_words(all), all};  // by buffer: 1 if a move of it counts
    detail::find_homes(problem, before, *merged, home, cost, workspace);
    detail::ejection_search planner{work, sizes, home.data(), cost.data(), workspace};
    if (const std::size_t fixed = planner.begin(); fixed != work.buffers.size())
        return answer::failure(merged->as_given({plan_refusal::contradiction, fixed}));

    // Unchanged buffers count as moved, except buffers that are fixed themselves.
    const auto is_fixed = [&](std::size_t i) {
        return cost[(*merged)[i]] == detail::ejection_search::never &&
               std::ranges::any_of(problem.fixed, [&](const plan_fixed& fixed) { return fixed.buffer == i; });
    };
    for (std::size_t i = 0; i != all; ++i)
        counted[i] = i < before.size() && detail::may_stay(problem, i, before[i]) && !is_fixed(i) ? 1 : 0;
    const auto counts = [&](std::size_t i) { return counted[i] != 0; };
    std::size_t others = 0, strayed = 0;  // buffers that count; those of them whose group has another home
    for (std::size_t i = 0; i != all; ++i) {
        others += counts(i);
        strayed += counts(i) && before[i].offset != home[(*merged)[i]];
        made.moved += found && counts(i) && before[i].offset != places[i].offset;
    }
    found = found && made.moved <= at_most;
    const std::uint64_t forced = planner.forced() + strayed;
    const std::size_t at_liberty = planner.at_liberty();
    if (forced > at_most) {
        std::size_t which = 0;  // a buffer that must move
        while (!counts(which) ||
               ((*merged)[which] != planner.first_forced() && before[which].offset == home[(*merged)[which]]))
            ++which;
        return answer::failure({plan_refusal::too_few_moves, which});
    }

    const bool lowest_wanted = options.capacity == plan_options{}.capacity;
    const std::uint64_t goal = lowest_wanted ? made.bound : std::max(options.capacity, made.bound);
    const auto is_better = [&](std::uint64_t peak, std::size_t moved) {
        const std::uint64_t old_excess = std::max(made.peak, goal), excess = std::max(peak, goal);
        return !found || excess < old_excess || (excess == old_excess && moved < made.moved);
    };
    // Lowest peak that `planner` found, without regard to the plan from scratch.
    constexpr std::uint64_t nowhere = detail::ejection_search::nowhere;
    std::uint64_t peak = nowhere;
    const auto stop = [&] { return stopped || (found && watched({made.peak, made.bound})); };
    const auto keep = [&] {
        std::size_t moved = 0;
        for (std::size_t i = 0; i != all; ++i)
            moved += counts(i) && before[i].offset != planner.offsets()[(*merged)[i]];
        peak = planner.height();
        if (!is_better(peak, moved)) return;
        for (std::size_t i = 0; i != all; ++i) places[i] = {planner.offsets()[(*merged)[i]], problem.buffers[i].size};
        made.peak = peak;
        made.moved = moved;
        found = true;
    };
    if (planner.attempt(nowhere, planner.forced(), nowhere)) keep();
    if (!found) return answer::failure({plan_refusal::too_large, 0});

    const std::uint64_t begun = planner.spent();
    const auto left = [&] { return options.effort - std::min(options.effort, planner.spent() - begun); };
    for (std::uint64_t moves = 0; moves <= std::min(at_most, others) && peak > goal && !stop();
         moves = detail::next_moves(moves)) {
        if (moves < forced) continue;
        const std::uint64_t reach = std::max(planner.lowest_reach(moves - strayed), goal);
        if (moves == forced && at_liberty <= 1) {  // the only choice is the gap of one buffer
            while (peak > reach && planner.attempt(peak - 1, planner.forced(), nowhere)) keep();
            continue;
        }
        const std::uint64_t until = planner.spent() + std::min(options.effort / 16, left() / 4);
        for (std::uint64_t patience = options.effort / 256 + 1; peak > reach && planner.spent() < until && !stop();
             patience *= 4)
            for (std::uint64_t i = 0, steps = 3; i <= steps && peak > reach && planner.spent() < until;) {
                const std::uint64_t step = (peak - 1 - reach) / steps;
                const std::uint64_t height = i == steps ? peak - 1 : reach + step * i;
                const bool lower =
                    planner.find(height, moves - strayed, std::min(patience, until - planner.spent()), stop);
                if (lower) keep();
                i = lower ? 0 : step == 0 && i == 0 ? steps : i + 1;
            }
    }
    made.status = made.peak <= options.capacity
                      ? (made.peak <= made.bound ? plan_status::optimal : plan_status::feasible)
                  : made.bound > options.capacity ? plan_status::infeasible
                  : at_most >= others             ? plan_status::out_of_budget
                                                  : plan_status::out_of_moves;
    return made;
}

/// An updated plan that stores its places on the heap.
struct memory_replan : memory_plan {
    std::size_t moved = 0;  ///< Number of unchanged buffers whose offset differs from the old plan.
};

/// Returns an updated plan, with the places and the workspace on the heap.
///
/// Throws the exceptions of the heap, such as `std::bad_alloc`. Fails under the same conditions as `replan_into`.
template <class Watch = unwatched>
[[nodiscard]] result<memory_replan, plan_error> replan(const plan_problem& problem, std::span<const plan_place> before,
                                                       std::size_t at_most, const plan_options& options = {},
                                                       Watch watch = {}) {
    using answer = result<memory_replan, plan_error>;
    if (const plan_error error = check_problem(problem); error.reason != plan_refusal::none)
        return answer::failure(error);
    plan_heap workspace{space_of_replan(problem, before, at_most, options)};
    memory_replan made;
    made.places.resize(problem.buffers.size());
    const auto summary = replan_into(problem, before, at_most, made.places, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    made.moved = summary->moved;
    return made;
}

}  // namespace v1
}  // namespace allot
