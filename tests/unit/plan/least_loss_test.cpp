// SPDX-License-Identifier: BSL-1.0
// The least loss by loads, compared with the enumeration of all subsets of up to 11 buffers. The enumeration shares
// only the types of a problem with the class.
#include <allot/plan/detail/least_loss.hpp>
#include <allot/plan/memories.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace {

namespace detail = allot::detail;

struct subsets {
    std::vector<allot::plan_buffer> buffers;
    std::vector<allot::plan_revival> revivals;
    std::vector<std::uint64_t> values;  // `priceless` for a buffer that must be in
    std::uint64_t capacity = 0;

    /// Returns the load of a subset at a step.
    [[nodiscard]] std::uint64_t load(unsigned subset, std::int64_t step) const {
        std::uint64_t sum = 0;
        const auto lives = [&](allot::lifetime live) { return live.from <= step && step < live.until; };
        for (std::size_t i = 0; i != buffers.size(); ++i) {
            bool here = lives(buffers[i].live);
            for (const allot::plan_revival& each : revivals) here = here || (each.buffer == i && lives(each.live));
            if ((subset >> i & 1) != 0 && here) sum += buffers[i].size;
        }
        return sum;
    }
    /// Returns the least value of the buffers outside a subset that fits at all steps; `unlimited` if none fits.
    [[nodiscard]] std::uint64_t least() const {
        std::uint64_t best = detail::least_loss<>::unlimited;
        for (unsigned subset = 0; subset != 1U << buffers.size(); ++subset) {
            std::uint64_t lost = 0;
            bool fits = true;
            for (std::size_t i = 0; i != buffers.size() && fits; ++i)
                if ((subset >> i & 1) == 0) {
                    fits = values[i] != detail::prices::priceless || buffers[i].size == 0;
                    lost += fits && buffers[i].size != 0 ? values[i] : 0;
                }
            for (std::int64_t step = 0; step != 12 && fits; ++step) fits = load(subset, step) <= capacity;
            if (fits) best = std::min(best, lost);
        }
        return best;
    }
};

subsets random_problem(problems::random& dice) {
    subsets made;
    const std::size_t count = 1 + dice.index(11);
    const std::uint64_t scale = dice(4) == 0 ? std::uint64_t{1} << 30 : 1, most_size = dice(2) == 0 ? 4 : 97;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(dice(8)), length = static_cast<std::int64_t>(dice(5));
        made.buffers.push_back({.size = scale * dice(most_size), .live = {from, from + length + 1}});
        if (from + length < 9 && dice(4) == 0) made.revivals.push_back({i, {from + length + 2, 12}});
        const bool by_size = dice(2) == 0;
        made.values.push_back(dice(12) == 0 ? detail::prices::priceless
                              : by_size     ? std::max<std::uint64_t>(made.buffers[i].size, 1)
                                            : 1 + dice(1000));
    }
    made.capacity = scale * (most_size + dice(3 * most_size));
    return made;
}

struct answer {
    std::uint64_t bound = 0;
    bool found = false;
    std::uint64_t lost = 0;  // by the choice that was found
    unsigned subset = 0;
    std::uint64_t split = 0, flow = 0;  // bounds by prices
};

struct width {
    std::size_t states, rows, units;
    std::uint64_t operations;  // of the shares of sections
};

answer ask(const subsets& of, width wide, std::uint64_t most) {
    const allot::plan_problem problem{.buffers = of.buffers, .revivals = of.revivals};
    const std::size_t sections = of.buffers.size() + of.revivals.size();
    const detail::least_loss<>::limits limits{wide.states, wide.units, wide.operations};
    allot::plan_heap heap{detail::section_tree::space(problem) + detail::prices::space(sections, of.buffers.size()) +
                          detail::least_loss<>::space(problem, limits) + detail::prices::flow_space(problem, 1)};
    allot::plan_workspace workspace = heap;
    const detail::section_tree where{problem, {}, workspace};
    detail::prices price{where, sections, of.buffers.size(), workspace};
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i != of.buffers.size(); ++i) list.push_back(i);
    struct size_of_buffer {
        const subsets* of = nullptr;
        std::uint64_t operator()(std::uint32_t i) const { return of->buffers[i].size; }
    };
    struct value_of_buffer {
        const subsets* of = nullptr;
        std::uint64_t operator()(std::uint32_t i) const { return of->values[i]; }
    };
    const size_of_buffer size_of{&of};
    const value_of_buffer value{&of};
    answer made;
    const auto priced = [&](std::size_t rows) {
        return price.run(list.data(), list.size(), size_of, value, of.capacity, where.count(), 100, rows);
    };
    made.split = priced(1);
    made.flow =
        price.run_flow(list.data(), list.size(), size_of, value, of.capacity, where.count(), 100'000, workspace);
    static_cast<void>(priced(wide.rows));
    detail::least_loss<> loss{where, price, problem, limits, workspace};
    loss.prepare(
        detail::least_loss<>::choice<size_of_buffer, value_of_buffer>{list, size_of, value, of.capacity, where.count()},
        most);
    const auto keep = [&] {
        if (!loss.found()) return;
        made.found = true;
        made.lost = 0;
        made.subset = (1U << of.buffers.size()) - 1;
        loss.each([&](std::uint32_t i, bool is_in) {
            if (is_in) return;
            made.subset -= 1U << i;
            made.lost += of.values[i];
        });
        most = loss.lost();
    };
    for (const bool is_proof : {false, true}) {
        if (is_proof && made.found) loss.tighten(most);
        made.bound = std::max(made.bound, loss.run(most, is_proof));
        keep();
    }
    return made;
}

}  // namespace

