// SPDX-License-Identifier: BSL-1.0
// search_state: buffers that wait for an offset, for each the lowest that it may get, and how both change.
//
//     capacity ┌──────────────────────────┐
//              │       ┌────────┐         │     waiting     buffers without an offset
//              │  ?    │   ?    │    ?    │     lowest      by buffer: no offset below it is to be had
//              │       │ placed ├─────────┤     floor       by section: the lowest of what its waiting buffers may get
//              ├───────┴────────┤ placed  │     slack       by section: what its floor and its waiting sizes leave of
//              └──s0───────s1───────s2────┘                 the capacity; a section without room is a dead end
//
// There are two changes. A buffer is placed at its lowest offset: those that live with it go on from its end. Or a
// section's floor is raised: no buffer is to rest on it, so that the lowest of them rests on something from outside.
// Whatever they move is noted on a trail, from which it is taken back.
//
// Which change is made, and what follows from a dead end, is up to `search`.
//
// Complexity: a placement looks at all that live with the buffer, a raised floor at all pairs of the section's. Memory:
// `state_counts`, known before, n²/64 words and the trail. Everything works in constant expressions. Thread safety: one
// thread per object.
#pragma once

#include <allot/plan/detail/reserved_ranges.hpp>
#include <allot/plan/detail/sections.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

/// What decides how much memory a state needs.
struct state_counts {
    section_counts plan{};
    std::size_t reserved = 0;  // ranges

    /// Changes that can be taken back.
    [[nodiscard]] constexpr std::size_t trail() const noexcept {
        return (plan.buffers + plan.sections()) * std::min<std::size_t>(plan.buffers + 8, 256);
    }
    [[nodiscard]] constexpr std::size_t wide() const noexcept {
        return plan.wide() + 2 * plan.buffers + 2 * plan.sections() + plan.words() + trail() + 2 * reserved;
    }
    [[nodiscard]] constexpr std::size_t narrow() const noexcept {
        return plan.narrow() + plan.buffers + 4 * plan.sections() + 2 * trail();
    }
};

class search_state {
public:
    using index = section_map::index;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

    constexpr search_state() noexcept = default;
    /// Precondition: what `packing_search` asks of a problem, and `arrays` as large as counts say.
    constexpr search_state(const plan_problem& problem, state_counts counts, plan_arrays& arrays,
                           const plan_sizes& sizes) noexcept
        : map_{problem, arrays, sizes} {
        const std::size_t n = counts.plan.buffers, sections = counts.plan.sections();
        for (auto* array : {&offset_, &lowest_}) *array = arrays.take_wide(n);
        for (auto* array : {&left_, &floor_}) *array = arrays.take_wide(sections);
        waiting_ = arrays.take_wide(counts.plan.words());
        trail_old_ = arrays.take_wide(counts.trail());
        path_ = arrays.take_narrow(n);
        for (auto* array : {&resting_, &crossing_, &changed_, &is_changed_}) *array = arrays.take_narrow(sections);
        for (auto* array : {&trail_what_, &trail_resting_}) *array = arrays.take_narrow(counts.trail());
        std::ranges::fill(is_changed_, index{0});
        const auto begins = arrays.take_wide(counts.reserved);
        reserved_ = reserved_ranges{problem.reserved, begins, arrays.take_wide(counts.reserved)};

        granule_ = 0;
        for (const std::uint64_t end : reserved_.ends()) granule_ = std::gcd(granule_, end);
        for (std::size_t i = 0; i < map_.buffers(); ++i) {
            offset_[i] = is_fixed(i) ? map_.fixed(i) : 0;
            if (map_.size(i) == 0) continue;
            bound_ = std::max(bound_, offset_[i] + map_.size(i));
            granule_ = std::gcd(granule_, std::gcd(map_.granule(i), offset_[i]));
        }
        for (std::size_t i = 0; i < map_.buffers(); ++i)
            if (map_.size(i) != 0 && granule_ % map_.align(i) != 0) granule_ = std::gcd(granule_, map_.align(i));
        if (granule_ == 0) granule_ = 1;
        for (index s = 0; s < map_.sections(); ++s) {
            std::uint64_t height = 0;
            bound_ = std::max(bound_, reserved_.height_beside(map_.total(s), height) ? height : none);
        }
    }

