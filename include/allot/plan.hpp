// SPDX-License-Identifier: BSL-1.0
// The planner: where each buffer lives, decided before anything runs, and arenas that follow a plan. docs/planning.md
#pragma once

#include <allot/host/memory.hpp>
#include <allot/plan/memories.hpp>
#include <allot/plan/moves.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/planned.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/static_memories.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_moves.hpp>
#include <allot/plan/validate_pages.hpp>
