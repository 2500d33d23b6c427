// Symbolic sizes: their values, and programs in one memory for the bounds whose symbols become known while buffers
// live.
#include <allot/plan/symbolic.hpp>
#include <allot/plan/validate.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using allot::plan_refusal;
using allot::plan_symbol;
using allot::symbolic_buffer;
using allot::symbolic_size;

constexpr plan_symbol n{0}, m{1};
constexpr allot::plan_options quick{.effort = 0, .remember = 0};

constexpr std::uint64_t bytes(const symbolic_size& of, std::uint64_t first, std::uint64_t second) {
    const std::uint64_t values[] = {first, second};
    std::uint64_t found = 0;
    return of.bytes(values, found) ? found : ~std::uint64_t{0};
}
constexpr std::uint64_t failed = ~std::uint64_t{0}, half = std::uint64_t{1} << 63;

static_assert(bytes({}, 1, 1) == 0 && bytes({12}, 1, 1) == 12 && bytes({n, m, 4}, 3, 5) == 60);
static_assert(bytes({2 * n + 1, 3 * m}, 3, 5) == 105 && bytes({n + 7}, 0, 0) == 7 && bytes({n, m}, 0, 5) == 0);
static_assert(bytes({n, 2}, half, 0) == failed && bytes({n + 1}, ~std::uint64_t{0}, 0) == failed);
static_assert(bytes({n, m, 2}, 0, half) == 0);  // a product with 0 does not overflow
static_assert(bytes({plan_symbol{2}}, 1, 1) == failed && bytes({0 * plan_symbol{2} + 5}, 1, 1) == 5);
static_assert(bytes({1, 1, 1, 1, 1, 1, 1, n}, 9, 0) == 9 && bytes({1, 1, 1, 1, 1, 1, 1, 1, n}, 9, 0) == failed);

static_assert(bytes(symbolic_size{n, 4} + symbolic_size{3 * m + 1} + symbolic_size{n, n, m}, 3, 5) == 12 + 16 + 45);
static_assert(bytes(symbolic_size{n, m} + symbolic_size{m, 8}, 0, 5) == 40);  // a product that is 0 ends
static_assert(bytes(symbolic_size{} + symbolic_size{7}, 0, 0) == 7 &&
              bytes(symbolic_size{7} + symbolic_size{}, 0, 0) == 7);
static_assert(bytes(symbolic_size{half} + symbolic_size{half}, 0, 0) == failed);
static_assert((symbolic_size{n} + symbolic_size{m}).begins_product(1) && !symbolic_size{n, m}.begins_product(1));
static_assert(symbolic_size{n} + symbolic_size{m} != symbolic_size{n, m});
static_assert((symbolic_size{1, 1, 1, 1, n} + symbolic_size{1, 1, 1}).is_valid());
static_assert(!(symbolic_size{1, 1, 1, 1, n} + symbolic_size{1, 1, 1, 1}).is_valid());
static_assert(!(symbolic_size{1, 1, 1, 1, 1, 1, 1, 1, n} + symbolic_size{1}).is_valid());

symbolic_size any_size(problems::random& draw) {
    switch (draw(5)) {
        case 0: return {draw(100)};
        case 1: return {n, 1 + draw(8)};
        case 2: return {m, 4};
        case 3: return {n, m};
        default: return {draw(3) * n + draw(5), 2};
    }
}

/// A memory whose bytes have the number of the buffer that wrote them last.
struct memory {
    std::vector<std::size_t> owner;

    void fill(const allot::plan_place& at, std::size_t buffer) {
        REQUIRE(at.offset + at.size <= owner.size());
        std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(at.offset), at.size, buffer);
    }
    [[nodiscard]] bool has(const allot::plan_place& at, std::size_t buffer) const {
        const auto first = owner.begin() + static_cast<std::ptrdiff_t>(at.offset);
        return std::all_of(first, first + static_cast<std::ptrdiff_t>(at.size),
                           [=](std::size_t each) { return each == buffer; });
    }
};

/// Runs the program once, with symbols that become known at random steps. Returns the peak in use.
void run(allot::symbolic_plan& plan, std::span<const symbolic_buffer> buffers, problems::random& draw) {
    memory bytes{std::vector<std::size_t>(static_cast<std::size_t>(plan.peak_at_bounds()))};
    std::uint64_t peak = plan.peak;
    for (std::int64_t step = 0; step != 14; ++step) {
        if (draw(3) == 0) {
            const plan_symbol which{draw.index(2)};
            const auto bound = plan.bind(which, draw(plan.values()[which.index] + 1), step, quick);
            REQUIRE(bound);
            CHECK(plan.peak <= peak);
            peak = plan.peak;
        }
        for (std::size_t i = 0; i != buffers.size(); ++i)
            if (buffers[i].live.from == step) bytes.fill(plan.places[i], i + 1);
        for (std::size_t i = 0; i != buffers.size(); ++i) {
            if (buffers[i].live.from > step || buffers[i].live.until <= step) continue;
            CHECK(plan.places[i].offset % buffers[i].align == 0);
            CHECK(bytes.has(plan.places[i], i + 1));
        }
    }
}

}  // namespace

