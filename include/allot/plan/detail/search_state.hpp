// SPDX-License-Identifier: BSL-1.0
// search_state: the buffers that wait for an offset, the lowest possible offset of each, and the changes of both.
//
//     capacity ┌──────────────────────────┐
//              │       ┌────────┐         │     waiting     the buffers without an offset
//              │  ?    │   ?    │    ?    │     lowest      by buffer: the least offset that is still possible
//              │       │ placed ├─────────┤     floor       by section: the least `lowest` of its waiting buffers
//              ├───────┴────────┤ placed  │     slack       by section: capacity less floor less waiting sizes; a
//              └──s0───────s1───────s2────┘                 section with negative slack is a dead end
//
// There are two changes. A buffer is placed at its lowest offset, and the buffers that live at the same time move up to
// its end. Or the floor of a section is raised: no waiting buffer may rest on it, so that the lowest of them rests on a
// buffer from outside the section. A trail records all changes, so that they can be undone. A change that fails has a
// cause, from which the order of buffers learns.
//
// A waiting buffer can also be dropped. This change is permanent.
//
// `search` decides on the changes and handles dead ends.
//
// Complexity: a placement visits all buffers that live at the same time; a raised floor visits all pairs of buffers of
// the section. Memory: `state_counts`, known in advance: (buffers + sections) × buffers bits and the trail. Constant
// expressions may use it. Thread safety: one thread per object.
#pragma once

#include <allot/plan/detail/reserved_ranges.hpp>
#include <allot/plan/detail/section_bitmaps.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

/// Counts that determine the memory that a state needs.
struct state_counts {
    section_counts plan{};
    std::size_t reserved = 0;  // number of reserved ranges

    /// Length of the trail: number of changes that can be undone.
    [[nodiscard]] constexpr std::size_t trail() const noexcept {
        return (plan.buffers + plan.sections()) * smaller<std::size_t>(plan.buffers + 8, 256);
    }
    [[nodiscard]] constexpr plan_space space() const noexcept {
        return plan.space() +
               plan_space{.u32 = plan.buffers + 4 * plan.sections() + 2 * trail(),
                          .u64 = 2 * plan.buffers + 2 * plan.sections() + plan.row() + trail() + 2 * reserved};
    }
};

// A template, so that only programs that use it compile it.
template <class = void>
class search_state {
public:
    using index = section_bitmaps<>::index;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    constexpr search_state() noexcept = default;
    /// Preconditions: `problem` is well formed for `packing_search`, and `workspace` is as large as `counts` requires.
    constexpr search_state(const plan_problem& problem, state_counts counts, plan_workspace& workspace,
                           const plan_sizes& sizes) noexcept
        : map_{problem, workspace, sizes} {
        const std::size_t n = counts.plan.buffers, sections = counts.plan.sections();
        for (auto* array : {&offset_, &lowest_}) *array = cut(workspace.u64, n);
        for (auto* array : {&left_, &floor_}) *array = cut(workspace.u64, sections);
        waiting_ = cut(workspace.u64, counts.plan.row());
        trail_old_ = cut(workspace.u64, counts.trail());
        path_ = cut(workspace.u32, n);
        for (auto* array : {&resting_, &crossing_, &changed_, &moved_}) *array = cut(workspace.u32, sections);
        for (auto* array : {&trail_what_, &trail_resting_}) *array = cut(workspace.u32, counts.trail());
        set_all(moved_, index{0});
        const auto begins = cut(workspace.u64, counts.reserved);
        reserved_ = reserved_ranges{problem.reserved, begins, cut(workspace.u64, counts.reserved)};

        granule_ = 0;
        for (const std::uint64_t end : reserved_.ends()) granule_ = common_divisor(granule_, end);
        for (std::size_t i = 0; i < map_.buffers(); ++i) {
            offset_[i] = is_fixed(i) ? map_.fixed(i) : 0;
            if (map_.size(i) == 0) continue;
            bound_ = larger(bound_, offset_[i] + map_.size(i));
            granule_ = common_divisor(granule_, common_divisor(map_.granule(i), offset_[i]));
        }
        for (std::size_t i = 0; i < map_.buffers(); ++i)
            if (map_.size(i) != 0 && granule_ % map_.align(i) != 0) granule_ = common_divisor(granule_, map_.align(i));
        if (granule_ == 0) granule_ = 1;
        for (index s = 0; s < map_.sections(); ++s) {
            std::uint64_t height = 0;
            bound_ = larger(bound_, reserved_.height_beside(map_.total(s), height) ? height : none);
        }
    }

