// SPDX-License-Identifier: BSL-1.0
// moving: plans of several memories in which buffers move, for the least cost, or for the least time if the file states
// the durations of the steps.
//
//     accesses ──────────────► allot::plan_moves ──► allot::validate_moves ──┐
//              durations ────► allot::plan_timed ──► allot::validate_timed ──┴─► an input of pieces, a row for each
#pragma once

#include "planning.hpp"

#include <allot/plan/moves.hpp>
#include <allot/plan/timed.hpp>
#include <allot/plan/validate_moves.hpp>
#include <allot/plan/validate_timed.hpp>

namespace planner {

/// Returns the known accesses. By default, each buffer is written at the first step of its life and read at the last.
[[nodiscard]] inline std::vector<allot::plan_access> accesses_of(const input& given) {
    if (!given.accesses.empty()) return given.accesses;
    std::vector<allot::plan_access> made;
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        made.push_back({i, given.buffers[i].live.from, true});
        made.push_back({i, given.buffers[i].live.until - 1});
    }
    return made;
}

[[nodiscard]] inline std::uint64_t cost_of(const allot::moves_plan& plan) { return plan.cost; }
[[nodiscard]] inline std::uint64_t cost_of(const allot::timed_plan& plan) { return plan.elapsed; }

/// Throws an error if a plan has unplaced buffers.
template <class Plan>
void require_room(const input& given, const Plan& plan) {
    if (plan.unplaced != 0)
        throw no_room{given.path + ": " + to_string(plan.status) + ": " + std::to_string(plan.unplaced) + " of " +
                      std::to_string(given.buffers.size()) + " buffers do not fit these memories, even with moves"};
}
inline void check_moves(const input& given, const allot::moves_violation& found) {
    if (found.kind != allot::moves_violation_kind::none)
        throw std::logic_error{given.path + ": the validator found a mistake in the plan: " + found.what() + ": " +
                               std::to_string(found.which)};
}

/// Turns the input into one of pieces, with a row for each piece, and returns their places.
template <class Plan>
[[nodiscard]] outcome outcome_of(input& given, const Plan& plan) {
    outcome made;
    input pieces;
    pieces.path = given.path;
    pieces.format = given.format;
    pieces.columns = "id,lower,upper,size,alignment";
    pieces.memories = given.memories;
    std::vector<bool> spilled(given.buffers.size());
    for (const allot::plan_piece& piece : plan.pieces) {
        const allot::plan_buffer& buffer = given.buffers[piece.buffer];
        const std::string id = given.rows[piece.buffer].text.substr(0, given.rows[piece.buffer].text.find(','));
        pieces.rows.push_back({pieces.buffers.size(),
                               id + ',' + std::to_string(piece.live.from) + ',' + std::to_string(piece.live.until) +
                                   ',' + std::to_string(buffer.size) + ',' + std::to_string(buffer.align)});
        pieces.buffers.push_back({buffer.size, piece.live, buffer.align});
        pieces.names.push_back(given.names[piece.buffer]);
        pieces.memory_of.push_back(piece.place.memory);
        made.offsets.push_back(piece.place.offset);
        if (piece.place.memory == 0 || spilled[piece.buffer]) continue;
        spilled[piece.buffer] = true;
        made.spilled += buffer.size;
    }
    given = std::move(pieces);
    made.cost = spread_cost{cost_of(plan), plan.bound};
    add_memories(made, given, plan.status, plan.needs);
    made.moves = moved_buffers{.pieces = plan.pieces, .copied = plan.copied};
    return made;
}

/// Like `spread`, but buffers may move between memories. The input becomes one of pieces.
template <class Watch>
[[nodiscard]] outcome spread_with_moves(input& given, bool until_stopped, Watch watch) {
    if (given.has_branches) throw input_error{given.path + ": --moves does not support branches and loops"};
    if (!given.revivals.empty() || !given.fixed.empty() || !given.together.empty() || !given.apart.empty())
        throw input_error{given.path + ": --moves does not support gaps, fixed offsets and pairs of buffers"};
    if (has_rows(given)) throw input_error{given.path + ": --moves does not divide buffers by rows"};
    const std::vector<allot::plan_memory> memories = costs_of(given.memories);
    const std::vector<allot::plan_access> accesses = accesses_of(given);
    const allot::moves_problem problem{{.buffers = {.buffers = given.buffers},
                                        .memories = memories,
                                        .allowed = given.allowed,
                                        .separate = given.separate},
                                       accesses};
    if (given.times) {
        const allot::timed_problem timed{problem, given.times->durations, given.times->copy_cost, given.times->latency};
        const auto make = [&](const allot::memories_options& options, auto watched) {
            return allot::plan_timed(timed, options, watched);
        };
        const allot::timed_plan plan =
            plan_with_effort(given, make, [](const auto& each) { return cost_of(each); }, until_stopped, watch);
        require_room(given, plan);
        check_moves(given, allot::validate_timed(timed, plan));
        outcome made = outcome_of(given, plan);
        made.moves->timed_copies = plan.copies;
        made.moves->whole_cost = plan.whole_elapsed;
        made.moves->waited = plan.waited;
        return made;
    }
    const auto make = [&](const allot::memories_options& options, auto watched) {
        return allot::plan_moves(problem, options, watched);
    };
    const allot::moves_plan plan =
        plan_with_effort(given, make, [](const auto& each) { return cost_of(each); }, until_stopped, watch);
    require_room(given, plan);
    check_moves(given, allot::validate_moves(problem, plan));
    outcome made = outcome_of(given, plan);
    made.moves->copies = plan.copies;
    made.moves->whole_cost = plan.whole_cost;
    return made;
}

}  // namespace planner
