// plan_rows and validate_rows: what is divided and what is not, costs by rows, refusals, and each violation.
#include <allot/plan/rows.hpp>
#include <allot/plan/validate_rows.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace {

using allot::plan_refusal;
using allot::plan_status;
using kind = allot::memories_violation_kind;

constexpr allot::plan_buffer buffers[] = {{.size = 640, .live = {0, 4}}, {.size = 768, .live = {1, 2}}};
constexpr allot::plan_memory memories[] = {{.capacity = 1024}, {.cost = 1}};
constexpr std::uint64_t rows[] = {10, 12};
constexpr allot::memories_problem whole{.buffers = {.buffers = buffers}, .memories = memories};
constexpr allot::rows_problem problem{whole, rows};

allot::rows_plan planned(const allot::rows_problem& given) {
    const auto made = allot::plan_rows(given);
    REQUIRE(made);
    CHECK(allot::validate_rows(given, *made) == allot::memories_violation{});
    return *made;
}
allot::plan_error refused(const allot::rows_problem& given) {
    const auto made = allot::plan_rows(given);
    REQUIRE(!made);
    return made.error();
}
template <class Change>
allot::memories_violation after(Change change) {
    allot::rows_plan made = planned(problem);
    change(made);
    return allot::validate_rows(problem, made);
}

}  // namespace

TEST_CASE("plan_rows: rows fill the rest of the fast memory, and the cost counts the others") {
    const allot::rows_plan made = planned(problem);
    CHECK(made.status == plan_status::optimal);
    CHECK(made.cost == 384);
    CHECK(made.bound == 384);
    CHECK(made.whole_cost == 640);
    CHECK(made.spilled == 384);
    REQUIRE(made.splits.size() == 1);
    const allot::row_split& split = made.splits[0];
    CHECK(made.places[split.buffer].memory == 0);
    CHECK(made.places[split.buffer].size == split.rows * 64);
    CHECK(split.rest.memory == 1);
    CHECK(split.rest.size == 384);
    CHECK(made.needs[0].peak == 1024);
    CHECK(made.needs[1].peak == 384);
}

TEST_CASE("plan_rows: plans without a heap, and refuses arrays that are too small") {
    const allot::rows_plan expected = planned(problem);
    std::vector<allot::memory_place> places(2);
    std::vector<allot::memory_needs> needs(2);
    std::vector<allot::row_split> splits(2);
    const allot::plan_space space = allot::space_of_rows(problem);
    const auto into = [&](std::size_t place_count, std::size_t need_count, std::size_t split_count,
                          allot::plan_space room) {
        allot::plan_heap workspace{room};
        return allot::plan_rows_into(problem, std::span{places}.first(place_count), std::span{needs}.first(need_count),
                                     std::span{splits}.first(split_count), workspace);
    };
    const auto made = into(2, 2, 2, space);
    REQUIRE(made);
    CHECK(static_cast<const allot::memories_summary&>(*made) == expected);
    CHECK(made->divided == 1);
    CHECK(made->whole_cost == 640);
    CHECK(made->whole_unplaced == 0);
    CHECK(places == expected.places);
    CHECK(needs == expected.needs);
    CHECK(splits[0] == expected.splits[0]);
    allot::plan_space less = space;
    --less.u64;
    for (const auto& refusal :
         {into(1, 2, 2, space), into(2, 1, 2, space), into(2, 2, 1, space), into(2, 2, 2, less)}) {
        REQUIRE(!refusal);
        CHECK(refusal.error().reason == plan_refusal::workspace_too_small);
    }
}

TEST_CASE("plan_rows: without rows the plan is that of plan_memories") {
    const auto expected = allot::plan_memories(whole);
    REQUIRE(expected);
    constexpr std::uint64_t none[] = {0, 0}, one[] = {1, 1};
    const std::span<const std::uint64_t> without[] = {{}, none, one};
    for (const std::span<const std::uint64_t> each : without) {
        const allot::rows_plan made = planned({whole, each});
        CHECK(made.splits.empty());
        CHECK(made.places == expected->places);
        CHECK(made.needs == expected->needs);
        CHECK(static_cast<const allot::memories_summary&>(made) == *expected);
        CHECK(made.whole_cost == expected->cost);
    }
}

