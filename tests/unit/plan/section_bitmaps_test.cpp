#include <allot/plan/detail/section_bitmaps.hpp>

#include "problems.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using allot::plan_problem;

/// Returns whether two buffers with bytes share no byte in any plan.
bool exclude_each_other(const plan_problem& problem, std::size_t a, std::size_t b) {
    if (problem.buffers[a].size == 0 || problem.buffers[b].size == 0) return false;
    for (const auto& pair : problem.apart)
        if ((pair.first == a && pair.second == b) || (pair.first == b && pair.second == a)) return true;
    return problems::live_at_once(problem, a, b);
}

/// The sections of a problem, in a workspace of exactly the documented size.
class sections_of {
public:
    explicit sections_of(const plan_problem& problem, const allot::detail::plan_sizes& sizes = {})
        : u32_(allot::detail::section_counts::of(problem).space().u32),
          u64_(allot::detail::section_counts::of(problem).space().u64),
          left_{u32_, u64_},
          map_{problem, left_, sizes} {}

    [[nodiscard]] const allot::detail::section_bitmaps<>& map() const { return map_; }
    [[nodiscard]] std::vector<std::size_t> members(std::size_t section) const {
        std::vector<std::size_t> made;
        for (std::size_t item = 0; item != map_.items(); ++item)
            if (map_.members(section).contains(item)) made.push_back(item);
        return made;
    }
    [[nodiscard]] bool cross(std::size_t item, std::size_t section) const {
        return !map_.all_sections(item, [&](std::size_t each) { return each != section; });
    }

private:
    std::vector<std::uint32_t> u32_;
    std::vector<std::uint64_t> u64_;
    allot::plan_workspace left_;
    allot::detail::section_bitmaps<> map_;
};

/// Checks the sections against each pair of buffers.
void check_sections(const plan_problem& problem) {
    const sections_of made{problem};
    const auto& map = made.map();
    bool are_members = true, is_total = true, are_neighbors = true, are_in_range = true, are_twins = true;
    std::vector<bool> meet(map.items() * map.items());
    for (std::size_t section = 0; section != map.sections(); ++section) {
        std::uint64_t total = 0;
        const std::vector<std::size_t> members = made.members(section);
        for (const std::size_t a : members) {
            total += map.size(a);
            for (const std::size_t b : members) meet[a * map.items() + b] = true;
        }
        for (std::size_t item = 0; item != map.items(); ++item)
            are_members = are_members && made.cross(item, section) == map.members(section).contains(item);
        is_total = is_total && map.total(section) == total;
    }
    for (std::size_t a = 0; a != map.items(); ++a) {
        for (std::size_t b = 0; b != map.items(); ++b) {
            if (a == b) continue;
            const bool exclude = exclude_each_other(problem, map.buffer(a), map.buffer(b));
            are_neighbors =
                are_neighbors && map.neighbours(a).contains(b) == exclude && meet[a * map.items() + b] == exclude;
        }
        const std::size_t twin = map.twin(a);
        for (std::size_t b = 0; b != map.items() && twin != a; ++b)
            are_twins =
                are_twins && (b == a || b == twin || map.neighbours(a).contains(b) == map.neighbours(twin).contains(b));
        are_twins = are_twins && map.size(a) == map.size(twin) && map.align(a) == map.align(twin) && twin <= a;
        map.each_section(a, [&](std::size_t section) {
            are_in_range = are_in_range && map.first(a) <= section && section < map.last(a);
        });
        are_in_range = are_in_range && made.cross(a, map.first(a)) && map.first_item(map.first(a)) <= a &&
                       map.first_item(map.first(a) + 1) > a;
    }
    CHECK(are_members);
    CHECK(is_total);
    CHECK(are_neighbors);
    CHECK(are_in_range);
    CHECK(are_twins);
}

}  // namespace

TEST_CASE("section_bitmaps: buffers cross a common section if and only if they share no byte") {
    for (std::uint64_t seed = 1; seed <= problems::times(100); ++seed) {
        CAPTURE(seed);
        problems::random draw{seed};
        const std::size_t count = 2 + draw.index(seed % 8 == 0 ? 90 : 12);
        problems::owner problem = problems::constrained(seed, count, 3 + draw(20), 1 + draw(6), 1 + draw(4));
        for (std::size_t pairs = draw.index(3 * count); pairs-- != 0;)
            if (const std::size_t a = draw.index(count), b = draw.index(count); a != b) problem.apart.push_back({a, b});
        check_sections(problem);
    }
}

TEST_CASE("section_bitmaps: pairs of a clique are one section, and each pair with sizes of its own is a section") {
    const std::vector<allot::plan_buffer> buffers{{1, {0, 1}}, {2, {1, 2}}, {3, {2, 3}}};
    const std::vector<allot::plan_pair> apart{{0, 1}, {1, 2}, {2, 0}};
    const plan_problem problem{.buffers = buffers, .apart = apart};
    const sections_of joined{problem};
    REQUIRE(joined.map().sections() == 4);
    CHECK(joined.members(3) == std::vector<std::size_t>{0, 1, 2});
    CHECK(joined.map().total(3) == 6);

    const std::vector<std::uint64_t> sizes{1, 2, 2, 3, 2, 1};
    const sections_of sized{problem, {.apart = sizes}};
    CHECK(sized.map().sections() == 6);
    CHECK(sized.map().total(5) == 3);
}

TEST_CASE("section_bitmaps: pairs of a buffer that never lives stay sections") {
    const std::vector<allot::plan_buffer> buffers{{1, {0, 1}}, {2, {1, 2}}, {3, {2, 2}}};
    const std::vector<allot::plan_pair> apart{{0, 1}, {1, 2}, {2, 0}};
    const plan_problem problem{.buffers = buffers, .apart = apart};
    const sections_of made{problem};
    REQUIRE(made.map().items() == 3);
    CHECK(made.map().sections() == 5);
    check_sections(problem);
}
