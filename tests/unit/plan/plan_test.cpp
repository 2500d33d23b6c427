// plan: complete planning runs: statuses, budgets, progress callbacks, and plans in constant expressions.
#include <allot/allot.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/validate.hpp>

#include "../../error_of.hpp"
#include "../../texts.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using allot::plan_buffer;
using allot::plan_refusal;
using allot::plan_status;

/// Returns whether the validator accepts a plan.
bool is_valid(const allot::plan_problem& problem, const allot::memory_plan& made, std::uint64_t capacity = UINT64_MAX) {
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& place : made.places) offsets.push_back(place.offset);
    allot::plan_heap workspace{allot::validate_space(problem)};
    const auto violation = allot::validate(problem, offsets, capacity, workspace);
    CAPTURE(static_cast<int>(violation.kind));
    CAPTURE(violation.first);
    CAPTURE(violation.second);
    CHECK(violation.kind == allot::plan_violation_kind::none);
    std::uint64_t peak = 0;
    for (const allot::plan_place& place : made.places) peak = std::max(peak, place.offset + place.size);
    CHECK(peak == made.peak);
    return violation.kind == allot::plan_violation_kind::none;
}

// Five buffers whose largest sum is 12. They fit 12 bytes, but not in their given order. Such cases are part of
// collections of packing problems.
constexpr plan_buffer known[] = {{.size = 4, .live = {0, 3}},  {.size = 4, .live = {3, 9}},
                                 {.size = 4, .live = {0, 9}},  {.size = 4, .live = {9, 21}},
                                 {.size = 8, .live = {0, 21}}, {.size = 3, .live = {21, 30}, .align = 4}};
constexpr auto layout = allot::plan<known>();
static_assert(layout.peak == 16 && layout.bound == 16 && layout.status == plan_status::optimal && layout.align == 4);

constexpr allot::plan_pair in_place[] = {{0, 1}};
constexpr allot::plan_fixed fixed_first[] = {{4, 100}};
constexpr allot::plan_problem constrained{.buffers = known, .fixed = fixed_first, .together = in_place};
constexpr auto constrained_layout = allot::plan<constrained>();
static_assert(constrained_layout.places[0].offset == constrained_layout.places[1].offset);
static_assert(constrained_layout.places[4].offset == 100 && constrained_layout.peak == 108);

}  // namespace

TEST_CASE("plan: the plan at compile time equals the plan at run time") {
    const auto made = allot::plan({.buffers = known}, allot::at_compile_time);
    REQUIRE(made);
    CHECK(is_valid({.buffers = known}, *made));
    CHECK(static_cast<const allot::plan_summary&>(*made) == static_cast<const allot::plan_summary&>(layout));
    for (std::size_t i = 0; i != std::size(known); ++i) CHECK(made->places[i] == layout.places[i]);
    allot::arena<allot::host::static_storage<layout.peak>, allot::planned<layout>> memory;
    CHECK(memory.at<4>().size == 8);
    const auto again = allot::plan(constrained, allot::at_compile_time);
    REQUIRE(again);
    CHECK(is_valid(constrained, *again));
    CHECK(again->places[4].offset == 100);
}

TEST_CASE("plan: random buffers yield valid deterministic plans between the bound and the sum") {
    std::mt19937 random{1};
    for (int round = 0; round != 60; ++round) {
        auto buffers = problems::random_buffers(random, 2 + random() % 60, 40, 200);
        if (round % 2 != 0)
            for (plan_buffer& buffer : buffers) buffer.align = std::uint64_t{1} << random() % 6;
        const allot::plan_problem problem{.buffers = buffers};
        const auto made = allot::plan(problem, {.effort = 5000, .remember = 1024});
        REQUIRE(made);
        REQUIRE(is_valid(problem, *made));
        CHECK(made->peak >= made->bound);
        CHECK((made->status == plan_status::optimal) == (made->peak == made->bound));
        const auto again = allot::plan(problem, {.effort = 5000, .remember = 1024});
        CHECK(again->places == made->places);
        // Without effort, the planner makes one plan. More effort never yields a worse plan.
        const auto quick = allot::plan(problem, {.effort = 0});
        REQUIRE(quick);
        CHECK(is_valid(problem, *quick));
        CHECK(quick->peak >= made->peak);
    }
}