TEST_CASE("plan_rows: divides a buffer that is larger than each memory") {
    constexpr allot::plan_buffer one[] = {{.size = 100, .live = {0, 1}}};
    constexpr allot::plan_memory two[] = {{.capacity = 64}, {.capacity = 64, .cost = 2}};
    constexpr std::uint64_t ten[] = {10}, four[] = {4};
    const allot::memories_problem given{.buffers = {.buffers = one}, .memories = two};
    const allot::rows_plan made = planned({given, ten});
    CHECK(made.status == plan_status::optimal);
    CHECK(made.cost == 80);
    REQUIRE(made.splits.size() == 1);
    CHECK(made.splits[0].rows == 6);
    CHECK(planned({given, {}}).status == plan_status::infeasible);
    CHECK(planned({given, four}).cost == 100);  // two rows of 25 in each

    constexpr allot::plan_memory small[] = {{.capacity = 49}, {.capacity = 64, .cost = 2}};
    const allot::rows_plan never = planned({{.buffers = {.buffers = one}, .memories = small}, four});
    CHECK(never.status == plan_status::infeasible);  // one row of 25, and two
    CHECK(never.which == 0);
    CHECK(never.unplaced == 1);
}

TEST_CASE("plan_rows: does not divide fixed buffers, nor those of pairs") {
    constexpr allot::plan_fixed fixed[] = {{0, 0}};
    constexpr allot::plan_pair pair[] = {{0, 1}};
    constexpr std::uint64_t first_only[] = {1, 3};
    const auto undivided = [](const allot::memories_problem& given) {
        const allot::rows_plan made = planned({given, rows});
        const auto expected = allot::plan_memories(given);
        REQUIRE(expected);
        CHECK(made.splits.empty());
        CHECK(made.cost == expected->cost);
    };
    undivided({.buffers = {.buffers = buffers, .together = pair}, .memories = memories});
    undivided({.buffers = {.buffers = buffers, .apart = pair}, .memories = memories});
    undivided({.buffers = {.buffers = buffers}, .memories = memories, .separate = pair});
    const allot::rows_plan made =
        planned({{.buffers = {.buffers = buffers, .fixed = fixed}, .memories = memories, .allowed = first_only}, rows});
    CHECK(made.places[0] == allot::memory_place{0, 0, 640});
    REQUIRE(made.splits.size() == 1);
    CHECK(made.splits[0].buffer == 1);
    CHECK(made.cost == 384);
}

TEST_CASE("plan_rows: each part has the alignments of its buffer and its memory, and the uses count") {
    constexpr allot::plan_buffer two[] = {{.size = 100, .live = {0, 2}}, {.size = 120, .live = {1, 2}, .align = 32}};
    constexpr allot::plan_memory given[] = {{.capacity = 160, .align = 8}, {.align = 64, .cost = 1}};
    constexpr std::uint64_t uses[] = {7, 3}, of[] = {1, 12};
    const allot::rows_plan made = planned({{.buffers = {.buffers = two}, .memories = given, .uses = uses}, of});
    REQUIRE(made.splits.size() == 1);
    CHECK(made.splits[0].rows == 3);  // at 128; rows of 10 bytes below 32 bytes
    CHECK(made.cost == 90 * 3);
    CHECK(made.places[1].offset % 32 == 0);
    CHECK(made.needs[1].align == 64);
}

TEST_CASE("plan_rows: refuses rows that do not divide a size, and a wrong number of them") {
    constexpr std::uint64_t seven[] = {10, 7}, one[] = {10};
    CHECK(refused({whole, seven}) == allot::plan_error{plan_refusal::indivisible, 1});
    CHECK(refused({whole, one}) == allot::plan_error{plan_refusal::not_for_each_buffer, 1});
    CHECK(refused({{.buffers = {.buffers = buffers}, .memories = {}}, rows}) ==
          allot::plan_error{plan_refusal::not_a_memory, 0});
    CHECK(allot::validate_rows({whole, seven}, {}).kind == kind::bad_problem);
}

