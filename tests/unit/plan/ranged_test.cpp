// Plans for ranges of values: each value of small ranges against the rules of a plan and the lowest plan, the proof of
// the excess, and mistakes that the validator finds.
#include <allot/plan/ranged.hpp>
#include <allot/plan/validate.hpp>
#include <allot/plan/validate_ranged.hpp>

#include "brute_force.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using allot::plan_refusal;
using allot::plan_symbol;
using allot::ranged_piece;
using allot::ranged_violation_kind;
using allot::symbolic_buffer;
using allot::symbolic_size;

constexpr plan_symbol n{0}, m{1};

struct owner {
    std::vector<symbolic_buffer> buffers{};
    std::vector<std::uint64_t> most{}, least{};
    std::vector<allot::plan_revival> revivals{};
    std::vector<allot::plan_pair> apart{};

    [[nodiscard]] allot::ranged_problem problem() const {
        return {{.buffers = buffers, .bounds = most, .revivals = revivals, .apart = apart}, least};
    }
};

/// Calls `use(values)` for each value of the ranges of two symbols.
template <class Use>
void each_value(const owner& of, Use use) {
    for (std::uint64_t first = of.least[0]; first <= of.most[0]; ++first)
        for (std::uint64_t second = of.least[1]; second <= of.most[1]; ++second)
            use(std::vector<std::uint64_t>{first, second});
}

/// Returns the problem for one value, with sizes computed from the expressions.
problems::owner at_value(const owner& of, const std::vector<std::uint64_t>& values) {
    problems::owner made;
    for (const symbolic_buffer& each : of.buffers) {
        std::uint64_t size = 0;
        REQUIRE(each.size.bytes(values, size));
        made.buffers.push_back({size, each.live, each.align});
    }
    made.revivals = of.revivals;
    made.apart = of.apart;
    return made;
}

ranged_violation_kind kind_of(const owner& of, const allot::ranged_plan& plan) {
    return allot::validate_ranged(of.problem(), plan).kind;
}

symbolic_size any_size(problems::random& draw) {
    switch (draw(6)) {
        case 0: return {draw(8)};
        case 1: return {n, 1 + draw(3)};
        case 2: return {m, 1 + draw(2)};
        case 3: return {n, m};
        case 4: return symbolic_size{draw(3) * n + draw(3)} + symbolic_size{2 * m};
        default: return symbolic_size{m, m} + symbolic_size{draw(5)};
    }
}

owner random_problem(std::uint64_t seed, std::size_t count) {
    problems::random draw{seed};
    owner made;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(draw(6));
        made.buffers.push_back({any_size(draw),
                                {from, from + 1 + static_cast<std::int64_t>(draw(4))},
                                std::uint64_t{1} << draw(seed % 2 == 0 ? 1 : 3)});
        if (draw(4) == 0) made.revivals.push_back({i, {from + 6, from + 8}});
        if (i != 0 && draw(4) == 0) made.apart.push_back({i, draw.index(i)});
    }
    made.least = {draw(2), draw(3)};
    made.most = {made.least[0] + draw(4), made.least[1] + draw(5)};
    return made;
}

/// A graph with two steps that need most bytes for different lengths: 8 * n * m or n * m * m.
owner crossing() {
    owner made;
    made.buffers = {{.size = {n, m, 8}, .live = {0, 2}}, {.size = {n, m}, .live = {1, 4}},
                    {.size = {n, m, m}, .live = {3, 5}}, {.size = {n, m, 4}, .live = {2, 3}},
                    {.size = {n, m, 2}, .live = {2, 5}}, {.size = {n, m, 8}, .live = {5, 7}},
                    {.size = {n, m, m}, .live = {4, 6}}};
    made.least = {1, 1};
    made.most = {8, 300};
    return made;
}

