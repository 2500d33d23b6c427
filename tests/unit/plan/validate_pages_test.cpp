#include "../../texts.hpp"
#include "problems.hpp"

#include <allot/plan/pages.hpp>
#include <allot/plan/validate_pages.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using kind = allot::pages_violation_kind;

struct paged {
    std::vector<std::uint32_t> first, pages;
    std::uint32_t count = 0;
};

allot::pages_violation validate(const allot::plan_problem& problem, std::uint64_t page_size, const paged& made) {
    allot::plan_heap memory{allot::validate_pages_space(problem, made.count)};
    return allot::validate_pages(problem, page_size, made.first, made.pages, made.count, memory);
}

paged plan(const allot::plan_problem& problem, std::uint64_t page_size) {
    paged made{std::vector<std::uint32_t>(problem.buffers.size() + 1),
               std::vector<std::uint32_t>(*allot::pages_in_all(problem, page_size))};
    allot::plan_heap memory{allot::pages_space(problem)};
    made.count = *allot::plan_pages(problem, page_size, made.first, made.pages, memory);
    REQUIRE(validate(problem, page_size, made) == allot::pages_violation{});
    return made;
}

/// Returns whether the reported violation is real. Compares every pair.
bool is_so(const problems::owner& problem, std::uint64_t page_size, const paged& made, allot::pages_violation said) {
    const auto list = [&](std::size_t i) {
        return std::vector(made.pages.begin() + made.first[i], made.pages.begin() + made.first[i + 1]);
    };
    const auto has_twice = [&](std::size_t i) {
        auto mine = list(i);
        std::sort(mine.begin(), mine.end());
        return std::adjacent_find(mine.begin(), mine.end()) != mine.end();
    };
    const auto share = [&](std::size_t i, std::size_t j) {
        const auto others = list(j), mine = list(i);
        return problem.buffers[i].live.overlaps(problem.buffers[j].live) &&
               std::find_first_of(mine.begin(), mine.end(), others.begin(), others.end()) != mine.end();
    };
    const auto too_high = [&](std::size_t i) {
        const auto mine = list(i);
        return std::any_of(mine.begin(), mine.end(), [&](std::uint32_t page) { return page >= made.count; });
    };
    switch (said.kind) {
        case kind::wrong_number:
            return list(said.first).size() != (problem.buffers[said.first].size + page_size - 1) / page_size;
        case kind::no_such_page: return too_high(said.first);
        case kind::twice: return has_twice(said.first);
        case kind::overlap: return said.first != said.second && share(said.first, said.second);
        case kind::none:
            for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
                if (has_twice(i) || too_high(i)) return false;
                for (std::size_t j = 0; j != i; ++j)
                    if (share(i, j)) return false;
            }
            return true;
        default: return false;
    }
}

}  // namespace

TEST_CASE("validate_pages: finds one changed page and reports a real violation") {
    std::array<int, 16> seen{};
    for (std::uint64_t seed = 1; seed != 3000; ++seed) {
        problems::random draw{seed};
        const problems::owner problem = problems::simple(seed, 2 + draw.index(12), 12, 6, 300);
        const paged right = plan(problem, 64);
        if (right.pages.empty()) continue;
        for (int change = 0; change != 4; ++change) {
            paged wrong = right;
            const std::size_t at = draw.index(wrong.pages.size());
            const std::uint32_t page = wrong.pages[at];
            // A page of another buffer or a free page.
            if (change == 0) wrong.pages[at] = static_cast<std::uint32_t>(draw(wrong.count));
            if (change == 1) wrong.pages[at] = wrong.count + static_cast<std::uint32_t>(draw(3));
            if (change == 2) --wrong.count;
            if (change == 3) ++wrong.first[1 + draw.index(problem.buffers.size() - 1)];
            const allot::pages_violation said = validate(problem, 64, wrong);
            ++seen[static_cast<std::size_t>(said.kind)];
            if (change == 0 && wrong.pages[at] == page) CHECK(said == allot::pages_violation{});
            if (change == 1 || change == 2) CHECK(said.kind == kind::no_such_page);
            if (change == 3) CHECK(said.kind == kind::wrong_number);
            CHECK(is_so(problem, 64, wrong, said));
        }
    }
    for (const kind each : {kind::none, kind::wrong_number, kind::no_such_page, kind::twice, kind::overlap})
        CHECK(seen[static_cast<std::size_t>(each)] > 20);
}

