// SPDX-License-Identifier: BSL-1.0
// search: decides exactly whether buffers fit a capacity.
//
// A state of the search consists of the buffers that wait for an offset and, for each of them, its lowest possible
// offset. The question is whether all of them can be placed from there on. The way in which a state was reached does
// not matter.
//
//     capacity ┌──────────────────────────┐
//              │       ┌────────┐         │     The floor of a section is the least `lowest` offset of its waiting
//              │  ?    │   ?    │    ?    │     buffers. Consider a plan in which no buffer can be moved down. Either
//              │       │ placed ├─────────┤     one of the waiting buffers rests on the floor, or none does. In the
//              ├───────┴────────┤ placed  │     latter case the floor can be raised to the least offset at which one of
//              └──s0───────s1───────s2────┘     them would rest on a buffer from outside the section.
//
// A node of the search tree selects a section. Its children are each buffer that may rest on the floor, and the raised
// floor. The search prunes as follows:
//   - If the floor and the waiting sizes of a section exceed the capacity, all children fail. In a section without
//     slack, no floor is raised.
//   - A buffer stays above the floor only if another buffer blocks its place. If no buffer can block it, the raised
//     floor is not a child.
//   - Parts of time that no waiting buffer connects are searched in sequence instead of nested. If one part has no
//     plan, the other parts are not searched again.
//   - Of identical buffers, only the first is tried.
//   - A state that has failed is remembered as a fingerprint of 128 bits, and fails immediately when it recurs.
//
// The selected section has the fewest children, then the least slack. It is selected among the lowest floors only, or
// among all sections in which no waiting buffer fits below the floor. The order of buffers is one of `search_orders`.
// Orders and rules alternate in rounds whose lengths follow Luby's sequence `1 1 2 1 1 2 4 …`. A round remembers the
// failed states of earlier rounds, and its order places buffers early that caused many dead ends. A round that exhausts
// the tree without a plan is a proof. All arithmetic is on integers with fixed seeds: the same problem has the same
// answer, offsets and number of nodes on every machine.
//
// For up to 64 buffers, `offset_search` takes turns with the rounds after the sixth. It continues in each turn.
//
// If all sizes, fixed offsets, ends of reserved ranges and alignments are multiples of a granule, so are the offsets of
// a plan in which no buffer can be moved down. Only such heights are searched.
//
// Sources: Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023
// (sections, the bound by a section's floor and total, splits of the timeline, alternating orders). Luby, Sinclair,
// Zuckerman, "Optimal Speedup of Las Vegas Algorithms", 1993 (lengths of rounds). New here: selecting a section instead
// of a buffer, raising floors, and states that are independent of the order of placements.
//
// Complexity: exponential in the worst case, limited by the budget. The cost of a node is about a visit of each buffer
// that lives at the same time as the placed one. Memory: `search_counts`, known in advance: (buffers + sections) ×
// buffers bits and a trail. No recursion, no heap allocation, no exceptions; constant expressions may use it. Thread
// safety: one thread per object.
#pragma once

#include <allot/plan/detail/offset_search.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Answer of a search.
enum class search_answer : std::uint8_t {
    found,          ///< the offsets are written
    infeasible,     ///< proof that no plan fits
    out_of_budget,  ///< the search ended without a plan and without a proof
    malformed,      ///< an index is out of range, an alignment is not a power of two, a range wraps, the
                    ///< workspace is too small, or `together` is not merged
};

/// Result of a search.
struct search_result {
    search_answer answer = search_answer::malformed;  ///< answer
    std::uint64_t nodes = 0;                          ///< visited nodes of the search tree
    std::uint64_t height = 0;  ///< highest end of a buffer in the written offsets; 0 without offsets
    std::uint64_t bound = 0;   ///< no plan is lower: proved

    friend constexpr bool operator==(const search_result&, const search_result&) = default;
};

/// Counts that determine the memory that a search needs.
struct search_counts {
    section_counts plan{};     ///< counts of buffers, lifetimes and pairs
    std::size_t reserved = 0;  ///< number of reserved ranges
    std::size_t memo = 0;      ///< number of failed states to remember, rounded down to a power of two

    /// Returns the counts of a problem.
    [[nodiscard]] static constexpr search_counts of(const plan_problem& problem, std::size_t memo) noexcept {
        return {section_counts::of(problem), problem.reserved.size(), memo};
    }

