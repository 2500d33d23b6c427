#include "brute_force.hpp"
#include "mixed_brute_force.hpp"

#include <allot/host/heap.hpp>
#include <allot/plan/mixed.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/validate_mixed.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace {

using status = allot::plan_status;

struct problem {
    problems::owner buffers;
    std::uint64_t page_size = 0;
    std::vector<std::size_t> paged;

    operator allot::mixed_problem() const { return {buffers, page_size, paged}; }
};

/// Plans, and checks everything that is true of every plan.
allot::mixed_plan plan(const allot::mixed_problem& given, const allot::plan_options& options = {}) {
    const auto made = allot::plan_mixed(given, options);
    REQUIRE(made);
    CHECK(allot::validate_mixed(given, *made, made->peak) == allot::mixed_violation{});
    CHECK(made->bound <= made->peak);
    const bool fits = made->peak <= options.capacity;
    CHECK(fits == (made->status == status::optimal || made->status == status::feasible));
    CHECK((made->status == status::optimal) == (fits && made->peak == made->bound));
    CHECK((made->status == status::infeasible) == (made->bound > options.capacity));
    return *made;
}

/// Returns the most live bytes, where buffers in pages count as whole pages.
std::uint64_t load(const problem& given) {
    std::map<std::int64_t, std::uint64_t> change;
    for (std::size_t i = 0; i != given.buffers.buffers.size(); ++i) {
        const auto& buffer = given.buffers.buffers[i];
        const bool paged = std::find(given.paged.begin(), given.paged.end(), i) != given.paged.end();
        const std::uint64_t page = given.page_size;
        const std::uint64_t bytes = paged ? (buffer.size + page - 1) / page * page : buffer.size;
        change[buffer.live.from] += bytes;
        change[buffer.live.until] -= bytes;
    }
    std::uint64_t live = 0, most = 0;
    for (const auto& [step, by] : change) most = std::max(most, live += by);
    return most;
}

allot::plan_error refusal_of(const allot::mixed_problem& given) {
    const auto made = allot::plan_mixed(given);
    return made ? allot::plan_error{} : made.error();
}

}  // namespace

