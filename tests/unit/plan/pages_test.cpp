#include "../../error_of.hpp"
#include "problems.hpp"

#include <allot/plan/pages.hpp>
#include <allot/plan/validate_pages.hpp>

#include <doctest/doctest.h>

#include <map>

namespace {

struct plan {
    std::vector<std::uint32_t> first, pages;
    std::uint32_t used = 0;
};

plan plan_pages(const allot::plan_problem& problem, std::uint64_t page_size) {
    const auto in_all = allot::pages_in_all(problem, page_size);
    REQUIRE(in_all);
    plan made{std::vector<std::uint32_t>(problem.buffers.size() + 1), std::vector<std::uint32_t>(*in_all)};
    allot::plan_heap memory{allot::pages_space(problem)};
    const auto used = allot::plan_pages(problem, page_size, made.first, made.pages, memory);
    REQUIRE(used);
    made.used = *used;
    allot::plan_heap checking{allot::validate_pages_space(problem, made.used)};
    CHECK(allot::validate_pages(problem, page_size, made.first, made.pages, made.used, checking) ==
          allot::pages_violation{});
    return made;
}

/// Returns the largest number of pages that live at one step. No plan has fewer.
std::uint64_t bound(const problems::owner& problem, std::uint64_t page_size) {
    std::map<std::int64_t, std::int64_t> change;
    for (const auto& buffer : problem.buffers) {
        const auto pages = static_cast<std::int64_t>((buffer.size + page_size - 1) / page_size);
        change[buffer.live.from] += pages;
        change[buffer.live.until] -= pages;
    }
    std::int64_t live = 0, most = 0;
    for (const auto& [step, by] : change) most = std::max(most, live += by);
    return static_cast<std::uint64_t>(most);
}

constexpr allot::plan_buffer a_few_buffers[]{{200, {0, 2}, 1}, {1, {1, 4}, 1}, {101, {2, 4}, 1}, {0, {0, 4}, 1}};
constexpr allot::plan_problem a_few{.buffers = a_few_buffers};
constexpr std::uint32_t pages_in_a_constant() {
    allot::plan_storage<allot::pages_space(a_few)> memory;
    std::array<std::uint32_t, 5> first{};
    std::array<std::uint32_t, 5> pages{};
    const auto used = allot::plan_pages(a_few, 100, first, pages, memory);
    allot::plan_storage<allot::validate_pages_space(a_few, 3)> checking;
    const bool right = first == std::array<std::uint32_t, 5>{0, 2, 3, 5, 5} &&
                       pages == std::array<std::uint32_t, 5>{0, 1, 2, 0, 1} &&
                       allot::validate_pages(a_few, 100, first, pages, 3, checking) == allot::pages_violation{};
    return used && right ? *used : 0;
}
static_assert(pages_in_a_constant() == 3);

}  // namespace

TEST_CASE("pages: the number is minimal and live buffers share no page") {
    for (std::size_t seed = 1; seed != problems::times(2000); ++seed) {
        const problems::owner problem =
            problems::simple(seed, seed < 300 ? 1 + seed % 50 : 1 + seed % 7, 40, 1 + seed % 30, 1000);
        const std::uint64_t page = seed < 300 ? 64 : 1 + seed % 333;
        const plan made = plan_pages(problem, page);
        CHECK(made.used == bound(problem, page));
        for (std::size_t i = 0; i != problem.buffers.size(); ++i) {
            CHECK(made.first[i + 1] - made.first[i] == (problem.buffers[i].size + page - 1) / page);
            std::vector<bool> own(made.used);
            for (std::uint32_t at = made.first[i]; at != made.first[i + 1]; ++at) {
                REQUIRE(made.pages[at] < made.used);
                CHECK_FALSE(own[made.pages[at]]);
                own[made.pages[at]] = true;
            }
            for (std::size_t j = 0; j != i; ++j)
                if (problem.buffers[i].live.overlaps(problem.buffers[j].live))
                    for (std::uint32_t at = made.first[j]; at != made.first[j + 1]; ++at)
                        CHECK_FALSE(own[made.pages[at]]);
        }
    }
}

TEST_CASE("pages: tens of thousands of buffers") {
    const problems::owner problem = problems::simple(1, 60'000, 100'000, 100, 100'000);
    CHECK(plan_pages(problem, 4096).used == bound(problem, 4096));
}

TEST_CASE("pages: rejects unsupported problems and too many pages") {
    using enum allot::plan_refusal;
    problems::owner problem;
    problem.buffers = {{100, {0, 2}, 64}, {100, {1, 2}, 1}};
    CHECK(*allot::pages_in_all(problem, 64) == 4);
    CHECK(allot::pages_in_all(problem, 0).error().reason == unsupported);
    // Pages of 32 bytes are not aligned to 64.
    CHECK(allot::pages_in_all(problem, 32).error() == allot::plan_error{unsupported, 0});
    CHECK(allot::pages_in_all(problem, 96).error() == allot::plan_error{unsupported, 0});
    const auto with = [&](auto constrain) {
        problems::owner other = problem;
        constrain(other);
        return error_of(allot::pages_in_all(other, 64)).reason;
    };
    CHECK(with([](auto& other) { other.revivals = {{0, {5, 6}}}; }) == unsupported);
    CHECK(with([](auto& other) { other.fixed = {{0, 0}}; }) == unsupported);
    CHECK(with([](auto& other) { other.together = {{0, 1}}; }) == unsupported);
    CHECK(with([](auto& other) { other.apart = {{0, 1}}; }) == unsupported);
    CHECK(with([](auto& other) { other.reserved = {{0, 1}}; }) == unsupported);
    CHECK(with([](auto& other) { other.buffers[1].align = 3; }) == not_an_alignment);
    CHECK(with([](auto& other) { other.buffers[1].size = ~std::uint64_t{0}; }) == too_large);
    CHECK(with([](auto& other) { other.buffers[1].size = std::uint64_t{64} << 32; }) == too_large);

    const allot::plan_problem view = problem;
    allot::plan_heap memory{allot::pages_space(view)}, small{{9, 0, 0}};
    std::vector<std::uint32_t> first(3), pages(4);
    CHECK(*allot::plan_pages(view, 64, first, pages, memory) == 4);
    CHECK(allot::plan_pages(view, 64, first, pages, small).error().reason == workspace_too_small);
    CHECK(allot::plan_pages(view, 64, std::span{first}.first(2), pages, memory).error().reason == workspace_too_small);
    CHECK(allot::plan_pages(view, 64, first, std::span{pages}.first(3), memory).error().reason == workspace_too_small);
    CHECK(allot::plan_pages(view, 0, first, pages, memory).error().reason == unsupported);
}
