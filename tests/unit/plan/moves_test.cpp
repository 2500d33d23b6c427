// moves: plans in which buffers leave the fast memory and come back. A validator follows their contents. Costs are
// compared with the optimum by load and with known optimal plans.
#include <allot/plan/moves.hpp>
#include <allot/plan/validate_moves.hpp>

#include "../../error_of.hpp"
#include "../../texts.hpp"
#include "problems.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace {

using allot::memory_place;
using allot::moves_plan;
using allot::moves_problem;
using allot::moves_violation;
using allot::moves_violation_kind;
using allot::plan_access;
using allot::plan_buffer;
using allot::plan_memory;
using allot::plan_refusal;
using allot::plan_status;

/// A problem that owns its arrays.
struct owner {
    problems::owner buffers{};
    std::vector<plan_memory> memories{};
    std::vector<plan_access> accesses{};
    std::vector<std::uint64_t> allowed{};

    [[nodiscard]] moves_problem problem() const {
        return {{.buffers = buffers, .memories = memories, .allowed = allowed}, accesses};
    }
};

/// Sufficient effort for a few buffers.
constexpr allot::memories_options quick{.effort = 6000};

/// Checks that the summary of a plan is correct, and that it costs no more than the plan without moves.
void check_plan(const moves_problem& problem, const moves_plan& made, const allot::memories_options& options) {
    const auto& buffers = problem.memories.buffers.buffers;
    std::vector<std::uint64_t> uses(buffers.size());
    for (const plan_access& access : problem.accesses) ++uses[access.buffer];
    allot::memories_problem whole = problem.memories;
    whole.uses = uses;
    const auto known = allot::plan_memories(whole, options);
    REQUIRE(known);
    CHECK(made.whole_cost == known->cost);
    CHECK(made.unplaced <= known->unplaced);
    CHECK((made.unplaced == 0) == (made.status == plan_status::optimal || made.status == plan_status::feasible));
    CHECK((made.status == plan_status::optimal) == (made.unplaced == 0 && made.cost == made.bound));
    if (made.unplaced != 0) return;
    if (known->unplaced == 0) CHECK(made.cost <= known->cost);
    CHECK(made.bound <= made.cost);

    const moves_violation found = allot::validate_moves(problem, made);
    CAPTURE(found.which);
    CHECK(static_cast<int>(found.kind) == 0);
    std::uint64_t cost = 0, copied = 0, spilled = 0;
    const auto cost_in = [&](std::size_t piece) {
        return problem.memories.memories[made.pieces[piece].place.memory].cost;
    };
    for (std::size_t a = 0; a != problem.accesses.size(); ++a)
        cost += buffers[problem.accesses[a].buffer].size * cost_in(made.piece_of[a]);
    for (const allot::plan_copy& copy : made.copies) {
        cost += copy.size * (cost_in(copy.from) + cost_in(copy.to));
        copied += copy.size;
    }
    std::vector<allot::memory_needs> needs(problem.memories.memories.size());
    std::vector<bool> is_spilled(buffers.size());
    for (const allot::plan_piece& piece : made.pieces) {
        if (piece.place.memory != 0) is_spilled[piece.buffer] = true;
        auto& need = needs[piece.place.memory];
        need.peak = std::max(need.peak, piece.place.offset + piece.place.size);
        need.align =
            std::max({need.align, buffers[piece.buffer].align, problem.memories.memories[piece.place.memory].align});
    }
    for (std::size_t i = 0; i != buffers.size(); ++i) spilled += is_spilled[i] ? buffers[i].size : 0;
    CHECK(made.cost == cost);
    CHECK(made.copied == copied);
    CHECK(made.spilled == spilled);
    CHECK(made.needs == needs);
}

/// The memories that hold the contents of a buffer, as bits.
enum places : unsigned { none = 0, fast = 1, slow = 2, both = 3 };

/// Reads and writes of a buffer in one step.
struct step_accesses {
    std::uint64_t reads = 0, writes = 0;
};
step_accesses accesses_at(const moves_problem& problem, std::size_t buffer, std::int64_t step) {
    step_accesses made;
    for (const plan_access& access : problem.accesses)
        if (access.buffer == buffer && access.step == step) ++(access.writes ? made.writes : made.reads);
    return made;
}

/// Returns whether a buffer is read before it is written, so that the program provides its contents.
bool has_given_contents(const moves_problem& problem, std::size_t buffer) {
    std::int64_t first_read = INT64_MAX, first_write = INT64_MAX;
    for (const plan_access& access : problem.accesses) {
        if (access.buffer != buffer) continue;
        std::int64_t& first = access.writes ? first_write : first_read;
        first = std::min(first, access.step);
    }
    return first_read <= first_write && first_read != INT64_MAX;
}

