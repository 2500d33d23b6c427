// replan: a plan again, after a buffer or a few have changed, that moves at most so many of the others.
//
//     auto made = allot::plan(problem);                       // and later, when buffers[7] has grown:
//     auto again = allot::replan(problem, made->places, 4);   // it lies wherever it fits, and at most four others moved
//     if (!again) …                                           // the problem is none, or four are too few: again.error()
//     again->places; again->peak; again->moved; again->status;
//
//     before                     after, at_most = 1           `before` has a place for each buffer. A buffer has changed
//       ▲  ┌────┐                  ▲  ┌──────┐                when its place says `unplaced`, is of another size, or is no
//       │  │ b  ├────┐             │  │  c   ├────┐           longer allowed: misaligned, reserved, or it is fixed
//       │  ├──┬─┘ d  │             │  ├──┬───┘ d  │           elsewhere. Those move as they like. Every other one stays
//       │  │c │ ┌────┤   c grew    │  │b │   ┌────┤           where it is, or counts: here c, which has grown, took the
//       └──┴──┴─┴─a──┴─►           └──┴──┴───┴─a──┴─►         place of b, and `moved` is 1.
//
// Where two that have not changed collide, since one of them lives longer now or is kept apart, one of them has to move, and
// counts; a caller who does not want that counts tells which has changed. Too few moves for that are `too_few_moves`.
// Buffers that are `together` move together, and each counts. A buffer that is gone is left out of both arrays.
//
// How: a height is tried, and whatever ends above it is taken out. What is out goes back to its place, into the smallest gap
// that it fits, or to where it drives out others, which are then out themselves: those that were driven out seldom and in
// vain, and whose moves are not yet spent. The heights run from what so few moves can reach to below the lowest plan so far;
// the moves are 0, 1, 2, 3, 4, 6, 8, 12, …, each as if more were not allowed, so that more never make a plan higher. With
// a capacity, the first plan that fits it ends the work. If all others may move, `plan` is asked as well.
//
// Source: Nagata and Bräysy, A powerful route minimization heuristic for the vehicle routing problem with time windows,
// Operations Research Letters 37, 2009 (who is driven out). Complexity: O(n × live at once) to begin with, and as much more
// as `effort` says. Memory: `space_of_replan`, about 270 bytes a buffer; if all others may move, what `plan` needs if that is
// more. Thread safety: pure but for the workspace.
#pragma once

#include <allot/plan/gaps.hpp>
#include <allot/plan/plan.hpp>

namespace allot::inline v1 {

/// The place of a buffer that is new, or may move.
inline constexpr plan_place unplaced{std::numeric_limits<std::uint64_t>::max(), 0};

/// A plan made of another, but for its places.
struct replan_summary : plan_summary {
    std::size_t moved = 0;  // buffers that have not changed, and whose offset is another
    friend constexpr bool operator==(const replan_summary&, const replan_summary&) = default;
};

namespace detail {

/// Moves buffers of a problem that is merged and checked.
class replanner {
public:
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();  // a cost: it is fixed
    static constexpr std::uint64_t nowhere = unplaced.offset;                          // a home

    [[nodiscard]] static constexpr plan_space space(const plan_problem& problem) noexcept {
        const std::size_t buffers = problem.buffers.size(), lifetimes = buffers + problem.revivals.size();
        plan_space all = gaps::space(problem);
        all.words += 10 * buffers;
        all.longs += buffers + timeline::space(lifetimes).longs;
        return all;
    }

    /// Of each buffer, where it was and how many moves it costs not to be there; 0 for one that has changed.
    constexpr replanner(const plan_problem& problem, const std::uint64_t* home, std::uint32_t* cost, plan_workspace workspace) noexcept
        : buffers_{problem.buffers.data()}, count_{static_cast<std::uint32_t>(problem.buffers.size())},
          home_{home}, cost_{cost}, offsets_{workspace.cut_longs(count_)} {
        for (auto* array : {&by_end_, &waiting_, &always_out_, &touched_, &scratch_, &state_, &is_touched_, &penalty_, &stamp_, &key_}) *array = workspace.cut_words(count_);
        const timeline time{problem, workspace};
        gaps_ = gaps{problem, time, offsets_, workspace};
    }