    [[nodiscard]] constexpr const section_map& map() const noexcept { return map_; }
    /// No plan is lower: the most that lives at once, beside what is reserved, or the end of a fixed buffer.
    [[nodiscard]] constexpr std::uint64_t bound() const noexcept { return bound_; }
    /// Of plans in which nothing can be moved down, all offsets and heights are multiples of it.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return granule_; }

    /// Everything waits. False when a section does not fit.
    constexpr bool start(std::uint64_t capacity) noexcept {
        capacity_ = capacity / granule_ * granule_;
        std::ranges::fill(waiting_, std::uint64_t{0});
        std::ranges::fill(crossing_, index{0});
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

    /// A bit for each item.
    [[nodiscard]] constexpr std::span<const std::uint64_t> waiting() const noexcept { return waiting_; }
    [[nodiscard]] constexpr bool waits(std::size_t item) const noexcept {
        return (waiting_[item / 64] >> (item % 64) & 1) != 0;
    }
    [[nodiscard]] constexpr std::uint64_t lowest(std::size_t item) const noexcept { return lowest_[item]; }
    /// Of an item that was placed.
    [[nodiscard]] constexpr std::uint64_t offset(std::size_t item) const noexcept { return offset_[item]; }
    /// `none` where nothing waits.
    [[nodiscard]] constexpr std::uint64_t floor(std::size_t section) const noexcept { return floor_[section]; }
    [[nodiscard]] constexpr std::uint64_t slack(std::size_t section) const noexcept {
        return capacity_ - floor_[section] - left_[section];
    }
    /// How many may rest on the floor.
    [[nodiscard]] constexpr index resting(std::size_t section) const noexcept { return resting_[section]; }
    /// Whether something waits that crosses this section and the next.
    [[nodiscard]] constexpr bool is_crossed(std::size_t section) const noexcept { return crossing_[section] != 0; }
    /// Whether something that waits could be placed below a buffer that would rest on the section's floor.
    [[nodiscard]] constexpr bool fits_below(index section) const noexcept {
        const std::uint64_t floor = floor_[section];
        return map_.members(section).any(waiting_, [&](index i) {
            return lowest_[i] == floor && !map_.all_sections(i, [&](index s) { return floor_[s] == floor; }) &&
                   map_.neighbours(i).any(waiting_,
                                          [&](index j) { return lowest_[j] + map_.size_below(j, i) <= floor; });
        });
    }

    // ---- changes of the state, and how they are taken back ----------------------------------------------------------

    [[nodiscard]] constexpr std::size_t placed() const noexcept { return placed_; }
    [[nodiscard]] constexpr std::size_t trail() const noexcept { return trail_; }
    /// Whether one more change can be noted, whatever it moves.
    [[nodiscard]] constexpr bool has_room() const noexcept {
        return trail_old_.size() - trail_ >= map_.items() + map_.sections();
    }

    /// False when a section does not fit any more.
    constexpr bool place(index item) noexcept {
        const std::uint64_t bottom = lowest_[item];
        offset_[item] = bottom;
        path_[placed_++] = item;
        waiting_[item / 64] ^= std::uint64_t{1} << (item % 64);  // `& ~`: see size_bins
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
    /// Placements after the first `placed`, and changes after the first `mark`, were none.
    constexpr void take_back(std::size_t placed, std::size_t mark) noexcept {
        while (placed_ > placed) {
            const index item = path_[--placed_];
            waiting_[item / 64] |= std::uint64_t{1} << (item % 64);
            for (index s = map_.first(item); s + 1 < map_.last(item); ++s) ++crossing_[s];
            map_.each_size(item, [&](index s, std::uint64_t size) { left_[s] += size; });
        }
        undo(mark);
    }

    /// Changes after the first `mark` were none.
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

    /// No buffer rests on this section's floor: raises those that could. False when that cannot be.
    /// One that could is kept off by a blocker, which lies lower than its end would and which it lies above. The
    /// blocker of the section's lowest buffer is no other of the section's.
    constexpr bool raise(index section) noexcept {
        const std::uint64_t floor = floor_[section];
        const item_set members = map_.members(section);
        const auto above_outsider = [&](index i) {
            std::uint64_t least = none;
            map_.neighbours(i).each(waiting_, [&](index j) {
                if (lowest_[j] < floor + map_.size_below(i, j) && !members.contains(j))
                    least = std::min(least, lowest_[j] + map_.size_below(j, i));
            });
            return least;
        };
        std::uint64_t bottom = none;
        members.each(waiting_, [&](index i) {
            // While a buffer waits, its offset is room for a number.
            offset_[i] = lowest_[i] == floor ? above_outsider(i) : lowest_[i];
            bottom = std::min(bottom, offset_[i]);
        });
        if (bottom == none) return false;
        members.each(waiting_, [&](index i) {
            if (lowest_[i] != floor) return;
            members.each(waiting_, [&](index j) {
                const std::uint64_t at = std::max(bottom, lowest_[j]);
                if (j != i && at < floor + map_.size_below(i, j) && at <= capacity_ - map_.size(j))
                    offset_[i] = std::min(offset_[i], at + map_.size_below(j, i));
            });
        });
        return settle(!members.any(waiting_, [&](index i) { return lowest_[i] == floor && !lift(i, offset_[i]); }));
    }

private:
    [[nodiscard]] constexpr bool is_fixed(std::size_t item) const noexcept {
        return map_.fixed(item) != section_map::free_to_choose;
    }
    /// Moves an offset up to where an item may lie. False when that is too high.
    constexpr bool clear(std::size_t item, std::uint64_t& offset) const noexcept {
        return reserved_.clear(map_.size(item), map_.align(item), capacity_, offset);
    }

    /// Moves the lowest offset that a buffer may get. False when that is too high.
    constexpr bool lift(index item, std::uint64_t to) noexcept {
        const std::uint64_t old = lowest_[item];
        if (is_fixed(item) || !clear(item, to)) return false;
        record(item, old, 0);
        lowest_[item] = to;
        map_.each_section(item, [&](index s) {
            if (floor_[s] == old) change(s);
        });
        return true;
    }
    constexpr void change(index section) noexcept {
        if (is_changed_[section] != 0) return;
        is_changed_[section] = 1;
        changed_[changes_++] = section;
    }
    /// Finds the floors that changed, as long as all fits.
    constexpr bool settle(bool fits) noexcept {
        while (changes_ > 0) {
            const index s = changed_[--changes_];
            is_changed_[s] = 0;
            if (!fits) continue;
            const std::uint64_t floor = floor_[s];
            const index resting = resting_[s];
            find_floor(s);
            if (floor_[s] != floor || resting_[s] != resting) record(map_.items() + s, floor, resting);
            fits = floor_[s] == none || floor_[s] <= capacity_ - left_[s];
        }
        return fits;
    }
    constexpr void find_floor(index section) noexcept {
        floor_[section] = none;
        resting_[section] = 0;
        map_.members(section).each(waiting_, [&](index i) {
            if (lowest_[i] < floor_[section]) {
                floor_[section] = lowest_[i];
                resting_[section] = 0;
            }
            if (lowest_[i] == floor_[section]) ++resting_[section];
        });
    }

    constexpr void record(index what, std::uint64_t old, index resting) noexcept {
        trail_what_[trail_] = what;
        trail_old_[trail_] = old;
        trail_resting_[trail_++] = resting;
    }

    section_map map_;
    reserved_ranges reserved_;
    std::uint64_t bound_ = 0, granule_ = 1, capacity_ = 0;
    std::size_t trail_ = 0, placed_ = 0, changes_ = 0;
    std::span<std::uint64_t> offset_, lowest_;     // by item: of placed ones, offset; of waiting ones, lowest
    std::span<index> path_;                        // items as placed
    std::span<std::uint64_t> left_, floor_;        // by section: sizes that wait, and from where on
    std::span<index> resting_, crossing_;          // by section: may rest on the floor; wait on both sides
    std::span<index> changed_, is_changed_;        // sections; by section
    std::span<std::uint64_t> waiting_;             // a bit for each item
    std::span<std::uint64_t> trail_old_;           // what was changed: an item's lowest, or a floor
    std::span<index> trail_what_, trail_resting_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
