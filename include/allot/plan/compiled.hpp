// SPDX-License-Identifier: BSL-1.0
// compiled: declares the planners that `allot::planner` compiles, without their definitions.
//
//     const auto made = allot::plan(problem, {.capacity = 64 * 1024});      // in a program that links allot::planner
//
// With ALLOT_PLAN_COMPILED, which the CMake target `allot::planner` defines, <allot/plan.hpp> includes this header in
// place of the planners.
//
// The functions are those of plan.hpp, memories.hpp, moves.hpp, mixed.hpp, replan.hpp, replan_at.hpp, symbolic.hpp,
// guide.hpp, validate_moves.hpp and validate_mixed.hpp, without a progress callback. These headers describe them. A
// file that also includes one of them calls the compiled function wherever this header declares it.
//
// When to use: a program calls planners in several files. Each of these files parses fewer headers.
// When not to use: for calls with a callback, with a workspace (`plan_into`) or in a constant expression. Include the
// header of the planner, such as <allot/plan/plan.hpp>, in addition.
//
// Complexity, memory and thread safety: those of the planners.
#pragma once

#include <allot/plan/memories_problem.hpp>
#include <allot/plan/memory_plan.hpp>
#include <allot/plan/mixed_problem.hpp>
#include <allot/plan/mixed_violation.hpp>
#include <allot/plan/moves_problem.hpp>
#include <allot/plan/moves_violation.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/pass.hpp>
#include <allot/plan/symbolic_problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(ALLOT_PLAN_COMPILED) || defined(ALLOT_PLAN_INSTANCES)
namespace allot {
inline namespace v1 {

/// Returns a plan for one memory, like the template in plan.hpp.
[[nodiscard]] result<memory_plan, plan_error> plan(const plan_problem& problem, const plan_options& options = {});

/// Returns a plan for several memories, like the template in memories.hpp.
[[nodiscard]] result<memories_plan, plan_error> plan_memories(const memories_problem& problem,
                                                              const memories_options& options = {});

/// Returns a plan with moves between memories, like the template in moves.hpp.
[[nodiscard]] result<moves_plan, plan_error> plan_moves(const moves_problem& problem,
                                                        const memories_options& options = {});

/// Returns a plan with pages and offsets, like the template in mixed.hpp.
[[nodiscard]] result<mixed_plan, plan_error> plan_mixed(const mixed_problem& problem, const plan_options& options = {});

/// Returns an updated plan with few moves, like the template in replan.hpp.
[[nodiscard]] result<memory_replan, plan_error> replan(const plan_problem& problem, std::span<const plan_place> before,
                                                       std::size_t at_most, const plan_options& options = {});

/// Returns a plan for the remaining steps, like the template in replan_at.hpp.
[[nodiscard]] result<memory_replan, plan_error> replan_at(const plan_problem& problem,
                                                          std::span<const plan_place> before, std::int64_t step,
                                                          const plan_options& options = {});

/// Returns a plan for the bounds of all symbols, like the template in symbolic.hpp.
[[nodiscard]] result<symbolic_plan, plan_error> plan_symbolic(const symbolic_problem& of,
                                                              const plan_options& options = {});

/// Returns a guide for a pass, like the template in guide.hpp.
[[nodiscard]] result<guide, plan_error> make_guide(std::span<const pass_request> seen,
                                                   const guide_options& options = {});

/// Returns the first violation of a plan with moves, like the template in validate_moves.hpp.
[[nodiscard]] moves_violation validate_moves(const moves_problem& problem, const moves_plan& plan);

/// Returns the first violation of a plan with pages and offsets, like the template in validate_mixed.hpp.
[[nodiscard]] mixed_violation validate_mixed(const mixed_problem& problem, const mixed_plan& plan,
                                             std::uint64_t capacity);

}  // namespace v1
}  // namespace allot
#endif