/// One way in which a buffer passes a step.
struct passage {
    unsigned after = none;   // memories that hold the contents at the end of the step
    bool uses_fast = false;  // at any time of the step
    std::uint64_t cost = 0;  // of a byte: accesses and copies
};

/// Returns all passages of a buffer whose contents are in `held` before the step. `barred`: memories that the buffer
/// must not use.
std::vector<passage> passages(unsigned held, unsigned barred, step_accesses accesses,
                              std::span<const allot::plan_memory> memories) {
    const auto copies_cost = [&](unsigned from, unsigned to) {
        return (memories[0].cost + memories[1].cost) * static_cast<std::uint64_t>(std::popcount(to & ~from));
    };
    const auto can_be_copied = [&](unsigned from, unsigned to) {
        return (to & barred) == 0 && (to & from) == from && (from != none || to == none);
    };
    std::vector<passage> made;
    for (unsigned before = 0; before <= both; ++before) {
        if (!can_be_copied(held, before) || (accesses.reads != 0 && before == none)) continue;
        const std::uint64_t read_cost =
            accesses.reads == 0 ? 0 : memories[(before & fast) != 0 ? 0 : 1].cost * accesses.reads;
        for (const unsigned written :
             accesses.writes != 0 ? std::vector<unsigned>{fast, slow} : std::vector<unsigned>{before}) {
            const std::uint64_t write_cost =
                accesses.writes == 0 ? 0 : memories[written == fast ? 0 : 1].cost * accesses.writes;
            for (unsigned after = 0; after <= both; ++after)
                if (can_be_copied(written, after))
                    made.push_back({after, ((before | after) & fast) != 0,
                                    read_cost + write_cost + copies_cost(held, before) + copies_cost(written, after)});
        }
    }
    return made;
}

/// Sets the cost of a key to the least one so far.
template <class Key>
void keep_least(std::map<Key, std::uint64_t>& costs, const Key& key, std::uint64_t cost) {
    const auto [at, fresh] = costs.try_emplace(key, cost);
    if (!fresh) at->second = std::min(at->second, cost);
}

/// Returns the optimum by load: the least cost of all plans with a fast memory and an unbounded slow one, without
/// regard to offsets. Dynamic programming over the steps: each state is the set of memories that hold each buffer's
/// contents. For up to four buffers with one lifetime each. Returns UINT64_MAX if no plan exists.
std::uint64_t least_by_load(const moves_problem& problem) {
    const auto& buffers = problem.memories.buffers.buffers;
    const auto& memories = problem.memories.memories;
    using state = std::array<unsigned, 4>;
    using loaded_state = std::pair<state, std::uint64_t>;  // with the bytes in the fast memory at this step
    std::int64_t end = 0;
    for (const plan_buffer& buffer : buffers) end = std::max(end, buffer.live.until);
    std::map<state, std::uint64_t> now{{state{}, 0}};
    for (std::int64_t step = 0; step != end; ++step) {
        std::map<loaded_state, std::uint64_t> loaded;
        for (const auto& [where, cost] : now) loaded[{where, 0}] = cost;
        for (std::size_t i = 0; i != buffers.size(); ++i) {
            const unsigned barred =
                problem.memories.allowed.empty() ? 0U : both & ~static_cast<unsigned>(problem.memories.allowed[i]);
            std::array<std::vector<passage>, 4> ways;  // by the memories that hold the contents
            for (unsigned held = 0; held <= both; ++held)
                ways[held] = passages(held, barred, accesses_at(problem, i, step), memories);
            // Given contents start in either memory, without a cost.
            const bool starts = step == buffers[i].live.from && has_given_contents(problem, i);
            std::map<loaded_state, std::uint64_t> next;
            const auto pass = [&](const loaded_state& from, std::uint64_t cost, const passage& way) {
                const std::uint64_t used = from.second + (way.uses_fast ? buffers[i].size : 0);
                if (used > memories[0].capacity) return;
                for (unsigned kept = 0; kept <= both; ++kept) {
                    if ((kept & ~way.after) != 0) continue;
                    state becomes = from.first;
                    becomes[i] = kept;
                    keep_least(next, {becomes, used}, cost + buffers[i].size * way.cost);
                }
            };
            for (const auto& [from, cost] : loaded)
                for (const unsigned held :
                     starts ? std::vector<unsigned>{fast, slow} : std::vector<unsigned>{from.first[i]})
                    for (const passage& way : ways[held]) pass(from, cost, way);
            loaded = std::move(next);
        }
        now.clear();
        for (const auto& [key, cost] : loaded) keep_least(now, key.first, cost);
    }
    std::uint64_t least = UINT64_MAX;
    for (const auto& [where, cost] : now) least = std::min(least, cost);
    return least;
}

