#include "../../texts.hpp"
#include "brute_force.hpp"
#include "mixed_brute_force.hpp"

#include <allot/plan/mixed.hpp>
#include <allot/plan/validate_mixed.hpp>

#include <doctest/doctest.h>

namespace {

using kind = allot::mixed_violation_kind;

/// Two contiguous buffers, and two in pages of 4 bytes.
constexpr allot::plan_buffer buffers[] = {{6, {0, 2}, 2}, {5, {2, 4}}, {7, {0, 4}}, {3, {1, 3}}};
constexpr std::size_t paged[] = {2, 3};
allot::mixed_plan right() {
    allot::mixed_plan made;
    made.page_size = 4;
    made.places = {{0, 6}, {1, 5}, allot::no_place, allot::no_place};
    made.first = {0, 0, 0, 2, 3};
    made.pages = {4, 2, 3};
    return made;
}

}  // namespace

TEST_CASE("validate_mixed: agrees with the rules for each changed place and page") {
    std::array<std::size_t, 14> seen{};
    for (std::size_t seed = 1; seed != problems::times(problems::is_slow ? 400 : 3000); ++seed) {
        const problems::small_problem small = problems::everything(seed);
        problems::random draw{5 * seed + 1};
        for (int i = 0; i != 2; ++i) (void)draw(2);
        std::vector<std::size_t> in_pages;
        for (std::size_t i = 0; i != small.buffer_count; ++i)
            if (draw(2) != 0) in_pages.push_back(i);
        const allot::mixed_problem given{small.view(), std::uint64_t{1} << draw(5), in_pages};
        const auto made = allot::plan_mixed(given, {.effort = 0});
        if (!made) continue;
        const problems::mixed_brute_force rules{given};
        for (int change = 0; change != 4; ++change) {
            allot::mixed_plan wrong = *made;
            const std::size_t i = draw.index(small.buffer_count);
            if (const auto pages = wrong.pages_of(i); !pages.empty())
                wrong.pages[wrong.first[i] + draw.index(pages.size())] = static_cast<std::uint32_t>(draw(8));
            else if (wrong.places[i] != allot::no_place) wrong.places[i].offset = draw(24);
            const allot::mixed_violation found = allot::validate_mixed(given, wrong, made->peak);
            const bool is_plan =
                rules.is_plan([&](std::size_t at) { return wrong.places[at].offset; },
                              [&](std::size_t at, std::uint64_t k) {
                                  return std::uint64_t{wrong.pages_of(at)[static_cast<std::size_t>(k)]};
                              },
                              made->peak);
            CAPTURE(problems::text_of(given.buffers));
            CAPTURE(seed);
            CAPTURE(found.what());
            CHECK((found.kind == kind::none) == is_plan);
            ++seen[static_cast<std::size_t>(found.kind)];
        }
    }
    for (const kind each :
         {kind::none, kind::not_consecutive, kind::misaligned, kind::over_capacity, kind::not_where_fixed,
          kind::not_together, kind::not_apart, kind::reserved, kind::overlap, kind::twice}) {
        CAPTURE(to_string(each));
        CHECK(seen[static_cast<std::size_t>(each)] > 0);
    }
}

TEST_CASE("validate_mixed: reports the buffers of each violation") {
    const allot::mixed_problem given{{.buffers = buffers}, 4, paged};
    CHECK(allot::validate_mixed(given, right(), 20) == allot::mixed_violation{});
    const auto with = [&](auto change, std::uint64_t capacity = 20) {
        allot::mixed_plan wrong = right();
        change(wrong);
        return allot::validate_mixed(given, wrong, capacity);
    };
    const auto as_it_is = [](auto&) {};
    CHECK(with(as_it_is, 19) == allot::mixed_violation{kind::over_capacity, 2, 0});
    CHECK(with([](auto& made) { made.places[0].offset = 1; }) == allot::mixed_violation{kind::misaligned, 0, 0});
    CHECK(with([](auto& made) { made.places[1].offset = ~std::uint64_t{0}; }) ==
          allot::mixed_violation{kind::wraps, 1, 0});
    CHECK(with([](auto& made) { made.pages[1] = 1; }).kind == kind::overlap);  // the contiguous buffer ends in page 1
    CHECK(with([](auto& made) { made.pages[2] = 4; }).kind == kind::overlap);
    CHECK(with([](auto& made) { made.pages[1] = 4; }) == allot::mixed_violation{kind::twice, 2, 0});
    CHECK(with([](auto& made) { made.page_size = 8; }).kind == kind::lists_missing);
    CHECK(with([](auto& made) { made.places.pop_back(); }) == allot::mixed_violation{kind::lists_missing, 3, 0});
    CHECK(with([](auto& made) { made.places[0].size = 5; }) == allot::mixed_violation{kind::lists_missing, 0, 0});
    CHECK(with([](auto& made) { made.first.pop_back(); }) == allot::mixed_violation{kind::lists_missing, 4, 0});
    CHECK(with([](auto& made) { made.pages.pop_back(); }) == allot::mixed_violation{kind::lists_missing, 3, 0});
    CHECK(with([](auto& made) { made.first[3] = 1; }) == allot::mixed_violation{kind::wrong_number, 2, 0});
    CHECK(with([](auto& made) { made.first[2] = 1; }) == allot::mixed_violation{kind::wrong_number, 1, 0});
    CHECK(allot::validate_mixed({{.buffers = buffers}, 0, paged}, right(), 20).kind == kind::bad_problem);
    constexpr std::size_t missing[] = {4};
    CHECK(allot::validate_mixed({{.buffers = buffers}, 4, missing}, right(), 20).kind == kind::bad_problem);
    constexpr allot::plan_buffer wide[] = {{6, {0, 2}}, {5, {2, 4}}, {7, {0, 4}, 8}, {3, {1, 3}}};
    CHECK(allot::validate_mixed({{.buffers = wide}, 4, paged}, right(), 20) ==
          allot::mixed_violation{kind::misaligned, 2, 0});
}

TEST_CASE("validate_mixed: every kind has its own text") {
    texts::check_distinct_up_to(kind::twice);
    CHECK(std::string_view{allot::mixed_violation{}.what()} == "the plan is valid");
}
