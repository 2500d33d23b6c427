// SPDX-License-Identifier: BSL-1.0
// validate_timed: checks whether a timed plan satisfies its problem, each read gets the newest contents, and the time.
//
//     static constexpr allot::plan_buffer tensors[] = {{.size = 600, .live = {0, 10}}, {.size = 800, .live = {3, 7}}};
//     static constexpr allot::plan_memory chip[] = {{.capacity = 1000, .cost = 1}, {.cost = 10}};
//     static constexpr allot::plan_access used[] = {{0, 0, true}, {0, 1}, {1, 3, true}, {1, 6}, {0, 9}};
//     static constexpr std::uint64_t durations[] = {100, 100, 900, 100, 100, 5000, 100, 5000, 5000, 100};
//     const allot::timed_problem problem{.moves = {{.buffers = {.buffers = tensors}, .memories = chip}, used},
//                                        .durations = durations, .copy_cost = 10};
//     const auto made = allot::plan_timed(problem);
//     if (!made) return complain(made.error());
//     const auto found = allot::validate_timed(problem, *made);
//     return found.kind == allot::moves_violation_kind::none ? 0 : complain(found.what());
//
//     pieces  ──► each is in an allowed memory, is aligned, and lives only while its buffer lives; no two share bytes
//     time    ──► step by step: copies that end, copies that begin, reads, writes. While a copy is in flight, no step
//                 uses its destination or writes its source.
//     clock   ──► the elapsed time of these steps and copies is that of the plan
//
// It shares no code with `plan_timed` except the check of the problem.
//
// When to use: to check the result of any planner before copies are submitted according to it.
// When not to use: for plans whose copies do not run at the same time as steps (validate_moves.hpp).
//
// Complexity: O(n log n) in the pieces, copies and accesses, plus O(steps).
// Memory: on the heap, about 100 bytes a piece, copy or access, and 16 a step.
// Thread safety: pure functions.
#pragma once

#include <allot/plan/detail/piece_validator.hpp>
#include <allot/plan/moves_violation.hpp>
#include <allot/plan/timed_problem.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Implementation of `validate_timed` for a valid problem.
class timed_validator : piece_validator<> {
public:
    timed_validator(const timed_problem& problem, const timed_plan& plan)
        : piece_validator<>{problem.moves, plan.pieces}, problem_{problem}, plan_{&plan} {}

    [[nodiscard]] moves_violation run() {
        if (const moves_violation found = check_pieces(); found.kind != kind::none) return found;
        if (const moves_violation found = check_copies(); found.kind != kind::none) return found;
        if (plan_->piece_of.size() != accesses_.size()) return {kind::no_such_piece, plan_->piece_of.size()};
        return over_time();
    }

private:
    struct step_events {
        std::vector<std::size_t> ends, begins, reads, writes;  // copies; accesses
        std::uint64_t ready = 0;                               // when the copies that the step waits for end
    };
    /// State of the execution: versions, and copies in flight.
    struct execution {
        versions now;
        std::vector<std::uint64_t> captured;  // by copy: version of its source when it began
        std::vector<std::size_t> readers;     // by piece: copies in flight that read it
        std::vector<bool> filling;            // by piece: whether a copy in flight writes it
        std::uint64_t clock = 0, queue = 0;
    };

