// replan_at: random problems whose sizes become known at a step. Buffers that live stay, the plan is valid for the
// whole problem and never higher than before, and for few buffers it is the lowest one.
#include <allot/plan/replan_at.hpp>
#include <allot/plan/validate.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using allot::plan_place;
using allot::plan_refusal;
using allot::plan_status;
using allot::replan_at;
using problems::owner;

constexpr allot::plan_options quick{.effort = 1000, .remember = 64};

std::vector<std::uint64_t> offsets_of(const std::vector<plan_place>& places) {
    std::vector<std::uint64_t> offsets;
    for (const plan_place& place : places) offsets.push_back(place.offset);
    return offsets;
}

/// Returns whether a lifetime of a buffer satisfies a condition.
template <class Condition>
bool any_lifetime(const owner& of, std::size_t buffer, Condition&& holds) {
    return holds(of.buffers[buffer].live) || std::any_of(of.revivals.begin(), of.revivals.end(), [&](const auto& each) {
               return each.buffer == buffer && holds(each.live);
           });
}
bool is_later(const owner& of, std::size_t buffer, std::int64_t step) {
    return any_lifetime(of, buffer, [=](allot::lifetime live) { return live.until > step; });
}
bool lives(const owner& of, std::size_t buffer, std::int64_t step) {
    return is_later(of, buffer, step) &&
           any_lifetime(of, buffer, [=](allot::lifetime live) { return live.from < step; });
}
std::uint64_t height_from(const owner& of, const std::vector<plan_place>& places, std::int64_t step) {
    std::uint64_t height = 0;
    for (std::size_t i = 0; i != places.size(); ++i)
        if (is_later(of, i, step) && places[i].size != 0) height = std::max(height, places[i].offset + places[i].size);
    return height;
}

/// Plans for the bounds, lowers some sizes, plans from a step on, and checks the rules.
void check_rules(owner problem, std::uint64_t seed, std::int64_t step, bool is_small) {
    CAPTURE(seed);
    CAPTURE(step);
    problems::random draw{seed + 77};
    const auto before = allot::plan(problem, quick);
    if (!before) return;
    for (auto& buffer : problem.buffers)
        if (draw(2) == 0) buffer.size = draw(buffer.size + 1);
    const auto made = replan_at(problem, before->places, step, quick);
    REQUIRE(made);
    allot::plan_heap workspace{allot::validate_space(problem)};
    CHECK(allot::validate(problem, offsets_of(made->places), UINT64_MAX, workspace).kind ==
          allot::plan_violation_kind::none);
    CHECK(made->peak == height_from(problem, made->places, step));
    std::vector<plan_place> kept = before->places;
    for (std::size_t i = 0; i != kept.size(); ++i)
        if (!lives(problem, i, step)) kept[i].size = problem.buffers[i].size;
    CHECK(made->peak <= height_from(problem, kept, step));
    CHECK(made->bound <= made->peak);
    std::size_t moved = 0;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
        const bool same = made->places[i].offset == before->places[i].offset;
        if (lives(problem, i, step) || !is_later(problem, i, step)) CHECK(made->places[i] == before->places[i]);
        else CHECK(made->places[i].size == problem.buffers[i].size);
        moved += !same;
    }
    CHECK(made->moved == moved);
    if (!is_small) return;
    // The oracle: what has begun is fixed, what has ended is gone, and every order of placing the others is tried.
    owner rest;
    for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
        if (!is_later(problem, i, step)) continue;
        if (lives(problem, i, step)) rest.fixed.push_back({rest.buffers.size(), before->places[i].offset});
        rest.buffers.push_back(problem.buffers[i]);
        if (lives(problem, i, step)) rest.buffers.back().size = before->places[i].size;
        rest.buffers.back().live.from = std::max(rest.buffers.back().live.from, step);
    }
    const std::uint64_t lowest = problems::optimum(rest);
    CHECK(made->peak >= lowest);
    if (made->status == plan_status::optimal) CHECK(made->peak == lowest);
}

}  // namespace

TEST_CASE("replan_at: keeps what lives, and lowers the rest") {
    const std::size_t rounds = problems::times(problems::is_slow ? 40 : 600);
    for (std::uint64_t seed = 1; seed <= rounds; ++seed) {
        for (const std::int64_t step : {-1, 0, 2, 4, 7, 100})
            check_rules(
                problems::simple(seed, 1 + static_cast<std::size_t>(seed % (problems::is_slow ? 5 : 6)), 8, 5, 20),
                seed, step, true);
        check_rules(problems::simple(seed, 30, 40, 12, 1000), seed, static_cast<std::int64_t>(seed % 45), false);
        check_rules(problems::constrained(seed, 2 + static_cast<std::size_t>(seed % 12), 12, 6, 64), seed,
                    static_cast<std::int64_t>(seed % 14), false);
    }
}

TEST_CASE("replan_at: pairs hold between buffers that have ended and later ones") {
    for (std::uint64_t seed = 1; seed <= problems::times(200); ++seed) {
        owner problem = problems::simple(seed, 8, 10, 4, 32);
        problems::random draw{seed};
        for (auto* pairs : {&problem.together, &problem.apart}) pairs->push_back({draw.index(4), 4 + draw.index(4)});
        check_rules(problem, seed, static_cast<std::int64_t>(draw(12)), false);
    }
}

