// The exact search, compared with exhaustive enumeration on small problems and run on published collections. Tests of
// single answers call the search directly. All others use `plan`, as users do.
#include <allot/plan/plan.hpp>

#include "../../optional_data.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

using allot::plan_buffer;
using allot::plan_problem;
using allot::detail::packing_search;
using allot::detail::search_answer;
using allot::detail::search_result;

namespace {

constexpr bool share_time(const plan_problem& problem, std::size_t a, std::size_t b) {
    const auto lives = [&](std::size_t buffer, auto test) {
        if (test(problem.buffers[buffer].live)) return true;
        for (const auto& revival : problem.revivals)
            if (revival.buffer == buffer && test(revival.live)) return true;
        return false;
    };
    for (const auto& pair : problem.apart)
        if ((pair.first == a && pair.second == b) || (pair.first == b && pair.second == a)) return true;
    const auto is_life = [](allot::lifetime live) { return live.from < live.until; };
    return lives(a, [&](allot::lifetime one) {
        return is_life(one) && lives(b, [&](allot::lifetime other) { return is_life(other) && one.overlaps(other); });
    });
}

constexpr bool collide(const plan_problem& problem, std::span<const std::uint64_t> offsets, std::size_t a,
                       std::size_t b) {
    const auto &one = problem.buffers[a], &other = problem.buffers[b];
    return one.size != 0 && other.size != 0 && offsets[a] < offsets[b] + other.size &&
           offsets[b] < offsets[a] + one.size && share_time(problem, a, b);
}

/// Returns whether these offsets are a plan within `capacity`.
constexpr bool is_plan(const plan_problem& problem, std::span<const std::uint64_t> offsets, std::uint64_t capacity) {
    for (std::size_t b = 0; b < offsets.size(); ++b) {
        if (offsets[b] % problem.buffers[b].align != 0) return false;
        if (offsets[b] > capacity || problem.buffers[b].size > capacity - offsets[b]) return false;
        for (const auto& range : problem.reserved)
            if (problem.buffers[b].size != 0 && range.size != 0 &&
                range.offset < offsets[b] + problem.buffers[b].size && offsets[b] < range.offset + range.size)
                return false;
        for (std::size_t a = 0; a < b; ++a)
            if (collide(problem, offsets, a, b)) return false;
    }
    for (const auto& fixed : problem.fixed)
        if (offsets[fixed.buffer] != fixed.offset) return false;
    return true;
}

/// Returns whether the fixed offsets are valid. If so, a plan above them exists.
bool fixed_agree(const plan_problem& problem) {
    std::vector<std::uint64_t> offsets(problem.buffers.size());
    for (const auto& fixed : problem.fixed) offsets[fixed.buffer] = fixed.offset;
    for (const auto& one : problem.fixed) {
        if (offsets[one.buffer] != one.offset || one.offset % problem.buffers[one.buffer].align != 0) return false;
        for (const auto& range : problem.reserved)
            if (range.size != 0 && range.offset < one.offset + problem.buffers[one.buffer].size &&
                one.offset < range.offset + range.size)
                return false;
        for (const auto& other : problem.fixed)
            if (one.buffer != other.buffer && collide(problem, offsets, one.buffer, other.buffer)) return false;
    }
    return true;
}

/// Returns whether a plan exists. Tries every offset of every buffer.
bool exists_plan(const plan_problem& problem, std::uint64_t capacity) {
    std::vector<std::uint64_t> offsets(problem.buffers.size());
    const std::function<bool(std::size_t)> place = [&](std::size_t b) {
        if (b == offsets.size()) return is_plan(problem, offsets, capacity);
        for (offsets[b] = 0; problem.buffers[b].size + offsets[b] <= capacity; ++offsets[b]) {
            bool fits = offsets[b] % problem.buffers[b].align == 0;
            for (const auto& fixed : problem.fixed) fits = fits && (fixed.buffer != b || fixed.offset == offsets[b]);
            for (const auto& range : problem.reserved)
                fits = fits && (range.offset + range.size <= offsets[b] ||
                                offsets[b] + problem.buffers[b].size <= range.offset || range.size == 0);
            for (std::size_t a = 0; a < b && fits; ++a) fits = !collide(problem, offsets, a, b);
            if (fits && place(b + 1)) return true;
        }
        return false;
    };
    return place(0);
}

struct planned {
    search_result result;
    std::vector<std::uint64_t> offsets;
    friend bool operator==(const planned&, const planned&) = default;
};
/// The workspace of a search.
class search_arrays {
public:
    search_arrays(const plan_problem& problem, std::size_t memo) : memo_{memo} {
        const auto counts = allot::detail::search_counts::of(problem, memo);
        u32_.resize(counts.space().u32);
        u64_.resize(counts.space().u64);
    }
    allot::detail::search_workspace workspace() { return {{u32_, u64_}, memo_}; }

private:
    std::size_t memo_;
    std::vector<std::uint32_t> u32_;
    std::vector<std::uint64_t> u64_;
};
planned find(const plan_problem& problem, std::uint64_t capacity, std::uint64_t nodes = 1'000'000,
             std::size_t memo = 1024) {
    search_arrays arrays{problem, memo};
    packing_search<> search{problem, arrays.workspace()};
    planned plan{{}, std::vector<std::uint64_t>(problem.buffers.size(), 77)};
    plan.result = search.find(capacity, plan.offsets, nodes);
    return plan;
}
/// Checks that `plan` finds the lowest plan and proves that it is the lowest.
void check_lowest(const plan_problem& problem, std::uint64_t height) {
    const auto made = allot::plan(problem, {.remember = 1024});
    REQUIRE(made);
    CHECK(made->peak == height);
    CHECK(made->bound == height);
    CHECK(made->status == allot::plan_status::optimal);
    std::vector<std::uint64_t> offsets;
    for (const allot::plan_place& place : made->places) offsets.push_back(place.offset);
    CHECK(is_plan(problem, offsets, height));
}

/// A problem that owns its arrays.
struct small_problem {
    std::vector<plan_buffer> buffers;
    std::vector<allot::plan_revival> revivals;
    std::vector<allot::plan_fixed> fixed;
    std::vector<allot::plan_pair> apart;
    std::vector<allot::plan_reserved> reserved;
    plan_problem view() const {
        return {.buffers = buffers, .revivals = revivals, .fixed = fixed, .apart = apart, .reserved = reserved};
    }
};

enum : unsigned { with_alignments = 1, with_revivals = 2, with_fixed = 4, with_pairs = 8, with_reserved = 16 };

small_problem random_problem(std::mt19937& dice, unsigned with) {
    const auto throw_dice = [&](unsigned sides) { return static_cast<unsigned>(dice() % sides); };
    small_problem problem;
    const std::size_t count = 2 + throw_dice(5);
    const auto life = [&] {
        const std::int64_t from = static_cast<std::int64_t>(throw_dice(6)) - 3;
        return allot::lifetime{from, from + 1 + throw_dice(4)};
    };
    for (std::size_t b = 0; b < count; ++b)
        problem.buffers.push_back(
            {1 + throw_dice(4), life(), (with & with_alignments) != 0 ? 1u << throw_dice(3) : 1u});
    const auto any = [&] { return std::size_t{throw_dice(static_cast<unsigned>(count))}; };
    if ((with & with_revivals) != 0)
        for (unsigned k = throw_dice(3); k > 0; --k) problem.revivals.push_back({any(), life()});
    if ((with & with_fixed) != 0)
        for (unsigned k = throw_dice(3); k > 0; --k) problem.fixed.push_back({any(), throw_dice(6)});
    if ((with & with_pairs) != 0)
        for (unsigned k = throw_dice(9); k > 0; --k) {
            const std::size_t a = any(), b = any();
            if (a != b) problem.apart.push_back({a, b});
        }
    if ((with & with_reserved) != 0)  // reserved ranges may overlap, be empty, or be above all buffers
        for (unsigned k = 1 + throw_dice(3); k > 0; --k) problem.reserved.push_back({throw_dice(12), throw_dice(4)});
    return problem;
}

}  // namespace