    [[nodiscard]] constexpr detail::state_counts state() const noexcept { return {plan, reserved}; }
    /// Workspace that a search needs.
    [[nodiscard]] constexpr plan_space space() const noexcept {
        const std::size_t frames = plan.buffers + 1;
        return state().space() + detail::search_orders<>::space(plan.buffers) + offset_search<>::space(plan.buffers) +
               plan_space{.u32 = 8 * frames, .u64 = 2 * memo + 2 * frames};
    }
};

/// Memory of a search.
struct search_workspace {
    plan_workspace arrays{};  ///< at least as large as `search_counts` requires
    std::size_t memo = 0;     ///< number of failed states to remember, rounded down to a power of two
};

/// Searches plans of one problem.
// A template, so that only programs that use it compile it.
template <class = void>
class packing_search {
public:
    /// Default stop condition: never.
    struct never_stops {
        [[nodiscard]] constexpr bool operator()() const noexcept { return false; }
    };

    /// Reads `problem` and keeps no reference to it. `scratch` is in use during the lifetime of this object.
    constexpr packing_search(const plan_problem& problem, search_workspace scratch,
                             const plan_sizes& sizes = {}) noexcept
        : well_formed_{is_well_formed(problem, scratch)} {
        if (!well_formed_) return;
        const std::size_t buffers = problem.buffers.size(), frames = buffers + 1;
        plan_workspace& workspace = scratch.arrays;
        state_ = detail::search_state<>{problem, search_counts::of(problem, scratch.memo).state(), workspace, sizes};
        orders_ = detail::search_orders<>{buffers, workspace};
        failed_ = failed_states{scratch.memo, workspace};
        by_offsets_ = offset_search<>{buffers, workspace};
        frame_print_ = cut(workspace.u64, 2 * frames);
        for (auto* array : {&frame_from_, &frame_until_, &frame_next_, &frame_section_, &frame_rank_, &frame_mark_,
                            &frame_placed_, &frame_placed_mark_})
            *array = cut(workspace.u32, frames);
    }

    /// No plan is lower: the most live bytes at one step on top of reserved ranges, or the end of a fixed buffer.
    [[nodiscard]] constexpr std::uint64_t bound() const noexcept { return state_.bound(); }
    /// Heights of plans in which no buffer can be moved down are multiples of it.
    [[nodiscard]] constexpr std::uint64_t granule() const noexcept { return state_.granule(); }

    /// Searches offsets such that all buffers end at or below `capacity`, with at most `nodes` nodes. Writes `offsets`,
    /// by buffer, only if it finds them. `stop()` is called from time to time; if it returns true, the search is out of
    /// budget.
    template <class Stop = never_stops>
    [[nodiscard]] constexpr search_result find(std::uint64_t capacity, plan_array<std::uint64_t> offsets,
                                               std::uint64_t nodes, Stop stop = {}) noexcept {
        if (!well_formed_ || offsets.size() != map().buffers()) return {};
        nodes_ = 0;
        stopped_ = false;
        search_result result{.answer = attempt(capacity, nodes, stop), .bound = bound()};
        if (result.answer == search_answer::infeasible) result.bound = larger(proved_, next_height(capacity));
        if (result.answer == search_answer::found) result.height = write(offsets);
        result.nodes = nodes_;
        return result;
    }

    /// Offset of a buffer that `find_part` leaves out.
    static constexpr std::uint64_t left_out = std::numeric_limits<std::uint64_t>::max();
    /// Result of `find_part`.
    struct part_result {
        bool found = false;
        std::uint64_t nodes = 0;
    };
    /// Searches offsets for a part of the buffers without going back: where no buffer can be placed, the one with the
    /// least `value(buffer)` is left out. Fixed buffers remain. Tries the orders of turns [first, until), with at most
    /// `nodes` nodes, until the buffers that are left out are worth less than `most_lost`. Overwrites `offsets`, by
    /// buffer. They are valid if such a part was found.
    template <class Value>
    [[nodiscard]] constexpr part_result find_part(std::uint64_t capacity, plan_array<std::uint64_t> offsets,
                                                  std::uint64_t first, std::uint64_t until, std::uint64_t nodes,
                                                  std::uint64_t most_lost, Value value) noexcept {
        if (!well_formed_ || offsets.size() != map().buffers() || map().contradictory()) return {};
        nodes_ = 0;
        orders_.forget();
        bool found = false;
        for (std::uint64_t turn = first; turn != until && !found && nodes_ < nodes; ++turn) {
            orders_.take(turn / 2, map());
            lowest_floors_only_ = turn % 2 == 0;
            // Floors may rise in small steps.
            const std::uint64_t most = limit(8 * std::uint64_t{map().items()}, nodes);
            if (!state_.start(capacity)) break;
            found = descend(offsets, most, most_lost, value);
        }
        return {found, nodes_};
    }

private:
    using index = section_bitmaps<>::index;
    static constexpr std::uint64_t none = detail::search_state<>::none;
    static constexpr index no_section = std::numeric_limits<index>::max();
    static constexpr index no_rank = std::numeric_limits<index>::max();
    static constexpr std::uint64_t first_by_offsets = 5;  // round after which the order of offsets is tried, too
    enum class step : std::uint8_t { branch, failed, done };

