// search: whether buffers fit a capacity, decided exactly.
//
// A state of the search is a set of buffers that wait for an offset, and for each the lowest offset it may get. The
// question is whether they can all be placed from there on; nothing else matters, least of all how the state was
// reached.
//
//     capacity ┌──────────────────────────┐
//              │       ┌────────┐         │     A section's floor is the lowest of what its waiting buffers may get. In
//              │  ?    │   ?    │    ?    │     a plan where nothing can be moved down, either one of those buffers
//              │       │ placed ├─────────┤     rests on the floor, or none does, and then the floor can be raised:
//              ├───────┴────────┤ placed  │     to where the lowest of them would rest on something from outside.
//              └──s0───────s1───────s2────┘
//
// So a node of the tree picks a section, and its children are: each buffer that may rest on the floor, and the raised
// floor. What is cut off:
//   - a section whose floor and waiting sizes exceed the capacity: all children, at once. Where a section has no slack,
//     no floor is ever raised.
//   - a buffer is only kept off the floor by another that takes its place there. If none can, the raised floor is no
//     child.
//   - parts of time that no waiting buffer connects are searched one after the other, not one within the other; when a
//     part has no plan, the others' need not be gone through.
//   - of buffers that nothing tells apart, only the first is tried.
//   - a state that was seen to fail is remembered by a fingerprint of 128 bits and fails again at once.
//
// The section is the one with the fewest children, then the least slack: either among the lowest floors, or among all
// where nothing that waits fits below. The buffers' order is by size, length and the largest total that they cross. One
// order may fail for hours where another needs a node per buffer. So orders and rules take turns in rounds whose
// lengths follow Luby's sequence 1 1 2 1 1 2 4 …: the first orders are proven ones, later ones have random weights.
// What failed in one round is remembered in the next, and a round that ends without a plan is a proof. All of it is
// integers with fixed seeds: the same problem gets the same answer, offsets and number of nodes on every machine.
//
// Sources: sections, the bound by a section's floor and total, splitting as placements cut the timeline, and turns of
// orders are from Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning",
// ASPLOS 2023. Lengths of rounds: Luby, Sinclair, Zuckerman, "Optimal Speedup of Las Vegas Algorithms", 1993. Choosing
// a section rather than a buffer, raising floors and states that depend on no order are this header's own. Where all
// sizes, fixed offsets and alignments are multiples of a granule, so are the offsets of a plan in which nothing can be
// moved down.
//
// Complexity: exponential in the worst case, bounded by the budget; a node costs about as much as looking at the
// buffers that live while the placed one does. Memory: `search_counts`, known before, n²/64 words and a trail. No
// recursion, no heap while it searches, no exceptions; everything works in constant expressions. Thread safety: one
// thread per object.
#pragma once

#include <allot/plan/sections.hpp>

#include <array>
#include <limits>

namespace allot::inline v1 {

enum class search_answer : std::uint8_t {
    found,          // offsets are in place
    infeasible,     // there are none: proved
    out_of_budget,  // neither is known
    malformed,      // an index out of range, an alignment that is no power of two, a range that wraps, too little
                    // memory, or `together`, which is to be merged before
};

struct search_result {
    search_answer answer = search_answer::malformed;
    std::uint64_t nodes = 0;
    std::uint64_t height = 0;  // of the offsets that are in place: where the highest buffer ends. 0 for none
    std::uint64_t bound = 0;   // no plan is lower: proved

    friend constexpr bool operator==(const search_result&, const search_result&) = default;
};

/// What decides how much memory a search needs.
struct search_counts {
    section_counts plan{};
    std::size_t reserved = 0;  // ranges
    std::size_t memo = 0;      // failed states that are remembered: 0 or a power of two

    [[nodiscard]] static constexpr search_counts of(const plan_problem& problem, std::size_t memo) noexcept {
        return {section_counts::of(problem), problem.reserved.size(), memo};
    }