    [[nodiscard]] constexpr const section_bitmaps<>& map() const noexcept { return map_; }
    /// No plan is lower: the most live bytes at one step on top of reserved ranges, or the end of a fixed buffer.
    [[nodiscard]] constexpr std::uint64_t bound() const noexcept { return bound_; }
    /// In plans in which no buffer can be moved down, all offsets and heights are multiples of it.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return granule_; }

    [[nodiscard]] constexpr bool is_fixed(std::size_t item) const noexcept {
        return map_.fixed(item) != section_bitmaps<>::free_to_choose;
    }
    /// Largest multiple of the granule that is within the capacity.
    [[nodiscard]] constexpr std::uint64_t capacity() const noexcept { return capacity_; }
    /// Raises an offset to the next possible one for an item. Returns the item's end; `none` if it exceeds 64 bits.
    [[nodiscard]] constexpr std::uint64_t end_from(std::size_t item, std::uint64_t& offset) const noexcept {
        return reserved_.clear(map_.size(item), map_.align(item), none, offset) ? offset + map_.size(item) : none;
    }

    /// Resets: all buffers wait. Returns false if a section does not fit the capacity.
    constexpr bool start(std::uint64_t capacity) noexcept {
        capacity_ = capacity / granule_ * granule_;
        set_all(waiting_, std::uint64_t{0});
        set_all(crossing_, index{0});
        trail_ = placed_ = changes_ = 0;
        for (index i = 0; i < map_.items(); ++i) {
            waiting_[i / 64] |= std::uint64_t{1} << (i % 64);
            lowest_[i] = is_fixed(i) ? map_.fixed(i) : 0;
            if (!clear(i, lowest_[i]) || (is_fixed(i) && lowest_[i] != map_.fixed(i))) return false;
            for (index s = map_.first(i); s + 1 < map_.last(i); ++s) ++crossing_[s];
        }
        for (index s = 0; s < map_.sections(); ++s) {
            left_[s] = map_.total(s);
            find_floor(s);
            if (floor_[s] > capacity_ - left_[s]) return false;
        }
        return true;
    }

    /// One bit for each item.
    [[nodiscard]] constexpr plan_array<const std::uint64_t> waiting() const noexcept { return waiting_; }
    [[nodiscard]] constexpr bool waits(std::size_t item) const noexcept {
        return (waiting_[item / 64] >> (item % 64) & 1) != 0;
    }
    /// Calls `visit(item)` for each waiting item of [from, until).
    template <class Visit>
    constexpr void each_waiting(index from, index until, Visit visit) const noexcept {
        for (index at = from / 64; from < until; from = 64 * ++at) {
            std::uint64_t rest = waiting_[at] >> (from % 64) << (from % 64);
            if (until - 64 * at < 64) rest &= (std::uint64_t{1} << (until % 64)) - 1;
            for (; rest != 0; rest &= rest - 1) visit(64 * at + static_cast<index>(std::countr_zero(rest)));
        }
    }
    [[nodiscard]] constexpr std::uint64_t lowest(std::size_t item) const noexcept { return lowest_[item]; }
    /// Returns the offset of a placed item.
    [[nodiscard]] constexpr std::uint64_t offset(std::size_t item) const noexcept { return offset_[item]; }
    /// Returns the floor of a section; `none` if no buffer of it waits.
    [[nodiscard]] constexpr std::uint64_t floor(std::size_t section) const noexcept { return floor_[section]; }
    [[nodiscard]] constexpr std::uint64_t slack(std::size_t section) const noexcept {
        return capacity_ - floor_[section] - left_[section];
    }
    /// Returns the number of waiting buffers that may rest on the floor.
    [[nodiscard]] constexpr index resting(std::size_t section) const noexcept { return resting_[section]; }
    /// Returns whether a waiting buffer crosses this section and the next.
    [[nodiscard]] constexpr bool is_crossed(std::size_t section) const noexcept { return crossing_[section] != 0; }
    /// Returns whether a waiting buffer would fit below a buffer that rests on the section's floor.
    [[nodiscard]] constexpr bool fits_below(index section) const noexcept {
        const std::uint64_t floor = floor_[section];
        return map_.members(section).any(waiting_, [&](index i) {
            return lowest_[i] == floor && !map_.all_sections(i, [&](index s) { return floor_[s] == floor; }) &&
                   map_.neighbours(i).any(waiting_,
                                          [&](index j) { return lowest_[j] + map_.size_below(j, i) <= floor; });
        });
    }