TEST_CASE("search: a part of the buffers is placed as a plan of all, and leaves out less than the given value") {
    unsigned whole = 0, parts = 0, none = 0;
    for (unsigned with = 0; with < 32; ++with) {
        CAPTURE(with);
        std::mt19937 dice{with};
        for (std::size_t round = 0; round < problems::times(200); ++round) {
            CAPTURE(round);
            small_problem problem = random_problem(dice, with);
            for (plan_buffer& buffer : problem.buffers) buffer.size *= buffer.size;  // leaves holes
            const std::size_t count = problem.buffers.size();
            std::vector<std::uint64_t> values, offsets(count);
            for (std::size_t b = 0; b != count; ++b) values.push_back(1 + dice() % 9);
            search_arrays arrays{problem.view(), 16};
            packing_search<> search{problem.view(), arrays.workspace()};
            const std::uint64_t capacity = search.bound() + dice() % 4, most_lost = 1 + dice() % 20,
                                nodes = dice() % 60;
            const auto made = search.find_part(capacity, offsets, dice() % 8, 8, nodes, most_lost,
                                               [&](std::size_t b) { return values[b]; });
            REQUIRE(made.nodes <= nodes + 5);  // those of one section
            if (!made.found) {
                ++none;
                continue;
            }
            // The buffers that are left out have no bytes, and are never in the way.
            std::uint64_t lost = 0;
            for (std::size_t b = 0; b != count; ++b) {
                if (offsets[b] != packing_search<>::left_out) continue;
                for (const auto& fixed : problem.fixed) REQUIRE(fixed.buffer != b);
                lost += values[b];
                problem.buffers[b] = {0, {0, 1}};
                offsets[b] = 0;
            }
            REQUIRE(lost < most_lost);
            REQUIRE(is_plan(problem.view(), offsets, capacity));
            ++(lost == 0 ? whole : parts);
        }
    }
    CHECK(whole > 100);
    CHECK(parts > 100);
    CHECK(none > 100);
}