/// Returns random accesses of each buffer within its lifetimes.
std::vector<plan_access> random_accesses(std::mt19937& random, const problems::owner& buffers, std::size_t most) {
    std::vector<plan_access> made;
    for (std::size_t i = 0; i != buffers.buffers.size(); ++i) {
        std::vector<allot::lifetime> lives{buffers.buffers[i].live};
        for (const auto& each : buffers.revivals)
            if (each.buffer == i) lives.push_back(each.live);
        const bool born = random() % 3 != 0;
        if (born) made.push_back({i, lives[0].from, true});
        for (std::size_t k = 1 + random() % most; k-- != 0;) {
            const allot::lifetime live = lives[random() % lives.size()];
            made.push_back(
                {i,
                 live.from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(live.until - live.from)),
                 random() % 5 == 0});
        }
    }
    std::shuffle(made.begin(), made.end(), random);
    return made;
}

}  // namespace

TEST_CASE("moves: a buffer with early and late accesses leaves for a large buffer and comes back") {
    const plan_buffer buffers[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {3, 7}}};
    const plan_access accesses[] = {{0, 0, true}, {0, 1},       {0, 1}, {0, 2}, {0, 7}, {0, 8},
                                    {0, 9},       {1, 3, true}, {1, 4}, {1, 5}, {1, 6}};
    const plan_memory memories[] = {{.capacity = 10}, {.cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->whole_cost == 32);  // one buffer is in the slow memory
    CHECK(made->cost == 12);
    REQUIRE(made->copies.size() == 2);
    REQUIRE(made->pieces.size() == 4);
    CHECK(made->copies[0] == allot::plan_copy{0, 2, true, 0, 1, 6});
    CHECK(made->copies[1] == allot::plan_copy{0, 7, false, 1, 2, 6});
    CHECK(made->pieces[0].live == allot::lifetime{0, 3});
    CHECK(made->pieces[1].live == allot::lifetime{2, 8});
    CHECK(made->pieces[2].live == allot::lifetime{7, 10});
    CHECK(made->pieces[1].place.memory == 1);
    CHECK(made->pieces[3] == allot::plan_piece{1, {3, 7}, {0, 0, 8}});
    CHECK(made->piece_of == std::vector<std::size_t>{0, 0, 0, 0, 2, 2, 2, 3, 3, 3, 3});
}

TEST_CASE("moves: a constant of two distant layers is copied in twice and never out") {
    const plan_buffer buffers[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {3, 7}}};
    const plan_access accesses[] = {{0, 1}, {0, 1},       {0, 1}, {0, 8}, {0, 8},
                                    {0, 8}, {1, 3, true}, {1, 4}, {1, 5}, {1, 6}};
    const plan_memory memories[] = {{.capacity = 10}, {.cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->cost == 12);
    REQUIRE(made->copies.size() == 2);
    for (const allot::plan_copy& copy : made->copies) {
        CHECK(copy.after == false);
        // The home lasts from the beginning to the last copy.
        CHECK(made->pieces[copy.from].live == allot::lifetime{0, 9});
        CHECK(made->pieces[copy.from].place.memory == 1);
    }
}

TEST_CASE("moves: contents written once are copied out once") {
    const plan_buffer buffers[] = {
        {.size = 6, .live = {0, 15}}, {.size = 8, .live = {3, 6}}, {.size = 8, .live = {8, 12}}};
    std::vector<plan_access> accesses{{0, 0, true}, {0, 1}, {0, 1},  {0, 6},  {0, 6},
                                      {0, 7},       {0, 7}, {0, 12}, {0, 13}, {0, 14}};
    for (const std::int64_t step : {3, 4, 5}) accesses.push_back({1, step, step == 3});
    for (const std::int64_t step : {8, 9, 10, 11}) accesses.push_back({2, step, step == 8});
    const plan_memory memories[] = {{.capacity = 10}, {.cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->cost == 18);
    REQUIRE(made->copies.size() == 3);
    CHECK(made->copies[0].after);
    CHECK_FALSE(made->copies[1].after);
    CHECK_FALSE(made->copies[2].after);
}

TEST_CASE("moves: overwritten contents need no bytes and no copies") {
    const plan_buffer buffers[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {2, 8}}};
    const plan_access accesses[] = {{0, 0, true}, {0, 1}, {0, 8, true}, {0, 9}, {1, 2, true}, {1, 7}};
    const plan_memory memories[] = {{.capacity = 8}, {.cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->cost == 0);
    CHECK(made->status == plan_status::optimal);
    CHECK(made->copies.empty());
    CHECK(made->pieces.size() == 3);
}

TEST_CASE("moves: one access before and one after do not pay for two copies") {
    const plan_buffer buffers[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {1, 9}}};
    const plan_access accesses[] = {{0, 0, true}, {0, 9}, {1, 1, true}, {1, 8}};
    const plan_memory memories[] = {{.capacity = 10, .cost = 1}, {.cost = 2}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->copies.empty());
    CHECK(made->cost == made->whole_cost);
}

