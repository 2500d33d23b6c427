#include "byte_machine.hpp"
#include "graphs.hpp"
#include "problems.hpp"
#include "shared_plan.hpp"

#include <allot/plan/order_operators.hpp>
#include <allot/plan/plan.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using kind = allot::graph_violation_kind;

/// Plans a graph in an order, and checks that the plan is valid.
graphs::shared_plan plan(const allot::operator_graph& graph, const std::vector<std::uint32_t>& order) {
    return graphs::plan_shared(allot::share_bytes(graph, order), [&](const graphs::shared_plan& made) {
        return allot::validate_graph(graph, order, made.offsets, made.peak, made.sharing.rows);
    });
}

/// Tries all places of the tensors of an operator and of the following ones, within a number of bytes.
bool fits(const allot::operator_graph& graph, const graphs::byte_machine& before, std::uint32_t now,
          std::uint64_t capacity, const std::vector<std::vector<allot::row_layout>>& rows) {
    if (now == graph.operators.size()) return before.end();
    const auto try_all = [&](const auto& self, graphs::byte_machine machine, std::size_t next) -> bool {
        if (next == graph.operators[now].writes.size())
            return machine.step(now) && fits(graph, machine, now + 1, capacity, rows);
        const std::uint32_t tensor = graph.operators[now].writes[next];
        const std::uint64_t bytes = graph.tensors[tensor].size;
        for (const allot::row_layout layout : rows[tensor])
            for (std::uint64_t offset = 0; offset <= capacity; ++offset) {
                const graphs::byte_place place{offset, layout};
                if (bytes == 0 ? offset != 0 : place.address(bytes - 1) >= capacity) break;
                machine.place(tensor, place);
                if (self(self, machine, next + 1)) return true;
            }
        return false;
    };
    return try_all(try_all, before, 0);
}