    [[nodiscard]] static constexpr bool is_well_formed(const plan_problem& problem,
                                                       const search_workspace& memory) noexcept {
        const std::size_t n = problem.buffers.size();
        const search_counts counts = search_counts::of(problem, memory.memo);
        if (counts.plan.lifetimes > no_section / 1024 || counts.plan.pairs > no_section / 1024) return false;
        if (!memory.arrays.holds(counts.space())) return false;
        if (!problem.together.empty()) return false;
        for (const plan_buffer& buffer : problem.buffers)
            if (!is_alignment(buffer.align)) return false;
        for (const plan_revival& revival : problem.revivals)
            if (revival.buffer >= n) return false;
        for (const plan_fixed& fixed : problem.fixed) {
            std::uint64_t end = 0;
            if (fixed.buffer >= n || fixed.offset == section_bitmaps<>::free_to_choose) return false;
            if (!checked_add(fixed.offset, problem.buffers[fixed.buffer].size, end)) return false;
        }
        for (const plan_reserved& range : problem.reserved)
            if (range.size > none - range.offset) return false;
        for (const plan_pair& pair : problem.apart)
            if (pair.first >= n || pair.second >= n || pair.first == pair.second) return false;
        return true;
    }

    /// Returns the next larger height that is a multiple of the granule.
    [[nodiscard]] constexpr std::uint64_t next_height(std::uint64_t height) const noexcept {
        return height > none - granule() ? none : height / granule() * granule() + granule();
    }

    constexpr std::uint64_t write(plan_array<std::uint64_t> offsets) const noexcept {
        std::uint64_t height = 0;
        for (std::size_t i = 0; i < map().buffers(); ++i) {
            offsets[map().buffer(i)] = state_.offset(i);
            if (map().size(i) != 0) height = larger(height, state_.offset(i) + map().size(i));
        }
        return height;
    }

    template <class Stop>
    constexpr search_answer attempt(std::uint64_t capacity, std::uint64_t budget, Stop& stop) noexcept {
        proved_ = bound();
        if (map().contradictory() || bound() > capacity) return search_answer::infeasible;
        failed_.clear();
        orders_.forget();
        for (std::uint64_t round = 0;; ++round) {
            orders_.take(round / 2, map());
            lowest_floors_only_ = round % 2 == 0;
            const std::uint64_t nodes = luby(round + 1) * (2 * std::uint64_t{map().items()} + 32);
            search_answer answer = search(capacity, limit(nodes, budget), stop);
            const bool is_open = answer == search_answer::out_of_budget && !stopped_;
            if (is_open && round >= first_by_offsets && by_offsets_.supports(state_))
                answer = search_by_offsets(capacity, round == first_by_offsets, limit(nodes, budget), stop);
            if (answer != search_answer::out_of_budget || nodes_ >= budget || stopped_) return answer;
        }
    }
    /// Returns the count of nodes at which a search ends that may take `more` nodes.
    [[nodiscard]] constexpr std::uint64_t limit(std::uint64_t more, std::uint64_t budget) const noexcept {
        return more < budget - nodes_ ? nodes_ + more : budget;
    }
    /// Begins or continues the search in the order of offsets.
    template <class Stop>
    constexpr search_answer search_by_offsets(std::uint64_t capacity, bool is_first, std::uint64_t most,
                                              Stop& stop) noexcept {
        static_cast<void>(state_.start(capacity));  // it was possible in the first round
        if (is_first) by_offsets_.begin(state_);
        stopped_ = by_offsets_.run(state_, failed_, nodes_, most, stop);
        if (!by_offsets_.is_decided()) return search_answer::out_of_budget;
        if (!by_offsets_.has_plan()) {
            proved_ = larger(proved_, by_offsets_.bound());
            return search_answer::infeasible;
        }
        for (std::size_t k = 0; k != by_offsets_.placed(); ++k) static_cast<void>(state_.place(by_offsets_.item(k)));
        return search_answer::found;
    }