    // ---- changes and their undoing ----------------------------------------------------------------------------------

    [[nodiscard]] constexpr std::size_t placed() const noexcept { return placed_; }
    [[nodiscard]] constexpr std::size_t trail() const noexcept { return trail_; }
    /// Returns whether the trail has room for any single change.
    [[nodiscard]] constexpr bool has_room() const noexcept {
        return trail_old_.size() - trail_ >= map_.items() + map_.sections();
    }

    /// Places an item at its lowest offset. Returns false if a section no longer fits.
    constexpr bool place(index item) noexcept {
        const std::uint64_t bottom = lowest_[item];
        offset_[item] = bottom;
        path_[placed_++] = item;
        waiting_[item / 64] ^= std::uint64_t{1} << (item % 64);  // not `& ~`: see size_bins
        for (index s = map_.first(item); s + 1 < map_.last(item); ++s) --crossing_[s];
        map_.each_size(item, [&](index s, std::uint64_t size) {
            left_[s] -= size;
            if (floor_[s] == bottom) change(s);
        });
        const bool stuck = map_.neighbours(item).any(waiting_, [&](index j) {
            const std::uint64_t top = bottom + map_.size_below(item, j);
            return lowest_[j] < top && !lift(j, top);
        });
        return settle(!stuck);
    }
    /// Makes all changes so far permanent.
    constexpr void forget_trail() noexcept { trail_ = 0; }
    /// Removes a waiting buffer, which then has no offset. `take_back` does not restore it.
    constexpr void drop(index item) noexcept {
        waiting_[item / 64] ^= std::uint64_t{1} << (item % 64);
        for (index s = map_.first(item); s + 1 < map_.last(item); ++s) --crossing_[s];
        map_.each_size(item, [&](index s, std::uint64_t size) {
            left_[s] -= size;
            if (floor_[s] == lowest_[item]) change(s);
        });
        static_cast<void>(settle(true));  // a section with fewer buffers fits
        forget_trail();
    }
    /// Undoes the placements after the first `placed` and the changes after the first `mark`.
    constexpr void take_back(std::size_t placed, std::size_t mark) noexcept {
        while (placed_ > placed) {
            const index item = path_[--placed_];
            waiting_[item / 64] |= std::uint64_t{1} << (item % 64);
            for (index s = map_.first(item); s + 1 < map_.last(item); ++s) ++crossing_[s];
            map_.each_size(item, [&](index s, std::uint64_t size) { left_[s] += size; });
        }
        undo(mark);
    }

    /// Undoes the changes after the first `mark`.
    constexpr void undo(std::size_t mark) noexcept {
        while (trail_ > mark) {
            const index what = trail_what_[--trail_];
            if (what < map_.items()) {
                lowest_[what] = trail_old_[trail_];
            } else {
                floor_[what - map_.items()] = trail_old_[trail_];
                resting_[what - map_.items()] = trail_resting_[trail_];
            }
        }
    }

    /// Raises the buffers that could rest on this section's floor. Returns false if that is impossible.
    /// A blocker keeps each of them off the floor: a buffer that begins below its end, and above which it is placed.
    /// The blocker of the section's lowest buffer is from outside the section.
    constexpr bool raise(index section) noexcept {
        const std::uint64_t floor = floor_[section];
        const item_set members = map_.members(section);
        const auto above_outsider = [&](index i) {
            std::uint64_t least = none;
            map_.neighbours(i).each(waiting_, [&](index j) {
                if (lowest_[j] < floor + map_.size_below(i, j) && !members.contains(j))
                    least = smaller(least, lowest_[j] + map_.size_below(j, i));
            });
            return least;
        };
        std::uint64_t bottom = none;
        members.each(waiting_, [&](index i) {
            // The offset of a waiting buffer is unused, and holds an intermediate result.
            offset_[i] = lowest_[i] == floor ? above_outsider(i) : lowest_[i];
            bottom = smaller(bottom, offset_[i]);
        });
        if (bottom == none) return false;
        members.each(waiting_, [&](index i) {
            if (lowest_[i] != floor) return;
            members.each(waiting_, [&](index j) {
                const std::uint64_t at = larger(bottom, lowest_[j]);
                if (j != i && at < floor + map_.size_below(i, j) && at <= capacity_ - map_.size(j))
                    offset_[i] = smaller(offset_[i], at + map_.size_below(j, i));
            });
        });
        return settle(!members.any(waiting_, [&](index i) { return lowest_[i] == floor && !lift(i, offset_[i]); }));
    }

