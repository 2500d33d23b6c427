// SPDX-License-Identifier: BSL-1.0
// Tests of plan/options.hpp.

#include <allot/plan/memories.hpp>
#include <allot/plan/options.hpp>
#include <allot/plan/plan.hpp>

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

TEST_CASE("plan options: a number of states to remember that is not a power of two still yields a plan") {
    const auto made = allot::plan(problem, {.remember = 3});
    REQUIRE(made);
    CHECK(made->peak == 10);
    const allot::plan_memory memories[] = {{.capacity = 6}, {.cost = 1}};
    CHECK(allot::plan_memories({.buffers = problem, .memories = memories}, {.remember = 3}));
}