TEST_CASE("replan_at: a buffer that has ended links others that share its offset") {
    // 1 lives and 2 begins later, both together with 0. The three may use the same bytes at the same time.
    const allot::plan_buffer buffers[] = {
        {.size = 2, .live = {0, 1}}, {.size = 3, .live = {0, 4}}, {.size = 5, .live = {2, 4}}};
    const allot::plan_pair links[] = {{0, 1}, {0, 2}};
    const allot::plan_problem problem{.buffers = buffers, .together = links};
    const auto before = *allot::plan(problem);
    const auto now = replan_at(problem, before.places, 1);
    REQUIRE(now);
    CHECK(now->places == before.places);
    CHECK(now->peak == 5);
    CHECK(now->status == plan_status::optimal);
}

TEST_CASE("replan_at: later buffers use the bytes that smaller ones leave") {
    // At step 2, the first buffer lives and the second has ended. The others were planned for 1000 bytes each.
    allot::plan_buffer buffers[] = {{.size = 100, .live = {0, 4}},
                                    {.size = 1000, .live = {0, 2}},
                                    {.size = 1000, .live = {2, 5}},
                                    {.size = 1000, .live = {3, 6}, .align = 64}};
    const auto made = *allot::plan({.buffers = buffers});
    buffers[2].size = buffers[3].size = 128;
    const auto now = *replan_at({.buffers = buffers}, made.places, 2);
    CHECK(now.places[0].offset == made.places[0].offset);
    CHECK(now.places[1] == made.places[1]);
    CHECK(now.peak < made.peak);
    CHECK(now.status == plan_status::optimal);
    const auto same = *replan_at({.buffers = buffers}, now.places, 6);  // everything has ended
    CHECK(same.peak == 0);
    CHECK(same.moved == 0);
    // A capacity that nothing fits, and one that fits.
    CHECK(replan_at({.buffers = buffers}, made.places, 2, {.capacity = 200})->status == plan_status::infeasible);
    CHECK(replan_at({.buffers = buffers}, made.places, 2, {.capacity = made.peak})->peak <= made.peak);
}

TEST_CASE("replan_at: buffers that have ended do not count in the bound") {
    // Buffer 0 has ended above all others. Buffer 2 is apart from it, or together with one that has ended at byte 0.
    const allot::plan_buffer buffers[] = {
        {.size = 5, .live = {0, 4}}, {.size = 2, .live = {4, 5}}, {.size = 1, .live = {4, 5}, .align = 4}};
    const plan_place before[] = {{6, 5}, {5, 2}, {0, 5}};
    const allot::plan_pair pair[] = {{0, 2}};
    const auto apart = *replan_at({.buffers = buffers, .apart = pair}, before, 4);
    CHECK(apart.peak == 3);
    CHECK(apart.bound <= 3);
    CHECK(apart.status == plan_status::optimal);
    CHECK(replan_at({.buffers = buffers, .apart = pair}, before, 4, {.capacity = 4})->status == plan_status::optimal);
    const plan_place high[] = {{8, 5}, {5, 2}, {8, 5}};
    const auto together = *replan_at({.buffers = buffers, .together = pair}, high, 4);
    CHECK(together.places[2].offset == 8);
    CHECK(together.peak == 9);
    CHECK(together.status == plan_status::optimal);
}

TEST_CASE("replan_at: an error names a buffer of the whole problem") {
    const allot::plan_buffer buffers[] = {
        {.size = 5, .live = {0, 2}}, {.size = 2, .live = {1, 5}}, {.size = 2, .live = {1, 5}}};
    const plan_place collide[] = {{8, 5}, {0, 5}, {1, 5}};
    const auto made = replan_at({.buffers = buffers}, collide, 4);
    REQUIRE(!made);
    CHECK(made.error().reason == plan_refusal::contradiction);
    CHECK((made.error().which == 1 || made.error().which == 2));
    const allot::plan_buffer aligned[] = {{.size = 5, .live = {0, 2}}, {.size = 2, .live = {1, 5}, .align = 4}};
    CHECK(replan_at({.buffers = aligned}, std::span{collide}.last(2), 4).error() ==
          allot::plan_error{plan_refusal::fixed_misaligned, 1});
}

TEST_CASE("replan_at: bad input is refused") {
    allot::plan_buffer buffers[] = {{.size = 100, .live = {0, 4}}, {.size = 10, .live = {2, 3}}};
    const auto made = *allot::plan({.buffers = buffers});
    const auto reason = [&](std::span<const plan_place> before) {
        const auto answer = replan_at({.buffers = buffers}, before, 1);
        return answer ? allot::plan_error{} : answer.error();
    };
    CHECK(reason(made.places) == allot::plan_error{});
    CHECK(reason(std::span{made.places}.first(1)) == allot::plan_error{plan_refusal::not_for_each_buffer, 1});
    const plan_place none[] = {{0, 100}, allot::no_place};
    CHECK(reason(none) == allot::plan_error{plan_refusal::above_bound, 1});
    const plan_place wraps[] = {{UINT64_MAX - 99, 100}, {0, 10}};
    CHECK(reason(wraps) == allot::plan_error{plan_refusal::wraps, 0});
    buffers[1].size = 11;
    CHECK(reason(made.places) == allot::plan_error{plan_refusal::above_bound, 1});
    buffers[1] = {.size = 10, .live = {3, 3}};
    CHECK(reason(made.places) == allot::plan_error{plan_refusal::empty_lifetime, 1});
}
