// SPDX-License-Identifier: BSL-1.0
// plan: includes the planners of one memory and of several, which assign an offset to each buffer before the program
// runs, the validators of their plans, and arenas that follow a plan.
//
//     static constexpr allot::plan_buffer buffers[] = {{.size = 4096, .live = {0, 2}}, {.size = 1024, .live = {1, 3}}};
//     const allot::plan_problem problem{.buffers = buffers};
//
// The other planners have headers of their own, so that a file only parses those that it calls:
//
//     buffers that move between memories   moves.hpp, timed.hpp       pages                      pages.hpp, mixed.hpp
//     plans that change                    replan.hpp, replan_at.hpp  sizes known at run time    symbolic.hpp
//     memories, in a constant expression   static_memories.hpp        a recorded pass            guided.hpp, guide.hpp
//
// When to use: when sizes and lifetimes of all buffers are known in advance. docs/planning.md is the guide.
// When not to use: for requests that are known only at run time. Use an arena.
//
// To compile the planners once in a program, define ALLOT_PLAN_COMPILED in all files, and ALLOT_PLAN_INSTANCES in one
// that includes this header. In CMake, link `allot::planner` instead. The calls that plan/compiled.hpp declares, and
// `symbolic_plan::bind`, are then compiled in that file. The other files do not parse the planners: for calls with a
// progress callback, with a workspace (`plan_into`) or in a constant expression, they include the header of the
// planner, such as <allot/plan/plan.hpp>, in addition.
//
// Complexity, memory and thread safety: see the included headers.
#pragma once

#include <allot/version.hpp>

#include <allot/host/buffer.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/plan/memory_plan.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/planned.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_memories.hpp>

#if defined(ALLOT_PLAN_INSTANCES)
#include <allot/plan/compiled_planners.hpp>
#elif defined(ALLOT_PLAN_COMPILED)
#include <allot/plan/compiled.hpp>
#else
#include <allot/plan/memories.hpp>
#include <allot/plan/plan.hpp>
#endif