    /// Puts everything where it was that can be there. Says which fixed buffer cannot; how many there are when all can.
    [[nodiscard]] constexpr std::size_t begin() noexcept {
        for (std::uint32_t i = 0; i != count_; ++i) {
            state_[i] = out;
            stamp_[i] = is_touched_[i] = key_[i] = 0;
            penalty_[i] = 1;
            by_end_[i] = i;
        }
        if (const std::size_t fixed = gaps_.restart(); fixed != count_) return fixed;
        sort_by(by_end_, scratch_, count_, [&](std::uint32_t i) { return home_[i]; });
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (home_[i] != nowhere && cost_[i] != never) gaps_.put(i, home_[i]);
            if (home_[i] != nowhere) state_[i] = at_home;
        }
        // What collides is taken out; then those that collide with the fewest return first, and what has changed last.
        std::uint32_t colliding = 0;
        for (std::uint32_t i = 0; i != count_; ++i)
            if (state_[i] == at_home && cost_[i] != never)
                if (const std::uint32_t others = collisions(i); others != 0) {
                    touched_[colliding++] = i;
                    penalty_[i] = others;
                }
        for (std::uint32_t at = 0; at != colliding; ++at) gaps_.take(touched_[at]);
        sort_by(touched_, scratch_, colliding, [&](std::uint32_t i) { return std::uint64_t{cost_[i] == 0} << 32 | penalty_[i]; });
        for (std::uint32_t at = 0; at != colliding; ++at) {
            const std::uint32_t i = touched_[at];
            penalty_[i] = 1;
            if (collisions(i) == 0) gaps_.put(i, home_[i]);
            else state_[i] = out;
        }
        // From the highest on.
        sort_by(by_end_, scratch_, count_, [&](std::uint32_t i) { return home_[i] == nowhere ? nowhere : ~home_end(i); });
        for (std::uint32_t i = 0; i != count_; ++i)
            if (state_[i] == out) {
                always_out_[always_++] = i;
                forced_ += cost_[i];
            }
        return count_;
    }

    /// Moves that have to be made.
    [[nodiscard]] constexpr std::uint64_t forced() const noexcept { return forced_; }
    /// How many buffers may lie anywhere, or have to move.
    [[nodiscard]] constexpr std::size_t at_liberty() const noexcept {
        std::size_t free = 0;
        for (std::uint32_t i = 0; i != count_; ++i) free += cost_[i] == 0 || state_[i] == out;
        return free;
    }
    /// A buffer that has to move.
    [[nodiscard]] constexpr std::uint32_t first_forced() const noexcept {
        for (std::uint32_t at = 0; at != always_; ++at)
            if (cost_[always_out_[at]] != 0) return always_out_[at];
        return count_;
    }
    /// No plan of so many moves is lower.
    [[nodiscard]] constexpr std::uint64_t lowest_reach(std::uint64_t moves) noexcept {
        start_over();
        moves -= forced_;
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (state_[i] != at_home || buffers_[i].size == 0) continue;
            if (cost_[i] > moves) return home_end(i);
            moves -= cost_[i];
        }
        return 0;
    }
    /// What was done, in buffers placed; one for which many others were looked at counts for more.
    [[nodiscard]] constexpr std::uint64_t spent() const noexcept { return placed_ + (gaps_.looked_at() + compared_) / 256; }

    /// One go at a plan with so many moves at most that ends at or below `height`, in `offsets()`.
    [[nodiscard]] constexpr bool attempt(std::uint64_t height, std::uint64_t moves, std::uint64_t limit) noexcept {
        start_over();
        for (std::uint32_t at = 0; at != always_; ++at) waiting_[waits_++] = always_out_[at];
        for (std::uint32_t at = 0; at != count_; ++at) {
            const std::uint32_t i = by_end_[at];
            if (home_[i] == nowhere || home_end(i) <= height) break;
            if (state_[i] == at_home && buffers_[i].size != 0 && cost_[i] != never) leave(i);
        }
        if (used_ > moves) return false;
        bold_ = attempts_++ % 4 != 0;
        if (bold_)
            while (waits_ != 0 && noise_(1) != 0) {
                const std::span<const plan_extent> met = gaps_.in_the_way(waiting_[any(waits_)]);
                if (met.empty()) continue;
                const std::uint32_t other = met[any(static_cast<std::uint32_t>(met.size()))].buffer;
                if (other != count_ && cost_[other] <= moves - used_) leave(other);
            }
        // The largest is the first to be placed.
        for (std::uint32_t at = 0; at != waits_; ++at)
            if (const std::uint32_t i = waiting_[at]; buffers_[i].size != 0)
                key_[i] = logarithm(buffers_[i].size) + (bold_ ? noise_(11) : 0);
        sort_by(waiting_, scratch_, waits_, [&](std::uint32_t i) { return std::uint64_t{key_[i]}; });
        // As long as something moves on; but not round and round.
        for (std::uint64_t left = 32 + 8 * (std::uint64_t{waits_} + moves); waits_ != 0; --left)
            if (left == 0 || spent() >= limit || !settle(waiting_[--waits_], height, moves)) return false;
        return true;
    }

