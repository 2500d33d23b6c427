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
        const auto made = plan_memories(
            whole, options_, [this](const memories_progress& now) { return stopped_ = stopped_ || (*watch_)(now); });
        if (!made) return made.error();
        facts_.whole = made->places;
        begin_with(*made);
        if (is_done() || !find_what_moves()) return {};
        list_candidates();
        timed_state state = first_state();
        fill(state);
        place(state);
        improve(state);
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

    /// Adds each candidate whose gain exceeds the part of its copies that no step overlaps.
    void fill(timed_state& state) {
        timed_result now = state.simulate();
        for (const std::size_t c : order_) {
            timed_visit trial = visit_of(candidates_[c]);
            const std::uint64_t gain = state.gain(trial.value, trial.first, trial.last);
            spent_ += 1;
            if (gain == 0 || !state.fit(trial)) continue;
            if (!trial.has_in && !trial.has_out) {
                state.add(trial);
                now.elapsed -= gain;
            } else if (spent_ < 64 * options_.effort / 2 || options_.effort == 0) {
                (void)add_if_shorter(state, trial, now);
            }
            if ((c & 255U) == 0 && is_done()) return;
        }
    }
    /// Adds a visit if the elapsed time becomes shorter.
    bool add_if_shorter(timed_state& state, const timed_visit& trial, timed_result& now) {
        state.add(trial);
        spent_ += state.steps() + state.copies().size();
        const timed_result then = state.simulate();
        if (then.elapsed < now.elapsed) {
            now = then;
            return true;
        }
        state.remove(state.visits().size() - 1);
        return false;
    }

    /// Removes the visits at a step and tries others there, in another order. Keeps the change if it is not longer.
    /// Looks for places whenever the elapsed time was improved.
    void improve(timed_state& state) {
        timed_result now = state.simulate();
        std::uint64_t placed = now.elapsed;
        for (std::uint64_t round = 0; spent_ / 64 < options_.effort && !is_done(); ++round) {
            const std::size_t s = next_random() % state.steps();
            spent_ += 64;
            if (at_step_[s].empty()) continue;
            timed_state trial = state;
            change(trial, s);
            spent_ += state.visits().size() + values().size();
            const timed_result then = trial.simulate();
            if (then.elapsed > now.elapsed) continue;
            now = then;
            state = std::move(trial);
            if (now.elapsed < placed && round % 64 == 63) {
                place(state);
                now = state.simulate();
                placed = now.elapsed;
            }
        }
        if (now.elapsed < best_.elapsed) place(state);
    }
    void change(timed_state& trial, std::size_t s) {
        const auto at = static_cast<std::int64_t>(s);
        std::vector<std::size_t> removed;  // values
        for (std::size_t v = trial.visits().size(); v-- != 0;) {
            const lifetime live = trial.visits()[v].live;
            if (at < live.from || live.until <= at || next_random() % 4 == 0) continue;
            removed.push_back(trial.visits()[v].value);
            trial.remove(v);
        }
        timed_result now = trial.simulate();
        const std::vector<std::size_t>& here = at_step_[s];
        for (std::size_t tries = std::min<std::size_t>(here.size(), 24); tries != 0; --tries) {
            timed_visit visit = visit_of(candidates_[here[next_random() % here.size()]]);
            if (trial.fit(visit)) (void)add_if_shorter(trial, visit, now);
        }
        const auto try_all = [&](const std::vector<std::size_t>& list) {
            for (const std::size_t c : list) {
                timed_visit visit = visit_of(candidates_[c]);
                if (trial.gain(visit.value, visit.first, visit.last) != 0 && trial.fit(visit))
                    (void)add_if_shorter(trial, visit, now);
            }
        };
        try_all(here);
        for (const std::size_t v : removed) try_all(of_value_[v]);
    }
    [[nodiscard]] std::size_t next_random() noexcept {
        random_ = random_ * 6364136223846793005U + 1442695040888963407U;  // Knuth, MMIX
        return static_cast<std::size_t>(random_ >> 33U);
    }

    // ---- places ----------------------------------------------------------------------------------------------------

    /// Finds a place for each piece. Removes the visits that find none, and keeps the plan if it is the shortest so
    /// far.
    void place(timed_state& state) {
        std::vector<plan_memory> extended(memories().begin(), memories().end());
        extended.push_back({.cost = 2 * memories().back().cost + 1});  // visits without a place
        const auto nowhere = static_cast<std::uint32_t>(memories().size());
        std::vector<memory_place> known;  // by visit
        for (int rounds = 0; rounds != 4; ++rounds) {
            const timed_pieces pieces{facts_, state, known, nowhere};
            memories_options options = options_;
            options.effort /= 8;
            const auto made = plan_memories(pieces.problem().in(extended), options);
            if (!made || made->unplaced != 0) return;
            known = pieces.places_of_visits(made->places);
            bool all = true;
            for (std::size_t v = known.size(); v-- != 0;) {
                if (known[v].memory == 0) continue;
                all = false;
                state.remove(v);
                known[v] = known.back();
                known.pop_back();
            }
            if (!all) continue;
            const timed_result time = state.simulate();
            if (time.elapsed >= best_.elapsed && best_.unplaced == 0) return;
            timed_plan better{best_, {}, {}, {}, made->needs};
            better.needs.pop_back();
            pieces.write(better, made->places);
            better.unplaced = 0;
            set_times(better);
            if (best_.unplaced != 0 || better.elapsed < best_.elapsed) best_ = std::move(better);
            return;
        }
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
    std::uint64_t spent_ = 0;                         // 64 of these are one unit of effort
    std::uint64_t random_ = 1;
    bool stopped_ = false;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
