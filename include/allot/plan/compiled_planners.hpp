// SPDX-License-Identifier: BSL-1.0
// compiled_planners: defines the functions that compiled.hpp declares, in the file with ALLOT_PLAN_INSTANCES.
//
// When to use: one file of a program defines ALLOT_PLAN_INSTANCES and includes <allot/plan.hpp>, which includes this
// header. In CMake, `allot::planner` is that file.
// When not to use: without ALLOT_PLAN_INSTANCES, this header defines nothing.
//
// Complexity, memory and thread safety: those of the planners.
#pragma once

#include <allot/plan/compiled.hpp>
#include <allot/plan/guide.hpp>
#include <allot/plan/memories.hpp>
#include <allot/plan/mixed.hpp>
#include <allot/plan/moves.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/replan_at.hpp>
#include <allot/plan/symbolic.hpp>
#include <allot/plan/validate_mixed.hpp>
#include <allot/plan/validate_moves.hpp>

#if defined(ALLOT_PLAN_INSTANCES)
namespace allot {
inline namespace v1 {

result<memory_plan, plan_error> plan(const plan_problem& problem, const plan_options& options) {
    return plan(problem, options, unwatched{});
}
result<memories_plan, plan_error> plan_memories(const memories_problem& problem, const memories_options& options) {
    return plan_memories(problem, options, unwatched{});
}
result<moves_plan, plan_error> plan_moves(const moves_problem& problem, const memories_options& options) {
    return plan_moves(problem, options, unwatched{});
}
result<mixed_plan, plan_error> plan_mixed(const mixed_problem& problem, const plan_options& options) {
    return plan_mixed(problem, options, unwatched{});
}
result<memory_replan, plan_error> replan(const plan_problem& problem, std::span<const plan_place> before,
                                         std::size_t at_most, const plan_options& options) {
    return replan(problem, before, at_most, options, unwatched{});
}
result<memory_replan, plan_error> replan_at(const plan_problem& problem, std::span<const plan_place> before,
                                            std::int64_t step, const plan_options& options) {
    return replan_at(problem, before, step, options, unwatched{});
}
result<symbolic_plan, plan_error> plan_symbolic(const symbolic_problem& of, const plan_options& options) {
    return plan_symbolic(of, options, unwatched{});
}
result<guide, plan_error> make_guide(std::span<const pass_request> seen, const guide_options& options) {
    return make_guide<pass_request>(seen, options);
}
moves_violation validate_moves(const moves_problem& problem, const moves_plan& plan) {
    return validate_moves<moves_plan>(problem, plan);
}
mixed_violation validate_mixed(const mixed_problem& problem, const mixed_plan& plan, std::uint64_t capacity) {
    return validate_mixed<mixed_plan>(problem, plan, capacity);
}

template result<replan_summary, plan_error> symbolic_plan::bind<plan_symbol>(plan_symbol, std::uint64_t, std::int64_t,
                                                                             const plan_options&);

}  // namespace v1
}  // namespace allot
#endif
