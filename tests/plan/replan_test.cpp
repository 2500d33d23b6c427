// replan: valid, with no more moves than allowed, never worse for more of them; against every set of buffers that may move.
#include <allot/allot.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/validate.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using allot::plan_buffer;
using allot::plan_place;
using allot::plan_refusal;
using allot::plan_status;
using allot::replan;
using problems::owner;

constexpr allot::plan_options quick{.effort = 5000, .remember = 64};

std::vector<std::uint64_t> offsets_of(const std::vector<plan_place>& places) {
    std::vector<std::uint64_t> offsets;
    for (const plan_place& place : places) offsets.push_back(place.offset);
    return offsets;
}

/// How many of those that have not changed lie elsewhere.
std::size_t count_moved(const allot::plan_problem& problem, const std::vector<plan_place>& before, const std::vector<plan_place>& after) {
    std::size_t moved = 0;
    for (std::size_t i = 0; i != before.size(); ++i)
        moved += before[i].offset != allot::unplaced.offset && before[i].size == problem.buffers[i].size &&
                 before[i].offset != after[i].offset;
    return moved;
}

/// Valid by the validator, and what it says of itself is so.
void check_law(const allot::plan_problem& problem, const std::vector<plan_place>& before, std::size_t at_most,
               const allot::memory_replan& made) {
    const std::vector<std::uint64_t> offsets = offsets_of(made.places);
    allot::plan_heap workspace{allot::validate_space(problem)};
    REQUIRE(allot::validate(problem, offsets, UINT64_MAX, workspace).kind == allot::plan_violation_kind::none);
    CHECK(made.peak == problems::height(problem, offsets));
    CHECK(made.peak >= made.bound);
    CHECK(made.moved == count_moved(problem, before, made.places));
    CHECK(made.moved <= at_most);
    for (std::size_t i = 0; i != offsets.size(); ++i) CHECK(made.places[i].size == problem.buffers[i].size);
}

/// The lowest peak of all plans in which no more than so many of the others have moved: every set of them is tried, the rest
/// fixed. None when there is no such plan.
std::uint64_t lowest_of_all(const owner& problem, const std::vector<plan_place>& before, std::size_t at_most) {
    const std::size_t count = problem.buffers.size();
    std::vector<bool> is_other(count);
    for (std::size_t i = 0; i != count; ++i)
        is_other[i] = before[i].offset != allot::unplaced.offset && before[i].size == problem.buffers[i].size;
    std::uint64_t lowest = UINT64_MAX;
    for (std::uint32_t set = 0; set != 1u << count; ++set) {
        owner fixed = problem;
        std::size_t moves = 0;
        std::vector<std::uint64_t> offsets(count);
        bool possible = true;
        for (std::size_t i = 0; i != count && possible; ++i)
            if ((set >> i & 1) != 0) possible = is_other[i] && ++moves <= at_most;
            else if (is_other[i]) fixed.fixed.push_back({i, offsets[i] = before[i].offset});
        for (std::size_t i = 0; i != count && possible; ++i)
            for (std::size_t j = 0; j != i && possible; ++j)
                if (is_other[i] && is_other[j] && (set >> i & 1) == 0 && (set >> j & 1) == 0)
                    possible = !problems::live_at_once(problem, i, j) || !problems::share_bytes(problem, offsets, i, j);
        if (possible) lowest = std::min(lowest, problems::optimum(fixed));
    }
    return lowest;
}

/// What a quarter of a program does: some buffers grow, some are new, some live longer.
struct change {
    owner problem;
    std::vector<plan_place> before;
};
change changed(owner problem, std::uint64_t seed) {
    const auto made = allot::plan(problem, quick);
    REQUIRE(made);
    change now{std::move(problem), made->places};
    problems::random draw{seed};
    for (std::uint64_t times = 1 + draw(3); times-- != 0;) {
        const std::size_t i = draw.index(now.before.size());
        if (const std::uint64_t what = draw(3); what == 0) now.problem.buffers[i].size += 1 + draw(20);
        else if (what == 1) now.before[i] = allot::unplaced;
        else now.problem.buffers[i].live.until += 1 + static_cast<std::int64_t>(draw(3)), now.before[i] = allot::unplaced;
    }
    return now;
}

}  // namespace

TEST_CASE("replanned: valid, no more moves than allowed, and never a higher peak for more of them") {
    int lower = 0;
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
        CAPTURE(seed);
        const change now = changed(problems::simple(seed, 10 + seed, 20, 8, 100), seed);
        const auto scratch = allot::plan(now.problem, quick);
        REQUIRE(scratch);
        std::uint64_t last = UINT64_MAX;
        for (const std::size_t at_most : {0u, 1u, 2u, 3u, 5u, 8u, 16u, 1000u}) {
            CAPTURE(at_most);
            const auto made = replan(now.problem, now.before, at_most, quick);
            REQUIRE(made);
            check_law(now.problem, now.before, at_most, *made);
            CHECK(made->peak <= last);
            lower += made->peak < last && last != UINT64_MAX;
            last = made->peak;
            CHECK((made->status == plan_status::optimal) == (made->peak == made->bound));
            CHECK(made->places == replan(now.problem, now.before, at_most, quick)->places);
            if (at_most + 1 >= now.before.size()) CHECK(made->peak <= scratch->peak);
        }
    }
    CHECK(lower > 10);  // moves are of use
}

TEST_CASE("replanned: against every set of buffers that may move") {
    int reached = 0, all = 0;
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
        CAPTURE(seed);
        owner problem = problems::simple(seed, 6, 6, 4, 20);
        const auto made = allot::plan(problem, quick);
        REQUIRE(made);
        problem.buffers[seed % 6].size += 1 + seed % 7;
        for (std::size_t at_most = 0; at_most != 4; ++at_most) {
            const std::uint64_t lowest = lowest_of_all(problem, made->places, at_most);
            const auto again = replan(problem, made->places, at_most, {.effort = 100'000});
            REQUIRE(again);
            CHECK(again->peak >= lowest);
            if (at_most == 0) CHECK(again->peak == lowest);
            reached += again->peak == lowest;
            ++all;
            if (again->peak != lowest) MESSAGE(seed, " ", at_most, " ", again->peak, " ", lowest);
        }
    }
    MESSAGE(reached, " of ", all);
    CHECK(reached * 100 >= all * 98);
}