    /// Changes that can be taken back. A round that would need more is given up, as if its nodes were spent.
    [[nodiscard]] constexpr std::size_t trail() const noexcept {
        return (plan.buffers + plan.sections()) * std::min<std::size_t>(plan.buffers + 8, 256);
    }
    [[nodiscard]] constexpr std::size_t wide() const noexcept {
        return plan.wide() + 3 * plan.buffers + 2 * plan.sections() + plan.words() + trail() + 2 * memo +
               2 * (plan.buffers + 1) + 2 * reserved;
    }
    [[nodiscard]] constexpr std::size_t narrow() const noexcept {
        return plan.narrow() + 2 * plan.buffers + 4 * plan.sections() + 2 * trail() + 8 * (plan.buffers + 1);
    }
};

struct search_workspace {
    plan_arrays arrays{};
    std::size_t memo = 0;
};

/// One problem, and the searches for its plans.
class packing_search {
public:
    struct never_stops {
        [[nodiscard]] constexpr bool operator()() const noexcept { return false; }
    };

    /// Reads `problem` and keeps nothing of it; `memory` is in use for as long as this object is.
    constexpr packing_search(const plan_problem& problem, search_workspace memory) noexcept
        : well_formed_{is_well_formed(problem, memory)} {
        if (!well_formed_) return;
        map_ = section_map{problem, memory.arrays};
        cut(search_counts::of(problem, memory.memo), memory.arrays);
        granule_ = 0;
        read_reserved(problem);
        for (std::size_t i = 0; i < map_.buffers(); ++i) {
            offset_[i] = is_fixed(i) ? map_.fixed(i) : 0;
            bound_ = std::max(bound_, offset_[i] + map_.size(i));
            granule_ = std::gcd(granule_, std::gcd(map_.size(i), offset_[i]));
        }
        for (std::size_t i = 0; i < map_.buffers(); ++i)
            if (granule_ % map_.align(i) != 0) granule_ = std::gcd(granule_, map_.align(i));
        if (granule_ == 0) granule_ = 1;
        for (index s = 0; s < map_.sections(); ++s) bound_ = std::max(bound_, height_beside_reserved(map_.total(s)));
    }

    /// No plan is lower: the most that lives at once, beside what is reserved, or the end of a fixed buffer.
    [[nodiscard]] constexpr std::uint64_t bound() const noexcept { return bound_; }
    /// Of plans in which nothing can be moved down, the heights are multiples of it.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return granule_; }

    /// Offsets below `capacity`, by the index of the buffer. They are written when they are found.
    /// `stop()` is asked now and then; the search is out of its budget when it says true.
    template <class Stop = never_stops>
    [[nodiscard]] constexpr search_result find(std::uint64_t capacity, std::span<std::uint64_t> offsets,
                                               std::uint64_t nodes, Stop stop = {}) noexcept {
        if (!well_formed_ || offsets.size() != map_.buffers()) return {};
        nodes_ = 0;
        stopped_ = false;
        search_result result{.answer = attempt(capacity, nodes, stop), .bound = bound_};
        if (result.answer == search_answer::infeasible) result.bound = std::max(bound_, next_height(capacity));
        if (result.answer == search_answer::found) result.height = write(offsets);
        result.nodes = nodes_;
        return result;
    }

private:
    using index = section_map::index;
    static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
    static constexpr index no_section = std::numeric_limits<index>::max();
    static constexpr index no_rank = std::numeric_limits<index>::max();
    enum class step : std::uint8_t { branch, failed, done };
    struct fingerprint {
        std::uint64_t first = 0, second = 0;
        friend constexpr bool operator==(const fingerprint&, const fingerprint&) = default;
    };

