#include "graphs.hpp"

#include <allot/plan/recompute_tensors.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

/// Runs the graph with symbols. Each group of tensors that share bytes has bytes of its own.
void check_runs(const allot::recomputed_graph& made) {
    const auto operators = made.operators();
    const allot::operator_graph graph{made.tensors, operators, made.aliases};
    REQUIRE(allot::check_graph(graph) == allot::graph_error{});
    const auto shared = allot::share_bytes(graph, made.order());
    std::vector<std::uint64_t> base, offsets;
    for (std::size_t i = 0; i != made.tensors.size(); ++i) base.push_back(i * 65'536);
    for (const allot::plan_pair& pair : shared.together) base[pair.second] = base[pair.first];
    for (std::size_t i = 0; i != made.tensors.size(); ++i) offsets.push_back(base[i] + shared.shift[i]);
    CHECK(allot::validate_graph(graph, made.order(), offsets, ~std::uint64_t{0}, shared.rows) ==
          allot::graph_violation{});
}

/// Returns whether each operator has the inputs and results of the given one, and each given operator runs.
bool computes_the_same(const graphs::owner& given, const allot::recomputed_graph& made) {
    std::vector<bool> runs(given.reads.size());
    for (std::size_t i = 0; i != made.reads.size(); ++i) {
        const std::uint32_t source = made.operator_of[i];
        runs[source] = true;
        const auto is_same = [&](const auto& mine, const auto& theirs) {
            return std::ranges::equal(mine, theirs, {}, [&](std::uint32_t tensor) { return made.tensor_of[tensor]; });
        };
        if (!is_same(made.reads[i], given.reads[source]) || !is_same(made.writes[i], given.writes[source]))
            return false;
    }
    std::vector<std::uint32_t> outputs, wanted;
    for (std::uint32_t i = 0; i != made.tensors.size(); ++i)
        if (made.tensors[i].is_output) outputs.push_back(made.tensor_of[i]);
    for (std::uint32_t i = 0; i != given.tensors.size(); ++i)
        if (given.tensors[i].is_output) wanted.push_back(i);
    std::ranges::sort(outputs);
    return outputs == wanted && std::ranges::count(runs, false) == 0;
}

/// x: 1 byte (input) -> a: 100 -> b: 100 -> c: 1; then a and c -> y.
graphs::owner skip_connection() {
    graphs::owner made;
    made.add_tensor(1);
    made.add_tensor(100);
    made.add_tensor(100);
    made.add_tensor(150);
    made.add_tensor(1);
    made.add_tensor(1);
    made.tensors[0].is_input = made.tensors[5].is_output = true;
    made.add_operator({0}, {1});
    made.add_operator({1}, {2});
    made.add_operator({2}, {3});
    made.add_operator({3}, {4});
    made.add_operator({1, 4}, {5});
    return made;
}

}  // namespace

TEST_CASE("recompute_tensors: a tensor that a distant operator reads is computed again") {
    const graphs::owner given = skip_connection();
    const std::vector<std::uint64_t> costs(5, 7);
    const auto made = allot::recompute_tensors(given.view(), costs, 7);
    CHECK(made.peak == 251);  // x, b and the tensor of 150 bytes; with a, and without x: 350
    CHECK(made.cost == 7);
    CHECK(made.operator_of == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 4});
    CHECK(computes_the_same(given, made));
    check_runs(made);
}

TEST_CASE("recompute_tensors: a repeated operator can use the same rows") {
    graphs::owner given = skip_connection();
    given.strides = {{{1, 50}}, {{1, 50}, {2, 25}}, {}, {}, {}};
    const auto made = allot::recompute_tensors(given.view(), std::vector<std::uint64_t>(5, 7), 7);
    REQUIRE(made.operator_of == std::vector<std::uint32_t>{0, 1, 2, 3, 0, 4});
    const auto rows_of = [&](std::size_t i, std::size_t k) {
        const allot::strided_tensor& each = made.operators()[i].strides[k];
        return std::pair{each.tensor, each.row};
    };
    CHECK(rows_of(0, 0) == std::pair{made.writes[0][0], std::uint64_t{50}});
    CHECK(rows_of(1, 1) == std::pair{made.writes[1][0], std::uint64_t{25}});
    CHECK(rows_of(4, 0) == std::pair{made.writes[4][0], std::uint64_t{50}});
    check_runs(made);
}

TEST_CASE("recompute_tensors: the budget and operators that must run once are respected") {
    const graphs::owner given = skip_connection();
    std::vector<std::uint64_t> costs(5, 7);
    CHECK(allot::recompute_tensors(given.view(), costs, 6).peak == 350);
    costs[0] = allot::never_repeated;
    CHECK(allot::recompute_tensors(given.view(), costs, ~std::uint64_t{0}).peak == 350);
}

TEST_CASE("recompute_tensors: random graphs compute the same, and their peak is not above that of the given order") {
    std::mt19937 random{6};
    std::size_t lower = 0;
    for (int round = 0; round != 150; ++round) {
        const graphs::owner given = round % 3 == 0 ? graphs::random_strided_graph(random, 1 + random() % 14)
                                                   : graphs::random_graph(random, 1 + random() % 14);
        const allot::operator_graph graph = given.view();
        std::vector<std::uint64_t> costs;
        for (std::size_t i = 0; i != graph.operators.size(); ++i) costs.push_back(random() % 9 + 1);
        const std::uint64_t budget = random() % 30;
        const auto made = allot::recompute_tensors(graph, costs, budget);
        REQUIRE(computes_the_same(given, made));
        check_runs(made);
        CHECK(made.cost <= budget);
        std::uint64_t repeated = 0;
        for (const std::uint32_t source : made.operator_of) repeated += costs[source];
        for (const std::uint64_t cost : costs) repeated -= cost;
        CHECK(repeated == made.cost);
        const allot::detail::order_model model{graph};
        const std::uint64_t before = model.peak_of(model.given_order());
        CHECK(made.peak <= before);
        lower += made.peak < before ? 1 : 0;
    }
    CHECK(lower > 3);
}