TEST_CASE("symbolic plan: symbols become known while buffers live, and no buffer loses its bytes") {
    for (std::uint64_t seed = 1; seed <= problems::times(100); ++seed) {
        CAPTURE(seed);
        problems::random draw{seed};
        std::vector<symbolic_buffer> buffers(1 + draw.index(20));
        for (auto& each : buffers) {
            const auto from = static_cast<std::int64_t>(draw(12));
            each = {any_size(draw), {from, from + 1 + static_cast<std::int64_t>(draw(4))}, std::uint64_t{1} << draw(5)};
        }
        const std::uint64_t bounds[] = {draw(30), draw(60)};
        auto plan = *allot::plan_symbolic({.buffers = buffers, .bounds = bounds}, quick);
        const auto at_bounds = plan.places;
        for (int round = 0; round != 3; ++round) {
            run(plan, buffers, draw);
            plan.reset();
            CHECK(plan.places == at_bounds);
            CHECK(plan.peak == plan.peak_at_bounds());
            CHECK(std::equal(bounds, bounds + 2, plan.values().begin()));
        }
    }
}

TEST_CASE("symbolic plan: before the first step, all places are those of a plan for the values") {
    const symbolic_buffer buffers[] = {{.size = {n, m, 4}, .live = {0, 2}},
                                       {.size = {2 * n, 64}, .live = {1, 3}, .align = 64},
                                       {.size = {m, 64}, .live = {2, 4}}};
    const std::uint64_t bounds[] = {8, 512};
    auto shapes = *allot::plan_symbolic({.buffers = buffers, .bounds = bounds});
    CHECK(shapes.peak_at_bounds() >= 8 * 512 * 4 + 1024);
    REQUIRE(shapes.bind(m, 10, 0));
    const auto all_known = shapes.bind(n, 2, 0);
    REQUIRE(all_known);
    CHECK(all_known->peak == shapes.peak);
    CHECK(shapes.peak == 256 + 640);  // the last two live at once
    CHECK(shapes.places[0].size == 80);
    CHECK(shapes.problem().buffers[1].size == 256);

    // Constraints are those of a plan.
    const allot::plan_fixed fixed[] = {{2, 4096}};
    const allot::plan_pair apart[] = {{0, 2}};
    auto constrained = *allot::plan_symbolic({.buffers = buffers, .bounds = bounds, .fixed = fixed, .apart = apart});
    REQUIRE(constrained.bind(n, 1, 1));
    CHECK(constrained.places[2].offset == 4096);
    std::vector<std::uint64_t> offsets;
    for (const auto& place : constrained.places) offsets.push_back(place.offset);
    allot::plan_heap workspace{allot::validate_space(constrained.problem())};
    CHECK(allot::validate(constrained.problem(), offsets, UINT64_MAX, workspace).kind ==
          allot::plan_violation_kind::none);
}

TEST_CASE("symbolic plan: bad input is refused, and the plan stays") {
    const symbolic_buffer buffers[] = {{.size = {n, m}, .live = {0, 2}}, {.size = {m}, .live = {1, 3}}};
    const std::uint64_t bounds[] = {8, 100}, few[] = {8}, large[] = {half, 2};
    CHECK(allot::plan_symbolic({.buffers = buffers, .bounds = few}).error() ==
          allot::plan_error{plan_refusal::too_large, 0});
    CHECK(allot::plan_symbolic({.buffers = buffers, .bounds = large}).error() ==
          allot::plan_error{plan_refusal::too_large, 0});
    auto plan = *allot::plan_symbolic({.buffers = buffers, .bounds = bounds});
    const auto before = plan.places;
    CHECK(plan.bind(plan_symbol{2}, 1, 0).error() == allot::plan_error{plan_refusal::no_such_buffer, 2});
    CHECK(plan.bind(m, 101, 0).error() == allot::plan_error{plan_refusal::above_bound, 1});
    CHECK(plan.bind(m, 1, INT64_MIN).error().reason == plan_refusal::too_many);
    CHECK(plan.places == before);
    CHECK(plan.values()[1] == 100);
    REQUIRE(plan.bind(m, 50, 0));
    CHECK(plan.bind(m, 51, 0).error() == allot::plan_error{plan_refusal::above_bound, 1});
    CHECK(plan.bind(m, 0, 0)->peak == 0);
}

TEST_CASE("symbolic plan: a progress callback sees the same peaks as that of plan, and stops the planner") {
    std::mt19937 random{4};
    const auto known = problems::random_buffers(random, 200, 100, 1000);
    std::vector<symbolic_buffer> buffers;
    for (const allot::plan_buffer& each : known) buffers.push_back({{each.size}, each.live, each.align});
    const allot::plan_options searched{.effort = 30'000, .remember = 1024};
    for (const std::size_t stop_after : {1U, 3U}) {
        std::vector<std::uint64_t> peaks, expected;
        const auto made =
            allot::plan_symbolic({.buffers = buffers, .bounds = {}}, searched, [&](allot::plan_progress now) {
                peaks.push_back(now.peak);
                return peaks.size() == stop_after;
            });
        const auto plain = allot::plan({.buffers = known}, searched, [&](allot::plan_progress now) {
            expected.push_back(now.peak);
            return expected.size() == stop_after;
        });
        REQUIRE(made);
        REQUIRE(plain);
        CHECK(!peaks.empty());
        CHECK(peaks == expected);
        CHECK(made->peak == plain->peak);
        CHECK(made->places == plain->places);
    }
}