TEST_CASE("search: agrees with trying every offset") {
    for (unsigned with = 0; with < 32; ++with) {
        CAPTURE(with);
        std::mt19937 dice{with};
        unsigned found = 0, infeasible = 0;
        for (std::size_t round = 0; round < problems::times(25); ++round) {
            CAPTURE(round);
            const small_problem problem = random_problem(dice, with);
            if (!fixed_agree(problem.view())) {
                CHECK(find(problem.view(), 1000).result.answer == search_answer::infeasible);
                continue;
            }
            std::uint64_t least = 0;
            while (!exists_plan(problem.view(), least)) ++least;
            for (std::uint64_t capacity = least < 2 ? 0 : least - 2; capacity < least + 3; ++capacity) {
                CAPTURE(capacity);
                const planned plan = find(problem.view(), capacity, 1'000'000, round % 2 == 0 ? 16 : 0);
                REQUIRE(plan.result.answer == (capacity < least ? search_answer::infeasible : search_answer::found));
                if (capacity >= least) REQUIRE(is_plan(problem.view(), plan.offsets, plan.result.height));
                if (capacity >= least) REQUIRE(plan.result.height <= capacity);
                REQUIRE(plan.result.bound <= std::max(least, capacity + 1));
                ++(capacity < least ? infeasible : found);
            }
            const bool merely_planned = problem.revivals.empty();  // `plan` rejects overlapping lifetimes of one buffer
            if (merely_planned) check_lowest(problem.view(), least);
        }
        CHECK(found > 0);
        CHECK(infeasible > 0);
    }
}

namespace {

/// The search in the order of offsets alone, interrupted after every few nodes.
struct offset_plan {
    bool has_plan = false;
    std::uint64_t bound = 0;
    std::vector<std::uint64_t> offsets;
};
offset_plan find_by_offsets(const plan_problem& problem, std::uint64_t capacity, std::size_t memo) {
    search_arrays arrays{problem, memo};
    allot::plan_workspace workspace = arrays.workspace().arrays;
    const std::size_t count = problem.buffers.size();
    allot::detail::search_state<> state{
        problem, allot::detail::search_counts::of(problem, memo).state(), workspace, {}};
    allot::detail::failed_states failed{memo, workspace};
    allot::detail::offset_search<> search{count, workspace};
    offset_plan plan{false, 0, std::vector<std::uint64_t>(count, 77)};
    failed.clear();
    if (state.map().contradictory() || !state.start(capacity)) return plan;
    REQUIRE(search.supports(state));
    search.begin(state);
    for (std::uint64_t nodes = 0, limit = 3; !search.is_decided(); limit += 3)
        REQUIRE_FALSE(search.run(state, failed, nodes, limit, [] { return false; }));
    plan.has_plan = search.has_plan();
    if (!plan.has_plan) plan.bound = search.bound();
    for (std::size_t k = 0; k != search.placed(); ++k) REQUIRE(state.place(search.item(k)));
    if (plan.has_plan)
        for (std::uint32_t i = 0; i != count; ++i) plan.offsets[state.map().buffer(i)] = state.offset(i);
    return plan;
}

}  // namespace