/// Returns whether a graph with one input fits in a number of bytes, by an exhaustive search.
bool fits(const allot::operator_graph& graph, std::uint64_t capacity) {
    std::vector<std::vector<allot::row_layout>> rows(graph.tensors.size(), {{}});
    for (std::size_t i = 0; i != rows.size(); ++i)
        for (std::uint64_t row = 1; row < graph.tensors[i].size && !graph.tensors[i].is_output; ++row)
            for (std::uint64_t stride = row + 1; graph.tensors[i].size % row == 0 && stride <= capacity; ++stride)
                rows[i].push_back({row, stride});
    for (std::uint64_t offset = 0; offset + graph.tensors[0].size <= capacity; ++offset) {
        graphs::byte_machine machine{graph, static_cast<std::size_t>(capacity)};
        machine.place(0, {offset, {}});
        if (machine.begin() && fits(graph, machine, 0, capacity, rows)) return true;
    }
    return false;
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

TEST_CASE("share_bytes: the inputs of a concatenation of columns lie in its output") {
    graphs::owner made;  // x -> a, x -> b, a and b -> c: 4 rows of 3 and of 5 bytes
    const auto x = made.add_tensor(4), a = made.add_tensor(12), b = made.add_tensor(20), c = made.add_tensor(32),
               y = made.add_tensor(4);
    made.tensors[x].is_input = made.tensors[y].is_output = true;
    made.add_operator({x}, {a}, {{a, 3}});
    made.add_operator({x}, {b}, {{b, 5}});
    made.add_operator({a, b}, {c});
    made.add_operator({c}, {y});
    made.aliases = {{c, a, 0, allot::alias_kind::view, {3, 8}}, {c, b, 3, allot::alias_kind::view, {5, 8}}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 36);
    CHECK(result.sharing.aliases == std::vector<std::uint32_t>{0, 1});
    CHECK(result.sharing.rows == std::vector<allot::row_layout>{{}, {3, 8}, {5, 8}, {}, {}});
    CHECK(result.offsets[b] == result.offsets[c] + 3);

    made.strides[1].clear();  // the producer of b writes consecutive bytes
    const auto partly = plan(made.view(), given_order(made.view()));
    CHECK(partly.sharing.rows[b] == allot::row_layout{});
    CHECK(partly.peak == 52);    // b, and c with a in it
    made.strides[0] = {{a, 4}};  // another row
    CHECK(plan(made.view(), given_order(made.view())).sharing.aliases.empty());
    made.strides = {{{a, 3}}, {{b, 5}}, {}, {}};
    made.tensors[a].is_output = true;  // the caller reads consecutive bytes
    CHECK(plan(made.view(), given_order(made.view())).sharing.rows[a] == allot::row_layout{});
}

TEST_CASE("share_bytes: columns of a split are windows of its input, and results in place have the same rows") {
    graphs::owner made;  // x -> a, b (4 rows of 2 and 6 bytes); a -> p, b -> q in place; p, q -> c
    const auto x = made.add_tensor(32), a = made.add_tensor(8), b = made.add_tensor(24), p = made.add_tensor(8),
               q = made.add_tensor(24), c = made.add_tensor(32);
    made.tensors[x].is_input = made.tensors[c].is_output = true;
    made.add_operator({x}, {a, b});
    made.add_operator({a}, {p}, {{a, 2}, {p, 2}});
    made.add_operator({b}, {q}, {{b, 6}, {q, 6}});
    made.add_operator({p, q}, {c});
    made.aliases = {{x, a, 0, allot::alias_kind::view, {2, 8}}, {x, b, 2, allot::alias_kind::view, {6, 8}},
                    {a, p, 0, allot::alias_kind::overwrite},    {b, q, 0, allot::alias_kind::overwrite},
                    {c, p, 0, allot::alias_kind::view, {2, 8}}, {c, q, 2, allot::alias_kind::view, {6, 8}}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 32);
    CHECK(result.offsets == std::vector<std::uint64_t>{0, 0, 2, 0, 2, 0});
    CHECK(result.sharing.rows == std::vector<allot::row_layout>{{}, {2, 8}, {6, 8}, {2, 8}, {6, 8}, {}});
}

TEST_CASE(
    "share_bytes: a tensor that overwrites the first row of another one has its rows, in every order of aliases") {
    for (const bool is_first : {true, false}) {
        graphs::owner made;  // x -> w -> p; p -> q, of the size of a row; q -> y
        const auto x = made.add_tensor(12), w = made.add_tensor(12), p = made.add_tensor(4), q = made.add_tensor(2),
                   y = made.add_tensor(1);
        made.tensors[x].is_input = made.tensors[y].is_output = true;
        made.add_operator({x}, {w});
        made.add_operator({w}, {p}, {{p, 2}});
        made.add_operator({p}, {q}, {{p, 2}});
        made.add_operator({q}, {y});
        const allot::graph_alias takes{p, q, 0, allot::alias_kind::overwrite},
            views{w, p, 0, allot::alias_kind::view, {2, 6}};
        made.aliases = is_first ? std::vector{takes, views} : std::vector{views, takes};
        CAPTURE(is_first);
        CHECK(plan(made.view(), given_order(made.view())).sharing.aliases.size() == 1);
    }
}

TEST_CASE("share_bytes: a concatenation inside another one has the distance of the larger one") {
    graphs::owner made;  // x -> a, b; a, b -> c; c -> d; c, d -> e, as in DenseNet; 2 rows
    const auto x = made.add_tensor(2), a = made.add_tensor(8), b = made.add_tensor(8), c = made.add_tensor(16),
               d = made.add_tensor(4), e = made.add_tensor(20), y = made.add_tensor(2);
    made.tensors[x].is_input = made.tensors[y].is_output = true;
    made.add_operator({x}, {a}, {{a, 4}});
    made.add_operator({x}, {b}, {{b, 4}});
    made.add_operator({a, b}, {c});
    made.add_operator({c}, {d}, {{c, 8}, {d, 2}});
    made.add_operator({c, d}, {e});
    made.add_operator({e}, {y});
    const auto view = allot::alias_kind::view;
    made.aliases = {
        {c, a, 0, view, {4, 8}}, {c, b, 4, view, {4, 8}}, {e, c, 0, view, {8, 10}}, {e, d, 8, view, {2, 10}}};
    const auto result = plan(made.view(), given_order(made.view()));
    CHECK(result.peak == 22);
    CHECK(result.sharing.rows == std::vector<allot::row_layout>{{}, {4, 10}, {4, 10}, {8, 10}, {2, 10}, {}, {}});
}

TEST_CASE("share_bytes: plans of random graphs with rows are valid, and their bound is not above that without rows") {
    std::mt19937 random{6};
    std::size_t taken = 0, lower = 0;
    const std::size_t rounds = problems::is_slow ? 600 : 3000;
    for (std::size_t round = 0; round != rounds; ++round) {
        graphs::owner made = graphs::random_strided_graph(random, 1 + random() % 12);
        const allot::operator_graph graph = made.view();
        REQUIRE(allot::check_graph(graph) == allot::graph_error{});
        const auto with = plan(graph, given_order(graph));
        CHECK(graphs::runs(graph, with.offsets, with.sharing.rows));
        for (const allot::row_layout rows : with.sharing.rows) taken += rows.size != 0;
        const auto without = plan({graph.tensors, graph.operators, {}}, given_order(graph));
        CHECK(with.bound <= without.bound);
        graphs::owner stiff = made;  // operators only copy bytes whose rows are apart, or find them in place
        for (auto& each : stiff.strides) each.clear();
        const auto consecutive = plan(stiff.view(), given_order(graph));
        lower += with.peak < consecutive.peak;
    }
    CHECK(taken > rounds / 6);
    CHECK(lower > rounds / 30);
}

TEST_CASE("share_bytes: most plans of small graphs with rows are as low as an exhaustive search finds") {
    std::mt19937 random{8};
    std::size_t all = 0, optimal = 0;
    while (all != 100) {
        graphs::owner made = graphs::random_strided_graph(random, 1 + random() % 4);
        std::uint64_t sum = 0, inputs = 0;
        bool has_rows = false;
        for (const auto& each : made.tensors) sum += each.size, inputs += each.is_input;
        for (const auto& each : made.aliases) has_rows = has_rows || each.rows.size < each.rows.stride;
        if (sum > 16 || inputs != 1 || !has_rows) continue;
        ++all;
        const allot::operator_graph graph = made.view();
        const auto result = plan(graph, given_order(graph));
        CHECK(fits(graph, result.peak));
        optimal += result.peak == 0 || !fits(graph, result.peak - 1);
    }
    CHECK(optimal > 60);
}
