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
        std::uint64_t best = detail::least_loss::unlimited;
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
    const std::size_t count = 1 + dice(11);
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
};

answer ask(const subsets& of, std::size_t states, std::uint64_t most, std::size_t rows = 4) {
    const allot::plan_problem problem{.buffers = of.buffers, .revivals = of.revivals};
    const std::size_t sections = of.buffers.size() + of.revivals.size();
    allot::plan_heap heap{detail::section_tree::space(problem) + detail::prices::space(sections, of.buffers.size()) +
                          detail::least_loss::space(problem, states)};
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
    static_cast<void>(price.run(list.data(), list.size(), size_of, value, of.capacity, where.count(), 100, rows));
    detail::least_loss loss{where, price, problem, states, workspace};
    answer made;
    made.bound = loss.run(
        detail::least_loss::choice<size_of_buffer, value_of_buffer>{list, size_of, value, of.capacity, where.count()},
        most);
    made.found = loss.found();
    if (made.found)
        loss.each([&](std::uint32_t i, bool is_in) {
            if (is_in) made.subset |= 1U << i;
            else made.lost += of.values[i];
        });
    return made;
}

}  // namespace

TEST_CASE("least_loss: the least loss of all subsets, a bound for few states, and a choice that fits") {
    problems::random dice{1};
    int exact = 0;
    for (int k = 0; k != 1500; ++k) {
        const subsets of = random_problem(dice);
        const std::uint64_t least = of.least();
        CAPTURE(k);
        for (const std::size_t states : {std::size_t{1}, std::size_t{3}, std::size_t{4096}}) {
            CAPTURE(states);
            const answer made = ask(of, states, detail::least_loss::unlimited, k % 2 == 0 ? 1 : 4);
            REQUIRE(made.bound <= least);
            if (states == 4096) REQUIRE(made.bound == least);
            exact += made.bound == least && states == 3;
            if (!made.found) continue;
            REQUIRE(made.lost >= least);
            for (std::int64_t step = 0; step != 12; ++step) REQUIRE(of.load(made.subset, step) <= of.capacity);
        }
        if (least == detail::least_loss::unlimited) continue;
        REQUIRE(ask(of, 4096, least + 1).bound == least);  // a known plan that loses one more
        REQUIRE_FALSE(ask(of, 4096, least).found);         // nothing loses less
        REQUIRE(ask(of, 4096, least).bound == least);
    }
    CHECK(exact > 700);
}

TEST_CASE("least_loss: no effort, no memory") {
    CHECK(detail::least_loss::states(0, 100) == 0);
    const std::array buffers{allot::plan_buffer{.size = 1, .live = {0, 1}}};
    CHECK(detail::least_loss::space({.buffers = buffers}, 0) == allot::plan_space{});
}