TEST_CASE("moves: small problems are never below the optimum by load and mostly reach it") {
    std::mt19937 random{5};
    int best = 0, better = 0;
    const int rounds = problems::is_slow ? 80 : problems::times(1) == 1 ? 100 : 200;
    double sum = 0, least_sum = 0, whole_sum = 0, bound_sum = 0;
    for (int round = 0; round != rounds; ++round) {
        owner given;
        given.buffers.buffers = problems::random_buffers(random, 2 + random() % 3, 12, 5);
        for (plan_buffer& buffer : given.buffers.buffers) buffer.live.until += static_cast<std::int64_t>(random() % 5);
        given.accesses = random_accesses(random, given.buffers, 8);
        given.memories = {{.capacity = 4 + random() % 4, .cost = random() % 3}, {.cost = 3 + random() % 6}};
        const allot::memories_options options{.effort = 3000};
        const auto made = allot::plan_moves(given.problem(), options);
        REQUIRE(made);
        check_plan(given.problem(), *made, options);
        const std::uint64_t least = least_by_load(given.problem());
        CAPTURE(round);
        CHECK(made->cost >= least);
        CHECK(made->bound <= least);
        best += made->cost == least;
        better += made->cost < made->whole_cost;
        sum += static_cast<double>(made->cost);
        least_sum += static_cast<double>(least);
        whole_sum += static_cast<double>(made->whole_cost);
        bound_sum += static_cast<double>(made->bound);
    }
    MESSAGE("at the best by load: ", best, ", better than whole lives: ", better, " of ", rounds,
            "; cost over the least: ", sum / least_sum, ", of whole lives: ", whole_sum / least_sum,
            ", the bound: ", bound_sum / least_sum);
    CHECK(bound_sum > 0.5 * least_sum);
    CHECK(best > rounds / 2);
    CHECK(better > rounds / 4);
}