/// A graph whose operators read one to three of the last values, with the sizes of a transformer.
owner random_graph(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    const auto draw = [&](std::uint64_t below) { return random() % below; };
    owner made;
    const auto count = static_cast<std::int64_t>(40 + draw(80));
    const std::uint64_t hidden = 64 * (1 + draw(12)), heads = 1 + draw(12);
    const symbolic_size sizes[] = {{n, m, 4 * hidden},  {n, m, 4 * hidden}, {n, m, m, 4 * heads},
                                   {n, m, 16 * hidden}, {n, m, 4},          {n, m, 12 * hidden}};
    for (std::int64_t step = 0; step != count; ++step) {
        const symbolic_size& size = sizes[draw(6)];
        const std::uint64_t reads = 1 + draw(3);
        for (std::uint64_t i = 0; i != reads && !made.buffers.empty(); ++i) {
            const std::uint64_t back = 1 + draw(draw(4) == 0 ? 12 : 3), known = made.buffers.size();
            made.buffers[static_cast<std::size_t>(known - std::min(back, known))].live.until = step + 1;
        }
        made.buffers.push_back({size, {step, step + 1}, 64});
    }
    made.least = {1, 1};
    made.most = {16, 1024};
    return made;
}

}  // namespace

TEST_CASE("ranged plan: for each value, places are valid and at most as high as stated") {
    std::size_t pieces = 0;
    for (std::uint64_t seed = 1; seed <= problems::times(60); ++seed) {
        CAPTURE(seed);
        const owner given = random_problem(seed, static_cast<std::size_t>(1 + seed % 7));
        const allot::ranged_options options{.tolerance = seed % 3 * 100,
                                            .pieces_at_most = static_cast<std::size_t>(1 + seed % 9)};
        const auto made = allot::plan_ranged(given.problem(), options);
        REQUIRE(made);
        CHECK(kind_of(given, *made) == ranged_violation_kind::none);
        CHECK(made->pieces.size() <= options.pieces_at_most);
        pieces = std::max(pieces, made->pieces.size());
        each_value(given, [&](const std::vector<std::uint64_t>& values) {
            const problems::owner here = at_value(given, values);
            std::vector<allot::plan_place> places(given.buffers.size());
            const auto peak = made->place(values, places);
            REQUIRE(peak);
            const ranged_piece* const piece = made->piece_of(values);
            REQUIRE(piece != nullptr);
            CHECK(*peak <= piece->peak);
            CHECK(piece->peak <= made->peak);
            const auto offset = [&](std::size_t i) { return places[i].offset; };
            const problems::brute_force all{here};
            CHECK(all.is_plan(offset, *peak));
            if (piece->excess == ranged_piece::unproved || *peak > problems::brute_force::highest) return;
            // No plan is lower than the bound of the proof.
            CHECK(1000 * *peak <= (1000 + piece->excess) * all.lowest(*peak));
        });
    }
    CHECK(pieces > 1);
}

TEST_CASE("ranged plan: steps of different growth need different orders, within the tolerance everywhere") {
    const owner given = crossing();
    const auto made = allot::plan_ranged(given.problem(), {.tolerance = 30});
    REQUIRE(made);
    CHECK(kind_of(given, *made) == ranged_violation_kind::none);
    std::uint64_t highest = 0;
    for (const ranged_piece& piece : made->pieces) {
        CHECK(piece.excess <= 30);
        highest = std::max(highest, piece.peak);
    }
    CHECK(highest == made->peak);
    each_value(given, [&](const std::vector<std::uint64_t>& values) {
        std::vector<allot::plan_place> places(given.buffers.size());
        const std::uint64_t b = values[0], s = values[1];
        // The most live bytes, by hand: steps 0, 1, 2, 3, 4, 5, 6.
        const std::uint64_t load = b * s * std::max({std::uint64_t{9}, 7 + std::uint64_t{0}, 3 + s, 2 + 2 * s, 8 + s});
        CHECK(1000 * made->place(values, places).value() <= 1030 * load);
    });
    // A single piece is valid too.
    const auto one = allot::plan_ranged(given.problem(), {.pieces_at_most = 1});
    REQUIRE(one);
    CHECK(one->pieces.size() == 1);
    CHECK(kind_of(given, *one) == ranged_violation_kind::none);
}

