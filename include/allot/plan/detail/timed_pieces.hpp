// SPDX-License-Identifier: BSL-1.0
// timed_pieces: the pieces and copies of visits, as problems of `plan_memories` and as a plan; times.
//
// Internal. The pieces of a value are its home, if an access or a copy uses it, and its visits. Visits are in the first
// memory, and homes in the others, so that each kind has a problem of its own.
//
// Complexity: O(n log n) in buffers, accesses, pieces and copies. Memory: on the heap. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/pieces.hpp>
#include <allot/plan/detail/timed_state.hpp>

#include <algorithm>
#include <numeric>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the problem of the visits, for two memories: the first one, and one for visits without a place in it.
[[nodiscard]] inline piece_problem<plan_buffer> problem_of_visits(const move_facts& facts, const timed_state& state) {
    piece_problem<plan_buffer> problem;
    problem.add_whole(facts, [&](std::size_t i) { return facts.whole[i].memory == 0; });
    for (const timed_visit& visit : state.visits())
        problem.add(facts.buffers()[state.values()[visit.value].buffer], visit.live,
                    facts.contents.accesses_of(visit.first, visit.last), 3);
    return problem;
}

class timed_pieces {
public:
    /// `places` has the place of each visit.
    timed_pieces(const move_facts& facts, const timed_state& state, std::span<const memory_place> places)
        : facts_{&facts}, state_{&state}, piece_(facts.contents.events().size()), of_visit_(state.visits().size()) {
        homes_.add_whole(facts, [&](std::size_t i) { return facts.whole[i].memory != 0; });
        for (std::size_t i = 0; i != facts.buffers().size(); ++i)
            if (!facts.moves[i]) pieces_.push_back({i, facts.buffers()[i].live, facts.whole[i]});
        first_home_ = homes_.size();
        for (std::size_t v = 0; v != state.values().size(); ++v) add_home(v);
        for (std::size_t v = 0; v != state.visits().size(); ++v) add_visit(v, places[v]);
    }