    [[nodiscard]] static constexpr bool is_well_formed(const plan_problem& problem,
                                                       const search_workspace& memory) noexcept {
        const std::size_t n = problem.buffers.size();
        const search_counts counts = search_counts::of(problem, memory.memo);
        if (memory.memo != 0 && !std::has_single_bit(memory.memo)) return false;
        if (counts.plan.lifetimes > no_section / 1024 || counts.plan.pairs > no_section / 1024) return false;
        if (memory.arrays.wide.size() < counts.wide() || memory.arrays.narrow.size() < counts.narrow()) return false;
        if (!problem.together.empty()) return false;
        for (const plan_buffer& buffer : problem.buffers)
            if (!is_alignment(buffer.align)) return false;
        for (const plan_revival& revival : problem.revivals)
            if (revival.buffer >= n) return false;
        for (const plan_fixed& fixed : problem.fixed) {
            std::uint64_t end = 0;
            if (fixed.buffer >= n || fixed.offset == section_map::free_to_choose) return false;
            if (!checked_add(fixed.offset, problem.buffers[fixed.buffer].size, end)) return false;
        }
        for (const plan_reserved& range : problem.reserved)
            if (range.size > none - range.offset) return false;
        for (const plan_pair& pair : problem.apart)
            if (pair.first >= n || pair.second >= n || pair.first == pair.second) return false;
        return true;
    }

    constexpr void cut(search_counts counts, plan_arrays& arrays) noexcept {
        const std::size_t n = counts.plan.buffers, sections = counts.plan.sections(), frames = n + 1;
        for (auto* array : {&offset_, &lowest_, &key_}) *array = arrays.take_wide(n);
        for (auto* array : {&left_, &floor_}) *array = arrays.take_wide(sections);
        waiting_ = arrays.take_wide(counts.plan.words());
        trail_old_ = arrays.take_wide(counts.trail());
        memo_ = arrays.take_wide(2 * counts.memo);
        frame_print_ = arrays.take_wide(2 * frames);
        for (auto* array : {&reserved_, &reserved_end_}) *array = arrays.take_wide(counts.reserved);
        for (auto* array : {&rank_, &path_}) *array = arrays.take_narrow(n);
        for (auto* array : {&resting_, &crossing_, &changed_, &is_changed_}) *array = arrays.take_narrow(sections);
        for (auto* array : {&trail_what_, &trail_resting_}) *array = arrays.take_narrow(counts.trail());
        for (auto* array : {&frame_from_, &frame_until_, &frame_next_, &frame_section_, &frame_rank_, &frame_mark_,
                            &frame_placed_, &frame_placed_mark_})
            *array = arrays.take_narrow(frames);
        std::ranges::fill(is_changed_, index{0});
    }

    [[nodiscard]] constexpr bool is_fixed(std::size_t item) const noexcept {
        return map_.fixed(item) != section_map::free_to_choose;
    }

    /// Ranges in order, apart from each other. In a plan where nothing can be moved down, a buffer may rest on any.
    constexpr void read_reserved(const plan_problem& problem) noexcept {
        std::size_t count = 0, merged = 0;
        for (const plan_reserved& range : problem.reserved) {
            if (range.size == 0) continue;
            reserved_[count] = range.offset;
            reserved_end_[count++] = range.offset + range.size;
        }
        std::ranges::sort(reserved_.first(count));
        std::ranges::sort(reserved_end_.first(count));
        for (std::size_t first = 0, last = 0; last < count; ++last) {
            // As many began as ended: apart.
            if (last + 1 < count && reserved_[last + 1] <= reserved_end_[last]) continue;
            reserved_[merged] = reserved_[first];
            reserved_end_[merged++] = reserved_end_[last];
            granule_ = std::gcd(granule_, reserved_end_[last]);
            first = last + 1;
        }
        reserved_ = reserved_.first(merged);
        reserved_end_ = reserved_end_.first(merged);
    }
    /// The least height with so many bytes below it that nobody has reserved.
    [[nodiscard]] constexpr std::uint64_t height_beside_reserved(std::uint64_t bytes) const noexcept {
        std::uint64_t covered = 0;
        for (std::size_t k = 0; k < reserved_.size() && bytes > reserved_[k] - covered; ++k) {
            bytes -= reserved_[k] - covered;
            covered = reserved_end_[k];
        }
        return bytes > none - covered ? none : covered + bytes;
    }
    /// Moves an offset up to where an item may lie. False when that is too high.
    constexpr bool clear_reserved(std::size_t item, std::uint64_t& offset) const noexcept {
        const std::uint64_t size = map_.size(item), align = map_.align(item);
        if (!checked_align_up(offset, align, offset) || offset > capacity_ - size) return false;
        if (reserved_.empty()) return true;
        auto k = static_cast<std::size_t>(std::ranges::upper_bound(reserved_end_, offset) - reserved_end_.begin());
        for (; k < reserved_.size() && reserved_[k] < offset + size; ++k)
            if (!checked_align_up(reserved_end_[k], align, offset) || offset > capacity_ - size) return false;
        return true;
    }

