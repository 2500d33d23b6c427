#include "../../error_of.hpp"
#include "problems.hpp"

#include <allot/plan/bound.hpp>

#include <doctest/doctest.h>

namespace {

constexpr std::uint64_t highest = ~std::uint64_t{0};

allot::result<allot::plan_bound, allot::plan_error> bound_of(const allot::plan_problem& problem,
                                                             allot::plan_heap& memory) {
    memory = allot::plan_heap{allot::bound_space(problem)};
    return allot::bound_of(problem, memory);
}
allot::plan_error refusal(const allot::plan_problem& problem) {
    allot::plan_heap memory{{}};
    return error_of(bound_of(problem, memory));
}

constexpr allot::plan_buffer a_few_buffers[]{{10, {0, 5}, 1}, {20, {5, 9}, 1}, {3, {4, 6}, 1}};
constexpr allot::plan_problem a_few{.buffers = a_few_buffers};
constexpr std::uint64_t bound_of_three() {
    allot::plan_storage<allot::bound_space(a_few)> memory;
    const auto bound = allot::bound_of(a_few, memory);
    return bound && bound->step == 5 && bound->live.size() == 2 && bound->live[0] == 1 && bound->live[1] == 2
               ? bound->bytes
               : 0;
}
static_assert(bound_of_three() == 23);

}  // namespace

TEST_CASE("bound: the largest sum over all steps and its step") {
    for (std::size_t seed = 1; seed != 200; ++seed) {
        problems::owner problem = problems::simple(seed, 1 + seed % 60, 50, 20, 100);
        if (seed % 2 == 0)  // buffers with several lifetimes
            for (std::size_t i = 0; i < problem.buffers.size(); i += 3)
                problem.revivals.push_back({i, {80, 80 + static_cast<std::int64_t>(1 + i)}});
        std::uint64_t most = 0;
        const auto sum_at = [&](std::int64_t step) {
            std::uint64_t sum = 0;
            const auto add = [&](std::size_t i, allot::lifetime live) {
                sum += live.overlaps({step, step + 1}) ? problem.buffers[i].size : 0;
            };
            for (std::size_t i = 0; i != problem.buffers.size(); ++i) add(i, problem.buffers[i].live);
            for (const auto& revival : problem.revivals) add(revival.buffer, revival.live);
            return sum;
        };
        for (std::int64_t step = 0; step != 200; ++step) most = std::max(most, sum_at(step));
        allot::plan_heap memory{{}};
        const auto bound = bound_of(problem, memory);
        REQUIRE(bound);
        // With several lifetimes, three buffers can overlap in pairs without a common step.
        CHECK((problem.revivals.empty() ? bound->bytes == most : bound->bytes >= most));
        CHECK(sum_at(bound->step) == most);
        std::uint64_t live = 0;
        for (const std::uint32_t i : bound->live) live += problem.buffers[i].size;
        CHECK(live == most);
    }
}

TEST_CASE("bound: never above the lowest plan and often equal") {
    std::size_t reached = 0, problems_with_padding = 0;
    const std::size_t rounds = problems::times(60);
    for (std::size_t seed = 1; seed <= rounds; ++seed) {
        const problems::owner problem = problems::constrained(seed, 5, 8, 4, 40);
        allot::plan_heap memory{{}};
        const auto bound = bound_of(problem, memory);
        REQUIRE(bound);
        const std::uint64_t optimum = problems::optimum(problem);
        CHECK(bound->bytes <= optimum);
        reached += bound->bytes == optimum;
        problems::owner unaligned = problem;
        for (auto& buffer : unaligned.buffers) buffer.align = 1;
        problems_with_padding += bound_of(unaligned, memory)->bytes < bound->bytes;
    }
    CHECK(reached > rounds / 2);
    CHECK(problems_with_padding > rounds / 30);
}

TEST_CASE("bound: alignment and reserved ranges and fixed buffers and pairs that are apart raise it") {
    problems::owner problem;
    problem.buffers = {{10, {0, 4}, 64}, {10, {0, 4}, 64}, {10, {0, 4}, 64}};
    allot::plan_heap memory{{}};
    CHECK(bound_of(problem, memory)->bytes == 138);  // 64, 64, and the topmost without rounding
    for (auto& buffer : problem.buffers) buffer.align = 1;
    CHECK(bound_of(problem, memory)->bytes == 30);
    problem.reserved = {{100, 10}, {5, 50}, {20, 10}};
    CHECK(bound_of(problem, memory)->bytes == 80);  // 5 below and 25 above
    problem.reserved = {{30, 10}};
    CHECK(bound_of(problem, memory)->bytes == 30);
    problem.fixed = {{1, 90}};
    CHECK(bound_of(problem, memory)->bytes == 100);
    problem = {};
    problem.buffers = {{10, {0, 1}, 1}, {20, {1, 2}, 1}};
    problem.apart = {{0, 1}};
    CHECK(bound_of(problem, memory)->bytes == 30);
}