TEST_CASE("least_loss: the least loss of all subsets, a bound for few states, and a choice that fits") {
    problems::random dice{1};
    std::size_t exact = 0;
    const std::size_t all_problems = problems::times(problems::is_slow ? 600 : 3000);
    for (std::size_t k = 0; k != all_problems; ++k) {
        const subsets of = random_problem(dice);
        const std::uint64_t least = of.least();
        CAPTURE(k);
        for (const std::size_t states : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
            CAPTURE(states);
            const width wide{states, k % 3 == 0 ? 1u : 4u, states == 3 ? 16u : 512u, k % 2 == 0 ? 0u : 1u << 20};
            const answer made = ask(of, wide, detail::least_loss<>::unlimited);
            REQUIRE(made.bound <= least);
            REQUIRE(made.flow <= least);
            // If each buffer has one span, the flow proves all that prices can.
            if (of.revivals.empty()) REQUIRE(made.flow >= made.split);
            if (states == 4096 && least != detail::least_loss<>::unlimited) REQUIRE(made.lost == least);
            if (states == 4096) REQUIRE(made.bound == least);
            if (made.bound == least && states == 3) ++exact;
            if (!made.found) continue;
            REQUIRE(made.lost >= least);
            for (std::int64_t step = 0; step != 12; ++step) REQUIRE(of.load(made.subset, step) <= of.capacity);
        }
        if (least == detail::least_loss<>::unlimited) continue;
        const width all{4096, 4, 512, 1 << 20};
        REQUIRE(ask(of, all, least + 1).bound == least);  // a known plan that loses one more
        REQUIRE_FALSE(ask(of, all, least).found);         // nothing loses less
        REQUIRE(ask(of, all, least).bound == least);
    }
    CHECK(exact > all_problems / 2);
}

TEST_CASE("cover_table: the least sums of shares with each buffer in the memory and out of it") {
    std::mt19937 random{3};
    const auto below = [&](std::uint32_t limit) { return static_cast<std::size_t>(random() % limit); };
    for (int k = 0; k != 300; ++k) {
        const std::size_t count = 1 + below(7), need = below(12);
        std::vector<std::uint64_t> share;
        std::vector<std::size_t> units;
        for (std::size_t j = 0; j != count; ++j) {
            share.push_back(below(20));
            units.push_back(std::min(1 + below(6), need + 1));
        }
        allot::plan_heap heap{detail::cover_table<>::space(count, 12)};
        allot::plan_workspace workspace = heap;
        detail::cover_table<> table{count, 12, workspace};
        const auto units_of = [&](std::size_t j) { return units[j]; };
        table.fill(share.data(), count, need, units_of);
        // By buffer: the least cover in which it is in, and out.
        std::vector<std::array<std::uint64_t, 2>> least(
            count, {detail::cover_table<>::impossible, detail::cover_table<>::impossible});
        std::uint64_t any = detail::cover_table<>::impossible;
        for (unsigned outside = 0; outside != 1u << count; ++outside) {
            std::uint64_t sum = 0, covered = 0;
            for (std::size_t j = 0; j != count; ++j)
                if ((outside >> j & 1) != 0) sum += share[j], covered += units[j];
            if (covered < need) continue;
            any = std::min(any, sum);
            for (std::size_t j = 0; j != count; ++j) {
                std::uint64_t& least_of = least[j][outside >> j & 1];
                least_of = std::min(least_of, sum);
            }
        }
        REQUIRE(std::min(table.least(0, need), detail::cover_table<>::impossible) == any);
        if (any == detail::cover_table<>::impossible) continue;
        std::vector<std::size_t> asked, changed;
        std::uint64_t sum = 0, covered = 0;  // of the buffers that are out
        table.each_change(
            units_of,
            [&](std::size_t j, bool is_out) {
                asked.push_back(j);
                sum += is_out ? share[j] : 0;
                covered += is_out ? units[j] : 0;
                return j % 3 != 1;
            },
            [&](std::size_t j, bool is_out, std::uint64_t more) {
                changed.push_back(j);
                CHECK(least[j][is_out ? 1 : 0] == any);
                CHECK(std::min(any + more, detail::cover_table<>::impossible) == least[j][is_out ? 0 : 1]);
            });
        CHECK(sum == any);
        CHECK(covered >= need);
        std::vector<std::size_t> all, wanted;
        for (std::size_t j = 0; j != count; ++j) {
            all.push_back(j);
            if (j % 3 != 1) wanted.push_back(j);
        }
        CHECK(asked == all);
        CHECK(changed == wanted);
    }
}

TEST_CASE("least_loss: no effort, no memory") {
    CHECK(detail::least_loss<>::limits::of(0, 100).states == 0);
    const std::array buffers{allot::plan_buffer{.size = 1, .live = {0, 1}}};
    CHECK(detail::least_loss<>::space({.buffers = buffers}, {}) == allot::plan_space{});
}

TEST_CASE("least_loss: the states grow with the effort, and few buffers have no more than sets") {
    using limits = detail::least_loss<>::limits;
    CHECK(limits::of(15'000'000, 400).states > 8 * limits::of(allot::memories_options{}.effort, 400).states);
    CHECK(limits::of(~std::uint64_t{0}, 400).states <= 65'536);
    CHECK(limits::of(15'000'000, 8).states <= 256);
    CHECK(limits::of(allot::memories_options{}.effort, 100).states <= 4096);  // bounds the default workspace
}