    /// The first height above one that a plan may have in which nothing can be moved down.
    [[nodiscard]] constexpr std::uint64_t next_height(std::uint64_t height) const noexcept {
        return height > none - granule_ ? none : height / granule_ * granule_ + granule_;
    }

    constexpr std::uint64_t write(std::span<std::uint64_t> offsets) const noexcept {
        std::uint64_t height = 0;
        for (std::size_t i = 0; i < map_.buffers(); ++i) {
            offsets[map_.buffer(i)] = offset_[i];
            height = std::max(height, offset_[i] + map_.size(i));
        }
        return height;
    }

    template <class Stop>
    constexpr search_answer attempt(std::uint64_t capacity, std::uint64_t budget, Stop& stop) noexcept {
        if (map_.contradictory() || bound_ > capacity) return search_answer::infeasible;
        capacity_ = capacity / granule_ * granule_;
        std::ranges::fill(memo_, std::uint64_t{0});
        for (std::uint64_t round = 0;; ++round) {
            order(round);
            const std::uint64_t nodes = luby(round + 1) * (2 * std::uint64_t{map_.items()} + 32);
            const search_answer answer = search(nodes < budget - nodes_ ? nodes_ + nodes : budget, stop);
            if (answer != search_answer::out_of_budget || nodes_ >= budget || stopped_) return answer;
        }
    }

    // ---- orders of the buffers, one for each two rounds -------------------------------------------------------------

    /// 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 …, from 1 on.
    [[nodiscard]] static constexpr std::uint64_t luby(std::uint64_t k) noexcept {
        while (!std::has_single_bit(k + 1)) k -= std::bit_floor(k) - 1;
        return (k + 1) / 2;
    }
    [[nodiscard]] static constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }
    /// About 65536 log2(x): exact for powers of two, straight lines in between.
    [[nodiscard]] static constexpr std::uint64_t logarithm(std::uint64_t x) noexcept {
        if (x == 0) return 0;
        const int whole = static_cast<int>(std::bit_width(x)) - 1;
        return (static_cast<std::uint64_t>(whole) << 16) +
               ((whole >= 16 ? x >> (whole - 16) : x << (16 - whole)) & 0xffff);
    }
    constexpr void order(std::uint64_t round) noexcept {
        struct weights {
            std::uint64_t size, length, total, noise;
        };
        // Total, then length; area; size. Then whatever falls: half the time without the total, with little noise
        // mostly.
        constexpr std::array<weights, 3> first{{{1, 8, 512, 0}, {1, 1, 0, 0}, {8, 1, 1, 0}}};
        const std::uint64_t turn = round / 2, dice = mixed(turn * 0x9e3779b97f4a7c4f);
        const weights random{dice & 15, dice >> 4 & 15, (dice >> 20 & 1) * (dice >> 8 & 15) * 64,
                             (dice >> 12 & 15) * (dice >> 16 & 15) / 16};
        const weights w = turn < first.size() ? first[static_cast<std::size_t>(turn)] : random;
        lowest_floors_only_ = round % 2 == 0;
        const auto by_key = path_.first(map_.items());
        for (index i = 0; i < map_.items(); ++i) {
            std::uint64_t most = 0;
            map_.each_section(i, [&](index s) { most = std::max(most, map_.total(s)); });
            key_[i] = w.size * logarithm(map_.size(i)) + w.length * logarithm(map_.length(i)) +
                      w.total * logarithm(most) + w.noise * (mixed(turn * 0x10001 + map_.buffer(i)) & 0xffff);
            by_key[i] = i;
        }
        std::ranges::sort(by_key, [&](index a, index b) {
            return key_[a] != key_[b] ? key_[a] > key_[b] : map_.buffer(a) < map_.buffer(b);
        });
        for (index k = 0; k < map_.items(); ++k) rank_[by_key[k]] = k;
    }

