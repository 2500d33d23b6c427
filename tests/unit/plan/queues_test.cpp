// Plans for several queues: small graphs against all plans and all sets of buffers, and mistakes that the validator finds.
#include <allot/plan/queues.hpp>
#include <allot/plan/validate_queues.hpp>

#include "brute_force.hpp"
#include "problems.hpp"
#include "queued_owner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using allot::plan_refusal;
using allot::plan_status;
using allot::queued_violation_kind;

using problems::queued_owner;

queued_owner random_graph(std::uint64_t seed, std::size_t buffers, std::size_t operators) {
    problems::random draw{seed};
    queued_owner made;
    const std::size_t queues = 1 + draw.index(4);
    for (std::size_t i = 0; i != operators; ++i) {
        made.queues.push_back(draw.index(queues));
        if (i != 0 && draw(2) == 0) made.waits.push_back({i, draw.index(i)});
    }
    for (std::size_t i = 0; i != buffers; ++i) {
        made.buffers.push_back({draw(9), std::uint64_t{1} << draw(seed % 3 + 1)});
        for (std::uint64_t uses = draw(4); uses-- != 0;) made.uses.push_back({i, draw.index(operators)});
    }
    return made;
}

std::uint64_t sum_of(const queued_owner& of, const std::vector<std::size_t>& set) {
    std::uint64_t sum = 0;
    for (const std::size_t each : set) sum += of.buffers[each].size;
    return sum;
}

}  // namespace

TEST_CASE("queues: small graphs have the lowest plan, and the bound is the heaviest set") {
    int optimal = 0, rounds = 0;
    for (std::uint64_t seed = 1; seed <= problems::times(150); ++seed) {
        CAPTURE(seed);
        const queued_owner given =
            random_graph(seed, static_cast<std::size_t>(1 + seed % 6), static_cast<std::size_t>(1 + seed % 9));
        const auto made = allot::plan_queues(given.problem());
        REQUIRE(made);
        CHECK(allot::validate_queues(given.problem(), *made, made->peak).kind == queued_violation_kind::none);
        const std::uint64_t heaviest = given.heaviest();
        CHECK(sum_of(given, made->heaviest) == heaviest);
        CHECK(made->bound >= heaviest);
        const problems::owner pairs = given.as_pairs();
        const std::uint64_t lowest = problems::brute_force{pairs}.lowest(made->peak);
        CHECK(made->bound <= lowest);
        if (made->status == plan_status::optimal) CHECK(made->peak == lowest);
        optimal += made->status == plan_status::optimal;
        ++rounds;
    }
    CHECK(optimal > rounds * 9 / 10);
}

TEST_CASE("queues: a wait lets buffers of two queues share bytes") {
    queued_owner given{.buffers = {{64}, {64}}, .queues = {0, 1}, .uses = {{0, 0}, {1, 1}}};
    const auto beside = allot::plan_queues(given.problem());
    REQUIRE(beside);
    CHECK(beside->peak == 128);
    CHECK(beside->status == plan_status::optimal);
    CHECK(beside->heaviest == std::vector<std::size_t>{0, 1});
    given.waits = {{1, 0}};
    CHECK(allot::plan_queues(given.problem())->peak == 64);
    given.waits.clear();
    given.queues = {1, 1};
    CHECK(allot::plan_queues(given.problem())->peak == 64);
    // An operator that reads one buffer and writes the other needs both.
    given.uses.push_back({0, 1});
    CHECK(allot::plan_queues(given.problem())->peak == 128);
}

TEST_CASE("queues: a buffer ends when all queues have passed its uses") {
    // Queue 1 reads buffer 0 beside the later operators of queue 0. Operator 3 waits for that read.
    const queued_owner given{.buffers = {{8}, {8}, {8}},
                             .queues = {0, 1, 0, 0},
                             .waits = {{1, 0}, {3, 1}},
                             .uses = {{0, 0}, {0, 1}, {1, 2}, {2, 3}}};
    const auto made = allot::plan_queues(given.problem());
    REQUIRE(made);
    CHECK(made->peak == 16);
    CHECK(made->places[0].offset != made->places[1].offset);
    CHECK(made->status == plan_status::optimal);
}

