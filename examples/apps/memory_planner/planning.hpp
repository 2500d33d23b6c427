// SPDX-License-Identifier: BSL-1.0
// planning: plans every memory of an input, and validates every plan.
//
//     input ──► for each memory: its buffers ──► allot::plan ──► allot::validate
//           └─► several memories for all ──► allot::plan_memories ──► allot::validate_memories
//
// Without a budget, each memory is planned once, with the same plan on every machine. With a budget, planning repeats
// with four times the effort until the time is up or no plan can be lower. The result has the lowest plan and the
// highest bound.
#pragma once

#include "input.hpp"

#include <allot/plan/memories.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/timed_problem.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_memories.hpp>

#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>

namespace planner {

struct planned_memory {
    std::vector<std::size_t> buffers;  // buffers in this memory
    allot::plan_summary plan;
};

/// A plan in pages.
struct paged_plan {
    std::uint64_t page_size = 0;
    std::uint32_t count = 0;  // of different pages
    std::vector<std::uint32_t> first,
        names;  // the pages of buffer i are names[first[i]] … names[first[i + 1] - 1]

    [[nodiscard]] std::span<const std::uint32_t> of(std::size_t buffer) const {
        return std::span{names}.subspan(first[buffer], first[buffer + 1] - first[buffer]);
    }
};

/// For buffers assigned to several memories: the sum of bytes times the memory's cost, and its lower bound.
struct spread_cost {
    std::uint64_t cost = 0, bound = 0;
};

/// Pieces of buffers that move between memories, and their copies.
struct moved_buffers {
    std::vector<allot::plan_piece> pieces{};
    std::vector<allot::plan_copy> copies{};         // of a plan for the least cost
    std::vector<allot::timed_copy> timed_copies{};  // of a plan for the least time
    std::uint64_t copied = 0, whole_cost = 0;       // bytes; the cost or the time without moves
    std::optional<std::uint64_t> waited{};          // of a plan for the least time: the time that steps wait for copies
};

/// A plan in which buffers are divided by rows.
struct divided_buffers {
    std::vector<std::string> names{};           // of the buffers in `input::part_of`
    std::optional<std::uint64_t> whole_cost{};  // of the plan with whole buffers, if it places all
};

struct outcome {
    std::vector<planned_memory> memories;  // as in the input
    std::vector<std::uint64_t> offsets;    // by buffer; empty if all are in pages
    std::optional<paged_plan> pages{};
    std::uint64_t spilled = 0;                 // bytes that do not fit the first of several memories
    std::optional<spread_cost> cost{};         // if set, a memory's bound is that of its chosen buffers
    std::vector<std::size_t> at_once{};        // of several queues: buffers that need bytes at the same time
    std::optional<moved_buffers> moves{};      // if set, all other members refer to pieces of buffers
    std::optional<divided_buffers> divided{};  // if set, all other members refer to parts of buffers
    double seconds = 0;