    // ---- the tree -------------------------------------------------------------------------------------------------

    /// A frame is a part of time that is to be planned: all of it first, in which nothing is placed; below that, parts
    /// in which a buffer is placed at a time. What is placed cuts the frame's part into parts, which are planned in
    /// turn.
    template <class Stop>
    constexpr search_answer search(std::uint64_t limit, Stop& stop) noexcept {
        if (!start()) return search_answer::infeasible;
        push(0, map_.sections(), no_section, {});
        for (step last = step::done;;) {
            const std::size_t f = depth_ - 1;
            if (last == step::done) {
                if (frame_next_[f] == frame_until_[f]) {
                    if (--depth_ == 0) return search_answer::found;
                } else {
                    const index from = frame_next_[f];
                    index until = from + 1;
                    while (until < frame_until_[f] && crossing_[until - 1] != 0) ++until;
                    frame_next_[f] = until;
                    last = enter(from, until);
                }
                continue;
            }
            if (last == step::failed) {
                if (frame_section_[f] == no_section) return search_answer::infeasible;
                take_back(f);
            }
            if (nodes_ % 256 == 0 && stop()) stopped_ = true;
            if (stopped_ || nodes_ >= limit) return search_answer::out_of_budget;
            if (trail_old_.size() - trail_ < map_.items() + map_.sections()) return search_answer::out_of_budget;
            ++nodes_;
            last = branch(f);
        }
    }

    constexpr bool start() noexcept {
        std::ranges::fill(waiting_, std::uint64_t{0});
        std::ranges::fill(crossing_, index{0});
        trail_ = placed_ = depth_ = changes_ = 0;
        for (index i = 0; i < map_.items(); ++i) {
            waiting_[i / 64] |= std::uint64_t{1} << (i % 64);
            lowest_[i] = is_fixed(i) ? map_.fixed(i) : 0;
            if (!clear_reserved(i, lowest_[i]) || (is_fixed(i) && lowest_[i] != map_.fixed(i))) return false;
            for (index s = map_.first(i); s + 1 < map_.last(i); ++s) ++crossing_[s];
        }
        for (index s = 0; s < map_.sections(); ++s) {
            left_[s] = map_.total(s);
            find_floor(s);
            if (floor_[s] > capacity_ - left_[s]) return false;
        }
        return true;
    }

    constexpr void push(index from, index until, index section, fingerprint print) noexcept {
        frame_from_[depth_] = frame_next_[depth_] = from;
        frame_until_[depth_] = until;
        frame_section_[depth_] = section;
        frame_rank_[depth_] = 0;
        frame_mark_[depth_] = static_cast<index>(trail_);
        frame_print_[2 * depth_] = print.first;
        frame_print_[2 * depth_ + 1] = print.second;
        ++depth_;
    }

