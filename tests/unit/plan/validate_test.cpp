#include "../../texts.hpp"
#include "problems.hpp"

#include <allot/plan/validate.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using kind = allot::plan_violation_kind;

allot::plan_violation validate(const allot::plan_problem& problem, const std::vector<std::uint64_t>& offsets,
                               std::uint64_t capacity = ~std::uint64_t{0}) {
    allot::plan_heap memory{allot::validate_space(problem)};
    return allot::validate(problem, offsets, capacity, memory);
}

/// Returns whether the reported violation is real.
bool is_so(const allot::plan_problem& problem, const std::vector<std::uint64_t>& offsets, std::uint64_t capacity,
           allot::plan_violation said) {
    const std::size_t a = said.first, b = said.second;
    const auto has = [&](std::span<const allot::plan_pair> pairs) {
        return std::any_of(pairs.begin(), pairs.end(), [&](auto pair) { return pair.first == a && pair.second == b; });
    };
    switch (said.kind) {
        case kind::misaligned: return offsets[a] % problem.buffers[a].align != 0;
        case kind::over_capacity: return offsets[a] + problem.buffers[a].size > capacity;
        case kind::not_where_fixed:
            return std::any_of(problem.fixed.begin(), problem.fixed.end(),
                               [&](auto fixed) { return fixed.buffer == a && fixed.offset != offsets[a]; });
        case kind::not_together: return has(problem.together) && offsets[a] != offsets[b];
        case kind::not_apart: return has(problem.apart) && problems::share_bytes(problem, offsets, a, b);
        case kind::reserved:
            return problems::share_bytes(offsets[a], problem.buffers[a].size, problem.reserved[b].offset,
                                         problem.reserved[b].size);
        case kind::overlap:
            return a != b && problems::groups(problem)[a] != problems::groups(problem)[b] &&
                   problems::live_at_once(problem, a, b) && problems::share_bytes(problem, offsets, a, b);
        default: return false;
    }
}

constexpr allot::plan_buffer a_few_buffers[]{{10, {0, 5}, 1}, {20, {4, 9}, 2}};
constexpr allot::plan_problem a_few{.buffers = a_few_buffers};
constexpr allot::plan_violation in_a_constant(std::uint64_t second) {
    allot::plan_storage<allot::validate_space(a_few)> memory;
    const std::uint64_t offsets[]{0, second};
    return allot::validate(a_few, offsets, 40, memory);
}
static_assert(in_a_constant(10) == allot::plan_violation{});
static_assert(in_a_constant(8) == allot::plan_violation{kind::overlap, 1, 0});
static_assert(in_a_constant(11) == allot::plan_violation{kind::misaligned, 1, 0});
static_assert(in_a_constant(22) == allot::plan_violation{kind::over_capacity, 1, 0});

}  // namespace

TEST_CASE("validate: agrees with a check of every pair and reports a real violation") {
    std::array<int, 16> seen{};
    for (std::size_t seed = 1; seed != 40'000; ++seed) {
        problems::random draw{seed};
        const std::size_t count = 1 + draw.index(7);
        problems::owner problem = problems::constrained(seed, count, 6, 4, 8);
        if (draw(2) == 0) problem.reserved.clear();
        if (draw(2) == 0) problem.apart.clear();
        for (std::uint64_t i = draw(3); i-- != 0;) problem.together.push_back({draw.index(count), draw.index(count)});
        std::vector<std::uint64_t> offsets;
        const std::uint64_t room = 1 + draw(200);  // too small or large enough
        for (const auto& buffer : problem.buffers)
            offsets.push_back(draw(64) == 0 ? draw(room) : draw(room) / buffer.align * buffer.align);
        for (const auto& pair : problem.together)
            if (draw(4) != 0) offsets[pair.first] = offsets[pair.second];
        for (const auto& fixed : problem.fixed)
            if (draw(4) != 0) offsets[fixed.buffer] = fixed.offset;
        const std::uint64_t capacity = draw(4) == 0 ? draw(300) : 10'000;
        const allot::plan_violation said = validate(problem, offsets, capacity);
        ++seen[static_cast<std::size_t>(said.kind)];
        if (said.kind == kind::none) {
            CHECK(problems::keeps_all_rules(problem, offsets, capacity));
        } else {
            CHECK(!problems::keeps_all_rules(problem, offsets, capacity));
            CHECK(is_so(problem, offsets, capacity, said));
        }
    }
    for (const kind each : {kind::none, kind::misaligned, kind::over_capacity, kind::not_where_fixed,
                            kind::not_together, kind::not_apart, kind::reserved, kind::overlap})
        CHECK(seen[static_cast<std::size_t>(each)] > 100);
}

