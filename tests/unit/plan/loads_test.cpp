// SPDX-License-Identifier: BSL-1.0
// section_loads: the maximum over each range of sections is that of an array that gets the same changes.
#include <allot/plan/detail/loads.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

TEST_CASE("section_loads: the maximum over each range, while ranges get bytes and lose them") {
    struct change {
        std::uint32_t from, until;
        std::uint64_t bytes;
    };
    std::mt19937 random{1};
    for (std::uint32_t sections = 1; sections != 20; ++sections) {
        allot::plan_heap heap{allot::detail::section_loads::space(sections)};
        allot::plan_workspace workspace = heap;
        allot::detail::section_loads loads{sections, workspace};
        loads.clear();
        std::vector<std::uint64_t> expected(sections);
        std::vector<change> made;
        for (int step = 0; step != 60; ++step) {
            const bool in = made.empty() || random() % 3 != 0;
            change each{static_cast<std::uint32_t>(random() % sections), 0, 1 + random() % 9};
            each.until = each.from + static_cast<std::uint32_t>(random() % (sections - each.from + 1));
            if (in) {
                made.push_back(each);
            } else {
                std::swap(made[random() % made.size()], made.back());
                each = made.back();
                made.pop_back();
            }
            loads.add(each.from, each.until, each.bytes, in);
            for (std::uint32_t s = each.from; s != each.until; ++s)
                expected[s] = in ? expected[s] + each.bytes : expected[s] - each.bytes;
            for (std::uint32_t from = 0; from != sections; ++from)
                for (std::uint32_t until = from + 1; until <= sections; ++until)
                    REQUIRE(loads.most(from, until) ==
                            *std::max_element(expected.begin() + from, expected.begin() + until));
        }
    }
}