TEST_CASE("queues: large graphs are valid, and one queue is a plan of intervals") {
    const queued_owner given = random_graph(77, 300, 400);
    const auto made = allot::plan_queues(given.problem(), {.effort = 2000});
    REQUIRE(made);
    CHECK(allot::validate_queues(given.problem(), *made, made->peak).kind == queued_violation_kind::none);
    CHECK(sum_of(given, made->heaviest) <= made->bound);
    CHECK(made->bound <= made->peak);

    queued_owner one = given;
    std::fill(one.queues.begin(), one.queues.end(), 0U);
    const auto alone = allot::plan_queues(one.problem(), {.effort = 2000});
    REQUIRE(alone);
    CHECK(alone->bound <= made->bound);
    std::vector<std::uint64_t> live(one.queues.size());
    for (std::size_t i = 0; i != one.buffers.size(); ++i) {
        std::size_t first = live.size(), last = 0;
        for (const allot::queued_use& use : one.uses)
            if (use.buffer == i) {
                first = std::min(first, use.operation);
                last = std::max(last, use.operation + 1);
            }
        for (std::size_t step = first; step < last; ++step) live[step] += one.buffers[i].size;
    }
    CHECK(sum_of(one, alone->heaviest) == *std::max_element(live.begin(), live.end()));
}

TEST_CASE("queues: capacity, and buffers without uses") {
    const queued_owner given{.buffers = {{64, 16}, {64}, {32, 64}}, .queues = {0, 1}, .uses = {{0, 0}, {1, 1}}};
    CHECK(allot::plan_queues(given.problem(), {.capacity = 128})->status == plan_status::optimal);
    CHECK(allot::plan_queues(given.problem(), {.capacity = 127})->status == plan_status::infeasible);
    const auto made = allot::plan_queues(given.problem());
    CHECK(made->places[2] == allot::plan_place{});
    const queued_owner none;
    CHECK(allot::plan_queues(none.problem())->peak == 0);
}

TEST_CASE("queues: bad input is refused") {
    const queued_owner right{.buffers = {{64}, {64}}, .queues = {0, 1}, .waits = {{1, 0}}, .uses = {{0, 0}, {1, 1}}};
    const auto refused = [&](auto change) {
        queued_owner wrong = right;
        change(wrong);
        const auto error = allot::plan_queues(wrong.problem()).error();
        CHECK(allot::validate_queues(wrong.problem(), {}, 128).kind == queued_violation_kind::bad_problem);
        return error;
    };
    using error = allot::plan_error;
    CHECK(refused([](queued_owner& of) { of.waits[0] = {0, 0}; }) == error{plan_refusal::contradiction, 0});
    CHECK(refused([](queued_owner& of) { of.waits[0] = {0, 1}; }) == error{plan_refusal::contradiction, 0});
    CHECK(refused([](queued_owner& of) { of.waits[0] = {2, 0}; }) == error{plan_refusal::contradiction, 0});
    CHECK(refused([](queued_owner& of) { of.uses[1].operation = 2; }) == error{plan_refusal::outside_lifetime, 1});
    CHECK(refused([](queued_owner& of) { of.uses[1].buffer = 2; }) == error{plan_refusal::no_such_buffer, 2});
    CHECK(refused([](queued_owner& of) { of.buffers[1].align = 3; }) == error{plan_refusal::not_an_alignment, 1});
    CHECK(refused([](queued_owner& of) { of.queues[1] = 64; }).reason == plan_refusal::too_many);
}

TEST_CASE("validate_queues: finds each kind of mistake") {
    const queued_owner given{
        .buffers = {{64, 16}, {64}, {0}}, .queues = {0, 1, 1}, .waits = {}, .uses = {{0, 0}, {1, 1}, {2, 2}}};
    const auto right = *allot::plan_queues(given.problem());
    const auto found = [&](auto change) {
        allot::queued_plan wrong = right;
        change(wrong);
        const auto mistake = allot::validate_queues(given.problem(), wrong, right.peak);
        CHECK(std::string{mistake.what()} == to_string(mistake.kind));
        return mistake.kind;
    };
    using kind = queued_violation_kind;
    CHECK(found([](auto&) {}) == kind::none);
    CHECK(found([](auto& plan) { plan.places.pop_back(); }) == kind::places_missing);
    CHECK(found([](auto& plan) { ++plan.places[0].offset; }) == kind::misaligned);
    CHECK(found([](auto& plan) { --plan.places[1].size; }) == kind::misaligned);
    CHECK(found([](auto& plan) { plan.places[0].offset += 128; }) == kind::over_capacity);
    CHECK(found([](auto& plan) { plan.places[0].offset = plan.places[1].offset = 0; }) == kind::overlap);
    CHECK(found([](auto& plan) { plan.heaviest = {1, 2}; }) == kind::not_heaviest);
    CHECK(found([](auto& plan) { plan.heaviest = {0, 0}; }) == kind::not_heaviest);
    CHECK(found([](auto& plan) { plan.heaviest = {3}; }) == kind::not_heaviest);
}