    /// One go after another.
    template <class Stop>
    [[nodiscard]] constexpr bool find(std::uint64_t height, std::uint64_t moves, std::uint64_t effort, Stop stop) noexcept {
        const std::uint64_t limit = spent() + effort;
        do {
            if (attempt(height, moves, limit)) return true;
        } while (spent() < limit && !stop());
        return false;
    }
    [[nodiscard]] constexpr const std::uint64_t* offsets() const noexcept { return offsets_; }
    [[nodiscard]] constexpr std::uint64_t height() const noexcept {
        std::uint64_t highest = 0;
        for (std::uint32_t i = 0; i != count_; ++i)
            if (buffers_[i].size != 0) highest = std::max(highest, offsets_[i] + buffers_[i].size);
        return highest;
    }

private:
    enum : std::uint32_t { at_home, elsewhere, out };

    [[nodiscard]] constexpr std::uint64_t home_end(std::uint32_t i) const noexcept { return home_[i] + buffers_[i].size; }

    /// How many of those placed share bytes with a buffer at home. On what is reserved it has changed.
    [[nodiscard]] constexpr std::uint32_t collisions(std::uint32_t i) noexcept {
        std::uint32_t others = 0;
        if (buffers_[i].size == 0) return 0;
        for (const plan_extent& other : gaps_.in_the_way(i)) {
            if (other.buffer == i || other.begin >= home_end(i) || other.end <= home_[i]) continue;
            if (other.buffer == count_) cost_[i] = 0;
            ++others;
        }
        return others;
    }

    /// Places a buffer that is out: at home, in the smallest gap, or where others have to leave.
    [[nodiscard]] constexpr bool settle(std::uint32_t i, std::uint64_t height, std::uint64_t moves) noexcept {
        ++placed_;
        const std::span<const plan_extent> met = gaps_.in_the_way(i);
        std::uint64_t top = 0, smallest = nowhere, offset = 0;
        bool home_is_free = home_[i] != nowhere && home_end(i) <= height;
        const auto gap = [&](std::uint64_t end) {
            std::uint64_t at = 0;
            if (top >= end && buffers_[i].size != 0) return;
            if (!checked_align_up(top, buffers_[i].align, at) || at > end || buffers_[i].size > end - at) return;
            const std::uint64_t room = bold_ ? noise_(16) : end - top;
            if (room >= smallest) return;
            smallest = room;
            offset = at;
        };
        for (const plan_extent& other : met) {
            gap(std::min(other.begin, height));
            if (home_is_free && other.begin < home_end(i) && home_[i] < other.end) home_is_free = false;
            top = std::max(top, other.end);
        }
        gap(height);
        if (home_is_free && !(bold_ && smallest != nowhere && noise_(1) != 0)) put(i, home_[i]);
        else if (smallest != nowhere) put(i, offset);
        else return drive_out(i, met, height, moves);
        return true;
    }

