#include "../../error_of.hpp"
#include "../../optional_data.hpp"
#include "problems.hpp"

#include <allot/plan/detail/greedy.hpp>
#include <allot/plan/validate.hpp>

#include <doctest/doctest.h>

namespace {

constexpr std::uint64_t highest = ~std::uint64_t{0};

struct plan {
    std::uint64_t bound = 0;
    allot::detail::greedy_answer answer{};
    std::vector<std::uint64_t> offsets{};
};

/// Returns a plan and checks it.
template <class Stop>
plan checked_plan(const allot::plan_problem& problem, allot::detail::greedy_effort effort, Stop stop) {
    allot::plan_heap memory{
        max(max(allot::bound_space(problem), allot::detail::greedy_space(problem)), allot::validate_space(problem))};
    const auto bound = allot::bound_of(problem, memory);
    REQUIRE(bound);
    plan made{bound->bytes, {}, std::vector<std::uint64_t>(problem.buffers.size(), 12345)};
    const auto answer = allot::detail::greedy_plan(problem, *bound, made.offsets, memory, effort, stop);
    REQUIRE(answer);
    made.answer = *answer;
    CHECK(made.answer.height == problems::height(problem, made.offsets));
    CHECK(made.answer.height >= made.bound);
    CHECK(allot::validate(problem, made.offsets, made.answer.height, memory) == allot::plan_violation{});
    return made;
}
plan checked_plan(const allot::plan_problem& problem, std::uint64_t placements = 5'000) {
    return checked_plan(problem, {placements}, [] { return false; });
}

allot::plan_error refusal(const allot::plan_problem& problem) {
    allot::plan_heap memory{allot::detail::greedy_space(problem)};
    std::vector<std::uint64_t> offsets(problem.buffers.size());
    return error_of(allot::detail::greedy_plan(problem, {}, offsets, memory, {1000}));
}

constexpr auto carved_buffers = problems::carved();
constexpr allot::plan_problem carved{.buffers = carved_buffers};

struct carved_plan {
    std::array<std::uint64_t, carved_buffers.size()> offsets{};
    std::uint64_t bound = 0, height = 0;
    bool valid = false;
};
constexpr carved_plan plan_carved(std::uint64_t placements) {
    carved_plan made;
    allot::plan_storage<max(allot::bound_space(carved),
                            max(allot::detail::greedy_space(carved), allot::validate_space(carved)))>
        memory;
    const auto bound = allot::bound_of(carved, memory);
    if (!bound) return made;
    made.bound = bound->bytes;
    const auto answer = allot::detail::greedy_plan(carved, *bound, made.offsets, memory, {placements});
    if (answer) made.height = answer->height;
    made.valid = allot::validate(carved, made.offsets, made.height, memory) == allot::plan_violation{};
    return made;
}
// All three plans of 454 buffers stay within the default limits of g++ and clang++.
constexpr carved_plan carved_by_the_compiler = plan_carved(0);
static_assert(carved_by_the_compiler.valid && carved_by_the_compiler.bound == problems::carved_height);

// The same with all constraints, and with more than one plan.
constexpr allot::plan_buffer five[]{{16, {0, 4}, 16}, {8, {3, 6}, 8}, {4, {1, 2}, 4}, {4, {5, 7}, 1}, {32, {2, 7}, 32}};
constexpr allot::plan_revival lives_again[]{{2, {5, 6}}};
constexpr allot::plan_fixed at_64[]{{1, 64}};
constexpr allot::plan_pair apart[]{{0, 3}};
constexpr allot::plan_reserved first_bytes[]{{0, 1}};
constexpr allot::plan_problem constrained{
    .buffers = five, .revivals = lives_again, .fixed = at_64, .together = {}, .apart = apart, .reserved = first_bytes};
constexpr std::uint64_t constrained_height() {
    allot::plan_storage<max(allot::detail::greedy_space(constrained), allot::validate_space(constrained))> memory;
    std::array<std::uint64_t, 5> offsets{};
    const auto answer = allot::detail::greedy_plan(constrained, {}, offsets, memory, {100});
    return answer && answer->plans > 4 &&
                   allot::validate(constrained, offsets, answer->height, memory) == allot::plan_violation{}
               ? answer->height
               : 0;
}
static_assert(constrained_height() == 72);

}  // namespace

