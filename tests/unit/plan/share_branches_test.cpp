#include "problems.hpp"
#include "programs.hpp"
#include "shared_plan.hpp"

#include <allot/plan/plan.hpp>
#include <allot/plan/share_branches.hpp>
#include <allot/plan/validate_branches.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

/// Plans a program, and checks that the plan is valid.
graphs::shared_plan plan(const programs::owner& program) {
    const allot::operator_graph graph = program.graph.view();
    return graphs::plan_shared(allot::share_branches(graph, program.view()), [&](const graphs::shared_plan& made) {
        return allot::validate_branches(graph, program.view(), made.offsets, made.peak, made.sharing.rows);
    });
}

/// x to y: operator 0 chooses operator 1 or 2, which both read x and write y, and operator 3 reads y.
programs::owner either() {
    programs::owner made;
    for (int i = 0; i != 3; ++i) made.graph.add_tensor(8);
    made.graph.tensors[0].is_input = made.graph.tensors[2].is_output = true;
    made.graph.add_operator({}, {});
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({1}, {2});
    made.next = {{1, 2}, {3}, {}, {}};
    return made;
}

}  // namespace

TEST_CASE("share_branches: the result of both branches overwrites what they read last") {
    programs::owner made = either();
    CHECK(plan(made).peak == 16);
    made.graph.aliases = {{0, 1, 0, allot::alias_kind::overwrite}, {1, 2, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made);
    CHECK(result.peak == 8);
    CHECK(result.sharing.aliases == std::vector<std::uint32_t>{0, 1});
    made.graph.aliases[0].kind = allot::alias_kind::view;  // Identity in both branches
    CHECK(plan(made).peak == 8);
    made.graph.reads[3].push_back(0);  // x is read after the branches
    CHECK(plan(made).sharing.aliases == std::vector<std::uint32_t>{1});
}

TEST_CASE("share_branches: one branch overwrites a tensor that the other one reads") {
    programs::owner made = either();  // 1: a = Relu(x)   2: b = f(x)
    made.graph.writes[2] = {made.graph.add_tensor(4)};
    made.graph.reads[3] = {};
    made.graph.aliases = {{0, 1, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made);
    CHECK(result.offsets[1] == result.offsets[0]);
    CHECK(result.peak == 12);
}

TEST_CASE("share_branches: the variable of a loop overwrites the tensor that its next value is computed of") {
    programs::owner made;  // v = f(x); do t = f(v), u = Reshape(t), v = Relu(u) while …; y = f(v)
    for (int i = 0; i != 5; ++i) made.graph.add_tensor(8);
    made.graph.tensors[0].is_input = made.graph.tensors[4].is_output = true;
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({1}, {2});
    made.graph.add_operator({2}, {3});
    made.graph.add_operator({3}, {1});
    made.graph.add_operator({1}, {4});
    made.next = {{}, {}, {}, {1, 4}, {}};
    made.graph.aliases = {{2, 3}, {3, 1, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made);
    CHECK(result.peak == 16);
    CHECK(result.sharing.aliases.size() == 1);  // v is read when t is written, so that it cannot have the bytes of both

    made.graph.aliases.push_back({1, 2, 0, allot::alias_kind::overwrite});
    const auto all = plan(made);
    CHECK(all.offsets[1] == all.offsets[2]);
    CHECK(all.offsets[1] == all.offsets[3]);
    made.graph.reads[4].push_back(0);  // x
    made.graph.reads[3].push_back(0);
    CHECK(plan(made).peak == 24);  // x and v, then y
}

TEST_CASE("share_branches: two tensors overwrite each other in turns") {
    programs::owner made = programs::loop();
    made.graph.aliases = {{1, 2, 0, allot::alias_kind::overwrite}, {2, 1, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made);
    CHECK(result.offsets[1] == result.offsets[2]);
    made.graph.aliases.pop_back();
    CHECK(plan(made).sharing.aliases.empty());
}

TEST_CASE("share_branches: a view of a variable has its own bytes while the loop writes the variable") {
    programs::owner made;  // v = f(x); do w = Reshape(v), v = f(x) while …; y = f(w)
    for (int i = 0; i != 4; ++i) made.graph.add_tensor(8);
    made.graph.tensors[0].is_input = made.graph.tensors[3].is_output = true;
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({1}, {2});
    made.graph.add_operator({0}, {1});
    made.graph.add_operator({2}, {3});
    made.next = {{}, {}, {1, 3}, {}};
    made.graph.aliases = {{1, 2}};
    CHECK(plan(made).sharing.aliases.empty());
    made.graph.writes[2] = {made.graph.add_tensor(8)};  // the loop does not write v
    const auto result = plan(made);
    CHECK(result.offsets[1] == result.offsets[2]);
}

TEST_CASE("share_branches: columns are views inside a branch") {
    programs::owner made;  // If: x -> a, b; a, b -> c with 2 rows of 1 and 3 bytes; c -> y. Else: x -> y
    for (const std::uint64_t size : {1u, 2u, 6u, 8u, 1u}) made.graph.add_tensor(size);
    made.graph.tensors[0].is_input = made.graph.tensors[4].is_output = true;
    made.graph.add_operator({}, {});
    made.graph.add_operator({0}, {1}, {{1, 1}});
    made.graph.add_operator({0}, {2}, {{2, 3}});
    made.graph.add_operator({1, 2}, {3});
    made.graph.add_operator({3}, {4});
    made.graph.add_operator({0}, {4});
    made.next = {{1, 5}, {}, {}, {}, {6}, {}};
    const auto view = allot::alias_kind::view;
    made.graph.aliases = {{3, 1, 0, view, {1, 4}}, {3, 2, 1, view, {3, 4}}};
    const auto result = plan(made);
    CHECK(result.peak == 10);  // c, x and y, of which each two are live together; 16 bytes with copies
    CHECK(result.sharing.rows[2] == allot::row_layout{3, 4});
}

TEST_CASE("share_branches: plans of random programs run on random paths, and need few bytes") {
    std::mt19937 random{9};
    std::size_t views = 0, overwrites = 0, rows = 0, twice = 0, higher = 0;
    const int rounds = problems::is_slow ? 150 : 600;
    for (int round = 0; round != rounds; ++round) {
        programs::owner made = programs::maker{random, 1 + random() % 2}.make();
        const auto with = plan(made);
        CHECK(programs::runs(made, with.offsets, with.sharing.rows, random, 20));
        for (const std::uint32_t each : with.sharing.aliases) {
            const allot::graph_alias& alias = made.graph.aliases[each];
            const bool is_view = alias.kind == allot::alias_kind::view;
            ++(is_view ? views : overwrites);
            std::size_t writers = 0;
            for (const auto& list : made.graph.writes)
                writers += std::ranges::count(list, alias.part) != 0 || std::ranges::count(list, alias.whole) != 0;
            twice += writers > 2;
        }
        for (const allot::row_layout each : with.sharing.rows) rows += each.size != 0;
        made.graph.aliases.clear();
        higher += with.bound > plan(made).bound;  // groups that fit worse
    }
    const auto most = static_cast<std::size_t>(rounds);
    CHECK(views > most / 4);
    CHECK(overwrites > most / 4);
    CHECK(rows > most / 50);
    CHECK(twice > most / 10);
    CHECK(higher < most / 50);
}