    [[nodiscard]] bool is_paged(std::size_t buffer) const {
        return pages && (offsets.empty() || offsets[buffer] == allot::no_place.offset);
    }
    [[nodiscard]] bool fits() const {
        return status() == allot::plan_status::optimal || status() == allot::plan_status::feasible;
    }
    /// Returns the worst status of all memories.
    [[nodiscard]] allot::plan_status status() const {
        allot::plan_status worst = allot::plan_status::optimal;
        for (const planned_memory& each : memories) {
            // If one memory is infeasible, the whole is infeasible, even if others are undecided.
            if (each.plan.status == allot::plan_status::infeasible) return each.plan.status;
            worst = std::max(worst, each.plan.status);
        }
        return worst;
    }
};

/// One memory's part of an input. Its problem is a view of this object's arrays.
class part {
public:
    part(const input& whole, std::size_t memory) : reserved_{whole.memories[memory].reserved} {
        std::vector<std::size_t> becomes(whole.buffers.size(), none);
        for (std::size_t i = 0; i != whole.buffers.size(); ++i) {
            if (whole.memory_of[i] != memory) continue;
            becomes[i] = members_.size();
            members_.push_back(i);
            buffers_.push_back(whole.buffers[i]);
        }
        for (const allot::plan_revival& each : whole.revivals)
            if (becomes[each.buffer] != none) revivals_.push_back({becomes[each.buffer], each.live});
        for (const allot::plan_fixed& each : whole.fixed)
            if (becomes[each.buffer] != none) fixed_.push_back({becomes[each.buffer], each.offset});
        const auto keep_pairs = [&](const std::vector<allot::plan_pair>& from, std::vector<allot::plan_pair>& to) {
            for (const allot::plan_pair& each : from)  // buffers in two memories are apart
                if (becomes[each.first] != none && becomes[each.second] != none)
                    to.push_back({becomes[each.first], becomes[each.second]});
        };
        keep_pairs(whole.together, together_);
        keep_pairs(whole.apart, apart_);
    }
    [[nodiscard]] allot::plan_problem problem() const {
        return {buffers_, revivals_, fixed_, together_, apart_, reserved_};
    }
    [[nodiscard]] const std::vector<std::size_t>& members() const { return members_; }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    std::vector<std::size_t> members_;
    std::vector<allot::plan_buffer> buffers_;
    std::vector<allot::plan_revival> revivals_;
    std::vector<allot::plan_fixed> fixed_;
    std::vector<allot::plan_pair> together_, apart_;
    std::vector<allot::plan_reserved> reserved_;
};

/// Callbacks of planners. Each planner is a template of its callback, and is compiled once for all calls with this type.
using plan_watch = std::function<bool(allot::plan_progress)>;
using memories_watch = std::function<bool(allot::memories_progress)>;

/// Repeats planning, a call of `plan(options, watch)`, with more effort until `watch` returns true.
template <class Plan>
[[nodiscard]] auto plan_again_and_again(Plan plan, allot::plan_options options, plan_watch watch) {
    auto best = plan(options, watch);
    const auto is_done = [&] {
        return !best || best->status == allot::plan_status::optimal || best->status == allot::plan_status::infeasible ||
               (best->status == allot::plan_status::feasible && options.capacity != unlimited);
    };
    constexpr std::uint64_t most_effort = std::uint64_t{1} << 60;
    while (!is_done() && options.effort < most_effort && !watch({best->peak, best->bound})) {
        options.effort *= 4;
        auto next = plan(options, plan_watch{[&](allot::plan_progress now) {
                             return watch({std::min(now.peak, best->peak), std::max(now.bound, best->bound)});
                         }});
        if (!next) break;
        const std::uint64_t bound = std::max(next->bound, best->bound);
        if (next->peak < best->peak) best = std::move(next);
        best->bound = bound;
        best->status = best->peak <= options.capacity
                           ? (best->peak == bound ? allot::plan_status::optimal : allot::plan_status::feasible)
                       : bound > options.capacity ? allot::plan_status::infeasible
                                                  : allot::plan_status::out_of_budget;
    }
    return best;
}

/// Returns the mistake in the offsets as a sentence; empty if they are valid.
[[nodiscard]] inline std::string mistake_in(const input& given, const outcome& made) {
    for (std::size_t m = 0; m != given.memories.size(); ++m) {
        const part mine{given, m};
        std::vector<std::uint64_t> offsets;
        for (const std::size_t buffer : mine.members()) offsets.push_back(made.offsets[buffer]);
        const allot::plan_summary& plan = made.memories[m].plan;
        const bool fits = plan.status == allot::plan_status::optimal || plan.status == allot::plan_status::feasible;
        allot::plan_heap workspace{allot::validate_space(mine.problem())};
        const allot::plan_violation found = allot::validate(
            mine.problem(), offsets, fits ? std::min(plan.peak, given.memories[m].capacity) : plan.peak, workspace);
        if (found.kind == allot::plan_violation_kind::none) continue;
        const auto name = [&](std::size_t i) {
            return i < offsets.size() ? given.names[mine.members()[i]] : std::to_string(i);
        };
        return given.memories[m].name + ": " + found.what() + ": " + name(found.first) + " and " + name(found.second);
    }
    return {};
}

/// Plans every memory. `watch(memory, allot::plan_progress)` ends the work on a memory by returning true. Throws an
/// `input_error` if no plan exists for any capacity.
template <class Watch>
[[nodiscard]] outcome plan_input(const input& given, bool again_and_again, Watch watch) {
    outcome made;
    made.offsets.resize(given.buffers.size());
    for (std::size_t m = 0; m != given.memories.size(); ++m) {
        const part mine{given, m};
        const plan_watch mine_watched = [&](allot::plan_progress now) { return watch(m, now); };
        const allot::plan_options options{.capacity = given.memories[m].capacity};
        const auto make = [&](const allot::plan_options& chosen, auto watched) {
            return allot::plan(mine.problem(), chosen, watched);
        };
        const auto plan =
            again_and_again ? plan_again_and_again(make, options, mine_watched) : make(options, mine_watched);
        if (!plan) {
            const std::size_t which = plan.error().which;
            throw input_error{
                given.path + ": " +
                (which < mine.members().size() ? "buffer " + given.names[mine.members()[which]] : "the problem") +
                ": " + plan.error().what()};
        }
        for (std::size_t i = 0; i != mine.members().size(); ++i)
            made.offsets[mine.members()[i]] = plan->places[i].offset;
        made.memories.push_back({mine.members(), *plan});
    }
    return made;
}

/// Error: the memories together are too small.
struct no_room : std::runtime_error {
    explicit no_room(const std::string& reason, std::optional<std::int64_t> at = {})
        : std::runtime_error{reason}, step{at} {}
    std::optional<std::int64_t> step;  // with the most live bytes
};

[[noreturn]] inline void refuse(const input& given, allot::plan_error error) {
    throw input_error{given.path + ": " +
                      (error.which < given.names.size() ? "buffer " + given.names[error.which] : "the problem") + ": " +
                      error.what()};
}
[[nodiscard]] inline std::vector<allot::plan_memory> costs_of(const std::vector<memory>& over) {
    std::vector<allot::plan_memory> made;
    for (const memory& each : over)
        made.push_back({.capacity = each.capacity, .cost = each.cost.value_or(made.size())});
    return made;
}
/// Returns the problem of a choice among memories. It has views of the input and of `memories`.
[[nodiscard]] inline allot::memories_problem choice_in(const input& given,
                                                       std::span<const allot::plan_memory> memories) {
    return {{given.buffers, given.revivals, given.fixed, given.together, given.apart},
            memories,
            given.uses,
            given.allowed,
            given.separate};
}
[[noreturn]] inline void refuse_without_room(const input& given, const allot::memories_summary& plan,
                                             const char* how = "") {
    throw no_room{given.path + ": " + to_string(plan.status) + ": " + std::to_string(plan.unplaced) + " of " +
                      std::to_string(given.buffers.size()) + " buffers do not fit these memories" + how +
                      "; the most bytes are live at step " + std::to_string(plan.step),
                  plan.step};
}
inline void add_memories(outcome& made, const input& given, allot::plan_status status,
                         const std::vector<allot::memory_needs>& needs) {
    for (std::size_t m = 0; m != given.memories.size(); ++m) {
        const part mine{given, m};
        allot::plan_heap workspace{allot::bound_space(mine.problem())};
        const auto bound = allot::bound_of(mine.problem(), workspace);  // of the buffers chosen for this memory
        made.memories.push_back({mine.members(),
                                 {.status = status,
                                  .peak = needs[m].peak,
                                  .align = needs[m].align,
                                  .bound = bound ? bound->bytes : 0,
                                  .step = bound ? bound->step : 0}});
    }
}

/// Plans with `plan(options, watch)`: once, or with more and more effort until `watch` returns true. `cost_of(plan)` is
/// the cost of a plan.
template <class Plan, class Cost, class Watch>
[[nodiscard]] auto plan_with_effort(const input& given, Plan plan, Cost cost_of, bool until_stopped, Watch watch) {
    allot::memories_options options;
    auto best =
        plan(options, memories_watch{[&](allot::memories_progress now) { return watch(0, {now.cost, now.bound}); }});
    if (!best) refuse(given, best.error());
    constexpr std::uint64_t most_effort = std::uint64_t{1} << 60;
    while (until_stopped && best->status != allot::plan_status::optimal && options.effort < most_effort &&
           !watch(0, {cost_of(*best), best->bound})) {
        options.effort *= 4;
        auto next = plan(
            options, memories_watch{[&](allot::memories_progress now) {
                return watch(0, {std::min(now.unplaced == 0 ? now.cost : cost_of(*best), cost_of(*best)), best->bound});
            }});
        if (!next) break;
        if (next->unplaced < best->unplaced || (next->unplaced == best->unplaced && cost_of(*next) < cost_of(*best)))
            best = std::move(next);
    }
    return *std::move(best);
}

/// Chooses a memory and an offset for every buffer of an input, with a low total cost of spilled bytes.
/// `watch(memory, allot::plan_progress)` receives costs, and ends the work by returning true.
template <class Watch>
[[nodiscard]] outcome spread(input& given, bool until_stopped, Watch watch) {
    const std::vector<allot::plan_memory> memories = costs_of(given.memories);
    allot::memories_options options;
    if (until_stopped) options.effort = std::uint64_t{1} << 60;
    const allot::memories_problem problem = choice_in(given, memories);
    const auto plan = allot::plan_memories(problem, options, memories_watch{[&](allot::memories_progress now) {
                                               return watch(0, {now.cost, now.bound});
                                           }});
    if (!plan) refuse(given, plan.error());
    if (const auto found = allot::validate_memories(problem, *plan); found.kind != allot::memories_violation_kind::none)
        throw std::logic_error{given.path + ": the validator found a mistake in the plan: " + found.what()};
    if (plan->unplaced != 0) refuse_without_room(given, *plan);
    outcome made;
    made.spilled = plan->spilled;
    made.cost = spread_cost{plan->cost, plan->bound};
    for (std::size_t i = 0; i != given.buffers.size(); ++i) {
        given.memory_of[i] = plan->places[i].memory;
        made.offsets.push_back(plan->places[i].offset);
    }
    add_memories(made, given, plan->status, plan->needs);
    return made;
}

}  // namespace planner