TEST_CASE("mixed: with all constraints, every proof agrees with all offsets and pages of a few buffers") {
    std::size_t plans = 0, refused = 0, odd = 0, infeasible = 0;
    for (std::size_t seed = 1; seed != problems::times(problems::is_slow ? 150 : 2000); ++seed) {
        const problems::small_problem small = problems::everything(seed);
        problems::random draw{7 * seed + 3};
        for (int i = 0; i != 2; ++i) (void)draw(2);
        constexpr std::array<std::uint64_t, 8> page_sizes{1, 2, 3, 4, 5, 6, 8, 16};
        std::vector<std::size_t> paged;
        for (std::size_t i = 0; i != small.buffer_count; ++i)
            if (draw(3) != 0) paged.push_back(i);
        const allot::mixed_problem given{small.view(), page_sizes[draw.index(8)], paged};
        std::uint64_t pages = 0;
        for (const std::size_t i : paged) pages += (small.buffers[i].size + given.page_size - 1) / given.page_size;
        if (pages > (problems::is_slow ? 6u : 8u)) continue;  // too many for the brute force
        const problems::mixed_brute_force all{given};
        CAPTURE(problems::text_of(given.buffers));
        CAPTURE(given.page_size);
        CAPTURE(seed);
        constexpr allot::plan_options quick{.effort = 20'000, .remember = 1 << 8};
        if (const auto tried = allot::plan_mixed(given, quick); !tried) {
            ++refused;
            if (tried.error().reason == allot::plan_refusal::contradiction) CHECK_FALSE(all.exists(60));
            continue;
        }
        ++plans;
        const allot::mixed_plan made = plan(given, quick);
        CHECK(all.is_plan([&](std::size_t i) { return made.places[i].offset; },
                          [&](std::size_t i, std::uint64_t k) {
                              return std::uint64_t{made.pages_of(i)[static_cast<std::size_t>(k)]};
                          },
                          made.peak));
        const bool is_exact = std::has_single_bit(given.page_size);
        if (is_exact) CHECK(made.status == status::optimal);
        else ++odd;
        allot::plan_options fits = quick;
        fits.capacity = made.peak - std::min<std::uint64_t>(made.peak, draw(6));
        const allot::mixed_plan within = plan(given, fits);
        infeasible += within.status == status::infeasible;
        // No plan is below the bound: this proves each `optimal` and `infeasible`.
        if (const std::uint64_t bound = std::max(made.bound, within.bound); bound != 0)
            CHECK_FALSE(all.exists(bound - 1));
        if (is_exact) CHECK(within.status != status::out_of_budget);
    }
    CHECK(plans > 50);
    CHECK(refused > 20);
    CHECK(odd > 10);
    CHECK(infeasible > 20);
}

TEST_CASE("mixed: pages alone are at the bound, for any page size") {
    for (std::size_t seed = 1; seed != problems::times(problems::is_slow ? 60 : 300); ++seed) {
        problem given{problems::simple(seed, 1 + seed % 50, 40, 1 + seed % 30, 1000), 1 + seed % 333, {}};
        for (std::size_t i = given.buffers.buffers.size(); i-- != 0;) given.paged.push_back(i);
        const allot::mixed_plan made = plan(given);
        CHECK(made.peak == load(given));
        CHECK(made.status == status::optimal);
    }
}

TEST_CASE("mixed: without pages, the plan is that of contiguous buffers") {
    for (std::size_t seed = 1; seed != 20; ++seed) {
        const problem given{problems::constrained(seed, 30, 40, 10, 500), 64, {}};
        const auto whole = allot::plan(given.buffers, {.effort = 0});
        REQUIRE(whole);
        const allot::mixed_plan made = plan(given, {.effort = 0});
        CHECK(made.peak == whole->peak);
        CHECK(made.places == whole->places);
        CHECK(made.pages.empty());
    }
}

TEST_CASE("mixed: larger problems with all constraints, and sizes that are multiples of nothing") {
    std::size_t optimal = 0, all = 0;
    for (std::size_t seed = 1; seed != problems::times(problems::is_slow ? 12 : 60); ++seed) {
        problem given{problems::constrained(seed, 20 + seed, 60, 20, 777), seed % 2 == 0 ? 64u : 48u, {}};
        for (auto& fixed : given.buffers.fixed) fixed.offset *= 3;  // a multiple of both page sizes
        problems::random draw{seed};
        for (std::size_t i = 0; i != given.buffers.buffers.size(); ++i) {
            if (draw(2) == 0) given.paged.push_back(i);
            else if (draw(8) == 0 && i != 0) given.buffers.together.push_back({i, i - 1});
        }
        // A group with contiguous buffers and pages needs a page size that is a power of two, or is fixed.
        if (seed % 2 != 0) given.buffers.together.clear();
        if (const auto made = allot::plan_mixed(given, {.effort = 20'000}); !made) continue;
        ++all;
        optimal += plan(given, {.effort = 20'000}).status == status::optimal;
    }
    CHECK(all > (problems::is_slow ? 5u : 25u));
    CHECK(optimal > all / 4);
}

TEST_CASE("mixed: tens of thousands of buffers, half of them in pages") {
    problem given{problems::simple(3, problems::is_slow ? 2'000 : 20'000, 40'000, 100, 100'000), 4096, {}};
    for (std::size_t i = 0; i < given.buffers.buffers.size(); i += 2) given.paged.push_back(i);
    const allot::mixed_plan made = plan(given, {.effort = 0});
    CHECK(made.bound == load(given));
    CHECK(made.peak < made.bound + made.bound / 4);
}

TEST_CASE("mixed: a page is available before and after a contiguous buffer, and scattered pages fill the gaps") {
    // The contiguous buffers leave one page each, at different ends. A contiguous buffer of two pages fits nowhere.
    const problem given{
        {.buffers = {{10, {0, 3}}, {10, {1, 4}}, {20, {1, 3}}, {40, {3, 4}}}, .fixed = {{0, 10}, {1, 30}}}, 10, {2, 3}};
    const allot::mixed_plan made = plan(given, {.capacity = 50});
    CHECK(made.status == status::optimal);
    CHECK(made.peak == 50);
    CHECK(made.bound == 50);
    const std::set<std::uint32_t> pages(made.pages_of(2).begin(), made.pages_of(2).end());
    CHECK(pages.size() == 2);
    CHECK(pages.count(1) + pages.count(3) == 0);
    CHECK(plan(given, {.capacity = 49}).status == status::infeasible);
}

TEST_CASE("mixed: constraints of buffers in pages") {
    problem given{{.buffers = {{7, {0, 2}}, {12, {0, 9}}, {3, {4, 5}}, {5, {2, 9}}}}, 4, {0, 1, 2}};
    CHECK(plan(given).peak == 3 * 4 + 4 + 5);

    SUBCASE("fixed: the pages follow one another") {
        given.buffers.fixed = {{1, 8}};
        const allot::mixed_plan made = plan(given);
        CHECK(std::vector(made.pages_of(1).begin(), made.pages_of(1).end()) == std::vector<std::uint32_t>{2, 3, 4});
        given.buffers.fixed = {{1, 6}};
        CHECK(refusal_of(given) == allot::plan_error{allot::plan_refusal::fixed_misaligned, 1});
        given.buffers.fixed = {{1, std::uint64_t{1} << 40}};  // page numbers have 32 bits
        CHECK(refusal_of(given).reason == allot::plan_refusal::too_large);
    }
    SUBCASE("together: the shorter one has the first pages of the longer one") {
        given.buffers.together = {{2, 1}};
        const allot::mixed_plan made = plan(given);
        REQUIRE(made.pages_of(2).size() == 1);
        CHECK(made.pages_of(2)[0] == made.pages_of(1)[0]);
        CHECK(made.peak == 20);
    }
    SUBCASE("together with a contiguous buffer: the pages follow one another from its offset on") {
        given.buffers.together = {{1, 3}};
        const allot::mixed_plan made = plan(given);
        CHECK(made.places[3].offset == made.pages_of(1)[0] * 4);
        CHECK(made.pages_of(1)[2] == made.pages_of(1)[0] + 2);
        given.page_size = 6;
        CHECK(refusal_of(given) == allot::plan_error{allot::plan_refusal::unsupported, 1});
        given.buffers.fixed = {{3, 12}};
        CHECK(plan(given).pages_of(1)[0] == 2);
    }
    SUBCASE("apart: no page in common, although never live at the same time") {
        given.buffers.apart = {{0, 2}, {3, 0}};
        CHECK(plan(given).peak == 8 + 12 + 4 + 5);
    }
    SUBCASE("reserved: a page with a reserved byte is not used") {
        given.buffers.reserved = {{9, 1}};
        const allot::mixed_plan made = plan(given);
        CHECK(made.peak == 24);
        CHECK(std::count(made.pages.begin(), made.pages.end(), 2u) == 0);
    }
    SUBCASE("revivals: the same pages in all lifetimes") {
        given.buffers.revivals = {{0, {9, 11}}};
        given.buffers.buffers.push_back({.size = 8, .live = {3, 10}});
        const allot::mixed_plan made = plan(given);
        CHECK(made.peak == 12 + 4 + 5 + 8);
    }
}

TEST_CASE("mixed: rejects invalid problems") {
    using enum allot::plan_refusal;
    problem given{{.buffers = {{100, {0, 2}, 64}, {100, {1, 2}}}}, 64, {0}};
    CHECK(refusal_of(given) == allot::plan_error{});
    const auto with = [&](auto change) {
        problem other = given;
        change(other);
        return refusal_of(other);
    };
    CHECK(with([](auto& other) { other.page_size = 0; }).reason == unsupported);
    CHECK(with([](auto& other) { other.page_size = 32; }) == allot::plan_error{unsupported, 0});
    CHECK(with([](auto& other) { other.page_size = 96; }) == allot::plan_error{unsupported, 0});
    CHECK(with([](auto& other) { other.paged = {2}; }) == allot::plan_error{no_such_buffer, 2});
    CHECK(with([](auto& other) { other.buffers.buffers[0].align = 3; }) == allot::plan_error{not_an_alignment, 0});
    CHECK(with([](auto& other) { other.buffers.buffers[0].size = ~std::uint64_t{0}; }).reason == too_large);
    CHECK(with([](auto& other) { other.buffers.buffers[0].size = std::uint64_t{64} << 32; }).reason == too_large);
    CHECK(with([](auto& other) { other.buffers.revivals = {{0, {1, 3}}}; }) ==
          allot::plan_error{overlapping_lifetimes, 0});
    CHECK(with([](auto& other) { other.buffers.fixed = {{0, 0}, {1, 127}}; }).reason ==
          contradiction);  // the second page ends at 128
    CHECK(with([](auto& other) {
              other.buffers.together = {{0, 1}};
              other.buffers.apart = {{1, 0}};
          }).reason == contradiction);
    CHECK(refusal_of({.page_size = 64}) == allot::plan_error{});
}

TEST_CASE("mixed: pages and offsets near the end of 64 bits") {
    constexpr std::uint64_t quarter = std::uint64_t{1} << 62, last = ~std::uint64_t{0};
    problem given{{.buffers = {{7, {0, 2}}, {9, {0, 2}}, {9, {1, 3}}, {9, {1, 2}}}}, quarter, {1, 2, 3}};
    given.page_size = quarter / 2;
    CHECK(plan(given).peak == 3 * quarter / 2 + 7);
    given.page_size = quarter;
    given.buffers.fixed = {{0, quarter}};  // the last page would end at 2^64
    CHECK(refusal_of(given).reason == allot::plan_refusal::too_large);
    given.page_size = 4;
    CHECK(plan(given).peak == quarter + 7);
    given.buffers.fixed = {{0, last - 7}};
    CHECK(plan(given).peak == last);
    given.buffers.fixed.clear();
    given.buffers.reserved = {{0, std::uint64_t{1} << 34}};  // all pages with 32-bit numbers
    CHECK(refusal_of(given).reason == allot::plan_refusal::too_large);
    given = {{.buffers = {{9, {0, 1}}, {9, {1, 3}}}}, last, {0, 1}};
    CHECK(plan(given).peak == last);
    constexpr std::int64_t first_step = std::numeric_limits<std::int64_t>::min(), last_step = ~first_step;
    given = {{.buffers = {{7, {first_step, last_step}}, {9, {first_step, first_step + 1}}, {5, {0, last_step}}},
              .revivals = {{1, {last_step - 1, last_step}}}},
             4,
             {1, 2}};
    CHECK(plan(given).peak == 7 + 12 + 8);
}

TEST_CASE("mixed: the callback stops the planner, and no effort gives a simple plan") {
    problem given{problems::constrained(11, 60, 60, 20, 777), 64, {}};
    for (std::size_t i = 0; i < given.buffers.buffers.size(); i += 3) given.paged.push_back(i);
    given.buffers.fixed.clear();
    std::size_t calls = 0;
    const auto stopped = allot::plan_mixed(given, {}, [&](const allot::plan_progress& now) {
        CHECK(now.bound <= now.peak);
        return ++calls == 1;
    });
    REQUIRE(stopped);
    CHECK(allot::validate_mixed(given, *stopped, stopped->peak) == allot::mixed_violation{});
    CHECK(calls <= 1);
    CHECK(plan(given, {.effort = 0}).peak >= plan(given, {.effort = 5'000}).peak);
}

TEST_CASE("mixed: a planned arena has the contiguous buffers, and empty blocks for the others") {
    const problem given{{.buffers = {{100, {0, 2}, 64}, {100, {1, 2}}}}, 64, {1}};
    const allot::mixed_plan made = plan(given);
    allot::arena<allot::host::heap, allot::planned<>> memory{{}, made};
    CHECK(memory.at(0).size == 100);
    CHECK(memory.at(1).size == 0);
    CHECK(memory.size() == made.peak);
    CHECK(made.place_of_page(3) == allot::plan_place{192, 64});
    const auto* const begin = static_cast<const std::byte*>(memory.at(0).address) - made.places[0].offset;
    for (const std::uint32_t page : made.pages_of(1)) {
        CHECK(memory.at(made.place_of_page(page)).address == begin + page * 64);
        CHECK(memory.at(made.place_of_page(page)).size == 64);
    }
    CHECK(memory.at(made.places[1]).size == 0);
}
