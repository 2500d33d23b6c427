// replan: plans are valid, respect the limit of moves, and are never higher with a larger limit. Small problems are
// compared with the result for every set of moved buffers.
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

/// Returns the number of unchanged buffers with another offset.
std::size_t count_moved(const allot::plan_problem& problem, const std::vector<plan_place>& before,
                        const std::vector<plan_place>& after) {
    std::size_t moved = 0;
    for (std::size_t i = 0; i != before.size(); ++i)
        moved += before[i].offset != allot::no_place.offset && before[i].size == problem.buffers[i].size &&
                 before[i].offset != after[i].offset;
    return moved;
}

/// Checks that the validator accepts a plan and that its summary is correct.
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

/// Returns the lowest peak of all plans with at most `at_most` moved buffers, or UINT64_MAX if no such plan exists.
/// Tries every set of moved buffers, with the other buffers fixed.
std::uint64_t lowest_of_all(const owner& problem, const std::vector<plan_place>& before, std::size_t at_most) {
    const std::size_t count = problem.buffers.size();
    std::vector<bool> is_other(count);
    for (std::size_t i = 0; i != count; ++i)
        is_other[i] = before[i].offset != allot::no_place.offset && before[i].size == problem.buffers[i].size;
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

/// A changed program: some buffers grow, some are new, some live longer.
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
        else if (what == 1) now.before[i] = allot::no_place;
        else
            now.problem.buffers[i].live.until += 1 + static_cast<std::int64_t>(draw(3)),
                now.before[i] = allot::no_place;
    }
    return now;
}

}  // namespace