TEST_CASE("plan: reports whether a capacity suffices and returns a plan in any case") {
    std::mt19937 random{2};
    int infeasible = 0, feasible = 0;
    for (int round = 0; round != 40; ++round) {
        const auto buffers = problems::random_buffers(random, 20, 12, 50);
        const allot::plan_problem problem{.buffers = buffers};
        const auto best = allot::plan(problem, {.effort = 20'000, .remember = 1024});
        REQUIRE(best);
        const auto fits = allot::plan(problem, {.capacity = best->peak, .effort = 20'000, .remember = 1024});
        REQUIRE(fits);
        CHECK(is_valid(problem, *fits, best->peak));
        CHECK((fits->status == plan_status::optimal || fits->status == plan_status::feasible));
        const auto less = allot::plan(problem, {.capacity = best->bound - 1, .effort = 20'000, .remember = 1024});
        REQUIRE(less);
        CHECK(is_valid(problem, *less));
        CHECK(less->status == plan_status::infeasible);
        CHECK(less->bound > best->bound - 1);
        infeasible += less->status == plan_status::infeasible;
        feasible += fits->status == plan_status::feasible || fits->status == plan_status::optimal;
        // The bytes that live at the reported step do not exceed the bound.
        std::uint64_t live = 0;
        for (const plan_buffer& buffer : buffers)
            if (buffer.live.from <= best->step && best->step < buffer.live.until) live += buffer.size;
        CHECK(live <= best->bound);
    }
    CHECK(infeasible == 40);
    CHECK(feasible == 40);
}

TEST_CASE("plan: raises a very low bound in few steps") {
    // Five buffers in a ring, each apart from both neighbors. The bound accounts for two adjacent buffers that share no
    // byte. Only a proof finds that three adjacent buffers must be stacked. The lowest three are 4, 0 and 1.
    const plan_buffer buffers[] = {{.size = 1'000'003, .live = {0, 1}},
                                   {.size = 999'999, .live = {1, 2}},
                                   {.size = 1'000'001, .live = {2, 3}},
                                   {.size = 1'000'007, .live = {3, 4}},
                                   {.size = 999'991, .live = {4, 5}}};
    const allot::plan_pair apart[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}};
    const allot::plan_problem problem{.buffers = buffers, .apart = apart};
    REQUIRE(allot::plan(problem, {.effort = 0})->bound < 2'100'000);
    for (const std::uint64_t capacity : {allot::plan_options{}.capacity, std::uint64_t{2'500'000}}) {
        // Even an easy proof takes some of the effort.
        const auto made = allot::plan(problem, {.capacity = capacity, .effort = 1000});
        REQUIRE(made);
        CHECK(is_valid(problem, *made));
        CHECK(made->status == (capacity < 2'999'993 ? plan_status::infeasible : plan_status::optimal));
        CHECK(made->peak == 2'999'993);
        CHECK(made->bound == 2'999'993);
    }
}

TEST_CASE("plan: proves the lowest plan of stages whose largest buffers are not in the heaviest set") {
    // Buffers of different stages are apart. In each stage, two buffers of 7 bytes live at the same time, and one of 8
    // bytes lives before them. All stages together need twice 7 bytes for each.
    constexpr std::size_t stages = 8;
    std::vector<plan_buffer> buffers;
    std::vector<allot::plan_pair> apart;
    for (std::size_t stage = 0; stage != stages; ++stage) {
        const auto begin = static_cast<std::int64_t>(2 * stage);
        buffers.push_back({.size = 8, .live = {begin, begin + 1}});
        for (int i = 0; i != 2; ++i) buffers.push_back({.size = 7, .live = {begin + 1, begin + 2}});
        for (std::size_t i = 3 * stage; i != buffers.size(); ++i)
            for (std::size_t j = 0; j != 3 * stage; ++j) apart.push_back({i, j});
    }
    const allot::plan_problem problem{.buffers = buffers, .apart = apart};
    const auto made = allot::plan(problem);
    REQUIRE(made);
    CHECK(is_valid(problem, *made));
    CHECK(made->peak == 14 * stages);
    CHECK(made->bound == 14 * stages);
    CHECK(made->status == plan_status::optimal);
}

TEST_CASE("plan: random problems with all constraints") {
    std::mt19937 random{3};
    int planned = 0;
    for (int round = 0; round != 60; ++round) {
        const auto buffers = problems::random_buffers(random, 24, 20, 100);
        const std::vector<allot::plan_revival> revivals{{0, {100, 103}}, {1, {101, 102}}, {0, {110, 111}}};
        const std::vector<allot::plan_pair> together{{2, 3}, {3, 4}}, apart{{5, 6}, {7, 2}};
        const std::vector<allot::plan_fixed> fixed{{8, random() % 500}};
        const std::vector<allot::plan_reserved> reserved{{random() % 300, 20}};
        allot::plan_problem problem{.buffers = buffers, .revivals = revivals, .together = together, .apart = apart};
        if (round % 2 != 0) problem.fixed = fixed;
        if (round % 3 != 0) problem.reserved = reserved;
        // 24 buffers become 22 merged buffers.
        const std::size_t search_at_most = 20 + static_cast<std::size_t>(round) % 7;
        const auto made = allot::plan(problem, {.effort = 2000, .search_at_most = search_at_most, .remember = 64});
        if (!made) {  // only if a fixed buffer overlaps a reserved range
            CHECK(made.error().reason == plan_refusal::contradiction);
            CHECK((round % 2 != 0 && round % 3 != 0));
            continue;
        }
        ++planned;
        REQUIRE(is_valid(problem, *made));
        CHECK(made->places[2].offset == made->places[4].offset);
    }
    CHECK(planned > 40);
}

TEST_CASE("plan: buffers that are together share an offset and keep their sizes and lifetimes") {
    // c lives at the same time as b only. It is above the end of b, within the bytes of a.
    const plan_buffer buffers[] = {
        {.size = 64, .live = {0, 2}}, {.size = 32, .live = {1, 4}}, {.size = 32, .live = {2, 3}}};
    const allot::plan_pair together[] = {{0, 1}};
    const allot::plan_problem problem{.buffers = buffers, .together = together};
    for (const std::uint64_t effort : {0u, 1000u}) {
        const auto made = allot::plan(problem, {.capacity = 64, .effort = effort});
        REQUIRE(made);
        CHECK(is_valid(problem, *made, 64));
        CHECK(made->peak == 64);
        CHECK(made->bound == 64);
        CHECK(made->status == plan_status::optimal);
    }
}

TEST_CASE("plan: other buffers use the bytes of merged buffers between their lifetimes") {
    const plan_buffer buffers[] = {
        {.size = 10, .live = {0, 1}}, {.size = 10, .live = {5, 6}}, {.size = 10, .live = {2, 3}}};
    const allot::plan_pair together[] = {{0, 1}};
    const allot::plan_problem problem{.buffers = buffers, .together = together};
    for (const std::uint64_t effort : {0u, 1000u}) {
        const auto made = allot::plan(problem, {.effort = effort});
        REQUIRE(made);
        CHECK(is_valid(problem, *made));
        CHECK(made->peak == 10);
    }
}

TEST_CASE("plan: an error names a given buffer and not a merged one") {
    // 0, 1 and 2 become one buffer. 4 is fixed at an offset that overlaps 3.
    const plan_buffer buffers[] = {{8, {0, 1}}, {8, {0, 1}}, {8, {0, 1}}, {8, {0, 2}}, {8, {0, 2}}};
    const allot::plan_pair together[] = {{0, 1}, {1, 2}};
    const allot::plan_fixed fixed[] = {{3, 8}, {4, 12}};
    const auto made = allot::plan({.buffers = buffers, .fixed = fixed, .together = together});
    REQUIRE(!made);
    CHECK(made.error() == allot::plan_error{plan_refusal::contradiction, 4});
    // Merged with 0, which is larger, 1 exceeds 64 bits at its fixed offset.
    const plan_buffer large[] = {{.size = 100, .live = {0, 1}}, {.size = 1, .live = {0, 1}}};
    const allot::plan_fixed high[] = {{1, UINT64_MAX - 10}};
    CHECK(allot::plan({.buffers = large, .fixed = high, .together = std::span{together}.first(1)}).error() ==
          allot::plan_error{plan_refusal::wraps, 1});
    const allot::plan_revival again[] = {{1, {0, 5}}};
    CHECK(allot::plan({.buffers = large, .revivals = again, .together = std::span{together}.first(1)}).error() ==
          allot::plan_error{plan_refusal::overlapping_lifetimes, 1});
}

TEST_CASE("plan: a buffer without bytes is apart from nothing") {
    const plan_buffer buffers[] = {
        {.size = 0, .live = {0, 1}}, {.size = 0, .live = {0, 1}}, {.size = 6, .live = {0, 1}}};
    const allot::plan_pair none[] = {{0, 1}};
    const auto made = allot::plan({.buffers = buffers, .apart = none}, {.capacity = 6});
    REQUIRE(made);
    CHECK(made->status == plan_status::optimal);
    std::vector<std::uint64_t> offsets(3);
    allot::plan_heap arrays{{.u32 = 1000, .u64 = 1000}};
    allot::detail::packing_search<> search{{.buffers = buffers, .apart = none}, {arrays, 0}};
    CHECK(search.find(6, offsets, 100).answer == allot::detail::search_answer::found);
    // The same holds for a buffer without bytes that is together with another buffer.
    const auto both = allot::plan({.buffers = buffers, .together = none, .apart = none});
    REQUIRE(both);
    CHECK(both->peak == 6);
}

TEST_CASE("plan: reserved ranges without buffers need no bytes") {
    const allot::plan_reserved reserved[] = {{0, 64}, {128, 1}};
    const auto made = allot::plan({.buffers = {}, .reserved = reserved});
    REQUIRE(made);
    CHECK(made->peak == 0);
    CHECK(made->places.empty());
}

TEST_CASE("plan: a fixed buffer without bytes takes no bytes") {
    const plan_buffer buffers[] = {
        {.size = 0, .live = {0, 1}}, {.size = 3, .live = {0, 2}, .align = 2}, {.size = 3, .live = {0, 2}}};
    const allot::plan_fixed fixed[] = {{0, 9}};
    const allot::plan_problem problem{.buffers = buffers, .fixed = fixed};
    std::vector<std::uint64_t> offsets(3);
    allot::plan_heap arrays{{.u32 = 1000, .u64 = 1000}};
    allot::detail::packing_search<> search{problem, {arrays, 0}};
    CHECK(search.bound() == 6);
    const auto found = search.find(6, offsets, 100);
    CHECK(found.answer == allot::detail::search_answer::found);
    CHECK(found.height == 6);
    CHECK(offsets[0] == 9);
    const auto made = allot::plan(problem);
    REQUIRE(made);
    CHECK(made->peak == 6);
    CHECK(made->bound == 6);
    CHECK(made->places[0].offset == 9);
}

TEST_CASE("plan: a fixed buffer may end at the last byte of 64 bits") {
    problems::owner problem;
    problem.buffers = {{7, {0, 1}, 1}, {5, {0, 1}, 1}};
    problem.fixed = {{0, ~std::uint64_t{0} - 7}};
    const auto made = allot::plan(problem);
    REQUIRE(made);
    CHECK(made->places[0].offset == problem.fixed[0].offset);
    CHECK(made->peak == ~std::uint64_t{0});
}

TEST_CASE("plan: a progress callback sees the peak fall and stops the planner") {
    std::mt19937 random{4};
    const auto buffers = problems::random_buffers(random, 200, 100, 1000);
    const allot::plan_problem problem{.buffers = buffers};
    const auto first = allot::plan(problem, {.effort = 0});
    REQUIRE(first);
    std::uint64_t last = UINT64_MAX, calls = 0;
    const auto all = allot::plan(problem, {.effort = 30'000, .remember = 1024}, [&](allot::plan_progress now) {
        CHECK(now.peak <= last);
        CHECK(now.peak <= first->peak);
        CHECK(now.peak >= now.bound);
        last = now.peak;
        ++calls;
        return false;
    });
    REQUIRE(all);
    if (all->status != plan_status::optimal) CHECK(calls > 0);
    const auto ended =
        allot::plan(problem, {.effort = 30'000, .remember = 1024}, [](allot::plan_progress) { return true; });
    REQUIRE(ended);
    CHECK(is_valid(problem, *ended));
    CHECK(ended->peak >= all->peak);
}

TEST_CASE("plan: rejects an invalid problem and names the buffer") {
    const auto reason = [](const allot::plan_problem& problem) { return error_of(allot::plan(problem)); };
    CHECK(allot::plan({})->peak == 0);
    CHECK(allot::plan({})->status == plan_status::optimal);
    const plan_buffer misaligned[] = {{.size = 1, .live = {0, 1}}, {.size = 1, .live = {0, 1}, .align = 3}};
    CHECK(reason({.buffers = misaligned}) == allot::plan_error{plan_refusal::not_an_alignment, 1});
    const plan_buffer dead[] = {{.size = 1, .live = {5, 5}}};
    CHECK(reason({.buffers = dead}) == allot::plan_error{plan_refusal::empty_lifetime, 0});
    const plan_buffer huge[] = {{.size = UINT64_MAX, .live = {0, 2}}, {.size = 1, .live = {1, 3}}};
    CHECK(reason({.buffers = huge}).reason == plan_refusal::too_large);
    const allot::plan_reserved everything[] = {{0, UINT64_MAX}};
    CHECK(reason({.buffers = known, .reserved = everything}).reason == plan_refusal::too_large);
    const plan_buffer far_apart[] = {{.size = 1, .live = {0, 1}, .align = std::uint64_t{1} << 63},
                                     {.size = 1, .live = {0, 1}, .align = std::uint64_t{1} << 63},
                                     {.size = 1, .live = {0, 1}, .align = std::uint64_t{1} << 63}};
    CHECK(reason({.buffers = far_apart}).reason == plan_refusal::too_large);
    const allot::plan_pair self[] = {{0, 1}}, beyond[] = {{0, 9}};
    CHECK(reason({.buffers = known, .together = self, .apart = self}).reason == plan_refusal::contradiction);
    CHECK(reason({.buffers = known, .together = beyond}) == allot::plan_error{plan_refusal::no_such_buffer, 9});
    const allot::plan_fixed twice[] = {{0, 0}, {2, 2}};
    CHECK(reason({.buffers = known, .fixed = twice}).reason == plan_refusal::contradiction);
}

TEST_CASE("plan_into: rejects a small workspace and accepts one of space_of_plan") {
    const allot::plan_problem problem{.buffers = known};
    const allot::plan_options options{.effort = 1000, .remember = 16};
    allot::plan_place places[std::size(known)];
    CHECK(allot::plan_into(problem, places, {}, options).error().reason == plan_refusal::workspace_too_small);
    allot::plan_heap workspace{allot::space_of_plan(problem, options)};
    CHECK(allot::plan_into(problem, std::span{places}.first(2), workspace, options).error().reason ==
          plan_refusal::workspace_too_small);
    const auto made = allot::plan_into(problem, places, workspace, options);
    REQUIRE(made);
    CHECK(made->peak == 16);
}

TEST_CASE("plan: buffers that are together accept lifetimes and sizes in any order") {
    std::array<allot::lifetime, 4> lives{{{0, 1}, {4, 5}, {8, 9}, {12, 14}}};
    const auto is_before = [](const allot::lifetime& a, const allot::lifetime& b) { return a.from < b.from; };
    const allot::plan_pair together[] = {{0, 1}};
    do {
        CAPTURE(lives[0].from);
        const std::vector<plan_buffer> buffers{{5, lives[0]}, {2, {6, 7}}, {3, {0, 1}},   {3, {4, 6}},
                                               {6, {6, 7}},   {3, {7, 9}}, {3, {13, 14}}, {8, {10, 12}}};
        std::vector<allot::plan_revival> revivals;
        for (std::size_t k = 1; k != lives.size(); ++k) revivals.push_back({0, lives[k]});
        const allot::plan_problem problem{.buffers = buffers, .revivals = revivals, .together = together};
        for (const std::uint64_t effort : {std::uint64_t{0}, std::uint64_t{5000}}) {
            const auto made = allot::plan(problem, {.effort = effort});
            REQUIRE(made);
            CHECK(is_valid(problem, *made));
            if (effort != 0) CHECK(made->peak == 8);
        }
    } while (std::next_permutation(lives.begin(), lives.end(), is_before));
}

TEST_CASE("plan: every reason and every status has its own text") {
    texts::check_distinct_up_to(allot::plan_refusal::indivisible);
    texts::check_distinct_up_to(allot::plan_status::out_of_moves);
    CHECK(std::string_view{allot::plan_error{allot::plan_refusal::overlapping_lifetimes, 1}.what()} ==
          "two lifetimes of a buffer overlap");
}
