// SPDX-License-Identifier: BSL-1.0
// timed_planner: chooses visits of the first memory that shorten the elapsed time, and finds places for all pieces.
//
//     whole lives ──► add all visits that gain ──► change visits around one step, while effort remains ──► places
//
// Complexity and memory: see timed.hpp. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/pieces.hpp>
#include <allot/plan/detail/timed_pieces.hpp>
#include <allot/plan/detail/timed_state.hpp>
#include <allot/plan/memories.hpp>

#include <algorithm>
#include <numeric>

namespace allot {
inline namespace v1 {
namespace detail {

template <class Watch>
class timed_planner {
public:
    timed_planner(const timed_problem& problem, const memories_options& options, Watch& watch)
        : problem_{problem}, facts_{problem.moves.memories, problem.moves.accesses}, options_{options}, watch_{&watch} {
        facts_.uses.resize(buffers().size());
        for (const plan_access& access : facts_.accesses) ++facts_.uses[access.buffer];
    }

    [[nodiscard]] plan_error run() {
        memories_problem whole = facts_.given;
        whole.uses = facts_.uses;
        const auto made = plan_memories(whole, with_effort(6), [this](const memories_progress& now) {
            return stopped_ = stopped_ || (*watch_)(now);
        });
        if (!made) return made.error();
        best_.effort = spent_ = made->effort;
        facts_.whole = made->places;
        begin_with(*made);
        if (is_done() || !find_what_moves()) return {};
        list_candidates();
        timed_state state = first_state();
        fill(state);
        place(state);
        improve(state);
        best_.effort = spent(state);
        return {};
    }
    [[nodiscard]] timed_plan& best() noexcept { return best_; }

private:
    struct candidate {
        std::size_t value, first, last;
        bool is_whole;
    };

    [[nodiscard]] std::span<const plan_buffer> buffers() const noexcept { return facts_.buffers(); }
    [[nodiscard]] std::span<const plan_memory> memories() const noexcept { return facts_.given.memories; }
    [[nodiscard]] const std::vector<access_value>& values() const noexcept { return facts_.contents.values(); }
    /// Returns the options with `share` sixteenths of the effort.
    [[nodiscard]] memories_options with_effort(std::uint64_t share) const {
        memories_options options = options_;
        options.effort = options.effort / 16 * share + options.effort % 16 * share / 16;
        return options;
    }
    [[nodiscard]] std::uint64_t spent(const timed_state& state) const {
        return (tried_ + state.simulated()) / 64 + spent_;
    }
    /// Returns whether at most `share` sixteenths of the effort are spent.
    [[nodiscard]] bool is_within(const timed_state& state, std::uint64_t share) const {
        return spent(state) < with_effort(share).effort;
    }
    [[nodiscard]] bool is_done() noexcept {
        return stopped_ = stopped_ || (best_.unplaced == 0 && best_.elapsed <= best_.bound) ||
                          (*watch_)(memories_progress{best_.elapsed, best_.unplaced, best_.bound});
    }

    // ---- the plan without copies -----------------------------------------------------------------------------------

    void begin_with(const memories_plan& made) {
        for (std::size_t i = 0; i != buffers().size(); ++i) {
            std::uint64_t fits = 0;
            for (std::size_t m = 0; m != memories().size(); ++m)
                if (buffers()[i].size <= memories()[m].capacity) fits |= move_facts::bit(m);
            facts_.allowed.push_back(facts_.given.allowed.empty() ? fits : fits & facts_.given.allowed[i]);
            best_.pieces.push_back({i, buffers()[i].live, made.places[i]});
        }
        for (const plan_revival& each : facts_.given.buffers.revivals)
            best_.pieces.push_back({each.buffer, each.live, made.places[each.buffer]});
        sort_stably(best_.pieces, comes_before);
        for (const plan_access& access : facts_.accesses) best_.piece_of.push_back(piece_at(best_.pieces, access));
        best_.needs = made.needs;
        best_.unplaced = made.unplaced;
        best_.which = made.which;
        std::vector<std::uint64_t> time(problem_.durations.size());
        for (const plan_access& access : facts_.accesses)
            if (const std::uint32_t m = facts_.whole[access.buffer].memory; m != memory_place::nowhere)
                time[static_cast<std::size_t>(access.step)] += buffers()[access.buffer].size * memories()[m].cost;
        for (std::size_t s = 0; s != time.size(); ++s) best_.elapsed += std::max(time[s], problem_.durations[s]);
        best_.whole_elapsed = best_.elapsed;
        best_.bound = least_time(problem_, facts_.allowed);
    }
    /// Returns whether any buffer can move.
    [[nodiscard]] bool find_what_moves() {
        if (memories().size() > 63) return false;  // one more memory represents visits without a place
        for (std::size_t i = 0; i != buffers().size(); ++i)
            facts_.moves.push_back(buffers()[i].size != 0 && facts_.uses[i] != 0 && (facts_.allowed[i] & 1U) != 0 &&
                                   facts_.allowed[i] != 1);
        if (!facts_.keep_constrained()) return false;
        facts_.contents = buffer_contents{buffers(), facts_.accesses, facts_.moves};
        return !values().empty();
    }
    /// Returns the memory of the home of a buffer that moves: that of the plan without copies, or the next slower one.
    [[nodiscard]] std::size_t home_of(std::size_t buffer) const {
        const std::uint32_t was = facts_.whole[buffer].memory;
        if (was != memory_place::nowhere && was != 0) return was;
        return static_cast<std::size_t>(std::countr_zero(facts_.allowed[buffer] & ~std::uint64_t{1}));
    }
    /// Returns the state that is the plan without copies.
    [[nodiscard]] timed_state first_state() {
        std::vector<std::uint64_t> costs;
        for (const access_value& value : values()) costs.push_back(memories()[home_of(value.buffer)].cost);
        timed_state state{problem_, facts_.contents, std::move(costs)};
        for (const plan_access& access : facts_.accesses)
            if (!facts_.moves[access.buffer])
                state.add_access(access.step,
                                 buffers()[access.buffer].size * memories()[facts_.whole[access.buffer].memory].cost);
        for (const plan_piece& piece : best_.pieces)
            if (piece.place.memory == 0 && !facts_.moves[piece.buffer]) state.add_use(piece.live, piece.place.size);
        for (std::size_t v = 0; v != values().size(); ++v) {
            if (facts_.whole[values()[v].buffer].memory != 0) continue;
            timed_visit whole{.value = v, .first = values()[v].first, .last = values()[v].last, .is_whole = true};
            if (state.fit(whole)) state.add(whole);
        }
        return state;
    }

    // ---- visits ----------------------------------------------------------------------------------------------------

    /// Lists the visits that can be tried, those with the highest gain for their bytes and steps first, and for each
    /// step those that include an event there.
    void list_candidates() {
        constexpr std::size_t longest = 8;  // events of a visit that is not whole
        for (std::size_t v = 0; v != values().size(); ++v) {
            const access_value& value = values()[v];
            candidates_.push_back({v, value.first, value.last, true});
            for (std::size_t first = value.first; first <= value.last; ++first)
                for (std::size_t last = first; last <= value.last && last != first + longest; ++last)
                    candidates_.push_back({v, first, last, false});
        }
        std::vector<std::uint64_t> worth;
        for (const candidate& each : candidates_) {
            const std::int64_t steps = event(each.last).step - event(each.first).step + 1;
            const std::uint64_t saved = facts_.contents.accesses_of(each.first, each.last) *
                                        (memories()[home_of(values()[each.value].buffer)].cost - memories()[0].cost);
            worth.push_back((saved << 10U) / static_cast<std::uint64_t>(steps));
        }
        order_.resize(candidates_.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::sort(order_.begin(), order_.end(),
                  [&](std::size_t a, std::size_t b) { return worth[a] != worth[b] ? worth[a] > worth[b] : a < b; });
        at_step_.resize(problem_.durations.size());
        of_value_.resize(values().size());
        for (const std::size_t c : order_) of_value_[candidates_[c].value].push_back(c);
        for (const std::size_t c : order_)
            for (std::size_t e = candidates_[c].first; e <= candidates_[c].last; ++e)
                at_step_[static_cast<std::size_t>(event(e).step)].push_back(c);
    }
    [[nodiscard]] const access_event& event(std::size_t e) const { return facts_.contents.events()[e]; }
    [[nodiscard]] static timed_visit visit_of(const candidate& of) {
        return {.value = of.value, .first = of.first, .last = of.last, .is_whole = of.is_whole};
    }

    /// Adds each candidate whose gain exceeds the part of its copies that no step overlaps. Takes a part of the effort,
    /// and at least some steps for each candidate.
    void fill(timed_state& state) {
        const std::uint64_t least = 32 * order_.size();
        (void)state.elapsed();
        for (std::size_t k = 0; k != order_.size(); ++k) {
            timed_visit trial = visit_of(candidates_[order_[k]]);
            ++tried_;
            if (state.gain(trial.value, trial.first, trial.last) == 0 || !state.fit(trial)) continue;
            if (!trial.has_in && !trial.has_out) state.add(trial);
            else if (state.simulated() < least || is_within(state, 8)) (void)state.add_if_shorter(trial);
            if ((k & 255U) == 0 && is_done()) return;
        }
    }

    /// Removes the visits at a step and tries others there, in another order. Keeps the change if it is not longer.
    /// Looks for places whenever the elapsed time was improved.
    void improve(timed_state& state) {
        std::uint64_t now = state.elapsed(), placed = now;
        for (std::uint64_t round = 0; is_within(state, 14) && !is_done(); ++round) {
            const std::size_t s = next_random() % state.steps();
            tried_ += 64;
            if (at_step_[s].empty()) continue;
            const std::size_t wanted = at_step_[s][next_random() % at_step_[s].size()];
            const std::vector<timed_visit> removed = remove_around(state, s, candidates_[wanted]);
            const std::vector<std::size_t> added = add_at(state, s, wanted, removed);  // first events
            tried_ += state.visits().size() / 4;
            if (state.elapsed() > now) {
                for (const std::size_t first : added) (void)state.remove(state.visit_of(first));
                for (const timed_visit& each : removed) state.add(each);
                continue;
            }
            now = state.elapsed();
            if (now < placed && round % 64 == 63 && is_within(state, 11)) {
                place(state);
                placed = now = state.elapsed();
            }
        }
        if (state.elapsed() < best_.elapsed) place(state);
    }
    /// Removes most of the visits at a step, or of those that live at the same time as a candidate.
    std::vector<timed_visit> remove_around(timed_state& state, std::size_t s, const candidate& wanted) {
        constexpr std::size_t most = 64;
        lifetime around{static_cast<std::int64_t>(s), static_cast<std::int64_t>(s) + 1};
        if (next_random() % 2 == 0) around = {event(wanted.first).step, event(wanted.last).step + 1};
        std::vector<timed_visit> removed;
        for (std::size_t v = state.visits().size(); v-- != 0 && removed.size() != most;)
            if (state.visits()[v].live.overlaps(around) && next_random() % 4 != 0) removed.push_back(state.remove(v));
        return removed;
    }
    /// Adds visits at a step, `wanted` first, and of the values of the removed visits. Returns their first events.
    std::vector<std::size_t> add_at(timed_state& state, std::size_t s, std::size_t wanted,
                                    const std::vector<timed_visit>& removed) {
        std::vector<std::size_t> added;
        (void)state.elapsed();
        const auto try_one = [&](std::size_t c) {
            timed_visit visit = visit_of(candidates_[c]);
            ++tried_;
            if (state.fit(visit) && state.add_if_shorter(visit)) added.push_back(visit.first);
        };
        const auto try_all = [&](const std::vector<std::size_t>& list) {
            for (const std::size_t c : list)
                if (state.gain(candidates_[c].value, candidates_[c].first, candidates_[c].last) != 0) try_one(c);
        };
        const std::vector<std::size_t>& here = at_step_[s];
        try_one(wanted);
        for (std::size_t tries = std::min<std::size_t>(here.size(), 24); tries != 0; --tries)
            try_one(here[next_random() % here.size()]);
        try_all(here);
        for (const timed_visit& each : removed) try_all(of_value_[each.value]);
        return added;
    }
    [[nodiscard]] std::size_t next_random() noexcept {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
        return static_cast<std::size_t>(random_ >> 33U);
    }

    // ---- places ----------------------------------------------------------------------------------------------------

    /// Finds a place for each piece. Removes the visits that find none, and keeps the plan if it is the shortest so
    /// far.
    void place(timed_state& state) {
        const plan_memory visited[]{memories()[0], {.cost = 2 * memories().back().cost + 1}};
        const piece_problem<plan_buffer> visits = problem_of_visits(facts_, state);
        const auto chosen = plan_pieces(visits, visited);
        if (!chosen || chosen->unplaced != 0) return;
        std::vector<memory_place> places(chosen->places.end() - static_cast<std::ptrdiff_t>(state.visits().size()),
                                         chosen->places.end());
        for (std::size_t v = places.size(); v-- != 0;) {
            if (places[v].memory == 0) continue;
            (void)state.remove(v);
            places[v] = places.back();
            places.pop_back();
        }
        if (state.elapsed() >= best_.elapsed && best_.unplaced == 0) return;
        const timed_pieces pieces{facts_, state, places};
        const auto homes = plan_pieces(pieces.problem(), memories());
        if (!homes || homes->unplaced != 0) return;
        timed_plan better{best_, {}, {}, {}, homes->needs};
        better.needs[0] = chosen->needs[0];
        pieces.write(better, homes->places);
        better.unplaced = 0;
        set_times(better);
        if (best_.unplaced != 0 || better.elapsed < best_.elapsed) best_ = std::move(better);
    }
    [[nodiscard]] auto plan_pieces(const piece_problem<plan_buffer>& problem, std::span<const plan_memory> in) {
        auto made = plan_memories(problem.in(in), with_effort(1));
        if (made) spent_ += made->effort;
        return made;
    }
    /// Sets the times of a plan, whose homes may be in slower memories than expected.
    void set_times(timed_plan& made) const {
        const timed_result time = time_of(problem_, made);
        made.elapsed = time.elapsed;
        made.waited = time.waited;
        made.copied = 0;
        for (const timed_copy& copy : made.copies) made.copied += buffers()[copy.buffer].size;
    }

    timed_problem problem_;
    move_facts facts_;
    memories_options options_;
    Watch* watch_;
    timed_plan best_;
    std::vector<candidate> candidates_;
    std::vector<std::size_t> order_;                  // of the candidates: the best first
    std::vector<std::vector<std::size_t>> at_step_;   // by step: candidates with an event there, the best first
    std::vector<std::vector<std::size_t>> of_value_;  // by value: its candidates, the best first
    std::uint64_t tried_ = 0;                         // 64 candidates or simulated steps are one unit of effort
    std::uint64_t spent_ = 0;                         // effort for places
    std::uint64_t random_ = 1;
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
