// SPDX-License-Identifier: BSL-1.0
// Tests of plan/options.hpp.

#include <allot/plan/memories.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/plan.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

namespace {
constexpr allot::plan_buffer buffers[] = {
    {.size = 6, .live = {0, 2}}, {.size = 4, .live = {1, 3}}, {.size = 5, .live = {2, 4}}};
constexpr allot::plan_problem problem{.buffers = buffers};
}  // namespace

TEST_CASE("plan options: the defaults have no capacity and search") {
    constexpr allot::plan_options plan;
    CHECK(plan.capacity == UINT64_MAX);
    CHECK(plan.effort != 0);
    CHECK(plan.search_at_most != 0);
    constexpr allot::memories_options memories;
    CHECK(memories.effort != 0);
    CHECK(memories.search_at_most != 0);
}

TEST_CASE("plan options: the defaults in constant expressions make one plan without a search") {
    CHECK(allot::at_compile_time.effort == 0);
    CHECK(allot::at_compile_time.capacity == UINT64_MAX);
    CHECK(allot::memories_at_compile_time.effort == 0);
    constexpr allot::plan_space quick = allot::space_of_plan(problem, allot::at_compile_time);
    CHECK(quick.u64 < allot::space_of_plan(problem, {}).u64);
}

TEST_CASE("plan options: a number of states to remember is rounded down to a power of two") {
    for (const std::uint64_t seed : {5u, 6u, 11u}) {
        const problems::owner hard = problems::simple(seed, 30, 20, 12, 30);
        const auto rounded = allot::plan(hard, {.effort = 20'000, .remember = 100}),
                   power = allot::plan(hard, {.effort = 20'000, .remember = 64});
        REQUIRE(rounded);
        CHECK(static_cast<const allot::plan_summary&>(*rounded) == static_cast<const allot::plan_summary&>(*power));
        CHECK(rounded->places == power->places);

        const allot::plan_memory memories[] = {{.capacity = power->peak / 2}, {.cost = 1}};
        const allot::memories_problem spills{.buffers = hard, .memories = memories};
        CHECK(allot::plan_memories(spills, {.effort = 20'000, .remember = 3})->places ==
              allot::plan_memories(spills, {.effort = 20'000, .remember = 2})->places);
    }
}