    constexpr step enter(index from, index until) noexcept {
        const index section = choose(from, until);
        if (section == no_section) return step::done;
        const fingerprint print = fingerprint_of(from, until);
        if (is_remembered(print)) return step::failed;
        push(from, until, section, print);
        return step::branch;
    }

    /// The next child of a frame: the next buffer in its order, or the raised floor, which takes the frame's place.
    constexpr step branch(std::size_t f) noexcept {
        const index section = frame_section_[f];
        index item = 0, rank = no_rank;
        map_.members(section).each(waiting_, [&](index i) {
            if (lowest_[i] != floor_[section] || rank_[i] < frame_rank_[f] || rank_[i] >= rank) return;
            if (map_.twin(i) != i && waits(map_.twin(i))) return;
            rank = rank_[i];
            item = i;
        });
        if (rank != no_rank) {
            frame_rank_[f] = rank + 1;
            frame_next_[f] = frame_from_[f];
            frame_placed_[f] = static_cast<index>(placed_);
            frame_placed_mark_[f] = static_cast<index>(trail_);
            return place(item) ? step::done : step::failed;
        }
        // Nothing is placed in this frame now, and a later failure is to take back nothing.
        if (raise(section) && !is_remembered(fingerprint_of(frame_from_[f], frame_until_[f]))) {
            frame_section_[f] = choose(frame_from_[f], frame_until_[f]);
            frame_rank_[f] = 0;
            return step::branch;
        }
        undo(frame_mark_[f]);
        remember({frame_print_[2 * f], frame_print_[2 * f + 1]});
        --depth_;
        return step::failed;
    }

    /// The section to branch on.
    constexpr index choose(index from, index until) const noexcept {
        const auto floors = floor_.subspan(from, until - from);
        const std::uint64_t bottom = *std::ranges::min_element(floors);
        index best = no_section;
        std::uint64_t best_slack = none;
        index best_children = no_section;
        for (index s = from; s < until && bottom != none; ++s) {
            if (floor_[s] == none || (lowest_floors_only_ && floor_[s] != bottom)) continue;
            const std::uint64_t slack = capacity_ - floor_[s] - left_[s];
            const index children = 2 * resting_[s] + (slack != 0 ? 1 : 0);  // the raised floor is half a child
            if (children > best_children || (children == best_children && slack >= best_slack)) continue;
            if (floor_[s] != bottom && fits_below(s)) continue;
            best = s;
            best_children = children;
            best_slack = slack;
        }
        return best;
    }
    /// Whether something that waits could be placed below a buffer that would rest on the section's floor.
    constexpr bool fits_below(index section) const noexcept {
        const std::uint64_t floor = floor_[section];
        return map_.members(section).any(waiting_, [&](index i) {
            return lowest_[i] == floor && !map_.all_sections(i, [&](index s) { return floor_[s] == floor; }) &&
                   map_.neighbours(i).any(waiting_, [&](index j) { return lowest_[j] + map_.size(j) <= floor; });
        });
    }

    // ---- failed states --------------------------------------------------------------------------------------------

    /// Of which buffers of a part wait, and from where on each may be placed.
    constexpr fingerprint fingerprint_of(index from, index until) const noexcept {
        fingerprint sum{};
        if (memo_.empty()) return sum;
        for (index i = map_.first_item(from); i < map_.first_item(until); ++i)
            if (waits(i)) {
                const std::uint64_t one = mixed((i + 1) * 0x9e3779b97f4a7c15 ^ lowest_[i] * 0xd6e8feb86659fd93);
                sum.first += one;
                sum.second += (one ^ one >> 29) * 0xff51afd7ed558ccd;
            }
        return sum;
    }
    [[nodiscard]] constexpr std::size_t slot(fingerprint print) const noexcept {
        return 2 * static_cast<std::size_t>(print.first & (memo_.size() / 2 - 1));
    }
    [[nodiscard]] constexpr bool is_remembered(fingerprint print) const noexcept {
        return !memo_.empty() && fingerprint{memo_[slot(print)], memo_[slot(print) + 1]} == print;
    }
    constexpr void remember(fingerprint print) noexcept {
        if (memo_.empty()) return;
        memo_[slot(print)] = print.first;
        memo_[slot(print) + 1] = print.second;
    }