TEST_CASE("moves: the bound never exceeds the optimum by load and optimal plans cost exactly it") {
    std::mt19937 random{7};
    int optimal = 0;
    const std::size_t rounds = problems::is_slow ? 100 : problems::times(20'000);
    for (std::size_t round = 0; round != rounds; ++round) {
        owner given;
        given.buffers.buffers = problems::random_buffers(random, 2 + random() % 3, 8, 5);
        given.accesses = random_accesses(random, given.buffers, 6);
        const std::uint64_t cost = random() % 3;
        given.memories = {{.capacity = 4 + random() % 4, .cost = cost}, {.cost = cost + random() % 6}};
        if (round % 3 == 0)
            for (std::size_t i = 0; i != given.buffers.buffers.size(); ++i) given.allowed.push_back(1 + random() % 3);
        const auto made = allot::plan_moves(given.problem(), {.effort = 0});
        REQUIRE(made);
        const std::uint64_t least = least_by_load(given.problem());
        CAPTURE(round);
        REQUIRE((made->unplaced == 0 || !given.allowed.empty()));
        if (made->unplaced != 0) {
            if (made->status == plan_status::infeasible) REQUIRE(least == UINT64_MAX);
            continue;
        }
        REQUIRE(made->bound <= least);
        REQUIRE(made->cost >= least);
        if (made->status == plan_status::optimal) {
            REQUIRE(made->cost == least);
            ++optimal;
        }
    }
    MESSAGE("optimal: ", optimal, " of ", rounds);
}

TEST_CASE("moves: random problems with all constraints are valid with any effort") {
    std::mt19937 random{6};
    int moved = 0, impossible = 0;
    const int rounds = problems::is_slow ? 55 : problems::times(1) == 1 ? 60 : 120;
    for (int round = 0; round != rounds; ++round) {
        owner given;
        const auto seed = static_cast<std::uint64_t>(round);
        given.buffers =
            round % 2 == 0 ? problems::simple(seed, 40, 60, 40, 100) : problems::constrained(seed, 40, 60, 40, 100);
        given.buffers.reserved.clear();
        given.buffers.fixed.clear();
        given.memories = {
            {.capacity = 200 + random() % 400, .align = std::uint64_t{1} << random() % 4, .cost = random() % 2}};
        if (round % 3 == 0) given.memories.push_back({.capacity = 300, .cost = 2 + random() % 3});
        given.memories.push_back({.capacity = round % 5 == 0 ? 2000 : plan_memory{}.capacity, .align = 2, .cost = 6});
        if (round % 2 != 0) {
            for (int pairs = 3; pairs-- != 0;)
                if (const std::size_t a = random() % 40, b = (a + 1) % 40; true) {
                    const auto apart = [&](const allot::plan_pair& each) {
                        return each.first == a || each.second == a || each.first == b || each.second == b;
                    };
                    const auto lives_again = [&](const allot::plan_revival& each) {
                        return each.buffer == a || each.buffer == b;
                    };
                    if (std::none_of(given.buffers.apart.begin(), given.buffers.apart.end(), apart) &&
                        std::none_of(given.buffers.revivals.begin(), given.buffers.revivals.end(), lives_again))
                        given.buffers.together.push_back({a, b});
                }
            const auto all = (std::uint64_t{1} << given.memories.size()) - 1;
            for (std::size_t i = 0; i != 40; ++i) given.allowed.push_back(random() % 8 == 0 ? 1 + random() % all : all);
            given.allowed[7] = std::uint64_t{1} << (given.memories.size() - 1);
            given.buffers.fixed.push_back({7, 64});
        }
        given.accesses = random_accesses(random, given.buffers, 6);
        const allot::memories_options options{.effort = round % 4 == 0 ? 0u : 4000u};
        const auto made = allot::plan_moves(given.problem(), options);
        REQUIRE(made);
        CAPTURE(round);
        check_plan(given.problem(), *made, options);
        moved += !made->copies.empty();
        impossible += made->unplaced != 0;
    }
    MESSAGE("with copies: ", moved, ", with buffers that are nowhere: ", impossible, " of ", rounds);
    CHECK(moved > rounds / 3);
    CHECK(impossible < 30);
}

namespace {

constexpr plan_buffer known[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {3, 7}}};
constexpr plan_access known_accesses[] = {{0, 0, true}, {0, 1},       {0, 1}, {0, 2}, {0, 7}, {0, 8},
                                          {0, 9},       {1, 3, true}, {1, 4}, {1, 5}, {1, 6}};
constexpr plan_memory fast_and_slow[] = {{.capacity = 10, .align = 2}, {.cost = 1}};
constexpr moves_problem known_problem{{.buffers = {.buffers = known}, .memories = fast_and_slow}, known_accesses};

allot::plan_error reason(const moves_problem& problem) { return error_of(allot::plan_moves(problem)); }

}  // namespace

TEST_CASE("moves: rejects an invalid problem") {
    moves_problem problem = known_problem;
    const plan_access unknown[] = {{0, 1}, {2, 1}}, late[] = {{0, 9}, {1, 6}, {1, 7}}, early[] = {{1, 2}};
    problem.accesses = unknown;
    CHECK(reason(problem) == allot::plan_error{plan_refusal::no_such_buffer, 2});
    problem.accesses = late;
    CHECK(reason(problem) == allot::plan_error{plan_refusal::outside_lifetime, 2});
    problem.accesses = early;
    CHECK(reason(problem) == allot::plan_error{plan_refusal::outside_lifetime, 0});
    CHECK(allot::validate_moves(problem, {}).kind == moves_violation_kind::bad_problem);
    const allot::plan_revival again[] = {{1, {1, 3}}};
    problem.memories.buffers.revivals = again;
    CHECK(allot::plan_moves(problem));

    problem = known_problem;
    const std::uint64_t uses[] = {1, 1};
    problem.memories.uses = uses;
    CHECK(reason(problem).reason == plan_refusal::unsupported);
    problem = known_problem;
    problem.memories.memories = {};
    CHECK(reason(problem).reason == plan_refusal::not_a_memory);
    const plan_memory dear[] = {{.capacity = 10}, {.cost = UINT64_MAX / 64}};
    problem.memories.memories = dear;
    CHECK(reason(problem).reason == plan_refusal::too_large);
    const plan_buffer never[] = {{.size = 1, .live = {3, 3}}};
    CHECK(reason({{.buffers = {.buffers = never}, .memories = fast_and_slow}}) ==
          allot::plan_error{plan_refusal::empty_lifetime, 0});
}

