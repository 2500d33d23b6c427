#include "graphs.hpp"

#include <allot/plan/order_operators.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

namespace {

using kind = allot::graph_violation_kind;

struct shared_plan {
    allot::graph_sharing sharing;
    std::vector<std::uint64_t> offsets;
    std::uint64_t peak = 0, bound = 0;
};

/// Plans a graph in an order, and checks that the plan is valid.
shared_plan plan(const allot::operator_graph& graph, const std::vector<std::uint32_t>& order) {
    shared_plan made{allot::share_bytes(graph, order), {}};
    const auto planned = allot::plan(made.sharing.problem(), {.effort = 20'000});
    REQUIRE(planned);
    for (std::size_t i = 0; i != graph.tensors.size(); ++i)
        made.offsets.push_back(planned->places[i].offset + made.sharing.shift[i]);
    made.peak = planned->peak;
    made.bound = planned->bound;
    const allot::graph_violation found = allot::validate_graph(graph, order, made.offsets, made.peak);
    INFO(found.what(), ' ', found.first, ' ', found.second);
    REQUIRE(found == allot::graph_violation{});
    return made;
}

std::vector<std::uint32_t> given_order(const allot::operator_graph& graph) {
    std::vector<std::uint32_t> made(graph.operators.size());
    for (std::uint32_t i = 0; i != made.size(); ++i) made[i] = i;
    return made;
}

}  // namespace

TEST_CASE("share_bytes: operators that work in place need one tensor") {
    graphs::owner made;
    made.add_tensor(100);
    made.tensors[0].is_input = true;
    for (std::uint32_t i = 0; i != 5; ++i) {
        const auto out = made.add_tensor(100);
        made.add_operator({i}, {out});
        made.aliases.push_back({i, out, 0, allot::alias_kind::overwrite});
    }
    made.tensors.back().is_output = true;
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 100);
    CHECK(result.sharing.aliases.size() == 5);
}

TEST_CASE("share_bytes: an input that is read later is not overwritten") {
    graphs::owner made;
    const auto x = made.add_tensor(100), y = made.add_tensor(100), z = made.add_tensor(100);
    made.tensors[x].is_input = made.tensors[z].is_output = true;
    made.add_operator({x}, {y});
    made.add_operator({x, y}, {z});
    made.aliases = {{x, y, 0, allot::alias_kind::overwrite}, {y, z, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 200);
    CHECK(result.sharing.aliases == std::vector<std::uint32_t>{1});
}

TEST_CASE("share_bytes: the inputs of a concatenation lie in its output, and the outputs of a split in its input") {
    graphs::owner made;
    const auto x = made.add_tensor(48), a = made.add_tensor(16), b = made.add_tensor(32), p = made.add_tensor(16),
               q = made.add_tensor(32), c = made.add_tensor(48);
    made.tensors[x].is_input = made.tensors[c].is_output = true;
    made.add_operator({x}, {a, b});
    made.add_operator({a}, {p});
    made.add_operator({b}, {q});
    made.add_operator({p, q}, {c});
    made.aliases = {{x, a},
                    {x, b, 16},
                    {c, p},
                    {c, q, 16},
                    {a, p, 0, allot::alias_kind::overwrite},
                    {b, q, 0, allot::alias_kind::overwrite}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 48);
    CHECK(result.offsets == std::vector<std::uint64_t>{0, 0, 16, 0, 16, 0});
}

TEST_CASE("share_bytes: a part whose offset is not aligned is copied") {
    graphs::owner made;
    const auto x = made.add_tensor(20), a = made.add_tensor(10, 4), b = made.add_tensor(10, 4);
    made.tensors[x].is_input = made.tensors[a].is_output = made.tensors[b].is_output = true;
    made.add_operator({x}, {a, b});
    made.aliases = {{x, a}, {x, b, 10}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.offsets[b] % 4 == 0);
    CHECK(result.sharing.aliases == std::vector<std::uint32_t>{0});
}

TEST_CASE(
    "share_bytes: plans of random graphs are valid in every order, and their bound is not above that without aliases") {
    std::mt19937 random{4};
    std::size_t taken = 0;
    for (int round = 0; round != 300; ++round) {
        graphs::owner made = graphs::random_graph(random, 1 + random() % 20);
        const allot::operator_graph graph = made.view();
        REQUIRE(allot::check_graph(graph) == allot::graph_error{});
        const auto order = round % 2 == 0 ? given_order(graph) : allot::order_operators(graph).order;
        const auto with = plan(graph, order);
        taken += with.sharing.aliases.size();
        const auto without = plan({graph.tensors, graph.operators, {}}, order);
        const bool is_aligned = std::ranges::all_of(made.tensors, [](const auto& each) { return each.align == 1; });
        if (is_aligned) CHECK(with.bound <= without.bound);
    }
    CHECK(taken > 300);
}