TEST_CASE("greedy: plans satisfy all rules and are close to the lowest plan") {
    int lowest = 0, all = 0;
    for (std::size_t seed = 1; seed < 80; seed += problems::times(1) == 1 ? 3 : 1) {
        for (const problems::owner& problem :
             {problems::simple(seed, 6, 8, 5, 20), problems::constrained(seed, 6, 8, 5, 20)}) {
            const plan made = checked_plan(problem, 600);
            CHECK(problems::keeps_all_rules(problem, made.offsets, made.answer.height));
            const std::uint64_t optimum = problems::optimum(problem);
            CHECK(made.answer.height >= optimum);
            lowest += made.answer.height == optimum;
            ++all;
        }
        checked_plan(problems::simple(seed, 1 + seed, 30, 1 + seed % 20, 5000));
        checked_plan(problems::constrained(seed, 1 + seed, 30, 1 + seed % 20, 5000));
    }
    CHECK(lowest * 4 > all * 3);
}

TEST_CASE("greedy: more effort is never worse and stops at the bound or by callback") {
    int improved = 0;
    for (std::size_t seed = 1; seed != 6; ++seed) {
        for (const problems::owner& problem :
             {problems::simple(seed, 200, 100, 40, 1000), problems::constrained(seed, 200, 100, 40, 1000)}) {
            const plan once = checked_plan(problem, 0), more = checked_plan(problem, 3000),
                       most = checked_plan(problem, 30'000);
            CHECK(once.answer.plans == 1);
            CHECK(more.answer.height <= once.answer.height);
            CHECK(most.answer.height <= more.answer.height);
            improved += most.answer.height < once.answer.height;
            CHECK((most.answer.plans > more.answer.plans || more.answer.height == more.bound));
            const plan stopped = checked_plan(problem, {highest}, [] { return true; });
            CHECK(stopped.answer.plans == 1);
            CHECK(stopped.offsets == once.offsets);
            int asked = 0;
            const plan interrupted = checked_plan(problem, {highest}, [&] { return ++asked == 20; });
            CHECK((interrupted.answer.plans > 1 || once.answer.height == once.bound));
            CHECK(interrupted.answer.height <= once.answer.height);
        }
    }
    CHECK(improved > 4);
    problems::owner tower;
    for (std::int64_t i = 0; i != 50; ++i) tower.buffers.push_back({7, {0, 1 + i}, 1});
    CHECK(checked_plan(tower, highest).answer.plans == 1);
}

TEST_CASE("greedy: learning improves the plan of a completely full memory") {
    const plan once = checked_plan(carved, 0), learnt = checked_plan(carved, 200'000);
    CHECK(learnt.answer.height < once.answer.height);
    CHECK(learnt.answer.height * 10 < learnt.bound * 11);
}

TEST_CASE("greedy: the plan is equal at compile time and run time with any workspace contents") {
    const carved_plan made = plan_carved(0);
    CHECK(made.offsets == carved_by_the_compiler.offsets);
    CHECK(made.height == carved_by_the_compiler.height);

    const problems::owner owner = problems::constrained(5, 300, 100, 40, 1000);
    const allot::plan_problem problem = owner;
    const plan first = checked_plan(problem);
    const allot::plan_space space = allot::detail::greedy_space(problem);
    std::vector<std::uint32_t> u32(space.u32, 0xDEAD'BEEF);
    std::vector<std::uint64_t> u64(space.u64, highest - 7), offsets(300);
    std::vector<allot::plan_extent> extents(space.extents, {1, highest, 3, 4, 5});
    const auto again =
        allot::detail::greedy_plan(problem, {.bytes = first.bound}, offsets, {u32, u64, extents}, {5'000});
    REQUIRE(again);
    CHECK(offsets == first.offsets);
}

TEST_CASE("gaps: in the order of a skyline no buffer is higher than with the skyline") {
    for (std::size_t seed = 1; seed != 100; ++seed) {
        problems::owner owner = problems::simple(seed, 1 + 3 * seed, 60, 1 + seed % 40, 1000);
        for (std::size_t i = 0; i < owner.buffers.size(); i += 2) owner.buffers[i].align = 1 + 63 * (seed % 2);
        const allot::plan_problem problem = owner;
        const std::size_t count = problem.buffers.size();
        const allot::plan_space a = allot::detail::skyline::space(count, count),
                                b = allot::detail::gaps::space(problem);
        allot::plan_heap memory{{a.u32 + b.u32, a.u64 + b.u64 + allot::detail::timeline::space(count).u64, b.extents}};
        allot::plan_workspace workspace = memory;
        const allot::detail::timeline time{problem, workspace};
        allot::detail::skyline skyline{problem, time, workspace};
        problems::random draw{seed};
        for (std::uint32_t place = 0; place != skyline.count(); ++place)
            skyline.priorities()[place] = static_cast<std::uint32_t>(1 + draw(1000));
        REQUIRE(skyline.run([] { return false; }));
        std::vector<std::uint64_t> offsets(count);
        allot::detail::gaps gaps{problem, {}, time, offsets.data(), workspace};
        REQUIRE(gaps.restart() == count);
        for (std::uint32_t i = 0; i != skyline.count(); ++i) {
            const std::uint32_t place = skyline.order()[i];
            REQUIRE(gaps.place(skyline.buffer(place)));
            CHECK(offsets[skyline.buffer(place)] <= skyline.offsets()[place]);
        }
    }
}

TEST_CASE("greedy: tens of thousands of buffers with and without constraints") {
    const plan made = checked_plan(problems::simple(1, 60'000, 100'000, 100, 100'000), 0);
    CHECK(made.answer.height * 100 < made.bound * 105);
    problems::owner all_at_once;
    for (std::uint64_t i = 0; i != 60'000; ++i)
        all_at_once.buffers.push_back({1 + i % 999, {0, static_cast<std::int64_t>(1 + i % 3)}, 1});
    const plan stacked = checked_plan(all_at_once, 0);
    CHECK(stacked.answer.height == stacked.bound);
    checked_plan(problems::constrained(1, 10'000, 15'000, 100, 1000), 0);
}

TEST_CASE("greedy: rejects problems that cannot be planned") {
    using enum allot::plan_refusal;
    problems::owner problem;
    CHECK(refusal(problem) == allot::plan_error{});
    problem.buffers = {{8, {0, 2}, 8}, {8, {1, 3}, 1}, {8, {5, 6}, 1}, {0, {0, 9}, 1}};
    CHECK(refusal(problem) == allot::plan_error{});
    const auto with = [&](auto constrain) {
        problems::owner other = problem;
        constrain(other);
        return refusal(other);
    };
    CHECK(with([](auto& other) { other.buffers[2].align = 5; }) == allot::plan_error{not_an_alignment, 2});
    CHECK(with([](auto& other) { other.together = {{0, 1}}; }) == allot::plan_error{together_not_merged, 0});
    CHECK(with([](auto& other) { other.fixed = {{0, 0}, {1, 7}}; }) == allot::plan_error{contradiction, 1});
    CHECK(with([](auto& other) { other.fixed = {{0, 0}, {2, 0}}; }) == allot::plan_error{});
    CHECK(with([](auto& other) { other.fixed = {{0, 0}, {2, 0}}, other.apart = {{2, 0}}; }) ==
          allot::plan_error{contradiction, 2});
    CHECK(with([](auto& other) { other.fixed = {{0, 8}, {0, 8}}; }) == allot::plan_error{});
    CHECK(with([](auto& other) { other.fixed = {{0, 8}, {0, 16}}; }) == allot::plan_error{contradiction, 0});
    CHECK(with([](auto& other) { other.fixed = {{2, 4}}, other.reserved = {{11, 1}}; }) ==
          allot::plan_error{contradiction, 2});
    // A buffer without bytes.
    CHECK(with([](auto& other) { other.fixed = {{3, 4}}, other.reserved = {{0, 90}}; }) == allot::plan_error{});

    const allot::plan_problem view = problem;
    const allot::plan_space space = allot::detail::greedy_space(view);
    allot::plan_heap u32{{space.u32 - 1, space.u64, space.extents}}, u64{{space.u32, space.u64 - 1, space.extents}},
        extents{{space.u32, space.u64, space.extents - 1}}, right{space};
    std::vector<std::uint64_t> offsets(4);
    for (allot::plan_heap* small : {&u32, &u64, &extents})
        CHECK(allot::detail::greedy_plan(view, {}, offsets, *small).error().reason == workspace_too_small);
    CHECK(allot::detail::greedy_plan(view, {}, std::span{offsets}.first(3), right).error().reason ==
          workspace_too_small);
}

TEST_CASE("greedy: plans up to 64 bits and rejects larger sums") {
    using enum allot::plan_refusal;
    problems::owner problem;
    problem.buffers = {{highest, {0, 1}, 1}, {highest, {1, 2}, 1}};
    CHECK(checked_plan(problem).answer.height == highest);
    problem.buffers = {{highest - 1, {0, 2}, 1}, {1, {1, 2}, 1}};
    CHECK(checked_plan(problem).answer.height == highest);
    problem.buffers = {{highest, {0, 2}, 1}, {1, {1, 2}, 1}};
    CHECK(refusal(problem).reason == too_large);
    problem.buffers = {{highest / 2, {0, 2}, 2}, {highest / 2, {1, 3}, 1}, {2, {1, 2}, 1}};
    CHECK(refusal(problem).reason == too_large);
    constexpr std::uint64_t unit = std::uint64_t{1} << 60;  // the first order of the buffers exceeds 64 bits
    problem.buffers = {
        {3 * unit, {0, 3}, 2 * unit}, {unit, {1, 2}, 4 * unit}, {2 * unit, {1, 3}, 1}, {4 * unit, {0, 2}, 4 * unit}};
    CHECK(checked_plan(problem, 0).answer.height == 11 * unit);
    problem.buffers = {{highest - 100, {0, 2}, 1}};
    problem.reserved = {{50, 51}};
    CHECK(refusal(problem).reason == too_large);
    problem.reserved = {{0, 100}};
    CHECK(checked_plan(problem).answer.height == highest);
    problem.buffers[0].size = 0;
    problem.reserved = {{0, highest}};
    CHECK(checked_plan(problem).answer.height == 0);
}

TEST_CASE("greedy: published instances") {
    const std::filesystem::path minimalloc = tests::optional_data("minimalloc"), glow = tests::optional_data("glow"),
                                idealloc = tests::optional_data("idealloc");
    if (minimalloc.empty() || glow.empty() || idealloc.empty()) return;
    const auto ratio = [](const plan& made) {
        return static_cast<double>(made.answer.height) / static_cast<double>(made.bound);
    };
    double sum = 0;
    for (const char name : std::string_view{"ABCDEFGHIJK"}) {
        const problems::owner problem = problems::read((minimalloc / (std::string{name} + ".1048576.csv")).string());
        REQUIRE(problem.buffers.size() > 100);
        sum += ratio(checked_plan(problem, 100'000));
    }
    CHECK(sum / 11 < 1.138);
    for (const auto& file : std::filesystem::directory_iterator{glow / "csv"}) {
        const plan made = checked_plan(problems::read(file.path().string()), 50'000);
        CHECK(made.answer.height == made.bound);
    }
    CHECK(ratio(checked_plan(problems::read((idealloc / "pangu_2.6B.csv").string()), 200'000)) < 1.0076);
    CHECK(ratio(checked_plan(problems::read((idealloc / "S_1.csv").string()), 0)) < 1.01);
}