    /// Calls `visit(item, share)` for the cause of the last failed change: the buffer that could not move up, or the
    /// waiting buffers of the section that no longer fits. A cause is visited once. One buffer counts as much as a
    /// section of many.
    template <class Visit>
    constexpr void each_culprit(Visit visit) noexcept {
        if (failed_item_ != no_index) visit(failed_item_, share_of_one);
        if (failed_section_ != no_index)
            map_.members(failed_section_).each(waiting_, [&](index i) { visit(i, std::uint64_t{1}); });
        failed_item_ = failed_section_ = no_index;
    }

private:
    static constexpr std::uint64_t share_of_one = 100;
    static constexpr index no_index = std::numeric_limits<index>::max();

    /// Raises an offset to the next possible one for an item. Returns false if it exceeds the capacity.
    constexpr bool clear(std::size_t item, std::uint64_t& offset) const noexcept {
        return reserved_.clear(map_.size(item), map_.align(item), capacity_, offset);
    }

    /// Raises the lowest offset of a buffer. Returns false if it exceeds the capacity or if the buffer is fixed.
    constexpr bool lift(index item, std::uint64_t to) noexcept {
        const std::uint64_t old = lowest_[item];
        if (is_fixed(item) || !clear(item, to)) {
            failed_item_ = item;
            return false;
        }
        record(item, old, 0);
        lowest_[item] = to;
        map_.each_section(item, [&](index s) {
            if (floor_[s] == old) change(s);
        });
        return true;
    }
    /// A waiting buffer that could rest on the section's floor no longer does.
    constexpr void change(index section) noexcept {
        if (moved_[section]++ == 0) changed_[changes_++] = section;
    }
    /// Recomputes the changed floors. Returns false if a section does not fit.
    constexpr bool settle(bool fits) noexcept {
        while (changes_ > 0) {
            const index s = changed_[--changes_], moved = moved_[s];
            moved_[s] = 0;
            if (!fits) continue;
            record(map_.items() + s, floor_[s], resting_[s]);
            if (resting_[s] != moved) resting_[s] -= moved;
            else find_floor(s);
            fits = floor_[s] == none || floor_[s] <= capacity_ - left_[s];
            if (!fits) failed_section_ = s;
        }
        return fits;
    }
    constexpr void find_floor(index section) noexcept {
        std::uint64_t floor = none;
        index resting = 0;
        map_.members(section).each(waiting_, [&](index i) {
            const std::uint64_t lowest = lowest_[i];
            resting = lowest < floor ? 1 : resting + (lowest == floor ? 1 : 0);
            floor = smaller(floor, lowest);
        });
        floor_[section] = floor;
        resting_[section] = resting;
    }

    constexpr void record(index what, std::uint64_t old, index resting) noexcept {
        trail_what_[trail_] = what;
        trail_old_[trail_] = old;
        trail_resting_[trail_++] = resting;
    }

    section_bitmaps<> map_;
    reserved_ranges reserved_;
    std::uint64_t bound_ = 0, granule_ = 1, capacity_ = 0;
    std::size_t trail_ = 0, placed_ = 0, changes_ = 0;
    index failed_item_ = no_index, failed_section_ = no_index;  // cause of the last failed change
    plan_array<std::uint64_t> offset_, lowest_;                 // by item: if placed; if waiting
    plan_array<index> path_;                                    // items in the order of placement
    plan_array<std::uint64_t> left_, floor_;                    // by section: sum of the waiting sizes; floor
    plan_array<index> resting_, crossing_;  // by section: number that may rest; that cross to the next
    plan_array<index> changed_, moved_;     // sections; by section: buffers that no longer rest
    plan_array<std::uint64_t> waiting_;     // one bit for each item
    plan_array<std::uint64_t> trail_old_;   // old value of an item's lowest offset or of a floor
    plan_array<index> trail_what_, trail_resting_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