    /// Returns the problem of the homes.
    [[nodiscard]] const piece_problem<plan_buffer>& problem() const noexcept { return homes_; }
    /// Writes pieces and copies in order, and the piece of each access. `places` is the plan of `problem`.
    void write(timed_plan& made, const std::vector<memory_place>& places) const {
        std::vector<plan_piece> pieces = pieces_;
        for (std::size_t h = 0; h != of_home_.size(); ++h) pieces[of_home_[h]].place = places[first_home_ + h];
        for (const plan_revival& each : facts_->given.buffers.revivals)
            pieces.push_back({each.buffer, each.live, facts_->whole[each.buffer]});
        std::vector<std::size_t> order(pieces.size()), became(pieces.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        sort_stably(order, [&](std::size_t a, std::size_t b) { return comes_before(pieces[a], pieces[b]); });
        for (const std::size_t each : order) {
            became[each] = made.pieces.size();
            made.pieces.push_back(pieces[each]);
        }
        for (const copy_window& copy : state_->copies()) {
            const std::size_t at = state_->visit_of(copy.first), value = state_->visits()[at].value;
            const std::size_t visit = became[of_visit_[at]], home = became[home_[value]];
            made.copies.push_back({state_->values()[value].buffer, copy.is_out ? visit : home,
                                   copy.is_out ? home : visit, copy.begin, copy.end});
        }
        for (std::size_t a = 0; a != facts_->accesses.size(); ++a) {
            const plan_access& access = facts_->accesses[a];
            made.piece_of.push_back(facts_->moves[access.buffer] ? became[piece_[facts_->contents.event_of(a)]]
                                                                 : piece_at(made.pieces, access));
        }
    }

private:
    /// Adds the home of a value, which lasts from its first contents to the last use of them.
    void add_home(std::size_t v) {
        const access_value& value = state_->values()[v];
        constexpr std::int64_t latest = std::numeric_limits<std::int64_t>::max();
        lifetime live{value.given ? value.live.from : latest, value.live.from};
        std::uint64_t uses = 0;
        const auto use = [&](lifetime during, std::uint64_t times) {
            live = {std::min(live.from, during.from), std::max(live.until, during.until)};
            uses += times;
        };
        const std::size_t home = pieces_.size();
        for (std::size_t e = value.first; e <= value.last; ++e) {
            const access_event& event = facts_->contents.events()[e];
            const std::size_t at = state_->visit_of(e);
            if (at == timed_state::no_visit) {
                use({event.step, event.step + 1}, event.count);
                piece_[e] = home;
            } else if (const timed_visit& visit = state_->visits()[at]; visit.first == e) {
                if (visit.has_in) use(visit.in.live(), 1);
                if (visit.has_out) use(visit.out.live(), 1);
            }
        }
        home_.push_back(home);
        if (uses == 0) return;
        const plan_buffer& buffer = facts_->buffers()[value.buffer];
        of_home_.push_back(home);
        pieces_.push_back({value.buffer, live, {}});
        homes_.add(buffer, live, uses, facts_->allowed[value.buffer] & ~std::uint64_t{1});
    }
    void add_visit(std::size_t v, const memory_place& place) {
        const timed_visit& visit = state_->visits()[v];
        const std::size_t buffer = state_->values()[visit.value].buffer;
        of_visit_[v] = pieces_.size();
        for (std::size_t e = visit.first; e <= visit.last; ++e) piece_[e] = pieces_.size();
        pieces_.push_back({buffer, visit.live, place});
    }

    const move_facts* facts_;
    const timed_state* state_;
    piece_problem<plan_buffer> homes_;
    std::size_t first_home_ = 0;  // in the problem
    std::vector<plan_piece> pieces_;
    std::vector<std::size_t> piece_;     // by event
    std::vector<std::size_t> home_;      // by value
    std::vector<std::size_t> of_home_;   // by home in the problem
    std::vector<std::size_t> of_visit_;  // by visit
};

/// The elapsed time of a plan, and the time that steps wait for copies in it.
struct timed_result {
    std::uint64_t elapsed = 0, waited = 0;
};

/// Returns the time of the steps and copies of a plan without unplaced buffers.
[[nodiscard]] inline timed_result time_of(const timed_problem& problem, const timed_plan& plan) {
    const memories_problem& given = problem.moves.memories;
    std::vector<std::uint64_t> access(problem.durations.size()), ready(problem.durations.size());
    for (std::size_t a = 0; a != problem.moves.accesses.size(); ++a) {
        const memory_place& place = plan.pieces[plan.piece_of[a]].place;
        access[static_cast<std::size_t>(problem.moves.accesses[a].step)] +=
            place.size * given.memories[place.memory].cost;
    }
    timed_result result;
    std::uint64_t now = 0, queue = 0;
    auto next = plan.copies.begin();
    for (std::size_t s = 0; s != ready.size(); ++s) {
        for (; next != plan.copies.end() && next->begin == static_cast<std::int64_t>(s); ++next) {
            queue =
                std::max(queue, now) + problem.latency + given.buffers.buffers[next->buffer].size * problem.copy_cost;
            ready[static_cast<std::size_t>(next->end)] = queue;
        }
        if (ready[s] > now) {
            result.waited += ready[s] - now;
            now = ready[s];
        }
        now += std::max(problem.durations[s], access[s]);
    }
    result.elapsed = std::max(now, queue);
    return result;
}

/// Returns a lower bound on the time of every plan: each step takes its duration or the time of its accesses, whose
/// bytes use the first memory only as far as its capacity permits. `allowed` has the memories that each buffer fits.
[[nodiscard]] inline std::uint64_t least_time(const timed_problem& problem, const std::vector<std::uint64_t>& allowed) {
    const memories_problem& given = problem.moves.memories;
    struct use {
        std::int64_t step;
        std::size_t buffer;
    };
    struct excess {
        std::uint64_t cost, bytes;  // of a byte that is not in the first memory
    };
    std::vector<use> uses;
    for (const plan_access& access : problem.moves.accesses) uses.push_back({access.step, access.buffer});
    std::sort(uses.begin(), uses.end(),
              [](const use& a, const use& b) { return a.step != b.step ? a.step < b.step : a.buffer < b.buffer; });
    std::vector<bool> shares(given.buffers.buffers.size());  // bytes with another buffer
    for (const plan_pair& each : given.buffers.together) shares[each.first] = shares[each.second] = true;
    std::uint64_t sum = 0;
    std::vector<excess> others;
    auto next = uses.begin();
    for (std::size_t s = 0; s != problem.durations.size(); ++s) {
        others.clear();
        std::uint64_t time = 0, bytes = 0;
        while (next != uses.end() && next->step == static_cast<std::int64_t>(s)) {
            const std::size_t buffer = next->buffer;
            std::uint64_t count = 0;
            for (; next != uses.end() && next->step == static_cast<std::int64_t>(s) && next->buffer == buffer; ++next)
                ++count;
            if (allowed[buffer] == 0) continue;
            const std::uint64_t size = given.buffers.buffers[buffer].size, slower = allowed[buffer] & ~std::uint64_t{1};
            const auto fastest = static_cast<std::size_t>(std::countr_zero(allowed[buffer]));
            time += size * count * given.memories[fastest].cost;
            if (fastest != 0 || shares[buffer]) continue;
            bytes += size;
            const std::uint64_t more =
                slower == 0
                    ? 0
                    : given.memories[static_cast<std::size_t>(std::countr_zero(slower))].cost - given.memories[0].cost;
            others.push_back({count * more, size});
        }
        std::sort(others.begin(), others.end(), [](const excess& a, const excess& b) { return a.cost < b.cost; });
        std::uint64_t left = bytes - std::min(bytes, given.memories[0].capacity);
        for (const excess& each : others) {
            const std::uint64_t part = std::min(left, each.bytes);
            time += part * each.cost;
            left -= part;
        }
        sum += std::max(time, problem.durations[s]);
    }
    return sum;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