    // ---- changes of the state, and how they are taken back ----------------------------------------------------------

    [[nodiscard]] constexpr bool waits(std::size_t item) const noexcept {
        return (waiting_[item / 64] >> (item % 64) & 1) != 0;
    }

    /// False when a section does not fit any more.
    constexpr bool place(index item) noexcept {
        const std::uint64_t bottom = lowest_[item], top = bottom + map_.size(item);
        offset_[item] = bottom;
        path_[placed_++] = item;
        waiting_[item / 64] &= ~(std::uint64_t{1} << (item % 64));
        for (index s = map_.first(item); s + 1 < map_.last(item); ++s) --crossing_[s];
        map_.each_section(item, [&](index s) {
            left_[s] -= map_.size(item);
            if (floor_[s] == bottom) change(s);
        });
        const bool stuck =
            map_.neighbours(item).any(waiting_, [&](index j) { return lowest_[j] < top && !lift(j, top); });
        return settle(!stuck);
    }
    constexpr void take_back(std::size_t f) noexcept {
        while (placed_ > frame_placed_[f]) {
            const index item = path_[--placed_];
            waiting_[item / 64] |= std::uint64_t{1} << (item % 64);
            for (index s = map_.first(item); s + 1 < map_.last(item); ++s) ++crossing_[s];
            map_.each_section(item, [&](index s) { left_[s] += map_.size(item); });
        }
        undo(frame_placed_mark_[f]);
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
                if (lowest_[j] < floor + map_.size(i) && !members.contains(j))
                    least = std::min(least, lowest_[j] + map_.size(j));
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
                if (j != i && at < floor + map_.size(i) && at <= capacity_ - map_.size(j))
                    offset_[i] = std::min(offset_[i], at + map_.size(j));
            });
        });
        return settle(!members.any(waiting_, [&](index i) { return lowest_[i] == floor && !lift(i, offset_[i]); }));
    }

    /// Moves the lowest offset that a buffer may get. False when that is too high.
    constexpr bool lift(index item, std::uint64_t to) noexcept {
        const std::uint64_t old = lowest_[item];
        if (is_fixed(item) || !clear_reserved(item, to)) return false;
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

    section_map map_;
    bool well_formed_ = false, lowest_floors_only_ = true, stopped_ = false;
    std::uint64_t bound_ = 0, granule_ = 1, capacity_ = 0, nodes_ = 0;
    std::size_t trail_ = 0, placed_ = 0, depth_ = 0, changes_ = 0;
    std::span<std::uint64_t> offset_, lowest_, key_;    // by item: of waiting ones, lowest; of placed ones, offset
    std::span<index> rank_, path_;                      // by item: its place in the order; items as placed
    std::span<std::uint64_t> left_, floor_;             // by section: sizes that wait, and from where on
    std::span<index> resting_, crossing_;               // by section: may rest on the floor; wait on both sides
    std::span<index> changed_, is_changed_;             // sections; by section
    std::span<std::uint64_t> waiting_;                  // a bit for each item
    std::span<std::uint64_t> reserved_, reserved_end_;  // ranges
    std::span<std::uint64_t> memo_;                     // fingerprints of failed states
    std::span<std::uint64_t> trail_old_;                // what was changed: an item's lowest, or a floor
    std::span<index> trail_what_, trail_resting_;
    std::span<std::uint64_t> frame_print_;
    std::span<index> frame_from_, frame_until_, frame_next_, frame_section_, frame_rank_;  // by depth
    std::span<index> frame_mark_, frame_placed_, frame_placed_mark_;
};

}  // namespace allot::inline v1