TEST_CASE("bound: buffers that share no byte raise it even without a common step") {
    problems::owner problem;
    allot::plan_heap memory{{}};
    // Consecutive lifetimes, and each buffer is apart from the others.
    problem.buffers = {{10, {0, 1}, 1}, {20, {1, 2}, 1}, {40, {2, 3}, 1}, {5, {3, 4}, 1}};
    problem.apart = {{0, 1}, {1, 2}, {0, 2}, {2, 3}};
    CHECK(bound_of(problem, memory)->bytes == 70);
    problem.reserved = {{30, 10}};
    CHECK(bound_of(problem, memory)->bytes == 80);
    problem.reserved = {};
    for (auto& buffer : problem.buffers) buffer.align = 16;
    CHECK(bound_of(problem, memory)->bytes == 16 + 32 + 48 - 12);  // all rounded up except the topmost
    // Three buffers overlap in pairs at three steps, because two of them have two lifetimes.
    problem = {};
    problem.buffers = {{3, {0, 2}, 1}, {3, {1, 3}, 1}, {3, {2, 4}, 1}};
    CHECK(bound_of(problem, memory)->bytes == 6);
    problem.revivals = {{0, {3, 4}}};
    CHECK(bound_of(problem, memory)->bytes == 9);
}

TEST_CASE("bound: accepts sums of up to 64 bits and rejects larger ones") {
    problems::owner problem;
    problem.buffers = {{highest, {0, 1}, 1}, {highest, {1, 2}, 1}};
    allot::plan_heap memory{{}};
    CHECK(bound_of(problem, memory)->bytes == highest);
    problem.buffers = {{highest, {0, 2}, 4096}, {0, {1, 2}, 1}};  // does not fit 64 bits when rounded up
    CHECK(bound_of(problem, memory)->bytes == highest);
    problem.buffers = {{highest, {0, 2}, 1}, {1, {1, 2}, 1}};
    CHECK(refusal(problem).reason == allot::plan_refusal::too_large);
    problem.buffers = {{highest, {0, 1}, 1}, {1, {1, 2}, 1}};
    problem.apart = {{0, 1}};
    CHECK(refusal(problem) == allot::plan_error{allot::plan_refusal::too_large, 0});
    problem.apart = {};
    problem.reserved = {{0, 1}};
    CHECK(refusal(problem).reason == allot::plan_refusal::too_large);
    problem.buffers = {{1, {INT64_MIN, INT64_MAX}, 1}, {1, {-1, 1}, 1}};
    CHECK(bound_of(problem, memory)->bytes == 3);
    CHECK(bound_of(problem, memory)->step == -1);
}

TEST_CASE("bound: rejects an invalid problem with a reason") {
    using enum allot::plan_refusal;
    problems::owner good;
    good.buffers = {{8, {0, 2}, 8}, {8, {1, 3}, 1}};
    CHECK(refusal(good) == allot::plan_error{});
    CHECK(refusal({}) == allot::plan_error{});
    const auto spoilt = [&](auto spoil) {
        problems::owner bad = good;
        spoil(bad);
        return refusal(bad);
    };
    CHECK(spoilt([](auto& bad) { bad.buffers[1].live.until = 1; }) == allot::plan_error{empty_lifetime, 1});
    CHECK(spoilt([](auto& bad) { bad.revivals = {{1, {5, 5}}}; }) == allot::plan_error{empty_lifetime, 1});
    CHECK(spoilt([](auto& bad) { bad.revivals = {{1, {2, 5}}}; }) == allot::plan_error{overlapping_lifetimes, 1});
    CHECK(spoilt([](auto& bad) { bad.revivals = {{2, {2, 5}}}; }) == allot::plan_error{no_such_buffer, 2});
    CHECK(spoilt([](auto& bad) { bad.buffers[1].align = 0; }) == allot::plan_error{not_an_alignment, 1});
    CHECK(spoilt([](auto& bad) { bad.buffers[0].align = 24; }) == allot::plan_error{not_an_alignment, 0});
    CHECK(spoilt([](auto& bad) { bad.fixed = {{3, 0}}; }) == allot::plan_error{no_such_buffer, 3});
    CHECK(spoilt([](auto& bad) { bad.fixed = {{0, 4}}; }) == allot::plan_error{fixed_misaligned, 0});
    CHECK(spoilt([](auto& bad) { bad.fixed = {{1, highest - 7}}; }) == allot::plan_error{wraps, 1});
    CHECK(spoilt([](auto& bad) { bad.apart = {{0, 9}}; }) == allot::plan_error{no_such_buffer, 9});
    CHECK(spoilt([](auto& bad) { bad.apart = {{1, 1}}; }) == allot::plan_error{contradiction, 1});
    CHECK(spoilt([](auto& bad) { bad.together = {{7, 0}}; }) == allot::plan_error{no_such_buffer, 7});
    CHECK(spoilt([](auto& bad) { bad.together = {{1, 0}}; }) == allot::plan_error{together_not_merged, 0});
    CHECK(spoilt([](auto& bad) { bad.reserved = {{0, 8}, {highest, 1}}; }) == allot::plan_error{wraps, 1});
    const allot::plan_problem problem = good;
    allot::plan_space space = allot::bound_space(problem);
    --space.u32;
    allot::plan_heap small{space};
    CHECK(allot::bound_of(problem, small).error().reason == workspace_too_small);
}