TEST_CASE("moves: no buffers and no accesses and one memory and no room") {
    CHECK(allot::plan_moves({{.buffers = {}, .memories = fast_and_slow}})->status == plan_status::optimal);
    const auto unused = allot::plan_moves({{.buffers = {.buffers = known}, .memories = fast_and_slow}});
    REQUIRE(unused);
    CHECK(unused->cost == 0);
    CHECK(unused->pieces.size() == 2);
    CHECK(unused->pieces[0].live == known[0].live);

    const plan_memory one[] = {{.capacity = 14, .cost = 1}}, small[] = {{.capacity = 7}};
    moves_problem problem = known_problem;
    problem.memories.memories = one;
    const auto whole = allot::plan_moves(problem, quick);
    REQUIRE(whole);
    CHECK(whole->cost == 7 * 6 + 4 * 8);
    CHECK(whole->status == plan_status::optimal);
    problem.memories.memories = small;
    const auto none = allot::plan_moves(problem, quick);
    REQUIRE(none);
    CHECK(none->status == plan_status::infeasible);
    CHECK(none->unplaced == 1);
    CHECK(none->which == 1);
    CHECK(allot::validate_moves(problem, *none).kind == moves_violation_kind::not_allowed);
}

TEST_CASE("moves: each buffer that is spilled or unplaced counts, also in a group") {
    const plan_buffer buffers[] = {
        {.size = 12, .live = {2, 4}}, {.size = 10, .live = {2, 6}}, {.size = 10, .live = {5, 9}}};
    const allot::plan_pair together[] = {{0, 2}};
    const plan_access accesses[] = {{0, 2, true}, {1, 2, true}, {1, 5}, {2, 8}};
    const plan_memory two[] = {{.capacity = 10}, {.capacity = 100, .cost = 1}}, one[] = {{.capacity = 10}};
    moves_problem problem{{.buffers = {.buffers = buffers, .together = together}, .memories = two}, accesses};
    const auto spills = allot::plan_moves(problem, quick);
    REQUIRE(spills);
    check_plan(problem, *spills, quick);
    CHECK(spills->spilled == 22);
    problem.memories.memories = one;
    const auto lacks_room = allot::plan_moves(problem, quick);
    REQUIRE(lacks_room);
    CHECK(lacks_room->unplaced == 2);
}