    /// Places a buffer where those leave that matter least.
    [[nodiscard]] constexpr bool drive_out(std::uint32_t i, std::span<const plan_extent> met, std::uint64_t height,
                                           std::uint64_t moves) noexcept {
        ++penalty_[i];
        std::uint64_t least = nowhere, offset = 0;
        const auto consider = [&](std::uint64_t from) {
            std::uint64_t at = 0;
            if (!checked_align_up(from, buffers_[i].align, at) || at > height || buffers_[i].size > height - at) return;
            const std::uint64_t most = moves + (at == home_[i] ? cost_[i] : 0), end = at + buffers_[i].size;
            std::uint64_t sum = 0, used = used_;
            if (++stamps_ == 0)
                for (std::uint32_t each = stamps_++; each != count_; ++each) stamp_[each] = 0;
            for (const plan_extent& other : met) {
                if (other.begin >= end) break;
                ++compared_;
                if (other.end <= at) continue;
                if (other.buffer == count_ || cost_[other.buffer] == never) return;
                if (stamp_[other.buffer] == stamps_) continue;
                stamp_[other.buffer] = stamps_;
                if (state_[other.buffer] == at_home) used += cost_[other.buffer];
                sum += std::uint64_t{penalty_[other.buffer]} << 6;
                if (used > most || sum >= least) return;
            }
            sum += noise_(6);
            if (sum >= least) return;
            least = sum;
            offset = at;
        };
        consider(0);
        if (home_[i] != nowhere) consider(home_[i]);
        for (const plan_extent& other : met) consider(other.end);
        if (least == nowhere) return false;
        for (const plan_extent& other : met)
            if (other.begin < offset + buffers_[i].size && offset < other.end && state_[other.buffer] != out) leave(other.buffer);
        put(i, offset);
        return true;
    }

    /// One of 0, …, below − 1.
    [[nodiscard]] constexpr std::uint32_t any(std::uint32_t below) noexcept {
        return static_cast<std::uint32_t>(std::uint64_t{noise_(32)} * below >> 32);
    }

    constexpr void put(std::uint32_t i, std::uint64_t offset) noexcept {
        gaps_.put(i, offset);
        state_[i] = offset == home_[i] ? at_home : elsewhere;
        if (offset == home_[i]) used_ -= cost_[i];
        touch(i);
    }
    constexpr void leave(std::uint32_t i) noexcept {
        gaps_.take(i);
        if (state_[i] == at_home) used_ += cost_[i];
        state_[i] = out;
        waiting_[waits_++] = i;
        touch(i);
    }
    constexpr void touch(std::uint32_t i) noexcept {
        if (is_touched_[i] != 0) return;
        is_touched_[i] = 1;
        touched_[touches_++] = i;
    }

    /// Everything where it was, but for what cannot be there.
    constexpr void start_over() noexcept {
        for (std::uint32_t at = 0; at != touches_; ++at)
            if (const std::uint32_t i = touched_[at]; state_[i] != out) {
                gaps_.take(i);
                state_[i] = out;
            }
        for (std::uint32_t at = 0; at != always_; ++at) is_touched_[always_out_[at]] = 0;
        for (std::uint32_t at = 0; at != touches_; ++at)
            if (const std::uint32_t i = touched_[at]; is_touched_[i] != 0) {
                is_touched_[i] = 0;
                gaps_.put(i, home_[i]);
                state_[i] = at_home;
            }
        touches_ = waits_ = 0;
        used_ = forced_;
    }

    const plan_buffer* buffers_;
    std::uint32_t count_;
    const std::uint64_t* home_;
    std::uint32_t* cost_;
    std::uint64_t* offsets_;
    std::uint32_t *by_end_ = nullptr, *waiting_ = nullptr, *always_out_ = nullptr;  // lists
    std::uint32_t *touched_ = nullptr, *scratch_ = nullptr;
    std::uint32_t *state_ = nullptr, *is_touched_ = nullptr, *penalty_ = nullptr, *stamp_ = nullptr, *key_ = nullptr;  // by buffer
    std::uint32_t always_ = 0, waits_ = 0, touches_ = 0, stamps_ = 0;
    std::uint64_t forced_ = 0, used_ = 0, placed_ = 0, compared_ = 0, attempts_ = 0;
    bool bold_ = false;
    noise noise_{};
    gaps gaps_{};
};

/// Whether a buffer is where it was before, as far as it alone tells.
[[nodiscard]] constexpr bool is_placed(const plan_buffer& buffer, const plan_place& place) noexcept {
    return place.offset != unplaced.offset && place.size == buffer.size && buffer.size <= ~std::uint64_t{0} - place.offset;
}
/// Whether as many may move as can have been placed before.
[[nodiscard]] constexpr bool may_all_move(const plan_problem& problem, std::span<const plan_place> before, std::size_t at_most) noexcept {
    std::size_t others = 0;
    for (std::size_t i = 0; i != std::min(before.size(), problem.buffers.size()); ++i) others += is_placed(problem.buffers[i], before[i]);
    return at_most >= others;
}