    /// Returns the k-th element of Luby's sequence `1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 …`, from k = 1 on.
    [[nodiscard]] static constexpr std::uint64_t luby(std::uint64_t k) noexcept {
        while (!std::has_single_bit(k + 1)) k -= std::bit_floor(k) - 1;
        return (k + 1) / 2;
    }

    // ---- the tree -------------------------------------------------------------------------------------------------

    /// Searches depth first. A frame is a part of time. The first frame is all of time, without a placed buffer. Each
    /// further frame places one buffer at a time. The placed buffer cuts the frame's part into smaller parts, which are
    /// searched in sequence.
    template <class Stop>
    constexpr search_answer search(std::uint64_t capacity, std::uint64_t limit, Stop& stop) noexcept {
        if (!state_.start(capacity)) return search_answer::infeasible;
        depth_ = 0;
        push(0, map().sections(), no_section, {});
        for (step last = step::done;;) {
            const std::size_t f = depth_ - 1;
            if (last == step::done) {
                if (frame_next_[f] == frame_until_[f]) {
                    if (--depth_ == 0) return search_answer::found;
                } else {
                    const index from = frame_next_[f];
                    index until = from + 1;
                    while (until < frame_until_[f] && state_.is_crossed(until - 1)) ++until;
                    frame_next_[f] = until;
                    last = enter(from, until);
                }
                continue;
            }
            if (last == step::failed) {
                add_dead_ends();
                if (frame_section_[f] == no_section) return search_answer::infeasible;
                state_.take_back(frame_placed_[f], frame_placed_mark_[f]);
            }
            if (nodes_ % 256 == 0 && stop()) stopped_ = true;
            if (stopped_ || nodes_ >= limit) return search_answer::out_of_budget;
            if (!state_.has_room()) return search_answer::out_of_budget;
            ++nodes_;
            last = branch(f);
        }
    }

    constexpr void push(index from, index until, index section, fingerprint print) noexcept {
        frame_from_[depth_] = frame_next_[depth_] = from;
        frame_until_[depth_] = until;
        frame_section_[depth_] = section;
        frame_rank_[depth_] = 0;
        frame_mark_[depth_] = static_cast<index>(state_.trail());
        frame_print_[2 * depth_] = print.first;
        frame_print_[2 * depth_ + 1] = print.second;
        ++depth_;
    }

    constexpr step enter(index from, index until) noexcept {
        const index section = choose(from, until);
        if (section == no_section) return step::done;
        const fingerprint print = fingerprint_of(from, until);
        if (failed_.contains(print)) return step::failed;
        push(from, until, section, print);
        return step::branch;
    }

    /// Enters the next child of a frame: the next buffer in its order, or the raised floor, which replaces the frame.
    constexpr step branch(std::size_t f) noexcept {
        const index section = frame_section_[f];
        const auto [item, rank] = next_resting(section, frame_rank_[f]);
        if (rank != no_rank) {
            frame_rank_[f] = rank + 1;
            frame_next_[f] = frame_from_[f];
            frame_placed_[f] = static_cast<index>(state_.placed());
            frame_placed_mark_[f] = static_cast<index>(state_.trail());
            return state_.place(item) ? step::done : step::failed;
        }
        // No buffer is placed in this frame now, so that a later failure has no placement to undo.
        if (state_.raise(section) && !failed_.contains(fingerprint_of(frame_from_[f], frame_until_[f]))) {
            frame_section_[f] = choose(frame_from_[f], frame_until_[f]);
            frame_rank_[f] = 0;
            return step::branch;
        }
        state_.undo(frame_mark_[f]);
        failed_.add({frame_print_[2 * f], frame_print_[2 * f + 1]});
        --depth_;
        return step::failed;
    }

    /// The first buffer in the order, from a rank on, that may rest on the section's floor; `no_rank` if no buffer may.
    struct ranked {
        index item, rank;
    };
    constexpr ranked next_resting(index section, index least_rank) const noexcept {
        ranked next{0, no_rank};
        map().members(section).each(state_.waiting(), [&](index i) {
            const index rank = orders_.rank(i);
            if (state_.lowest(i) != state_.floor(section) || rank < least_rank || rank >= next.rank) return;
            if (map().twin(i) != i && state_.waits(map().twin(i))) return;
            next = {i, rank};
        });
        return next;
    }
    /// The order learns from the cause of the last failed change.
    constexpr void add_dead_ends() noexcept {
        state_.each_culprit([&](index i, std::uint64_t share) { orders_.add_dead_end(i, share); });
    }