TEST_CASE("validate: finds one buffer moved by a byte among thousands that fill the memory") {
    constexpr std::size_t count = 5000;
    problems::owner problem;
    std::vector<std::uint64_t> offsets;
    problems::random draw{3};
    for (std::size_t i = 0; i != count; ++i) {  // 100 columns of 50 buffers of 8 bytes each
        const auto column = static_cast<std::int64_t>(i % 100);
        problem.buffers.push_back({8, {column, column + 1}, 1});
        offsets.push_back(i / 100 * 8);
    }
    CHECK(validate(problem, offsets, 400) == allot::plan_violation{});
    for (int round = 0; round != 50; ++round) {
        const std::size_t moved = 100 + draw.index(count - 200);  // not at the bottom and not at the top
        auto wrong = offsets;
        wrong[moved] += draw(2) == 0 ? 1 : std::uint64_t{0} - 1;
        const allot::plan_violation said = validate(problem, wrong, 400);
        CHECK(said.kind == kind::overlap);
        CHECK((said.first == moved || said.second == moved));
        CHECK((said.first % 100 == moved % 100 && said.second % 100 == moved % 100));
    }
}

TEST_CASE("validate: buffers that are together act as one neighbor with the largest live size") {
    problems::owner problem;
    problem.buffers = {{10, {0, 4}, 1}, {30, {2, 6}, 1}, {5, {0, 9}, 1}};
    problem.together = {{0, 1}};
    CHECK(validate(problem, {0, 0, 30}) == allot::plan_violation{});
    CHECK(validate(problem, {0, 0, 29}) == allot::plan_violation{kind::overlap, 1, 2});
    problem.buffers[2].live = {6, 9};  // after the end of the larger one
    CHECK(validate(problem, {0, 0, 0}) == allot::plan_violation{});
    problem.buffers[1].live = {0, 3};
    problem.buffers[2].live = {3, 9};
    CHECK(validate(problem, {0, 0, 10}) == allot::plan_violation{});
    CHECK(validate(problem, {0, 0, 9}) == allot::plan_violation{kind::overlap, 2, 0});
}

TEST_CASE("validate: ends at the last byte and ends that wrap") {
    constexpr std::uint64_t highest = ~std::uint64_t{0};
    problems::owner problem;
    problem.buffers = {{10, {0, 4}, 1}};
    CHECK(validate(problem, {highest - 10}) == allot::plan_violation{});
    CHECK(validate(problem, {highest - 9}) == allot::plan_violation{kind::wraps, 0, 0});
    CHECK(validate(problem, {highest - 10}, highest - 1) == allot::plan_violation{kind::over_capacity, 0, 0});
    problem.reserved = {{highest - 5, 5}};
    CHECK(validate(problem, {highest - 15}) == allot::plan_violation{});
    CHECK(validate(problem, {highest - 14}) == allot::plan_violation{kind::reserved, 0, 0});
}

TEST_CASE("validate: reports invalid problems and missing offsets and a small workspace") {
    problems::owner problem;
    problem.buffers = {{10, {0, 4}, 1}, {10, {4, 4}, 1}};
    CHECK(validate(problem, {0, 0}) == allot::plan_violation{kind::bad_problem, 1, 0});
    problem.buffers[1].live.until = 5;
    CHECK(validate(problem, {0, 0}) == allot::plan_violation{});
    CHECK(validate(problem, {0}).kind == kind::offsets_missing);
    CHECK(validate({}, {}) == allot::plan_violation{});
    const allot::plan_problem view = problem;
    for (const allot::plan_space less : {allot::plan_space{1, 0, 0}, allot::plan_space{0, 1, 0}}) {
        allot::plan_space space = allot::validate_space(view);
        space.u32 -= less.u32;
        space.u64 -= less.u64;
        allot::plan_heap memory{space};
        CHECK(allot::validate(view, std::vector<std::uint64_t>(2), 100, memory).kind == kind::workspace_too_small);
    }
}

TEST_CASE("validate: every kind has its own text") {
    texts::check_distinct_up_to(allot::plan_violation_kind::overlap);
    CHECK(std::string_view{allot::plan_violation{}.what()} == "the plan is valid");
}
