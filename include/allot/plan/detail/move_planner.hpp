// SPDX-License-Identifier: BSL-1.0
// move_planner: improves a plan for several memories with visits of the fast ones.
//
//     whole lives ──► for each memory but the last: price its bytes ──► choose visits ──► place all pieces
//     no moves                                         ▲                                        │
//                                                      └── other prices; the best plan is kept ◄┘
//
// Complexity and memory: see moves.hpp. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/pieces.hpp>
#include <allot/plan/detail/visits.hpp>
#include <allot/plan/memories.hpp>

#include <algorithm>
#include <bit>

namespace allot {
inline namespace v1 {
namespace detail {

/// Improves a plan round by round and keeps the best one. The first plan has no moves.
template <class Watch>
class move_planner {
public:
    move_planner(const moves_problem& problem, const memories_options& options, Watch& watch)
        : facts_{problem.memories, problem.accesses}, options_{options}, watch_{&watch} {
        facts_.uses.resize(buffers().size());
        for (const plan_access& access : facts_.accesses) ++facts_.uses[access.buffer];
    }

    [[nodiscard]] plan_error run() {
        memories_problem whole = facts_.given;
        whole.uses = facts_.uses;
        const auto made = plan_memories(
            whole, options_, [this](const memories_progress& now) { return stopped_ = stopped_ || (*watch_)(now); });
        if (!made) return made.error();
        facts_.whole = made->places;
        begin_with(*made);
        if (best_.cost <= best_.bound && best_.unplaced == 0) return {};
        if (!find_what_moves()) return {};
        if (!stopped_) solve(decided_);  // no visits: buffers release their bytes while their contents are not needed
        for (std::uint32_t fast = 0; fast + 1 < facts_.given.memories.size() && !stopped_; ++fast) improve(fast);
        return {};
    }
    [[nodiscard]] moves_plan& best() noexcept { return best_; }

private:
    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return facts_.buffers(); }
    [[nodiscard]] const plan_memory& memory(std::size_t m) const { return facts_.given.memories[m]; }
    [[nodiscard]] const std::vector<access_value>& values() const noexcept { return facts_.contents.values(); }

    // ---- the plan without moves ------------------------------------------------------------------------------------

    void begin_with(const memories_plan& made) {
        const std::size_t memories = facts_.given.memories.size();
        best_.cost = best_.whole_cost = made.cost;
        best_.unplaced = made.unplaced;
        best_.which = made.which;
        best_.needs = made.needs;
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            std::uint64_t fits = 0;
            for (std::size_t m = 0; m != memories; ++m)
                if (buffers()[i].size <= memory(m).capacity) fits |= move_facts::bit(m);
            if (!facts_.given.allowed.empty()) fits &= facts_.given.allowed[i];
            facts_.allowed.push_back(fits);
            if (fits != 0)
                best_.bound +=
                    buffers()[i].size * facts_.uses[i] * memory(static_cast<std::size_t>(std::countr_zero(fits))).cost;
        }
        std::vector<plan_piece>& pieces = best_.pieces;
        for (std::size_t i = 0; i != buffers().size(); ++i) pieces.push_back({i, buffers()[i].live, made.places[i]});
        for (const plan_revival& each : facts_.given.buffers.revivals)
            pieces.push_back({each.buffer, each.live, made.places[each.buffer]});
        sort_stably(pieces, comes_before);
        for (const plan_access& access : facts_.accesses) best_.piece_of.push_back(piece_at(pieces, access));
        sum_up(best_);
    }

    /// Returns whether any buffer can move.
    [[nodiscard]] bool find_what_moves() {
        if (facts_.given.memories.size() > 63) return false;  // one bit more represents the homes
        for (std::size_t i = 0; i != buffers().size(); ++i)
            facts_.moves.push_back(buffers()[i].size != 0 && facts_.uses[i] != 0 && facts_.allowed[i] != 0);
        if (!facts_.keep_constrained()) return false;
        facts_.contents = buffer_contents{buffers(), facts_.accesses, facts_.moves};
        raise_bound();
        const std::size_t events = facts_.contents.events().size();
        decided_ = {std::vector(events, event_place::home), std::vector<memory_place>(events),
                    std::vector<memory_place>(values().size())};
        return !values().empty();
    }

    /// Raises the lower bound. Consider contents between one event and the next. If they are not in the first memories
    /// for all of that time, they cost at least one access elsewhere: the access itself, or a copy. At the step of an
    /// event, they cost that for each access.
    void raise_bound() {
        piece_problem<plan_buffer> problem;
        std::uint64_t sum = 0;  // cost that the problem does not include
        const auto least_cost = [&](std::size_t i) {
            const std::uint64_t allowed = facts_.allowed[i];
            return allowed == 0 ? 0 : memory(static_cast<std::size_t>(std::countr_zero(allowed))).cost;
        };
        for (const access_value& value : values())
            for (std::size_t e = value.first; e <= value.last; ++e) {
                const access_event& event = facts_.contents.events()[e];
                const bool first = e == value.first;
                const lifetime live{first ? value.live.from : facts_.contents.events()[e - 1].step + 1, event.step + 1};
                const std::uint64_t uses = live.from == event.step ? event.count : 1;
                problem.add(buffers()[value.buffer], live, uses, facts_.allowed[value.buffer]);
                sum += buffers()[value.buffer].size * (event.count - uses) * least_cost(value.buffer);
            }
        for (std::size_t i = 0; i != buffers().size(); ++i)
            if (!facts_.moves[i]) sum += buffers()[i].size * facts_.uses[i] * least_cost(i);
        const memories_problem least = problem.in(facts_.given.memories);
        plan_heap workspace{space_of_least_cost(least, options_)};
        best_.bound = std::max(best_.bound, sum + least_cost_of(least, options_, workspace));
    }

    // ---- visits to one memory --------------------------------------------------------------------------------------

    void improve(std::uint32_t fast) {
        // At the full prices, the chosen visits barely exceed the room. Lower prices yield more candidates. Values
        // that found no place are tried again at higher prices, which yield shorter visits.
        struct share {
            std::int64_t numerator, denominator;
        };
        constexpr share rounds[]{{1, 1}, {3, 4}, {1, 2}, {5, 4}, {1, 4}}, leftovers[]{{1, 1}, {2, 1}, {4, 1}, {8, 1}};
        const std::uint64_t slowest = memory(facts_.given.memories.size() - 1).cost;
        std::vector<std::size_t> wanted;  // values
        std::vector<visit_costs> costs(values().size());
        for (std::size_t v = 0; v != values().size(); ++v) {
            const std::size_t buffer = values()[v].buffer;
            if ((facts_.allowed[buffer] & move_facts::bit(fast)) == 0 || is_placed(decided_, v)) continue;
            const std::size_t home = home_of(buffer, fast);
            costs[v] = {memory(fast).cost, home != fast ? memory(home).cost : std::max<std::uint64_t>(slowest, 1)};
            if (costs[v].home > costs[v].fast) wanted.push_back(v);
        }
        if (wanted.empty()) return;
        visit_prices prices{facts_.contents};
        prices.scale_to(slowest);
        const move_decision before = decided_;
        const auto try_from = [&](move_decision trial, share now) {
            for (const share& left : leftovers) {
                const std::int64_t numerator = now.numerator * left.numerator;
                const std::int64_t denominator = now.denominator * left.denominator;
                if (!choose(trial, wanted, {prices, costs, fast, numerator, denominator}) || !goes_on()) break;
            }
            if (!stopped_ && solve(trial)) decided_ = std::move(trial);
        };
        for (const share& now : rounds) {
            prices.run(wanted, buffers(), costs, memory(fast).capacity, options_.effort == 0 ? 30 : 60);
            try_from(before, now);
            if (!goes_on()) return;
            if (&now != rounds) continue;
            move_decision whole = before;  // the plan without moves, and visits in its holes
            for (const std::size_t v : wanted)
                if (const memory_place place = facts_.whole[values()[v].buffer]; place.memory == fast)
                    whole.home[v] = place;
            try_from(whole, {1, 2});
            if (!goes_on()) return;
        }
    }
    [[nodiscard]] bool goes_on() const noexcept {
        return !stopped_ && spent_ / 5 < options_.effort && best_.cost > best_.bound;
    }
    [[nodiscard]] bool is_placed(const move_decision& of, std::size_t v) const {
        if (of.home[v].memory != memory_place::nowhere) return true;
        for (std::size_t e = values()[v].first; e <= values()[v].last; ++e)
            if (of.how[e] == event_place::arrives) return true;
        return false;
    }
    /// Returns the home of a buffer that visits `fast`: its memory in the plan without moves, or the next slower memory
    /// that it fits. Returns `fast` if no slower memory can hold it.
    [[nodiscard]] std::size_t home_of(std::size_t buffer, std::uint32_t fast) const {
        const std::uint32_t was = facts_.whole[buffer].memory;
        if (was != memory_place::nowhere && was > fast) return was;
        const std::uint64_t slower = facts_.allowed[buffer] >> (fast + 1);
        return slower == 0 ? fast : fast + 1 + static_cast<std::size_t>(std::countr_zero(slower));
    }

    /// A visit, or a whole life in the fast memory, that would save cost.
    struct candidate {
        std::size_t value, first, last;  // events
        bool whole;
    };
    /// Prices of the bytes of `fast`, and the costs of a visit by value.
    struct visit_choice {
        visit_prices<buffer_contents<plan_access>>& prices;
        const std::vector<visit_costs>& costs;
        std::uint32_t fast;
        std::int64_t numerator, denominator;
    };

    /// Places as many of the cheapest visits as fit and returns whether any fits. Earlier choices stay.
    [[nodiscard]] bool choose(move_decision& trial, const std::vector<std::size_t>& wanted, const visit_choice& by) {
        piece_problem<plan_buffer> problem;
        add_decided(problem, trial, by.fast);
        problem.allow_only_the_first();
        const std::size_t known = problem.size();
        const std::vector<candidate> candidates = add_candidates(problem, trial, wanted, by);
        if (candidates.empty()) return false;
        const plan_memory memories[]{{.capacity = memory(by.fast).capacity, .align = memory(by.fast).align},
                                     {.cost = 1}};
        const auto made = plan_pieces(problem, memories);
        if (!made) return false;
        bool any = false;
        for (std::size_t k = 0; k != candidates.size(); ++k) {
            memory_place place = made->places[known + k];
            if (place.memory != 0) continue;
            any = true;
            place.memory = by.fast;
            decide(trial, candidates[k], place);
        }
        return any;
    }
    /// Adds the pieces that are in `fast` already.
    void add_decided(piece_problem<plan_buffer>& problem, const move_decision& trial, std::uint32_t fast) const {
        problem.add_whole(facts_, [&](std::size_t i) { return facts_.whole[i].memory == fast; });
        for (std::size_t v = 0; v != values().size(); ++v) {
            const access_value& value = values()[v];
            const plan_buffer& buffer = buffers()[value.buffer];
            if (trial.home[v].memory == fast) problem.add(buffer, value.live, 1, 1, trial.home[v].offset);
            for (std::size_t e = value.first; e <= value.last; ++e)
                if (trial.how[e] == event_place::arrives && trial.visit[e].memory == fast)
                    problem.add(buffer, facts_.contents.life_of_visit(e, trial.last_of(value, e)), 1, 1,
                                trial.visit[e].offset);
        }
    }
    /// Adds the cheapest visits of each wanted value without a place.
    [[nodiscard]] std::vector<candidate> add_candidates(piece_problem<plan_buffer>& problem, const move_decision& trial,
                                                        const std::vector<std::size_t>& wanted,
                                                        const visit_choice& by) const {
        const buffer_contents<plan_access>& contents = facts_.contents;
        std::vector<candidate> candidates;
        for (const std::size_t v : wanted) {
            if (is_placed(trial, v)) continue;
            const access_value& value = values()[v];
            const visit_costs& cost = by.costs[v];
            const bool must = home_of(value.buffer, by.fast) == by.fast;
            const auto add = [&](std::size_t first, std::size_t last, bool whole) {
                const std::uint64_t saved = contents.accesses_of(first, last) * (cost.home - cost.fast);
                const std::uint64_t copies = whole ? 0 : contents.copies_of(v, first, last) * cost.copy();
                if (saved <= copies) return;
                candidates.push_back({v, first, last, whole});
                problem.add(buffers()[value.buffer], whole ? value.live : contents.life_of_visit(first, last),
                            saved - copies, must ? 1 : 3);
            };
            by.prices.choose(v, cost, by.numerator, by.denominator);
            if (must || by.prices.is_whole(v)) add(value.first, value.last, true);
            else by.prices.each_visit(v, [&](std::size_t first, std::size_t last) { add(first, last, false); });
        }
        return candidates;
    }
    static void decide(move_decision& trial, const candidate& of, const memory_place& place) {
        if (of.whole) {
            trial.home[of.value] = place;
            return;
        }
        trial.visit[of.first] = place;
        for (std::size_t e = of.first; e <= of.last; ++e)
            trial.how[e] = e == of.first ? event_place::arrives : event_place::stays;
    }

    // ---- all pieces ------------------------------------------------------------------------------------------------

    /// Places all pieces that a decision leaves open. Keeps the plan and returns true if it is the best so far.
    bool solve(const move_decision& decided) {
        decided_pieces pieces{facts_, decided};
        const auto plan = plan_pieces(pieces.problem(), facts_.given.memories);
        if (!plan || plan->unplaced != 0 || (best_.unplaced == 0 && plan->cost >= best_.cost)) return false;
        moves_plan made{best_, {}, {}, {}, plan->needs};
        made.cost = plan->cost;
        made.unplaced = 0;
        std::move(pieces).write(made, plan->places);
        sum_up(made);
        best_ = std::move(made);
        return true;
    }
    [[nodiscard]] auto plan_pieces(const piece_problem<plan_buffer>& problem, std::span<const plan_memory> memories) {
        memories_options options = options_;
        options.effort /= 8;
        spent_ += options.effort + problem.size() * problem.size() / 1000;  // includes the work outside of the search
        return plan_memories(problem.in(memories), options, [this](const memories_progress&) {
            return stopped_ = stopped_ || (*watch_)(memories_progress{best_.cost, best_.unplaced, best_.bound});
        });
    }
    void sum_up(moves_plan& made) const {
        made.copied = made.spilled = 0;
        for (const plan_copy& copy : made.copies) made.copied += copy.size;
        std::vector<bool> counted(buffers().size());
        for (const plan_piece& piece : made.pieces) {
            if (piece.place.memory == 0 || piece.place.memory == memory_place::nowhere || counted[piece.buffer])
                continue;
            counted[piece.buffer] = true;
            made.spilled += piece.place.size;
        }
    }

    move_facts facts_;
    memories_options options_;
    Watch* watch_;
    move_decision decided_;
    moves_plan best_;
    std::uint64_t spent_ = 0;  // of the effort
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