    /// Returns the section to branch on; `no_section` if no buffer waits.
    constexpr index choose(index from, index until) const noexcept {
        std::uint64_t bottom = none;
        for (index s = from; s < until; ++s) bottom = smaller(bottom, state_.floor(s));
        index best = no_section;
        std::uint64_t best_slack = none;
        index best_children = no_section;
        for (index s = from; s < until && bottom != none; ++s) {
            const std::uint64_t floor = state_.floor(s);
            if (lowest_floors_only_ ? floor != bottom : floor == none) continue;
            const std::uint64_t slack = state_.slack(s);
            const index children = 2 * state_.resting(s) + (slack != 0 ? 1 : 0);  // the raised floor counts half
            if (children > best_children || (children == best_children && slack >= best_slack)) continue;
            if (floor != bottom && state_.fits_below(s)) continue;
            best = s;
            best_children = children;
            best_slack = slack;
        }
        return best;
    }

    // ---- parts of the buffers --------------------------------------------------------------------------------------

    template <class Value>
    constexpr bool descend(plan_array<std::uint64_t> offsets, std::uint64_t most_nodes, std::uint64_t most_lost,
                           Value value) noexcept {
        std::uint64_t lost = 0;
        for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = 0;
        for (;; state_.forget_trail()) {
            const index section = choose(0, map().sections());
            if (section == no_section) break;
            if (nodes_++ >= most_nodes) return false;
            if (place_any(section)) continue;
            const std::uint64_t floor = state_.floor(section);
            if (state_.slack(section) != 0 && state_.raise(section) && state_.floor(section) > floor) continue;
            state_.undo(0);
            index worst = 0;
            std::uint64_t least = none;
            map().members(section).each(state_.waiting(), [&](index i) {
                const std::uint64_t own = state_.is_fixed(i) ? none : value(map().buffer(i));
                if (own < least) worst = i;
                least = smaller(least, own);
            });
            if (least >= most_lost - lost) return false;
            lost += least;
            orders_.add_dead_end(worst, 100);
            state_.drop(worst);
            offsets[map().buffer(worst)] = left_out;
        }
        for (std::size_t i = 0; i < map().buffers(); ++i) {
            std::uint64_t& offset = offsets[map().buffer(i)];
            if (offset != left_out) offset = state_.offset(i);
        }
        return true;
    }
    /// Places one of the first buffers in the order that may rest on the section's floor. Returns false if none fits.
    constexpr bool place_any(index section) noexcept {
        constexpr int most_tries = 4;
        index least_rank = 0;
        for (int tries = 0; tries != most_tries; ++tries) {
            const auto [item, rank] = next_resting(section, least_rank);
            if (rank == no_rank) return false;
            if (state_.place(item)) return true;
            ++nodes_;
            add_dead_ends();
            state_.take_back(state_.placed() - 1, 0);
            least_rank = rank + 1;
        }
        return false;
    }

    // ---- failed states --------------------------------------------------------------------------------------------

    /// Returns a fingerprint of the waiting buffers of a part and of their lowest offsets.
    constexpr fingerprint fingerprint_of(index from, index until) const noexcept {
        fingerprint print{};
        if (failed_.is_empty()) return print;
        state_.each_waiting(map().first_item(from), map().first_item(until),
                            [&](index i) { print.add(i, state_.lowest(i)); });
        return print;
    }

    [[nodiscard]] constexpr const section_bitmaps<>& map() const noexcept { return state_.map(); }

    detail::search_state<> state_;
    detail::search_orders<> orders_;
    offset_search<> by_offsets_;
    failed_states failed_;
    bool well_formed_ = false, lowest_floors_only_ = true, stopped_ = false;
    std::uint64_t nodes_ = 0, proved_ = 0;  // no plan is lower than `proved_`
    std::size_t depth_ = 0;
    plan_array<std::uint64_t> frame_print_;
    plan_array<index> frame_from_, frame_until_, frame_next_, frame_section_, frame_rank_;  // by depth
    plan_array<index> frame_mark_, frame_placed_, frame_placed_mark_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