TEST_CASE("replan: plans are valid and a larger limit of moves never raises the peak") {
    int lower = 0;
    for (std::size_t seed = 1; seed != 30; ++seed) {
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
    CHECK(lower > 5);  // moves lower the peak
}

TEST_CASE("replan: small problems agree with every set of moved buffers") {
    int reached = 0, all = 0;
    for (std::size_t seed = 1; seed < 20; seed += problems::is_slow ? 8 : problems::times(1) == 1 ? 4 : 1) {
        CAPTURE(seed);
        owner problem = problems::simple(seed, 6, 6, 4, 20);
        const auto made = allot::plan(problem, quick);
        REQUIRE(made);
        problem.buffers[seed % 6].size += 1 + seed % 7;
        for (std::size_t at_most = 0; at_most != 4; ++at_most) {
            const std::uint64_t lowest = lowest_of_all(problem, made->places, at_most);
            const auto again = replan(problem, made->places, at_most, {.effort = 30'000, .remember = 64});
            REQUIRE(again);
            CHECK(again->peak >= lowest);
            if (at_most == 0) CHECK(again->peak == lowest);
            reached += again->peak == lowest;
            ++all;
        }
    }
    CHECK(reached * 100 >= all * 95);  // 98% with more effort
}

TEST_CASE("replan: random problems with all constraints") {
    int made_of = 0;
    for (std::uint64_t seed = 1; seed != 30; ++seed) {
        CAPTURE(seed);
        owner problem = problems::constrained(seed, 24, 20, 8, 100);
        for (std::size_t i = 0; i + 1 < 24; i += 5) problem.together.push_back({i, i + 1});
        // Buffers are together and apart, or together and fixed at two offsets.
        if (!allot::plan(problem, quick)) continue;
        const change now = changed(problem, seed);
        std::uint64_t last = UINT64_MAX;
        for (const std::size_t at_most : {0u, 1u, 2u, 4u, 8u, 100u}) {
            CAPTURE(at_most);
            const auto made = replan(now.problem, now.before, at_most, quick);
            // A buffer lives longer now.
            if (!made && made.error().reason == plan_refusal::overlapping_lifetimes) continue;
            if (!made) {  // fixed buffers collide, or a group grew and overlaps others
                CHECK((made.error().reason == plan_refusal::contradiction ||
                       made.error().reason == plan_refusal::too_few_moves));
                CHECK(last == UINT64_MAX);
                continue;
            }
            check_law(now.problem, now.before, at_most, *made);
            CHECK(made->peak <= last);
            last = made->peak;
            ++made_of;
        }
    }
    CHECK(made_of > 75);
}

namespace {
//  12 ┌───────┐
//     │   1   │        The old plan. Later, buffer 3, which lived in [4, 6), begins at 2.
//   8 ├───┬───┴─┐
//     │ 0 │     │
//   4 ├───┤  2  ├───┐
//   0 └───┴─────┴─3─┘
const plan_buffer four[] = {
    {.size = 8, .live = {0, 2}}, {.size = 4, .live = {0, 4}}, {.size = 8, .live = {2, 4}}, {.size = 4, .live = {4, 6}}};
const std::vector<plan_place> four_places{{0, 8}, {8, 4}, {0, 8}, {0, 4}};
}  // namespace

TEST_CASE("replan: known cases") {
    const auto same = replan({.buffers = four}, four_places, 0);
    REQUIRE(same);
    CHECK(same->places == four_places);
    CHECK(same->status == plan_status::optimal);

    // 3 lives earlier and collides with 2. The changed buffer is not marked, and one of them counts as moved.
    plan_buffer earlier[] = {four[0], four[1], four[2], {.size = 4, .live = {2, 6}}};
    const allot::plan_problem problem{.buffers = earlier};
    CHECK(replan(problem, four_places, 0).error().reason == plan_refusal::too_few_moves);
    CHECK(replan(problem, four_places, 0).error().which >= 2);
    const auto one = replan(problem, four_places, 1);
    REQUIRE(one);
    CHECK(one->moved == 1);
    CHECK(one->peak == 16);
    CHECK(one->places[1].offset == 8);
    // 3 is marked as changed.
    std::vector<plan_place> told = four_places;
    told[3] = allot::no_place;
    const auto free = replan(problem, told, 0);
    REQUIRE(free);
    CHECK(free->moved == 0);
    CHECK(free->places[3] == plan_place{12, 4});

    // Capacities: with too few moves, with enough moves, and out of reach of any number of moves.
    plan_buffer grown[] = {{.size = 4, .live = {0, 4}}, {.size = 6, .live = {0, 2}}, {.size = 6, .live = {2, 4}}};
    const std::vector<plan_place> apart{{4, 4}, {8, 6}, {8, 4}};  // a hole of 4 below; the last buffer had 4 bytes
    const auto too_high = replan({.buffers = grown}, apart, 0, {.capacity = 10});
    REQUIRE(too_high);
    CHECK(too_high->status == plan_status::out_of_moves);
    CHECK(too_high->peak == 14);
    const auto fits = replan({.buffers = grown}, apart, 2, {.capacity = 10});
    REQUIRE(fits);
    CHECK(fits->status == plan_status::optimal);
    CHECK(fits->peak == 10);
    CHECK(replan({.buffers = grown}, apart, 0, {.capacity = 14})->status == plan_status::feasible);
    CHECK(replan({.buffers = grown}, apart, 2, {.capacity = 9})->status == plan_status::infeasible);
    CHECK(replan({.buffers = grown}, apart, 0, {.capacity = 9})->status == plan_status::infeasible);
}

TEST_CASE("replan: buffers that are together move together and each counts") {
    const plan_buffer buffers[] = {
        {.size = 4, .live = {0, 2}}, {.size = 4, .live = {1, 3}}, {.size = 8, .live = {0, 3}}};
    const allot::plan_pair in_place[] = {{0, 1}};
    const allot::plan_problem problem{.buffers = buffers, .together = in_place};
    // The last grew; 8 bytes below it are free if the two move.
    const std::vector<plan_place> before{{4, 4}, {4, 4}, {8, 6}};
    CHECK(replan(problem, before, 1)->peak == 16);
    const auto two = replan(problem, before, 2);
    CHECK(two->peak == 12);
    CHECK(two->moved == 2);
    CHECK(two->places[0].offset == two->places[1].offset);
    // They are together only now: one must move.
    const std::vector<plan_place> asunder{{0, 4}, {4, 4}, {8, 8}};
    CHECK(replan(problem, asunder, 0).error() == allot::plan_error{plan_refusal::too_few_moves, 1});
    CHECK(replan(problem, asunder, 1)->moved == 1);
}

TEST_CASE("replan: no old plan and no effort and invalid input") {
    const allot::plan_problem problem{.buffers = four};
    const auto anew = replan(problem, {}, 0);
    REQUIRE(anew);
    CHECK(anew->peak == allot::plan(problem)->peak);
    CHECK(anew->moved == 0);
    CHECK(replan({}, {}, 0)->peak == 0);
    CHECK(replan(problem, four_places, SIZE_MAX, {.effort = UINT64_MAX})->peak == 12);

    plan_buffer grown[] = {four[0], four[1], {.size = 9, .live = {2, 4}}, four[3]};
    const auto without = replan({.buffers = grown}, four_places, 1, {.effort = 0});
    REQUIRE(without);
    check_law({.buffers = grown}, four_places, 1, *without);

    const std::vector<plan_place> five(5);
    CHECK(replan(problem, five, 9).error() == allot::plan_error{plan_refusal::no_such_buffer, 4});
    const plan_buffer misaligned[] = {{.size = 1, .live = {0, 1}, .align = 3}};
    CHECK(replan({.buffers = misaligned}, {}, 0).error() == allot::plan_error{plan_refusal::not_an_alignment, 0});
    plan_place places[4];
    CHECK(allot::replan_into(problem, four_places, 0, places, {}).error().reason == plan_refusal::workspace_too_small);
    allot::plan_heap workspace{allot::space_of_replan(problem, four_places, 0, {})};
    CHECK(allot::replan_into(problem, four_places, 0, std::span{places}.first(3), workspace).error().reason ==
          plan_refusal::workspace_too_small);
    REQUIRE(allot::replan_into(problem, four_places, 0, places, workspace));
    CHECK(std::vector<plan_place>(std::begin(places), std::end(places)) == four_places);

    // Invalid places: these buffers count as changed.
    const plan_buffer aligned[] = {
        {.size = 4, .live = {0, 2}, .align = 8}, {.size = 4, .live = {0, 2}}, {.size = 4, .live = {0, 2}}};
    const allot::plan_reserved reserved[] = {{.offset = 32, .size = 8}};
    const allot::plan_fixed fixed[] = {{2, 16}};
    const std::vector<plan_place> nowhere{{4, 4}, {36, 4}, {UINT64_MAX - 2, 4}};
    const auto placed = replan({.buffers = aligned, .fixed = fixed, .reserved = reserved}, nowhere, 0);
    REQUIRE(placed);
    CHECK(placed->moved == 0);
    CHECK(placed->peak == 20);
    // No buffer fits above or below the unchanged one.
    const plan_buffer huge[] = {{.size = UINT64_MAX / 2, .live = {0, 2}}, {.size = UINT64_MAX / 2, .live = {0, 2}}};
    const std::vector<plan_place> middle{{UINT64_MAX / 4, UINT64_MAX / 2}};
    CHECK(replan({.buffers = huge}, middle, 0).error().reason == plan_refusal::too_large);
    CHECK(replan({.buffers = huge}, middle, 1)->peak == UINT64_MAX / 2 * 2);
}

TEST_CASE("replan: a progress callback stops the planner") {
    const change now = changed(problems::simple(3, 200, 60, 20, 1000), 3);
    int calls = 0;
    const auto made = replan(now.problem, now.before, 8, {}, [&](allot::plan_progress progress) {
        CHECK(progress.peak >= progress.bound);
        return ++calls == 2;
    });
    REQUIRE(made);
    check_law(now.problem, now.before, 8, *made);
    CHECK(calls <= 2);
}

TEST_CASE("replan: plans from scratch if all buffers may move and is then never out of moves") {
    // 5 bytes are free below the reserved byte. 7 bytes live at the same time. No plan is lower than 9.
    owner problem;
    problem.buffers = {{4, {0, 2}, 1}, {3, {0, 2}, 1}, {2, {2, 4}, 1}, {1, {2, 4}, 4}, {1, {4, 5}, 1}};
    problem.reserved = {{5, 1}};
    problem.fixed = {{2, 0}};
    // One buffer is fixed, one is misaligned, and one overlaps the reserved byte.
    const std::vector<plan_place> before{allot::no_place, allot::no_place, {0, 2}, {3, 1}, {5, 1}};
    const auto quickly = replan(problem, before, 0, {.capacity = 8, .effort = 0});
    REQUIRE(quickly);
    CHECK(quickly->status == plan_status::out_of_budget);
    const auto made = replan(problem, before, 0, {.capacity = 8, .effort = 1000, .remember = 64});
    REQUIRE(made);
    CHECK(made->status == plan_status::infeasible);
    CHECK(made->bound == 9);
    CHECK(made->moved == 0);
}

TEST_CASE("replan: the sequence of numbers of moves") {
    std::vector<std::uint64_t> tried{0};
    while (tried.size() != 12) tried.push_back(allot::detail::next_moves(tried.back()));
    CHECK(tried == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48});
}

TEST_CASE("replan: a grown buffer with a larger alignment leaves a misaligned place") {
    const plan_buffer buffers[] = {{.size = 32, .live = {0, 2}, .align = 64}, {.size = 8, .live = {0, 2}}};
    const allot::plan_place before[] = {{8, 16}, {0, 8}};
    const auto made = allot::replan({.buffers = buffers}, before, 0);
    REQUIRE(made);
    CHECK(made->places[1].offset == 0);
    CHECK(made->places[0].offset == 64);
}

TEST_CASE("replan: a new buffer that is together with an old one does not count as moved") {
    const plan_buffer buffers[] = {
        {.size = 10, .live = {0, 2}}, {.size = 10, .live = {2, 4}}, {.size = 10, .live = {0, 4}}};
    const allot::plan_pair together[] = {{0, 1}};
    const allot::plan_fixed fixed[] = {{2, 0}};
    const plan_place places[] = {{0, 10}, {0, 10}, {0, 10}};
    const auto made =
        allot::replan({.buffers = buffers, .fixed = fixed, .together = together}, std::span{places}.first(1), 1);
    REQUIRE(made);
    CHECK(made->moved == 1);
    CHECK(made->places[0].offset == 10);
    CHECK(made->places[1].offset == 10);
}