TEST_CASE("search: the order of offsets agrees with trying every offset, and its bound is that of a plan") {
    for (unsigned with = 0; with < 32; ++with) {
        CAPTURE(with);
        std::mt19937 dice{100 + with};
        unsigned found = 0, infeasible = 0, beyond = 0;
        for (std::size_t round = 0; round < problems::times(25); ++round) {
            CAPTURE(round);
            const small_problem problem = random_problem(dice, with);
            if (!fixed_agree(problem.view())) continue;
            std::uint64_t least = 0;
            while (!exists_plan(problem.view(), least)) ++least;
            for (std::uint64_t capacity = least < 4 ? 0 : least - 4; capacity < least + 3; ++capacity) {
                CAPTURE(capacity);
                const offset_plan plan = find_by_offsets(problem.view(), capacity, round % 2 == 0 ? 64 : 0);
                REQUIRE(plan.has_plan == (capacity >= least));
                if (plan.has_plan) REQUIRE(is_plan(problem.view(), plan.offsets, capacity));
                else REQUIRE(plan.bound <= least);
                if (!plan.has_plan && plan.bound > capacity + 1) ++beyond;
                ++(plan.has_plan ? found : infeasible);
            }
        }
        CHECK(found > 0);
        CHECK(infeasible > 0);
        if (with == 0) CHECK(beyond > 0);
    }
}

TEST_CASE("search: a workspace for some buffers suffices for fewer") {
    for (std::size_t count = 1; count != 200; ++count) {
        CAPTURE(count);
        const std::vector<plan_buffer> buffers(count, plan_buffer{1, {0, 1}});
        const auto space = [&](std::size_t some) {
            return allot::detail::search_counts::of({.buffers = std::span{buffers}.first(some)}, 64).space();
        };
        REQUIRE(max(space(count), space(count - 1)) == space(count));
    }
}

