// The local search, compared with the lowest plan of every order of placing the buffers.
#include <allot/plan/detail/conflict_search.hpp>
#include <allot/plan/plan.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <vector>

using allot::plan_problem;
using allot::detail::conflict_search;

namespace {

constexpr auto never = [] { return false; };

/// A search with its workspace on the heap.
struct searched {
    explicit searched(const plan_problem& problem)
        : memory{conflict_search<>::space(problem)},
          search{problem, memory},
          offsets(problem.buffers.size(), untouched) {}
    bool find(std::uint64_t capacity, std::uint64_t steps = 20'000) {
        return search.find(capacity, allot::plan_array<std::uint64_t>{offsets}, steps, never);
    }

    static constexpr std::uint64_t untouched = 77;
    allot::plan_heap memory;
    conflict_search<> search;
    std::vector<std::uint64_t> offsets;
};

/// Returns up to seven buffers with alignments, second lifetimes and pairs that are apart.
problems::owner random_problem(std::uint64_t seed) {
    problems::owner made = problems::constrained(seed, 3 + seed % 4, 8, 5, 12);
    made.fixed.clear();
    made.reserved.clear();
    if (seed % 3 == 0)
        for (auto& buffer : made.buffers) buffer.size *= 3;
    return made;
}

}  // namespace

TEST_CASE("conflict search: finds valid plans at the lowest height of nearly all small problems, and none below") {
    std::size_t tried = 0, found = 0;
    for (std::uint64_t seed = 0; seed != problems::times(200); ++seed) {
        CAPTURE(seed);
        const problems::owner owner = random_problem(seed);
        const plan_problem problem = owner;
        if (allot::check_problem(problem).reason != allot::plan_refusal::none) continue;
        REQUIRE(conflict_search<>::supports(problem));
        const std::uint64_t lowest = problems::optimum(problem);
        searched here{problem};
        for (const std::uint64_t capacity : {lowest - (lowest == 0 ? 0 : 1), lowest, lowest + seed % 3}) {
            here.offsets.assign(here.offsets.size(), searched::untouched);
            const bool fits = here.find(capacity, 3000);
            if (fits) REQUIRE(problems::keeps_all_rules(problem, here.offsets, capacity));
            if (fits) REQUIRE(capacity >= lowest);
            if (!fits) REQUIRE(here.offsets == std::vector(here.offsets.size(), searched::untouched));
            tried += capacity >= lowest ? 1 : 0;
            found += fits ? 1 : 0;
        }
    }
    CAPTURE(tried);
    CHECK(found >= tried * 19 / 20);
}

TEST_CASE("conflict search: a hundred buffers fit a height that another plan has") {
    for (std::uint64_t seed = 0; seed != 4; ++seed) {
        CAPTURE(seed);
        const problems::owner owner = problems::simple(seed, 100, 60, 20, 25);
        const plan_problem problem = owner;
        const auto made = allot::plan(problem);
        REQUIRE(made);
        searched here{problem};
        REQUIRE(here.find(made->peak, 1'000'000));
        REQUIRE(problems::keeps_all_rules(problem, here.offsets, made->peak));
    }
}

TEST_CASE("conflict search: equal calls find equal offsets, also in constant expressions") {
    constexpr auto found = [] {
        const allot::plan_buffer buffers[] = {{4, {0, 2}}, {2, {1, 3}}, {6, {2, 4}, 2}, {2, {0, 4}}, {2, {1, 2}}};
        const plan_problem problem{buffers};
        allot::plan_storage<allot::plan_space{.u32 = 2000, .u64 = 2000}> memory;
        const allot::plan_workspace workspace = memory;
        if (!workspace.holds(conflict_search<>::space(problem))) return ~std::uint64_t{0};
        conflict_search<> search{problem, workspace};
        std::uint64_t offsets[5] = {};
        if (!search.find(10, offsets, 1000, never)) return ~std::uint64_t{1};
        std::uint64_t all = 0;
        for (const std::uint64_t offset : offsets) all = 16 * all + offset;
        return all;
    };
    constexpr std::uint64_t known = found();
    REQUIRE(known < ~std::uint64_t{1});
    CHECK(found() == known);
}

