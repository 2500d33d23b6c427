// SPDX-License-Identifier: BSL-1.0
// timed_pieces: translates visits into a problem of `plan_memories`, and its plan into pieces and copies; times.
//
// Internal. The pieces of a value are its home, if an access or a copy uses it, and its visits. A visit may be in the
// first memory, or in an additional memory for visits that found no place.
//
// Complexity: O(n log n) in buffers, accesses, pieces and copies. Memory: on the heap. Thread safety: not synchronized.
#pragma once

#include <allot/plan/detail/pieces.hpp>
#include <allot/plan/detail/timed_state.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

class timed_pieces {
public:
    /// `known` has the places of the visits if they are known.
    timed_pieces(const move_facts& facts, const timed_state& state, const std::vector<memory_place>& known,
                 std::uint32_t nowhere)
        : facts_{&facts}, state_{&state}, piece_(facts.contents.events().size()), of_visit_(state.visits().size()) {
        problem_.add_whole(facts, [](std::size_t) { return true; });
        for (std::size_t i = 0; i != facts.buffers().size(); ++i)
            if (!facts.moves[i]) pieces_.push_back({i, facts.buffers()[i].live, {}});
        for (std::size_t v = 0; v != state.values().size(); ++v) add_home(v);
        for (std::size_t v = 0; v != state.visits().size(); ++v) add_visit(v, known, nowhere);
    }

    [[nodiscard]] const piece_problem<plan_buffer>& problem() const noexcept { return problem_; }
    /// Returns the places of the visits. `places` is the plan of `problem`.
    [[nodiscard]] std::vector<memory_place> places_of_visits(const std::vector<memory_place>& places) const {
        std::vector<memory_place> of;
        for (const std::size_t piece : of_visit_) of.push_back(places[piece]);
        return of;
    }
    /// Writes pieces and copies in order, and the piece of each access.
    void write(timed_plan& made, const std::vector<memory_place>& places) const {
        std::vector<plan_piece> pieces = pieces_;
        for (std::size_t p = 0; p != pieces.size(); ++p) pieces[p].place = places[p];
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
            const std::size_t value = state_->visits()[copy.visit].value;
            const std::size_t visit = became[of_visit_[copy.visit]], home = became[home_[value]];
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
        pieces_.push_back({value.buffer, live, {}});
        problem_.add(buffer, live, uses, facts_->allowed[value.buffer] & ~std::uint64_t{1});
    }
    void add_visit(std::size_t v, const std::vector<memory_place>& known, std::uint32_t nowhere) {
        const timed_visit& visit = state_->visits()[v];
        const std::size_t buffer = state_->values()[visit.value].buffer;
        of_visit_[v] = pieces_.size();
        for (std::size_t e = visit.first; e <= visit.last; ++e) piece_[e] = pieces_.size();
        pieces_.push_back({buffer, visit.live, {}});
        const plan_buffer& of = facts_->buffers()[buffer];
        const std::uint64_t uses = facts_->contents.accesses_of(visit.first, visit.last);
        if (known.empty()) problem_.add(of, visit.live, uses, 1 | move_facts::bit(nowhere));
        else problem_.add(of, visit.live, uses, 1, known[v].offset);
    }

    const move_facts* facts_;
    const timed_state* state_;
    piece_problem<plan_buffer> problem_;
    std::vector<plan_piece> pieces_;
    std::vector<std::size_t> piece_;     // by event
    std::vector<std::size_t> home_;      // by value
    std::vector<std::size_t> of_visit_;  // by visit
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
    const auto time_of_copy = [&](const timed_copy& copy) {
        return problem.latency + given.buffers.buffers[copy.buffer].size * problem.copy_cost;
    };
    return run_steps(
        plan.copies, time_of_copy, [&](std::size_t s) { return std::max(problem.durations[s], access[s]); }, ready);
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