TEST_CASE("plan_rows: a callback ends the search, and equal calls give equal plans") {
    std::mt19937 random{1};
    std::vector<allot::plan_buffer> in_rows = problems::random_buffers(random, 80, 30, 4000);
    const std::vector<std::uint64_t> eights(in_rows.size(), 8);
    for (allot::plan_buffer& each : in_rows) each.size *= 8;
    const allot::plan_memory chip[] = {{.capacity = 100'000}, {.capacity = 300'000, .cost = 1}, {.cost = 9}};
    const allot::rows_problem given{{.buffers = {.buffers = in_rows}, .memories = chip}, eights};
    const allot::rows_plan made = planned(given), again = planned(given);
    CHECK(made.unplaced == 0);
    CHECK(made.cost < made.whole_cost);
    CHECK(made.bound <= made.cost);
    CHECK(made.places == again.places);
    CHECK(made.splits == again.splits);
    std::uint64_t calls = 0;
    const auto stopped = allot::plan_rows(given, {}, [&](const allot::memories_progress&) { return ++calls != 0; });
    REQUIRE(stopped);
    CHECK(calls == 1);
    CHECK(allot::validate_rows(given, *stopped) == allot::memories_violation{});
}

TEST_CASE("validate_rows: finds each violation of a division") {
    using plan = allot::rows_plan;
    using found = allot::memories_violation;
    const std::size_t divided = planned(problem).splits[0].buffer;
    CHECK(after([](plan& p) { p.places.pop_back(); }) == found{kind::places_missing, 1, 2});
    CHECK(after([](plan& p) { p.needs.pop_back(); }) == found{kind::places_missing, 2, 1});
    CHECK(after([](plan& p) { p.splits[0].buffer = 2; }) == found{kind::bad_split, 2, 0});
    CHECK(after([](plan& p) { p.splits[0].rows = 0; }) == found{kind::bad_split, divided, 0});
    CHECK(after([](plan& p) { p.splits[0].rows = rows[p.splits[0].buffer]; }) == found{kind::bad_split, divided, 0});
    CHECK(after([](plan& p) { p.splits[0].rest.memory = 0; }) == found{kind::bad_split, divided, 0});
    CHECK(after([](plan& p) { p.splits[0].rest = {}; }) == found{kind::bad_split, divided, 0});
    CHECK(after([](plan& p) { p.splits.push_back(p.splits[0]); }) == found{kind::bad_split, divided, 0});
    CHECK(after([](plan& p) { p.splits.clear(); }) == found{kind::wrong_size, divided, 0});
    CHECK(after([](plan& p) { --p.splits[0].rows; }) == found{kind::wrong_size, divided, 0});
    CHECK(after([](plan& p) { --p.splits[0].rest.size; }) == found{kind::wrong_size, divided, 0});
    CHECK(after([](plan& p) { p.splits[0].rest.memory = 2; }) == found{kind::not_allowed, divided, 2});
    CHECK(after([](plan& p) { p.splits[0].rest.offset = 64; }) == found{kind::wrong_needs, 1, 0});
    CHECK(after([](plan& p) { p.places[p.splits[0].buffer].offset += 8; }).kind == kind::bad_place);
    CHECK(after([](plan& p) { ++p.cost; }).kind == kind::wrong_sum);
    CHECK(after([](plan& p) { ++p.spilled; }).kind == kind::wrong_sum);
}

TEST_CASE("validate_rows: a buffer of a pair or without rows is not divided") {
    constexpr allot::plan_pair pair[] = {{0, 1}};
    const allot::rows_plan made = planned(problem);
    const std::size_t divided = made.splits[0].buffer;
    allot::rows_problem other = problem;
    other.rows = {};
    CHECK(allot::validate_rows(other, made) == allot::memories_violation{kind::bad_split, divided, 0});
    other = problem;
    other.memories.separate = pair;
    CHECK(allot::validate_rows(other, made) == allot::memories_violation{kind::bad_split, divided, 0});
}