TEST_CASE("ranged plan: values of random graphs need at most 5 % more than plans of their own") {
    for (std::uint64_t number = 1; number <= problems::times(1); ++number) {
        const std::uint64_t seed = number == 1 ? 514'752 : number;
        CAPTURE(seed);
        const owner given = random_graph(seed);
        const auto made = allot::plan_ranged(given.problem(), {.effort = 20'000});
        REQUIRE(made);
        std::vector<allot::plan_place> places(given.buffers.size());
        for (const std::uint64_t first : {1U, 6U, 12U, 16U})
            for (std::uint64_t second = 1; second <= 1024; second += 1 + second / 2) {
                const std::vector<std::uint64_t> values{first, second};
                const std::uint64_t peak = made->place(values, places).value();
                CHECK(100 * peak <= 105 * allot::plan(at_value(given, values)).value().peak);
            }
    }
}

TEST_CASE("ranged plan: without effort, orders are valid and nothing is proved") {
    const owner given = crossing();
    const auto made = allot::plan_ranged(given.problem(), {.effort = 0});
    REQUIRE(made);
    REQUIRE(made->pieces.size() == 1);
    CHECK(made->pieces[0].excess == ranged_piece::unproved);
    CHECK(kind_of(given, *made) == ranged_violation_kind::none);
}

TEST_CASE("ranged plan: no symbols, no buffers, and sizes of 0") {
    owner none;
    const auto empty = allot::plan_ranged(none.problem());
    REQUIRE(empty);
    CHECK(empty->peak == 0);
    CHECK(kind_of(none, *empty) == ranged_violation_kind::none);
    CHECK(empty->place({}, {}).value() == 0);

    owner constant;
    constant.buffers = {{.size = {8}, .live = {0, 2}, .align = 64}, {.size = {8}, .live = {1, 3}}};
    const auto made = allot::plan_ranged(constant.problem());
    REQUIRE(made);
    CHECK(made->peak == 16);
    CHECK(made->align == 64);
    CHECK(made->pieces.at(0).excess == 0);

    owner vanishing;
    vanishing.buffers = {{.size = {n}, .live = {0, 2}}, {.size = {m}, .live = {1, 3}, .align = 8}};
    vanishing.most = {5, 5};
    const auto zero = allot::plan_ranged(vanishing.problem());
    REQUIRE(zero);
    allot::plan_place places[2];
    const std::uint64_t nothing[] = {0, 0}, second[] = {0, 5};
    CHECK(zero->place(nothing, places).value() == 0);
    CHECK(zero->place(second, places).value() >= 5);
    vanishing.least = {0, 0};
    CHECK(kind_of(vanishing, *zero) == ranged_violation_kind::none);
}

TEST_CASE("ranged plan: the same problem gives the same plan") {
    const owner given = crossing();
    const auto first = allot::plan_ranged(given.problem()), second = allot::plan_ranged(given.problem());
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->orders == second->orders);
    REQUIRE(first->pieces.size() == second->pieces.size());
    for (std::size_t i = 0; i != first->pieces.size(); ++i) {
        CHECK(first->pieces[i].most == second->pieces[i].most);
        CHECK(first->pieces[i].excess == second->pieces[i].excess);
    }
}

TEST_CASE("ranged plan: bad input is refused") {
    owner given = crossing();
    const auto made = allot::plan_ranged(given.problem());
    REQUIRE(made);
    std::vector<allot::plan_place> places(7), few(6);
    const std::uint64_t low[] = {0, 5}, high[] = {8, 301}, one[] = {3}, three[] = {1, 1, 1}, good[] = {8, 300};
    CHECK(made->place(low, places).error() == allot::plan_error{plan_refusal::above_bound, 0});
    CHECK(made->place(high, places).error() == allot::plan_error{plan_refusal::above_bound, 1});
    CHECK(made->place(one, places).error() == allot::plan_error{plan_refusal::above_bound, 1});
    CHECK(made->place(three, places).error() == allot::plan_error{plan_refusal::above_bound, 2});
    CHECK(made->place(good, few).error().reason == plan_refusal::workspace_too_small);
    CHECK(made->place(good, places).value() <= made->peak);

    const auto refused = [](const owner& of) { return allot::plan_ranged(of.problem()).error(); };
    given.least = {9, 1};
    CHECK(refused(given) == allot::plan_error{plan_refusal::above_bound, 0});
    given.least = {1};
    CHECK(refused(given) == allot::plan_error{plan_refusal::above_bound, 1});
    given.least = {};
    given.most = {8};
    CHECK(refused(given).reason == plan_refusal::too_large);
    given.most = {std::uint64_t{1} << 40, std::uint64_t{1} << 20};
    CHECK(refused(given).reason == plan_refusal::too_large);
    given = crossing();
    given.buffers[3].align = 3;
    CHECK(refused(given) == allot::plan_error{plan_refusal::not_an_alignment, 3});
    given = crossing();
    given.apart = {{2, 2}};
    CHECK(refused(given) == allot::plan_error{plan_refusal::contradiction, 2});
    given.apart.clear();
    given.revivals = {{0, {1, 3}}};
    CHECK(refused(given) == allot::plan_error{plan_refusal::overlapping_lifetimes, 0});

    const owner right = crossing();
    const allot::plan_fixed fixed[] = {{0, 0}};
    const allot::plan_pair pair[] = {{0, 1}};
    const allot::plan_reserved reserved[] = {{0, 1}};
    auto problem = right.problem();
    problem.sizes.fixed = fixed;
    CHECK(allot::plan_ranged(problem).error().reason == plan_refusal::unsupported);
    problem = right.problem();
    problem.sizes.together = pair;
    CHECK(allot::plan_ranged(problem).error().reason == plan_refusal::unsupported);
    problem = right.problem();
    problem.sizes.reserved = reserved;
    CHECK(allot::plan_ranged(problem).error().reason == plan_refusal::unsupported);
}

TEST_CASE("validate_ranged: finds each kind of mistake") {
    const owner given = crossing();
    const auto right = *allot::plan_ranged(given.problem(), {.tolerance = 30});
    const auto found = [&](auto change) {
        allot::ranged_plan wrong = right;
        change(wrong);
        const auto mistake = allot::validate_ranged(given.problem(), wrong);
        CHECK(std::string{mistake.what()} == to_string(mistake.kind));
        return mistake.kind;
    };
    using kind = ranged_violation_kind;
    CHECK(found([](allot::ranged_plan&) {}) == kind::none);
    CHECK(found([](auto& plan) { plan.pieces[0].most[1] += 300; }) == kind::bad_piece);
    CHECK(found([](auto& plan) { plan.pieces[0].least.pop_back(); }) == kind::bad_piece);
    CHECK(found([](auto& plan) { plan.pieces[0].order = plan.orders.size(); }) == kind::bad_piece);
    CHECK(found([](auto& plan) { plan.pieces.pop_back(); }) == kind::value_missing);
    CHECK(found([](auto& plan) { plan.pieces.back().least[0] = plan.pieces.back().most[0]; }) == kind::value_missing);
    CHECK(found([](auto& plan) { std::swap(plan.orders[0].buffers[0], plan.orders[0].buffers[6]); }) ==
          kind::bad_order);
    CHECK(found([](auto& plan) { plan.orders[0].buffers[1] = plan.orders[0].buffers[0]; }) == kind::bad_order);
    CHECK(found([](auto& plan) { plan.orders[0].first.pop_back(); }) == kind::bad_order);
    CHECK(found([](auto& plan) { plan.orders[0].buffers[2] = 7; }) == kind::bad_order);
    CHECK(found([](auto& plan) {
              plan.orders[0].below.clear();
              std::fill(plan.orders[0].first.begin(), plan.orders[0].first.end(), 0U);
          }) == kind::overlap);
    CHECK(found([](auto& plan) { --plan.pieces[0].peak; }) == kind::wrong_peak);
    CHECK(found([](auto& plan) { --plan.peak; }) == kind::wrong_peak);
    CHECK(found([](auto& plan) { plan.align = 0; }) == kind::wrong_align);

    // Buffers that lie on others without a reason make the plan higher than it states.
    allot::ranged_plan high = *allot::plan_ranged(given.problem(), {.pieces_at_most = 1});
    for (allot::stacking_order& order : high.orders) {
        order.below.clear();
        for (std::uint32_t k = 0; k != 7; ++k) {
            order.first[k] = k == 0 ? 0 : k - 1;
            if (k != 0) order.below.push_back(order.buffers[k - 1]);
        }
        order.first[7] = 6;
    }
    high.pieces[0].peak = high.peak = UINT64_MAX;
    high.pieces[0].excess = 30;
    CHECK(kind_of(given, high) == kind::excess_too_low);
    high.pieces[0].excess = 100'000;
    CHECK(kind_of(given, high) == kind::none);
    CHECK(allot::validate_ranged(given.problem(), right, 0).kind == kind::not_proved);

    owner wrong = given;
    wrong.buffers[0].align = 0;
    CHECK(kind_of(wrong, right) == kind::bad_problem);
}