TEST_CASE("search: proves the lowest plan of pairs that form no large cliques") {
    // The graph of Mycielski with 23 vertices needs five colors, and has no triangle.
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (std::size_t i = 0; i != 5; ++i) edges.emplace_back(i, (i + 1) % 5);
    std::size_t count = 5;
    for (int k = 0; k != 2; ++k) {
        for (std::size_t e = edges.size(); e-- != 0;) {
            edges.emplace_back(edges[e].first, count + edges[e].second);
            edges.emplace_back(count + edges[e].first, edges[e].second);
        }
        for (std::size_t i = 0; i != count; ++i) edges.emplace_back(count + i, 2 * count);
        count = 2 * count + 1;
    }
    REQUIRE(count == 23);
    std::vector<plan_buffer> buffers;
    for (std::size_t i = 0; i != count; ++i)
        buffers.push_back({4, {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1}});
    std::vector<allot::plan_pair> apart;
    for (const auto& [one, other] : edges) apart.push_back({one, other});
    const plan_problem problem{.buffers = buffers, .apart = apart};
    const planned low = find(problem, 16, 100'000, 1 << 14);
    CHECK(low.result.answer == search_answer::infeasible);
    CHECK(low.result.bound == 20);
    CHECK(find(problem, 20).result.answer == search_answer::found);
}

TEST_CASE("search: reassembles a rectangle that was cut into pieces") {
    for (unsigned seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        std::mt19937 dice{seed};
        struct piece {
            std::int64_t from, until;
            std::uint64_t size;
        };
        std::vector<piece> pieces{{0, 24, 240}};
        while (pieces.size() < 30) {
            const std::size_t k = dice() % pieces.size();
            piece rest = pieces[k];
            if (dice() % 2 == 0 && rest.until - rest.from > 1) {
                rest.from = pieces[k].until =
                    rest.from + 1 + static_cast<std::int64_t>(dice()) % (rest.until - rest.from - 1);
            } else if (rest.size > 1) {
                rest.size -= pieces[k].size = 1 + dice() % (rest.size - 1);
            } else {
                continue;
            }
            pieces.push_back(rest);
        }
        std::vector<plan_buffer> buffers;
        for (const piece& one : pieces) buffers.push_back({one.size, {one.from, one.until}});
        const planned plan = find({.buffers = buffers}, 240, 200'000);
        REQUIRE(plan.result.answer == search_answer::found);
        REQUIRE(is_plan({.buffers = buffers}, plan.offsets, 240));
        REQUIRE(find({.buffers = buffers}, 240, 200'000, 0).result.answer == search_answer::found);
    }
}

TEST_CASE("search: remembering failed states changes no answer") {
    int infeasible = 0, found = 0;
    for (unsigned seed = 0; seed < problems::times(40); ++seed) {
        CAPTURE(seed);
        std::mt19937 dice{seed};
        small_problem problem;
        const auto life = [&] {
            const auto from = static_cast<std::int64_t>(dice() % 16);
            return allot::lifetime{from, from + 1 + static_cast<std::int64_t>(dice() % 3)};
        };
        for (std::size_t b = 0; b < 9; ++b) {
            problem.buffers.push_back({1 + dice() % 9, life()});
            problem.revivals.push_back({b, life()});
            problem.revivals.push_back({b, life()});
        }
        // From the bound up to the first sufficient capacity, which has the fewest plans.
        for (std::uint64_t capacity = find(problem.view(), 0).result.bound;; ++capacity) {
            const planned plain = find(problem.view(), capacity, 4000, 0);
            if (plain.result.answer == search_answer::out_of_budget) break;
            for (const std::size_t memo : {16u, 4096u})
                REQUIRE(find(problem.view(), capacity, 4000, memo).result.answer == plain.result.answer);
            ++(plain.result.answer == search_answer::found ? found : infeasible);
            if (plain.result.answer == search_answer::found) break;
        }
    }
    CHECK(found > 5);
    CHECK(infeasible > 10);
}

TEST_CASE("search: remembers a failed state with the lowest offsets of its buffers") {
    // Both fit. Without the lowest offsets, the search confused these states with failed ones.
    const std::array<plan_buffer, 8> eight{{{3, {1, 2}, 4},
                                            {3, {1, 4}},
                                            {6, {0, 2}, 4},
                                            {7, {2, 5}},
                                            {7, {0, 3}, 2},
                                            {8, {1, 4}, 2},
                                            {8, {2, 3}, 2},
                                            {6, {0, 2}, 4}}};
    const std::array<plan_buffer, 11> eleven{{{5, {1, 2}},
                                              {4, {2, 3}, 2},
                                              {1, {3, 5}},
                                              {1, {0, 2}},
                                              {1, {2, 3}, 2},
                                              {3, {3, 4}, 2},
                                              {5, {3, 4}, 4},
                                              {1, {3, 5}, 4},
                                              {5, {0, 1}, 2},
                                              {4, {0, 1}},
                                              {5, {0, 1}, 4}}};
    for (const std::size_t memo : {0u, 4096u}) {
        CHECK(find({.buffers = eight}, 35, 3000, memo).result.answer == search_answer::found);
        CHECK(find({.buffers = eleven}, 15, 3000, memo).result.answer == search_answer::found);
    }
}

TEST_CASE("search: buffers without bytes or lifetimes get an offset and block no other buffer") {
    const std::array<plan_buffer, 4> buffers{{{0, {0, 9}, 8}, {4, {0, 9}}, {4, {5, 5}, 4}, {3, {7, 2}}}};
    const planned plan = find({.buffers = buffers}, 4);
    CHECK(plan.result.answer == search_answer::found);
    CHECK(is_plan({.buffers = buffers}, plan.offsets, 4));
    CHECK(find({.buffers = buffers}, 3).result.answer ==
          search_answer::infeasible);  // the one that never lives has a size

    const std::array<allot::plan_pair, 1> apart{{{2, 3}}};  // live or not
    CHECK(find({.buffers = buffers, .apart = apart}, 7).result.answer == search_answer::found);
    CHECK(find({.buffers = buffers, .apart = apart}, 6).result.answer == search_answer::infeasible);
    CHECK(find({}, 0).result.answer == search_answer::found);
}

TEST_CASE("search: buffers that pairwise share no byte fit only a capacity of all their sizes, without any node") {
    // Two of the buffers live at the same time, and all other pairs are apart. The first buffer is in no pair.
    const std::array<plan_buffer, 5> buffers{{{9, {8, 9}}, {2, {6, 7}}, {3, {0, 2}}, {4, {1, 3}}, {5, {4, 5}}}};
    const std::array<allot::plan_pair, 5> apart{{{1, 2}, {1, 3}, {1, 4}, {4, 2}, {4, 3}}};
    const planned low = find({.buffers = buffers, .apart = apart}, 13),
                  high = find({.buffers = buffers, .apart = apart}, 14);
    CHECK(low.result.answer == search_answer::infeasible);
    CHECK(low.result.nodes == 0);
    CHECK(low.result.bound == 14);
    CHECK(high.result.answer == search_answer::found);
    CHECK(is_plan({.buffers = buffers, .apart = apart}, high.offsets, 14));
}

TEST_CASE("search: the lifetimes of a buffer may be in any order") {
    std::array<allot::lifetime, 4> lives{{{0, 1}, {4, 5}, {8, 9}, {12, 14}}};
    const auto is_before = [](const allot::lifetime& a, const allot::lifetime& b) { return a.from < b.from; };
    do {
        CAPTURE(lives[0].from);
        const std::vector<plan_buffer> buffers{{5, lives[0]}, {3, {0, 1}},   {3, {4, 6}},
                                               {3, {7, 9}},   {3, {13, 14}}, {8, {10, 12}}};
        std::vector<allot::plan_revival> revivals;
        for (std::size_t k = 1; k != lives.size(); ++k) revivals.push_back({0, lives[k]});
        check_lowest({.buffers = buffers, .revivals = revivals}, 8);
    } while (std::next_permutation(lives.begin(), lives.end(), is_before));
}

TEST_CASE("search: a buffer with many lifetimes") {
    std::vector<plan_buffer> buffers{{5, {0, 1}}, {3, {1, 2}}};
    std::vector<allot::plan_revival> revivals;
    for (std::int64_t k = 1; k < 100; ++k) revivals.push_back({0, {2 * k, 2 * k + 1}});
    check_lowest({.buffers = buffers, .revivals = revivals}, 5);
    revivals.push_back({1, {100, 300}});
    check_lowest({.buffers = buffers, .revivals = revivals}, 8);
    buffers.pop_back();
    revivals.pop_back();
    check_lowest({.buffers = buffers, .revivals = revivals}, 5);
}

TEST_CASE("search: sizes and steps at the limits of their types") {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    constexpr std::int64_t early = std::numeric_limits<std::int64_t>::min(),
                           late = std::numeric_limits<std::int64_t>::max();
    const std::array<plan_buffer, 2> two{{{most / 2, {early, late}}, {most / 2 + 1, {0, 1}}}};
    CHECK(find({.buffers = two}, most).result.answer == search_answer::found);
    CHECK(find({.buffers = two}, most - 1).result.answer == search_answer::infeasible);
    const std::array<plan_buffer, 3> wrap{
        {{most, {early, late}}, {most, {early, late}}, {2, {0, 1}, std::uint64_t{1} << 63}}};
    CHECK(find({.buffers = wrap}, most).result.answer == search_answer::infeasible);
    CHECK(allot::plan({.buffers = wrap}).error().reason == allot::plan_refusal::too_large);
    const std::array<plan_buffer, 3> aligned{
        {{2, {0, 1}, std::uint64_t{1} << 63}, {1, {0, 1}, std::uint64_t{1} << 63}, {1, {0, 1}}}};
    CHECK(find({.buffers = aligned}, most).result.answer == search_answer::found);
    CHECK(find({.buffers = aligned}, (std::uint64_t{1} << 63) + 1).result.answer == search_answer::found);
    CHECK(find({.buffers = aligned}, std::uint64_t{1} << 63).result.answer == search_answer::infeasible);
    const std::array<allot::plan_fixed, 1> fixed{{{0, most / 2}}};  // one byte too low for the other
    CHECK(find({.buffers = two, .fixed = fixed}, most).result.answer == search_answer::infeasible);
}

TEST_CASE("search: rejects a malformed problem and writes nothing") {
    const std::array<plan_buffer, 2> buffers{{{4, {0, 2}}, {4, {1, 3}}}};
    const std::array<plan_buffer, 1> odd{{{4, {0, 2}, 3}}}, unaligned{{{4, {0, 2}, 0}}};
    const std::array<allot::plan_revival, 1> revival{{{2, {0, 1}}}};
    const std::array<allot::plan_fixed, 1> nobody{{{2, 0}}}, beyond{{{0, ~std::uint64_t{0} - 1}}};
    const std::array<allot::plan_pair, 1> pair{{{0, 2}}}, itself{{{1, 1}}}, good{{{0, 1}}};
    const std::array<allot::plan_reserved, 1> wraps{{{2, ~std::uint64_t{0}}}};
    for (const plan_problem& problem :
         {plan_problem{.buffers = odd}, plan_problem{.buffers = unaligned},
          plan_problem{.buffers = buffers, .revivals = revival}, plan_problem{.buffers = buffers, .fixed = nobody},
          plan_problem{.buffers = buffers, .fixed = beyond}, plan_problem{.buffers = buffers, .apart = pair},
          plan_problem{.buffers = buffers, .apart = itself}, plan_problem{.buffers = buffers, .together = good},
          plan_problem{.buffers = buffers, .reserved = wraps}}) {
        const planned plan = find(problem, 100);
        CHECK(plan.result == search_result{});
        CHECK(plan.offsets[0] == 77);
    }
    const plan_problem problem{.buffers = buffers};
    std::array<std::uint64_t, 3> offsets{};
    CHECK(packing_search<>{problem, {}}.find(8, std::span{offsets}.first(2), 100).answer == search_answer::malformed);
    search_arrays memory{problem, 1024};
    CHECK(packing_search<>{problem, memory.workspace()}.find(8, offsets, 100).answer == search_answer::malformed);
    CHECK(packing_search<>{problem, memory.workspace()}.find(8, std::span{offsets}.first(2), 100).answer ==
          search_answer::found);
}

namespace {

/// Forty buffers, which require some search.
small_problem hard_problem() {
    small_problem problem;
    std::mt19937 dice{5};
    for (int b = 0; b < 40; ++b) {
        const auto from = static_cast<std::int64_t>(dice() % 20);
        problem.buffers.push_back({1 + dice() % 30, {from, from + 1 + static_cast<std::int64_t>(dice() % 12)}, 1});
    }
    return problem;
}

}  // namespace

TEST_CASE("search: buffers that cause dead ends come earlier in later turns") {
    std::vector<plan_buffer> buffers(20, {8, {0, 4}});
    const plan_problem problem{.buffers = buffers};
    const auto counts = allot::detail::search_counts::of(problem, 0);
    std::vector<std::uint32_t> u32(counts.space().u32);
    std::vector<std::uint64_t> u64(counts.space().u64);
    allot::plan_workspace workspace{u32, u64};
    const allot::detail::section_bitmaps<> map{problem, workspace, {}};
    allot::detail::search_orders<> orders{buffers.size(), workspace};
    /// Returns the sum of the positions of one buffer in the turns [from, until).
    const auto positions = [&](std::uint64_t from, std::uint64_t until) {
        std::uint64_t sum = 0;
        for (std::uint64_t turn = from; turn != until; ++turn) {
            orders.take(turn, map);
            sum += orders.rank(13);
        }
        return sum;
    };
    orders.forget();
    const std::uint64_t early = positions(0, 8), late = positions(8, 40);
    orders.add_dead_end(13, 1000);
    CHECK(positions(0, 8) == early);
    CHECK(positions(8, 40) < late / 2);
    orders.forget();
    CHECK(positions(8, 40) == late);
}

TEST_CASE("search: respects budgets and stops on request") {
    const small_problem problem = hard_problem();
    search_arrays memory{problem.view(), 1024};
    packing_search<> search{problem.view(), memory.workspace()};
    const std::uint64_t bound = search.bound();
    std::vector<std::uint64_t> offsets(problem.buffers.size(), 77);
    const auto untouched = [&] { return std::ranges::count(offsets, 77u) == 40; };

    for (const std::uint64_t budget : {0u, 1u, 2u, 10u, 39u}) {
        CHECK(search.find(bound, offsets, budget) == search_result{search_answer::out_of_budget, budget, 0, bound});
    }
    CHECK(search.find(bound - 1, offsets, 0).answer == search_answer::infeasible);
    CHECK(search.find(bound, offsets, 1000, [] { return true; }).answer == search_answer::out_of_budget);
    CHECK(untouched());

    // A second search of the same object is independent of the first.
    const planned first = find(problem.view(), bound + 5), again = find(problem.view(), bound + 5);
    REQUIRE(first.result.answer == search_answer::found);
    CHECK(first == again);
    const search_result third = search.find(bound + 5, offsets, 1'000'000);
    CHECK(offsets == first.offsets);
    CHECK(third.answer == search_answer::found);
}

// ---- in constant expressions
// -----------------------------------------------------------------------------------------

namespace {

struct instance {
    std::uint64_t capacity;
    std::array<plan_buffer, 6> buffers;
    std::size_t count;
    constexpr plan_problem view() const { return {.buffers = std::span{buffers}.first(count)}; }
};
// The seven small cases of fpedd/omnimalloc (Apache-2.0). A plan fills the whole capacity at some step.
constexpr std::array<instance, 7> instances{{
    {6, {{{2, {0, 3}}, {2, {2, 5}}, {3, {0, 2}}, {3, {3, 5}}, {1, {1, 4}}}}, 5},
    {6, {{{2, {0, 4}}, {2, {2, 6}}, {3, {0, 2}}, {3, {4, 6}}, {1, {1, 5}}}}, 5},
    {8, {{{3, {0, 5}}, {3, {3, 8}}, {4, {0, 3}}, {4, {5, 8}}, {1, {2, 6}}}}, 5},
    {9, {{{3, {0, 5}}, {3, {3, 8}}, {4, {0, 3}}, {4, {5, 8}}, {1, {2, 6}}, {1, {1, 7}}}}, 6},
    {12, {{{5, {10, 11}}, {4, {3, 5}}, {4, {7, 12}}, {3, {5, 11}}, {4, {1, 8}}}}, 5},
    {14, {{{4, {0, 5}}, {3, {0, 6}}, {2, {1, 6}}, {5, {5, 8}}, {4, {2, 8}}, {5, {1, 2}}}}, 6},
    {7, {{{3, {10, 11}}, {2, {1, 6}}, {5, {1, 3}}, {2, {5, 12}}, {1, {10, 12}}, {5, {7, 9}}}}, 6},
}};

constexpr allot::plan_options searched{.effort = 2000, .remember = 16},
    searched_to_fit{.capacity = 14, .effort = 2000, .remember = 16};
template <std::size_t Which>
constexpr plan_problem problem_of_instance{.buffers =
                                               std::span{instances[Which].buffers}.first(instances[Which].count)};
template <std::size_t Which, allot::plan_options Options = searched>
constexpr auto compiled = allot::plan<problem_of_instance<Which>, Options>();
template <std::size_t Which>
constexpr bool is_solved() {
    std::array<std::uint64_t, compiled<Which>.places.size()> offsets{};
    for (std::size_t i = 0; i != offsets.size(); ++i) offsets[i] = compiled<Which>.places[i].offset;
    return compiled<Which>.peak == instances[Which].capacity && compiled<Which>.status == allot::plan_status::optimal &&
           is_plan(instances[Which].view(), offsets, instances[Which].capacity);
}
template <std::size_t... Which>
constexpr bool are_solved(std::index_sequence<Which...>) {
    return (is_solved<Which>() && ...);
}
constexpr auto each_instance = std::make_index_sequence<instances.size()>{};
static_assert(are_solved(each_instance));
static_assert(compiled<5, searched_to_fit>.peak == 14);

// What the greedy plans of these would have hidden: a question to the search alone.
constexpr search_answer answer_of(const instance& problem, std::uint64_t capacity) {
    constexpr allot::detail::search_counts counts{{.buffers = 6, .lifetimes = 6}, 0, 16};
    allot::plan_storage<counts.space()> arrays;
    std::array<std::uint64_t, 6> offsets{};
    packing_search<> search{problem.view(), {arrays, counts.memo}};
    return search.find(capacity, std::span{offsets}.first(problem.count), 10'000).answer;
}
static_assert(answer_of(instances[0], 6) == search_answer::found);
static_assert(answer_of(instances[3], 9) == search_answer::found);
static_assert(answer_of(instances[0], 5) == search_answer::infeasible);

}  // namespace

TEST_CASE("search: the plan at compile time equals the plan at run time") {
    const auto check = [](const auto& by_compiler, const plan_problem& problem, allot::plan_options options) {
        const auto made = allot::plan(problem, options);
        REQUIRE(made);
        CHECK(static_cast<const allot::plan_summary&>(*made) == by_compiler);
        CHECK(std::ranges::equal(made->places, by_compiler.places));
    };
    [&]<std::size_t... Which>(std::index_sequence<Which...>) {
        (check(compiled<Which>, instances[Which].view(), searched), ...);
    }(each_instance);
    check(compiled<5, searched_to_fit>, instances[5].view(), searched_to_fit);
}

// ---- published collections -----------------------------------------------------------------------------------------

TEST_CASE("search: the eleven hard instances of MiniMalloc fit their capacity") {
    const std::filesystem::path folder = tests::optional_data("minimalloc");
    if (folder.empty()) return;
    for (const char name : std::string{"ABCDEFGHIJK"}) {
        CAPTURE(name);
        const problems::owner problem = problems::read((folder / (std::string{name} + ".1048576.csv")).string());
        REQUIRE(problem.buffers.size() > 100);
        const planned plan = find(problem, 1'048'576, 2'000'000, 16384);
        CHECK(plan.result.answer == search_answer::found);
        CHECK(is_plan(problem, plan.offsets, 1'048'576));
        CHECK(find(problem, plan.result.bound - 1).result.answer == search_answer::infeasible);
    }
}

TEST_CASE("search: nine of the eleven hard instances are proved optimal") {
    const std::filesystem::path folder = tests::optional_data("minimalloc");
    if (folder.empty()) return;
    const bool all = problems::times(1) != 1;
    for (const char name : std::string{all ? "ABCEFGHIK" : "ABCG"}) {
        CAPTURE(name);
        check_lowest(problems::read((folder / (std::string{name} + ".1048576.csv")).string()),
                     name == 'C' ? 1'039'360 : 1'048'576);
    }
}