TEST_CASE("moves: each lifetime of a buffer may begin with contents of its own") {
    // The other buffer uses the same bytes in between.
    const plan_buffer buffers[] = {{.size = 100, .live = {0, 2}}, {.size = 100, .live = {2, 4}}};
    const allot::plan_revival again[] = {{0, {4, 6}}};
    const plan_access accesses[] = {{0, 0, true}, {1, 2, true}, {1, 3}, {0, 5}};
    const plan_memory memories[] = {{.capacity = 100}};
    const moves_problem problem{{.buffers = {.buffers = buffers, .revivals = again}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->piece_of == std::vector<std::size_t>{0, 2, 2, 1});
}

TEST_CASE("moves: a plan without moves that lacks a buffer may cost less") {
    const plan_buffer buffers[] = {{.size = 8, .live = {0, 3}},
                                   {.size = 6, .live = {3, 6}, .align = 4},
                                   {.size = 7, .live = {1, 4}},
                                   {.size = 11, .live = {0, 2}, .align = 4},
                                   {.size = 1, .live = {1, 2}}};
    const plan_access accesses[] = {{0, 1, true}, {3, 0}, {2, 1}, {1, 5, true}, {2, 2}, {0, 0, true}};
    const plan_memory memories[] = {{.capacity = 14}, {.capacity = 12, .cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem);
    REQUIRE(made);
    check_plan(problem, *made, {});
    CHECK(made->unplaced == 0);
    CHECK(made->whole_cost < made->cost);  // without an unplaced buffer
}

TEST_CASE("moves: buffers that do not fit for their whole lives may fit while in use") {
    const plan_buffer buffers[] = {{.size = 6, .live = {0, 10}}, {.size = 8, .live = {0, 10}}};
    const plan_access accesses[] = {{0, 0, true}, {0, 4}, {1, 5, true}, {1, 9}};
    const plan_memory memories[] = {{.capacity = 4}, {.capacity = 8, .cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->unplaced == 0);
    CHECK(made->cost == 28);
}

TEST_CASE("moves: steps and costs at the limits of their types") {
    constexpr std::int64_t first = INT64_MIN, last = INT64_MAX;
    const plan_buffer buffers[] = {{.size = 6, .live = {first, last}}, {.size = 8, .live = {-5, 7}}};
    const plan_access accesses[] = {{0, first, true}, {0, first + 1}, {0, first + 1}, {0, last - 1}, {0, last - 1},
                                    {0, last - 1},    {1, -5, true},  {1, 3},         {1, 6}};
    for (const std::uint64_t cost : {std::uint64_t{1}, std::uint64_t{1} << 21, std::uint64_t{1} << 48}) {
        const plan_memory memories[] = {{.capacity = 10}, {.cost = cost}};
        const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
        const auto made = allot::plan_moves(problem, quick);
        REQUIRE(made);
        check_plan(problem, *made, quick);
        CHECK(made->cost == 12 * cost);
    }
}

TEST_CASE("moves: plans are deterministic and a progress callback stops the planner") {
    std::mt19937 random{7};
    owner given;
    given.buffers = problems::simple(3, 100, 100, 60, 100);
    given.memories = {{.capacity = 1000}, {.cost = 1}};
    given.accesses = random_accesses(random, given.buffers, 5);
    const auto one = allot::plan_moves(given.problem(), quick), other = allot::plan_moves(given.problem(), quick);
    REQUIRE(one);
    REQUIRE(other);
    CHECK(one->pieces == other->pieces);
    CHECK(one->copies == other->copies);
    CHECK(one->cost < one->whole_cost);

    int calls = 0;
    const auto stopped =
        allot::plan_moves(given.problem(), quick, [&](allot::memories_progress) { return ++calls == 1; });
    REQUIRE(stopped);
    CHECK(calls == 1);
    CHECK(allot::validate_moves(given.problem(), *stopped).kind == moves_violation_kind::none);
    CHECK(stopped->cost == stopped->whole_cost);
}

TEST_CASE("validate_moves: finds each violation") {
    const auto right = allot::plan_moves(known_problem, quick);
    REQUIRE(right);
    REQUIRE(right->copies.size() == 2);
    REQUIRE(right->pieces.size() == 4);
    const auto seen = [](moves_plan wrong) { return allot::validate_moves(known_problem, wrong); };
    CHECK(seen(*right) == moves_violation{});
    const auto with = [&](auto change) {
        moves_plan wrong = *right;
        change(wrong);
        return seen(wrong);
    };
    using kind = moves_violation_kind;
    CHECK(with([](moves_plan& p) { p.pieces[0].buffer = 2; }) == moves_violation{kind::no_such_piece, 0});
    CHECK(with([](moves_plan& p) { p.pieces[1].place.memory = 2; }) == moves_violation{kind::not_allowed, 1});
    CHECK(with([](moves_plan& p) { p.pieces[1].place.size = 5; }) == moves_violation{kind::not_allowed, 1});
    CHECK(with([](moves_plan& p) { p.pieces[2].live.until = 11; }) == moves_violation{kind::not_alive, 2});
    CHECK(with([](moves_plan& p) { p.pieces[3].live.from = 7; }) == moves_violation{kind::not_alive, 3});
    CHECK(with([](moves_plan& p) { p.pieces[0].place.offset = 1; }) == moves_violation{kind::bad_place, 0});
    CHECK(with([](moves_plan& p) { p.pieces[0].place.offset = 6; }) == moves_violation{kind::bad_place, 0});
    // The large buffer is there at step 3.
    CHECK(with([](moves_plan& p) { p.pieces[0].live.until = 4; }).kind == kind::bad_place);
    CHECK(with([](moves_plan& p) { std::swap(p.copies[0], p.copies[1]); }) == moves_violation{kind::not_in_order, 1});
    CHECK(with([](moves_plan& p) { p.copies[0].from = 9; }) == moves_violation{kind::no_such_piece, 0});
    CHECK(with([](moves_plan& p) { p.copies[0].from = 3; }) == moves_violation{kind::no_such_piece, 0});
    CHECK(with([](moves_plan& p) { p.copies[1].step = 6; }) == moves_violation{kind::not_alive, 1});
    CHECK(with([](moves_plan& p) { p.copies[0].size = 5; }) == moves_violation{kind::no_contents, 0});
    CHECK(with([](moves_plan& p) { p.copies.erase(p.copies.begin()); }) == moves_violation{kind::no_contents, 0});
    CHECK(with([](moves_plan& p) { p.copies.pop_back(); }) == moves_violation{kind::stale, 4});
    CHECK(with([](moves_plan& p) { p.copies[1].after = true; }) == moves_violation{kind::stale, 4});
    CHECK(with([](moves_plan& p) { p.piece_of[1] = 2; }) == moves_violation{kind::not_alive, 1});
    CHECK(with([](moves_plan& p) { p.piece_of[1] = 4; }) == moves_violation{kind::no_such_piece, 1});
    CHECK(with([](moves_plan& p) { p.piece_of[3] = 1; }) == moves_violation{kind::stale, 3});
    CHECK(with([](moves_plan& p) { p.piece_of.pop_back(); }) == moves_violation{kind::no_such_piece, 10});

    // A fixed buffer has one piece.
    const std::uint64_t allowed[] = {1, 3};
    const allot::plan_fixed fixed[] = {{0, 0}};
    const moves_problem problem{
        {.buffers = {.buffers = known, .fixed = fixed}, .memories = fast_and_slow, .allowed = allowed}, known_accesses};
    const auto stays = allot::plan_moves(problem, quick);
    REQUIRE(stays);
    CHECK(stays->copies.empty());
    CHECK(allot::validate_moves(problem, *stays) == moves_violation{});
    moves_plan cut = *stays;
    cut.pieces[0].live.until = 9;
    CHECK(allot::validate_moves(problem, cut) == moves_violation{kind::not_all_pieces, 0});
    // Buffers that must be in different memories have one piece each.
    const allot::plan_pair both[] = {{0, 1}};
    moves_problem apart = known_problem;
    apart.memories.separate = both;
    const auto separate = allot::plan_moves(apart, quick);
    REQUIRE(separate);
    CHECK(separate->copies.empty());
    CHECK(allot::validate_moves(apart, *separate) == moves_violation{});
    moves_plan joined = *separate;
    joined.pieces[0].place = {1, 0, joined.pieces[0].place.size};
    joined.pieces[1].place = {1, 100, joined.pieces[1].place.size};
    CHECK(allot::validate_moves(known_problem, joined).kind != kind::not_separate);
    CHECK(allot::validate_moves(apart, joined) == moves_violation{kind::not_separate, 0});
    const std::uint64_t slow_only[] = {2, 3};
    moves_problem elsewhere = known_problem;
    elsewhere.memories.allowed = slow_only;
    CHECK(allot::validate_moves(elsewhere, *right) == moves_violation{kind::not_allowed, 0});
}

TEST_CASE("moves: the bound counts each time that one of two buffers displaces the other") {
    const plan_buffer buffers[] = {{.size = 100, .live = {0, 20}}, {.size = 100, .live = {0, 20}}};
    std::vector<plan_access> accesses;
    for (std::int64_t step = 0; step != 20; ++step) accesses.push_back({static_cast<std::size_t>(step % 2), step});
    const plan_memory memories[] = {{.capacity = 120}, {.cost = 1}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->cost <= 1000);  // one buffer is always in the slow memory, with ten uses
    CHECK(made->bound >= 500);  // at each step except the first and the last, one of the two is in the slow memory
}

TEST_CASE("moves: the bound counts every access, but a return for many accesses only once") {
    const plan_buffer buffers[] = {{.size = 10, .live = {0, 10}}, {.size = 10, .live = {0, 10}}};
    std::vector<plan_access> accesses{{0, 0, true}, {1, 2, true}};
    for (int k = 0; k != 100; ++k) {
        accesses.push_back({0, 6});
        accesses.push_back({1, 4});
    }
    const plan_memory memories[] = {{.capacity = 10, .cost = 1}, {.cost = 2}};
    const moves_problem problem{{.buffers = {.buffers = buffers}, .memories = memories}, accesses};
    const auto made = allot::plan_moves(problem, quick);
    REQUIRE(made);
    check_plan(problem, *made, quick);
    CHECK(made->cost == 10 * (202 + 1 + 3));  // the first write is in the slow memory, then the contents are copied in
    CHECK(made->bound == 10 * (202 + 1));     // the other buffer is in the fast memory at steps 3 and 4
}

TEST_CASE("moves: a progress callback sees costs below that of the plan without moves, and stops the planner there") {
    std::mt19937 random{7};
    owner given;
    given.buffers = problems::simple(3, 100, 100, 60, 100);
    given.memories = {{.capacity = 1000}, {.cost = 1}};
    given.accesses = random_accesses(random, given.buffers, 5);
    const auto all = allot::plan_moves(given.problem(), quick);
    REQUIRE(all);
    int later = 0;
    const auto stopped = allot::plan_moves(given.problem(), quick, [&](allot::memories_progress now) {
        return now.cost < all->whole_cost && ++later == 1;
    });
    REQUIRE(stopped);
    CHECK(later == 1);
    check_plan(given.problem(), *stopped, quick);
    CHECK(stopped->cost < stopped->whole_cost);
    CHECK(stopped->cost > all->cost);
}

TEST_CASE("validate_moves: every kind has its own text") {
    texts::check_distinct_up_to(allot::moves_violation_kind::wrong_time);
    CHECK(std::string_view{allot::moves_violation{}.what()} == "the plan is valid");
}