/// Where each group of buffers was, and how many of it were there; 0 when it has changed.
constexpr void find_homes(const plan_problem& problem, std::span<const plan_place> before, const merged_problem& merged,
                          std::span<std::uint64_t> home, std::span<std::uint32_t> cost) noexcept {
    const plan_buffer* const groups = merged.problem.buffers.data();
    for (std::size_t group = 0; group != home.size(); ++group) {
        home[group] = unplaced.offset;
        cost[group] = 0;
    }
    const auto can_be = [&](std::size_t group, std::uint64_t offset) {
        return offset != unplaced.offset && offset % groups[group].align == 0 && groups[group].size <= ~std::uint64_t{0} - offset;
    };
    for (std::size_t i = 0; i != before.size(); ++i) {
        const std::size_t group = merged[i];
        if (!is_placed(problem.buffers[i], before[i]) || !can_be(group, before[i].offset)) continue;
        if (home[group] == unplaced.offset) home[group] = before[i].offset;
        if (home[group] == before[i].offset) ++cost[group];
    }
    // One of another size stays where it was when that does as well.
    for (std::size_t i = 0; i != before.size(); ++i)
        if (const std::size_t group = merged[i]; home[group] == unplaced.offset && can_be(group, before[i].offset))
            home[group] = before[i].offset;
    for (const plan_fixed& fixed : merged.problem.fixed) {
        home[fixed.buffer] = fixed.offset;
        cost[fixed.buffer] = replanner::never;
    }
}

/// 0, 1, 2, 3, 4, 6, 8, 12, …
[[nodiscard]] constexpr std::uint64_t next_moves(std::uint64_t moves) noexcept {
    return moves < 2 ? moves + 1 : (moves & (moves - 1)) == 0 ? moves + moves / 2 : moves / 3 * 4;
}

}  // namespace detail

/// What `replan_into` works in.
[[nodiscard]] constexpr plan_space space_of_replan(const plan_problem& problem, std::span<const plan_place> before, std::size_t at_most,
                                                   const plan_options& options) noexcept {
    plan_problem merged = problem;  // as large as it can be
    merged.together = {};
    plan_space space = merge_space(problem) + max(detail::replanner::space(merged), bound_space(merged));
    space.longs += problem.buffers.size();
    space.words += problem.buffers.size();
    return detail::may_all_move(problem, before, at_most) ? max(space, space_of_plan(problem, options)) : space;
}

