// SPDX-License-Identifier: BSL-1.0
// Tests of plan/summary.hpp.

#include <allot/plan/summary.hpp>

#include <doctest/doctest.h>

#include <string>

using allot::plan_status;

TEST_CASE("plan summary: each status has a text") {
    CHECK(std::string{allot::to_string(plan_status::optimal)} == "optimal");
    CHECK(std::string{allot::to_string(plan_status::feasible)} == "feasible");
    CHECK(std::string{allot::to_string(plan_status::infeasible)} == "infeasible");
    CHECK(std::string{allot::to_string(plan_status::out_of_budget)} == "out of budget");
    CHECK(std::string{allot::to_string(plan_status::out_of_moves)} == "out of moves");
}

TEST_CASE("plan summary: a value that is no status has a text, too") {
    CHECK(std::string{allot::to_string(static_cast<plan_status>(99))} == "unknown");
}

TEST_CASE("plan summary: summaries compare by all members") {
    constexpr allot::plan_summary one{.peak = 8, .bound = 8, .step = 1};
    allot::plan_summary other = one;
    CHECK(other == one);
    other.step = 2;
    CHECK_FALSE(other == one);
}

TEST_CASE("plan summary: the default callback never stops a planner") {
    CHECK_FALSE(allot::unwatched{}(allot::plan_progress{.peak = 8, .bound = 4}));
}