TEST_CASE("conflict search: stops after its steps, and when it is told to") {
    const allot::plan_buffer buffers[] = {{3, {0, 1}}, {3, {0, 1}}, {3, {0, 1}}};
    searched too_low{plan_problem{buffers}};
    CHECK_FALSE(too_low.find(8));  // fewer than the 9 bytes of the step: no search
    CHECK(too_low.search.steps() == 0);

    // Three buffers at different times are apart from each other: no plan is below 9 bytes.
    const allot::plan_buffer apart[] = {{3, {0, 1}}, {3, {1, 2}}, {3, {2, 3}}};
    const allot::plan_pair pairs[] = {{0, 1}, {1, 2}, {0, 2}};
    const plan_problem triangle{.buffers = apart, .apart = pairs};
    searched here{triangle};
    REQUIRE(here.find(9));
    CHECK_FALSE(here.find(8, 100));

    const problems::owner owner = problems::simple(3, 60, 10, 10, 25);
    const auto made = allot::plan(owner);
    REQUIRE(made);
    REQUIRE(made->status == allot::plan_status::optimal);
    searched lower{owner};
    std::size_t asked = 0;
    CHECK_FALSE(lower.search.find(made->peak, allot::plan_array<std::uint64_t>{lower.offsets}, 1, never));
    CHECK(lower.search.steps() == 1);
    CHECK_FALSE(lower.search.find(made->bound, allot::plan_array<std::uint64_t>{lower.offsets}, 1'000'000,
                                  [&] { return ++asked == 1; }));
    CHECK(asked == 1);
}

TEST_CASE("conflict search: supports neither given offsets nor many buffers") {
    const std::vector<allot::plan_buffer> many(513, {1, {0, 1}});
    CHECK_FALSE(conflict_search<>::supports({.buffers = many}));
    const std::vector<allot::plan_buffer> some(512, {1, {0, 1}});
    CHECK(conflict_search<>::supports({.buffers = some}));
    const allot::plan_fixed fixed[] = {{0, 0}};
    CHECK_FALSE(conflict_search<>::supports({.buffers = some, .fixed = fixed}));
    const allot::plan_reserved reserved[] = {{0, 8}};
    CHECK_FALSE(conflict_search<>::supports({.buffers = some, .reserved = reserved}));
    // A capacity of too many multiples of the granule: 1 byte.
    const allot::plan_buffer odd[] = {{1, {0, 1}}, {2, {0, 1}}};
    searched here{plan_problem{odd}};
    CHECK(here.find(64));
    CHECK_FALSE(here.find(65));
}

TEST_CASE("plan: a problem with fewer merged buffers stays within the workspace of the given one") {
    problems::owner owner;
    for (const allot::plan_buffer& buffer : problems::carved()) owner.buffers.push_back(buffer);
    for (std::int64_t at = 2000; owner.buffers.size() != 510; ++at) owner.buffers.push_back({1024, {at, at + 1}});
    owner.together.push_back({508, 509});
    // Enough effort to repair 509 buffers, and too little for 510.
    std::size_t calls = 0;
    const auto made =
        allot::plan(owner, {.effort = 4096 * 509, .remember = 0}, [&](allot::plan_progress) { return ++calls == 100; });
    REQUIRE(made);
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& place : made->places) offsets.push_back(place.offset);
    CHECK(problems::keeps_all_rules(owner, offsets, made->peak));
}

TEST_CASE("plan: a high effort repairs conflicts, and plans stay valid and deterministic") {
    for (std::uint64_t seed = 0; seed != problems::times(40); ++seed) {
        CAPTURE(seed);
        problems::owner owner = problems::simple(seed, 12, 8, 8, 40);
        for (std::size_t i = 0; i < 12; i += 3) owner.apart.push_back({i, (i + 5) % 12});
        const plan_problem problem = owner;
        const allot::plan_options high{.effort = 4096 * 12};
        REQUIRE(allot::detail::is_repaired(problem, high));
        REQUIRE_FALSE(allot::detail::is_repaired(problem, {.effort = 4096 * 12 - 1}));
        const auto made = allot::plan(problem, high), again = allot::plan(problem, high);
        REQUIRE((made && again));
        CHECK(made->peak == again->peak);
        std::vector<std::uint64_t> offsets;
        for (std::size_t i = 0; i != 12; ++i) {
            offsets.push_back(made->places[i].offset);
            CHECK(made->places[i].offset == again->places[i].offset);
        }
        CHECK(problems::keeps_all_rules(problem, offsets, made->peak));
        CHECK(problems::height(problem, offsets) == made->peak);
        CHECK(made->peak >= made->bound);
        const auto fits = allot::plan(problem, {.capacity = made->peak, .effort = high.effort});
        REQUIRE(fits);
        CHECK(fits->peak <= made->peak);
    }
}