/// Plans again into an array of the caller's, without a heap: at most `at_most` buffers that have not changed lie elsewhere
/// than `before`. Where that ends early, the last buffers are new. Refused as `plan_into` is, where so few moves are too few
/// (`too_few_moves`), and where `before` has more places than there are buffers (`no_such_buffer`).
template <class Watch = unwatched>
[[nodiscard]] constexpr result<replan_summary, plan_error> replan_into(const plan_problem& problem, std::span<const plan_place> before,
                                                                       std::size_t at_most, std::span<plan_place> places,
                                                                       plan_workspace workspace, const plan_options& options = {},
                                                                       Watch watch = {}) noexcept {
    using answer = result<replan_summary, plan_error>;
    const std::size_t all = problem.buffers.size();
    if (const plan_error error = check_problem(problem); error.why != plan_refusal::none) return answer::failure(error);
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
        if (!from_scratch && from_scratch.error().why != plan_refusal::too_large) return answer::failure(from_scratch.error());
        if (from_scratch) static_cast<plan_summary&>(made) = *from_scratch;
        found = static_cast<bool>(from_scratch);
    }

    const auto merged = merge_together(problem, workspace);
    if (!merged) return answer::failure(merged.error());
    const plan_problem& work = merged->problem;
    const auto bound = bound_of(work, workspace);
    if (!bound) return answer::failure(bound.error());
    made.bound = std::max(made.bound, bound->bytes);
    made.step = bound->step;
    for (const plan_buffer& buffer : work.buffers) made.align = std::max(made.align, buffer.align);

    const std::span<std::uint64_t> home{workspace.cut_longs(all), work.buffers.size()};
    const std::span<std::uint32_t> cost{workspace.cut_words(all), work.buffers.size()};
    detail::find_homes(problem, before, *merged, home, cost);
    detail::replanner planner{work, home.data(), cost.data(), workspace};
    if (const std::size_t fixed = planner.begin(); fixed != work.buffers.size())
        return answer::failure({plan_refusal::contradiction, fixed});

    // Buffers count that were placed, in groups that can be where they were.
    const auto counts = [&](std::size_t i) {
        const std::uint32_t moves = cost[(*merged)[i]];
        return i < before.size() && detail::is_placed(problem.buffers[i], before[i]) && moves != 0 && moves != detail::replanner::never;
    };
    std::size_t others = 0, strayed = 0;  // all of them, and those that were elsewhere than their group
    for (std::size_t i = 0; i != all; ++i) {
        others += counts(i);
        strayed += counts(i) && before[i].offset != home[(*merged)[i]];
        made.moved += found && counts(i) && before[i].offset != places[i].offset;
    }
    const std::uint64_t forced = planner.forced() + strayed;
    const std::size_t at_liberty = planner.at_liberty();
    if (forced > at_most) {
        std::size_t which = 0;  // has to move
        while (!counts(which) || ((*merged)[which] != planner.first_forced() && before[which].offset == home[(*merged)[which]])) ++which;
        return answer::failure({plan_refusal::too_few_moves, which});
    }

    const bool lowest_wanted = options.capacity == plan_options{}.capacity;
    const std::uint64_t goal = lowest_wanted ? made.bound : std::max(options.capacity, made.bound);
    const auto is_better = [&](std::uint64_t peak, std::size_t moved) {
        const std::uint64_t old_excess = std::max(made.peak, goal), excess = std::max(peak, goal);
        return !found || excess < old_excess || (excess == old_excess && moved < made.moved);
    };
    // The lowest peak of what the planner itself has found, whatever was found from scratch.
    constexpr std::uint64_t nowhere = detail::replanner::nowhere;
    std::uint64_t peak = nowhere;
    const auto stop = [&] { return stopped || (found && watched({made.peak, made.bound})); };
    const auto keep = [&] {
        std::size_t moved = 0;
        for (std::size_t i = 0; i != all; ++i) moved += counts(i) && before[i].offset != planner.offsets()[(*merged)[i]];
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
    for (std::uint64_t moves = 0; moves <= std::min(at_most, others) && peak > goal && !stop(); moves = detail::next_moves(moves)) {
        if (moves < forced) continue;
        const std::uint64_t reach = std::max(planner.lowest_reach(moves - strayed), goal);
        if (moves == forced && at_liberty <= 1) {  // one buffer has no choice but of its gap
            while (peak > reach && planner.attempt(peak - 1, planner.forced(), nowhere)) keep();
            continue;
        }
        const std::uint64_t until = planner.spent() + std::min(options.effort / 16, left() / 4);
        for (std::uint64_t patience = options.effort / 256 + 1; peak > reach && planner.spent() < until && !stop(); patience *= 4)
            for (std::uint64_t i = 0, steps = 3; i <= steps && peak > reach && planner.spent() < until;) {
                const std::uint64_t step = (peak - 1 - reach) / steps;
                const std::uint64_t height = i == steps ? peak - 1 : reach + step * i;
                const bool lower = planner.find(height, moves - strayed, std::min(patience, until - planner.spent()), stop);
                if (lower) keep();
                i = lower ? 0 : step == 0 && i == 0 ? steps : i + 1;
            }
    }
    made.status = made.peak <= options.capacity ? (made.peak <= made.bound ? plan_status::optimal : plan_status::feasible)
                  : made.bound > options.capacity ? plan_status::infeasible
                  : may_all_move                  ? plan_status::out_of_budget
                                                  : plan_status::out_of_moves;
    return made;
}

/// A plan on the heap, made of another.
struct memory_replan : memory_plan {
    std::size_t moved = 0;  // as in `replan_summary`
};

/// Plans again on the heap. Throws what the heap throws; refused as `replan_into` is.
template <class Watch = unwatched>
[[nodiscard]] result<memory_replan, plan_error> replan(const plan_problem& problem, std::span<const plan_place> before,
                                                       std::size_t at_most, const plan_options& options = {}, Watch watch = {}) {
    using answer = result<memory_replan, plan_error>;
    if (const plan_error error = check_problem(problem); error.why != plan_refusal::none) return answer::failure(error);
    plan_heap workspace{space_of_replan(problem, before, at_most, options)};
    memory_replan made;
    made.places.resize(problem.buffers.size());
    const auto summary = replan_into(problem, before, at_most, made.places, workspace, options, watch);
    if (!summary) return answer::failure(summary.error());
    static_cast<plan_summary&>(made) = *summary;
    made.moved = summary->moved;
    return made;
}

}  // namespace allot::inline v1
