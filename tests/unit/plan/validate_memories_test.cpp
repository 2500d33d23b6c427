// validate_memories: one change of a valid plan for each kind of violation.
#include <allot/plan/memories.hpp>
#include <allot/plan/validate_memories.hpp>

#include "../../texts.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using kind = allot::memories_violation_kind;

constexpr allot::plan_buffer buffers[] = {{.size = 32, .live = {0, 4}},
                                          {.size = 32, .live = {1, 3}, .align = 16},
                                          {.size = 32, .live = {2, 5}},
                                          {.size = 16, .live = {5, 6}},
                                          {.size = 0, .live = {0, 6}}};
constexpr allot::plan_memory memories[] = {{.capacity = 64, .align = 8}, {.capacity = 64, .align = 8}, {.cost = 3}};
constexpr allot::plan_pair together[] = {{2, 3}}, apart[] = {{0, 3}}, separate[] = {{0, 1}, {1, 2}, {1, 4}};
constexpr std::uint64_t allowed[] = {3, 3, 7, 7, 7}, uses[] = {1, 2, 3, 4, 5};
constexpr allot::memories_problem problem{.buffers = {.buffers = buffers, .together = together, .apart = apart},
                                          .memories = memories,
                                          .uses = uses,
                                          .allowed = allowed,
                                          .separate = separate};

/// A valid plan: buffer 1 in memory 1, the others in memory 0.
allot::memories_plan valid() {
    allot::memories_plan made;
    made.places = {{0, 0, 32}, {1, 0, 32}, {0, 32, 32}, {0, 32, 16}, {1, 0, 0}};
    made.needs = {{64, 8}, {32, 16}, {0, 1}};
    made.spilled = 32;
    return made;
}
template <class Change>
allot::memories_violation after(Change change) {
    allot::memories_plan made = valid();
    change(made);
    return allot::validate_memories(problem, made);
}

}  // namespace

TEST_CASE("validate_memories: accepts a valid plan and the plan of the planner") {
    CHECK(allot::validate_memories(problem, valid()) == allot::memories_violation{});
    const auto made = allot::plan_memories(problem);
    REQUIRE(made);
    CHECK(made->cost == 0);
    CHECK(allot::validate_memories(problem, *made) == allot::memories_violation{});
}

TEST_CASE("validate_memories: finds each violation") {
    using plan = allot::memories_plan;
    using found = allot::memories_violation;
    CHECK(after([](plan& p) { p.places.pop_back(); }) == found{kind::places_missing, 4, 3});
    CHECK(after([](plan& p) { p.needs.pop_back(); }) == found{kind::places_missing, 5, 2});
    CHECK(after([](plan& p) { p.places[3].size = 8; }) == found{kind::wrong_size, 3, 0});
    CHECK(after([](plan& p) { p.places[1].memory = 2; }) == found{kind::not_allowed, 1, 2});
    CHECK(after([](plan& p) { p.places[2].memory = 3; }) == found{kind::not_allowed, 2, 3});
    CHECK(after([](plan& p) { p.places[3].memory = 2; }) == found{kind::not_together, 2, 3});
    CHECK(after([](plan& p) { p.places[3].memory = allot::memory_place::nowhere; }) == found{kind::not_together, 2, 3});
    CHECK(after([](plan& p) { p.places[1].memory = 0; }) == found{kind::not_separate, 0, 1});
    CHECK(after([](plan& p) { p.places[2].memory = p.places[3].memory = 1; }) == found{kind::not_separate, 1, 2});
    CHECK(after([](plan& p) { p.places[3].offset = 40; }) == found{kind::bad_place, 2, 3});
    CHECK(after([](plan& p) { p.places[1].offset = 8; }) == found{kind::bad_place, 1, 1});
    CHECK(after([](plan& p) { p.places[0].offset = 40; }).kind == kind::bad_place);
    CHECK(after([](plan& p) { p.places[2].offset = p.places[3].offset = 0; }).kind == kind::bad_place);
    CHECK(after([](plan& p) { p.places[1].offset = ~std::uint64_t{0} - 15; }) == found{kind::bad_place, 1, 1});
    CHECK(after([](plan& p) { p.needs[0].peak = 60; }) == found{kind::wrong_needs, 0, 0});
    CHECK(after([](plan& p) { p.needs[1].align = 8; }) == found{kind::wrong_needs, 1, 0});
    CHECK(after([](plan& p) { p.cost = 1; }).kind == kind::wrong_sum);
    CHECK(after([](plan& p) { p.spilled = 0; }).kind == kind::wrong_sum);
    CHECK(after([](plan& p) { p.unplaced = 1; }).kind == kind::wrong_sum);
    constexpr allot::memories_problem none{};
    CHECK(allot::validate_memories(none, {}).kind == kind::bad_problem);
}

TEST_CASE("validate_memories: an unplaced buffer is no violation") {
    CHECK(after([](allot::memories_plan& p) {
              p.places[1].memory = allot::memory_place::nowhere;
              p.needs[1] = {0, 8};
              p.spilled = 0;
              p.unplaced = 1;
          }) == allot::memories_violation{});
    // Two unplaced buffers are not in one memory.
    CHECK(after([](allot::memories_plan& p) {
              p.places[0].memory = p.places[1].memory = allot::memory_place::nowhere;
              p.needs[1] = {0, 8};
              p.spilled = 0;
              p.unplaced = 2;
          }) == allot::memories_violation{});
}

TEST_CASE("validate_memories: every kind has its own text") {
    texts::check_distinct_up_to(kind::bad_split);
    CHECK(std::string_view{allot::memories_violation{}.what()} == "the plan is valid");
}