    [[nodiscard]] moves_violation check_copies() const {
        const auto steps = static_cast<std::int64_t>(problem_.durations.size());
        for (std::size_t c = 0; c != plan_->copies.size(); ++c) {
            const timed_copy& copy = plan_->copies[c];
            if (copy.buffer >= buffers_.size() || !is_piece(copy.from, copy.buffer) || !is_piece(copy.to, copy.buffer))
                return {kind::no_such_piece, c};
            if (copy.begin < 0 || copy.end < copy.begin || copy.end >= steps) return {kind::not_alive, c};
            if (c != 0 && copy.begin < plan_->copies[c - 1].begin) return {kind::not_in_order, c};
            const std::int64_t last = copy.end == copy.begin ? copy.begin : copy.end - 1;
            for (const std::size_t piece : {copy.from, copy.to})
                if (!lives(piece, copy.begin) || !lives(piece, last)) return {kind::not_alive, c};
        }
        return {};
    }
    [[nodiscard]] std::vector<step_events> events() const {
        std::vector<step_events> of(problem_.durations.size());
        for (std::size_t c = 0; c != plan_->copies.size(); ++c) {
            of[static_cast<std::size_t>(plan_->copies[c].begin)].begins.push_back(c);
            if (plan_->copies[c].end != plan_->copies[c].begin)
                of[static_cast<std::size_t>(plan_->copies[c].end)].ends.push_back(c);
        }
        for (std::size_t a = 0; a != accesses_.size(); ++a) {
            step_events& at = of[static_cast<std::size_t>(accesses_[a].step)];
            (accesses_[a].writes ? at.writes : at.reads).push_back(a);
        }
        return of;
    }
    /// Executes all steps.
    [[nodiscard]] moves_violation over_time() const {
        std::vector<step_events> of = events();
        execution run{first_versions(), std::vector<std::uint64_t>(plan_->copies.size()),
                      std::vector<std::size_t>(pieces_.size()), std::vector<bool>(pieces_.size())};
        for (std::size_t s = 0; s != of.size(); ++s) {
            for (const std::size_t c : of[s].ends) end(c, run);
            for (const std::size_t c : of[s].begins) {
                const timed_copy& copy = plan_->copies[c];
                if (run.filling[copy.from] || run.filling[copy.to] || run.readers[copy.to] != 0)
                    return {kind::in_flight, c};
                if (run.now.of_piece[copy.from] == 0) return {kind::no_contents, c};
                run.captured[c] = run.now.of_piece[copy.from];
                ++run.readers[copy.from];
                run.filling[copy.to] = true;
                run.queue = (run.queue > run.clock ? run.queue : run.clock) + problem_.latency +
                            buffers_[copy.buffer].size * problem_.copy_cost;
                std::uint64_t& ready = of[static_cast<std::size_t>(copy.end)].ready;
                if (ready < run.queue) ready = run.queue;
                if (copy.end == copy.begin) end(c, run);
            }
            if (run.clock < of[s].ready) run.clock = of[s].ready;
            std::uint64_t time = 0;
            for (const bool writes : {false, true})
                for (const std::size_t a : writes ? of[s].writes : of[s].reads)
                    if (const moves_violation found = access(a, run, time); found.kind != kind::none) return found;
            run.clock += time > problem_.durations[s] ? time : problem_.durations[s];
        }
        const std::uint64_t elapsed = run.queue > run.clock ? run.queue : run.clock;
        return elapsed == plan_->elapsed ? moves_violation{} : moves_violation{kind::wrong_time, 0};
    }
    void end(std::size_t c, execution& run) const {
        const timed_copy& copy = plan_->copies[c];
        --run.readers[copy.from];
        run.filling[copy.to] = false;
        run.now.of_piece[copy.to] = run.captured[c];
    }
    /// Executes an access, and adds its time.
    [[nodiscard]] moves_violation access(std::size_t a, execution& run, std::uint64_t& time) const {
        const plan_access& of = accesses_[a];
        const std::size_t piece = plan_->piece_of[a];
        if (!is_piece(piece, of.buffer)) return {kind::no_such_piece, a};
        if (!lives(piece, of.step)) return {kind::not_alive, a};
        if (run.filling[piece] || (of.writes && run.readers[piece] != 0)) return {kind::in_flight, a};
        if (of.writes) run.now.of_piece[piece] = ++run.now.newest[of.buffer];
        else if (has_one_life(of.buffer) && run.now.of_piece[piece] != run.now.newest[of.buffer])
            return {kind::stale, a};
        time += buffers_[of.buffer].size * given_.memories[pieces_[piece].place.memory].cost;
        return {};
    }

    timed_problem problem_;
    const timed_plan* plan_;
};

}  // namespace detail

/// Returns the first violation that it finds, or a violation of kind `none` if the plan is valid. A plan with unplaced
/// buffers is not valid. Throws the exceptions of the heap, such as `std::bad_alloc`.
[[nodiscard]] inline moves_violation validate_timed(const timed_problem& problem, const timed_plan& plan) {
    if (detail::check_timed(problem).reason != plan_refusal::none) return {moves_violation_kind::bad_problem, 0};
    return detail::timed_validator{problem, plan}.run();
}

}  // namespace v1
}  // namespace allot