TEST_CASE("validate_pages: finds one shared page among tens of thousands of buffers") {
    const problems::owner problem = problems::simple(1, 60'000, 100'000, 100, 100'000);
    const paged right = plan(problem, 4096);
    problems::random draw{9};
    for (int round = 0; round != 20; ++round) {
        paged wrong = right;
        const std::size_t victim = draw.index(problem.buffers.size());
        if (wrong.first[victim] == wrong.first[victim + 1]) continue;
        std::size_t thief = 0;
        while (thief == victim || !problem.buffers[thief].live.overlaps(problem.buffers[victim].live) ||
               wrong.first[thief] == wrong.first[thief + 1])
            ++thief;
        wrong.pages[wrong.first[thief]] = wrong.pages[wrong.first[victim + 1] - 1];
        const allot::pages_violation said = validate(problem, 4096, wrong);
        CHECK(said.kind == kind::overlap);
        CHECK((said.first == thief || said.second == thief));
    }
}

TEST_CASE("validate_pages: a page is free from the step at which its buffer ends") {
    problems::owner problem;
    problem.buffers = {{10, {0, 5}, 1}, {10, {5, 9}, 1}, {0, {0, 9}, 1}};
    const paged made{{0, 1, 2, 2}, {0, 0}, 1};
    CHECK(validate(problem, 10, made) == allot::pages_violation{});
    problem.buffers[0].live.until = 6;
    CHECK(validate(problem, 10, made) == allot::pages_violation{kind::overlap, 1, 0});
    problem.buffers[0].live = {5, 6};  // buffers that begin at the same step overlap
    CHECK(validate(problem, 10, made).kind == kind::overlap);
    problem.buffers[0].live = {-9, 5};
    CHECK(validate(problem, 10, made) == allot::pages_violation{});
}

TEST_CASE("validate_pages: reports invalid and unsupported problems and missing lists and a small workspace") {
    problems::owner problem;
    problem.buffers = {{100, {0, 2}, 64}, {65, {1, 2}, 1}};
    const paged right{{0, 2, 4}, {3, 0, 1, 2}, 4};
    CHECK(validate(problem, 64, right) == allot::pages_violation{});
    const auto with = [&](auto change, std::uint64_t page_size = 64) {
        problems::owner other = problem;
        paged made = right;
        change(other, made);
        return validate(other, page_size, made);
    };
    const auto as_it_is = [](auto&, auto&) {};
    CHECK(with(as_it_is, 0).kind == kind::unsupported);
    CHECK(with(as_it_is, 96) == allot::pages_violation{kind::misaligned, 0, 0});
    CHECK(with(as_it_is, 128) == allot::pages_violation{kind::wrong_number, 0, 0});
    CHECK(with([](auto& other, auto&) { other.revivals = {{0, {5, 6}}}; }).kind == kind::unsupported);
    CHECK(with([](auto& other, auto&) { other.fixed = {{0, 0}}; }).kind == kind::unsupported);
    CHECK(with([](auto& other, auto&) { other.together = {{0, 1}}; }).kind == kind::unsupported);
    CHECK(with([](auto& other, auto&) { other.apart = {{0, 1}}; }).kind == kind::unsupported);
    CHECK(with([](auto& other, auto&) { other.reserved = {{0, 1}}; }).kind == kind::unsupported);
    CHECK(with([](auto& other, auto&) { other.buffers[1].align = 3; }) ==
          allot::pages_violation{kind::bad_problem, 1, 0});
    CHECK(with([](auto&, auto& made) { made.first.pop_back(); }) == allot::pages_violation{kind::lists_missing, 2, 0});
    CHECK(with([](auto&, auto& made) { made.first.clear(); }).kind == kind::lists_missing);
    CHECK(with([](auto&, auto& made) { made.first[1] = 5; }) == allot::pages_violation{kind::lists_missing, 0, 0});
    CHECK(with([](auto&, auto& made) { made.pages.pop_back(); }) == allot::pages_violation{kind::lists_missing, 1, 0});
    CHECK(with([](auto&, auto& made) { made.count = 0; }) == allot::pages_violation{kind::no_such_page, 0, 0});
    CHECK(validate({}, 64, {{0}, {}, 0}) == allot::pages_violation{});

    const allot::plan_problem view = problem;
    allot::plan_space space = allot::validate_pages_space(view, 4);
    --space.u32;
    allot::plan_heap small{space};
    CHECK(allot::validate_pages(view, 64, right.first, right.pages, 4, small).kind == kind::workspace_too_small);
    CHECK(allot::validate_pages(view, 64, right.first, right.pages, ~std::uint32_t{0}, small).kind ==
          kind::workspace_too_small);
}

TEST_CASE("validate_pages: every kind has its own text") {
    texts::check_distinct_up_to(allot::pages_violation_kind::overlap);
    CHECK(std::string_view{allot::pages_violation{}.what()} == "the assignment is valid");
}
