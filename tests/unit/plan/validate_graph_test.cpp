#include "byte_machine.hpp"
#include "graphs.hpp"

#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

namespace {

using kind = allot::graph_violation_kind;
constexpr std::uint64_t unlimited = ~std::uint64_t{0};

/// x (input) and y to z, which is an output: x -> y, then x, y -> z.
graphs::owner three() {
    graphs::owner made;
    made.add_tensor(8, 4);
    made.add_tensor(8, 4);
    made.add_tensor(8, 4);
    made.tensors[0].is_input = made.tensors[2].is_output = true;
    made.add_operator({0}, {1});
    made.add_operator({0, 1}, {2});
    return made;
}

allot::graph_violation check(const graphs::owner& made, std::vector<std::uint64_t> offsets,
                             std::uint64_t capacity = unlimited, std::vector<std::uint32_t> order = {0, 1}) {
    return allot::validate_graph(made.view(), order, offsets, capacity);
}

}  // namespace

TEST_CASE("validate_graph: each violation is found") {
    graphs::owner made = three();
    CHECK(check(made, {0, 8, 16}, 24).kind == kind::none);
    CHECK(check(made, {0, 8, 16}, 23) == allot::graph_violation{kind::outside, 2, 0});
    CHECK(check(made, {0, 8, unlimited - 3}).kind == kind::outside);
    CHECK(check(made, {0, 8, 18}) == allot::graph_violation{kind::misaligned, 2, 0});
    CHECK(check(made, {0, 8}).kind == kind::no_offset);
    CHECK(check(made, {0, 8, 16}, 24, {0}).kind == kind::bad_order);
    CHECK(check(made, {0, 8, 16}, 24, {0, 0}) == allot::graph_violation{kind::bad_order, 1, 0});
    CHECK(check(made, {0, 8, 16}, 24, {0, 2}).kind == kind::bad_order);
    CHECK(check(made, {0, 8, 16}, 24, {1, 0}) == allot::graph_violation{kind::lost, 1, 1});
    CHECK(check(made, {0, 4, 16}) == allot::graph_violation{kind::overwritten, 0, 0});
    CHECK(check(made, {0, 8, 8}) == allot::graph_violation{kind::overwritten, 1, 1});
    made.aliases.push_back({1, 2, 0, allot::alias_kind::overwrite});
    CHECK(check(made, {0, 8, 8}).kind == kind::none);
    CHECK(check(made, {0, 8, 4}).kind == kind::overwritten);
    made.aliases.push_back({0, 1, 0, allot::alias_kind::overwrite});
    CHECK(check(made, {0, 0, 8}) == allot::graph_violation{kind::lost, 1, 0});
    made.tensors[1].is_output = true;
    CHECK(check(made, {0, 8, 8}) == allot::graph_violation{kind::output_lost, 1, 0});
    made.writes[1].push_back(made.add_tensor(4));
    CHECK(check(made, {0, 8, 16, 20}) == allot::graph_violation{kind::mixed, 1, 2});
    made.reads[1].push_back(9);
    CHECK(check(made, {0, 8, 16, 20}) == allot::graph_violation{kind::bad_graph, 1, 0});
}

TEST_CASE("validate_graph: inputs that share bytes are found, also if no operator reads one of them") {
    for (const std::uint32_t read : {0u, 1u}) {
        graphs::owner made;
        for (int i = 0; i != 3; ++i) made.add_tensor(8);
        made.tensors[0].is_input = made.tensors[1].is_input = made.tensors[2].is_output = true;
        made.add_operator({read}, {2});
        CAPTURE(read);
        CHECK(check(made, {0, 8, 16}, 24, {0}).kind == kind::none);
        CHECK(check(made, {0, 4, 16}, 24, {0}) == allot::graph_violation{kind::mixed, 1, 0});
        CHECK(check(made, {8, 8, 16}, 24, {0}) == allot::graph_violation{kind::mixed, 1, 0});
        made.tensors[1 - read].size = 0;
        CHECK(check(made, {8, 8, 16}, 24, {0}).kind == kind::none);
    }
}

TEST_CASE("validate_graph: agrees with a run of each byte, for random offsets") {
    std::mt19937 random{5};
    std::size_t valid = 0, invalid = 0;
    for (int round = 0; round != 3000; ++round) {
        graphs::owner made = graphs::random_graph(random, 1 + random() % 4);
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i != made.reads.size(); ++i) order.push_back(i);
        std::vector<std::uint64_t> offsets;
        for (allot::graph_tensor& each : made.tensors) {
            each.align = 1;
            offsets.push_back(random() % 3 == 0 && !offsets.empty() ? offsets[random() % offsets.size()]
                                                                    : random() % 6 * 20);
        }
        const bool expected = graphs::runs(made.view(), offsets);
        CHECK((allot::validate_graph(made.view(), order, offsets, unlimited).kind == kind::none) == expected);
        ++(expected ? valid : invalid);
    }
    CHECK(valid > 100);
    CHECK(invalid > 100);
}

TEST_CASE("validate_graph: an operator reads and writes rows that are apart only if it can") {
    graphs::owner made;  // x -> a (2 rows of 2 bytes), a -> y
    for (int i = 0; i != 3; ++i) made.add_tensor(4);
    made.tensors[0].is_input = made.tensors[2].is_output = true;
    made.add_operator({0}, {1}, {{1, 2}});
    made.add_operator({1}, {2}, {{1, 2}});
    const auto found = [&](std::vector<std::uint64_t> offsets, std::vector<allot::row_layout> rows,
                           std::uint64_t capacity = 14) {
        return allot::validate_graph(made.view(), std::vector<std::uint32_t>{0, 1}, offsets, capacity, rows);
    };
    CHECK(found({0, 4, 10}, {{}, {2, 4}, {}}).kind == kind::none);
    CHECK(found({0, 4, 6}, {{}, {2, 4}, {}}) == allot::graph_violation{kind::overwritten, 1, 1});
    CHECK(found({0, 4, 10}, {{}, {2, 4}, {}}, 9) == allot::graph_violation{kind::outside, 1, 0});
    CHECK(found({0, 4, 10}, {{}, {2, ~std::uint64_t{0}}, {}}) == allot::graph_violation{kind::outside, 1, 0});
    CHECK(found({0, 4, 10}, {{}, {2, 1}, {}}) == allot::graph_violation{kind::bad_rows, 1, 0});
    CHECK(found({0, 4, 10}, {{}, {3, 4}, {}}) == allot::graph_violation{kind::bad_rows, 1, 0});
    CHECK(found({0, 4, 10}, {{}, {2, 4}}) == allot::graph_violation{kind::bad_rows, 2, 0});
    CHECK(found({0, 4, 10}, {{}, {1, 2}, {}}) == allot::graph_violation{kind::not_strided, 0, 1});
    CHECK(found({0, 6, 10}, {{2, 4}, {}, {}}) == allot::graph_violation{kind::not_strided, 2, 0});
    CHECK(found({0, 4, 8}, {{}, {}, {2, 4}}) == allot::graph_violation{kind::not_strided, 2, 2});
    made.strides[1].clear();
    CHECK(found({0, 4, 10}, {{}, {2, 4}, {}}) == allot::graph_violation{kind::not_strided, 1, 1});
}

TEST_CASE("validate_graph: an operator whose views are in place needs no strides") {
    graphs::owner made;  // x -> a, b; a, b -> c, with rows of 1 and 2 bytes; c -> y
    for (const std::uint64_t size : {4u, 2u, 4u, 6u, 1u}) made.add_tensor(size);
    made.tensors[0].is_input = made.tensors[4].is_output = true;
    made.add_operator({0}, {1, 2}, {{1, 1}, {2, 2}});
    made.add_operator({1, 2}, {3});
    made.add_operator({3}, {4});
    made.aliases = {{3, 1, 0, allot::alias_kind::view, {1, 3}}, {3, 2, 1, allot::alias_kind::view, {2, 3}}};
    const auto found = [&](std::vector<std::uint64_t> offsets, std::vector<allot::row_layout> rows) {
        return allot::validate_graph(made.view(), std::vector<std::uint32_t>{0, 1, 2}, offsets, unlimited, rows);
    };
    CHECK(found({6, 0, 1, 0, 6}, {{}, {1, 3}, {2, 3}, {}, {}}).kind == kind::none);
    CHECK(found({6, 0, 11, 0, 6}, {{}, {1, 3}, {}, {}, {}}).kind == kind::none);  // b is copied, a is not
    CHECK(found({6, 10, 15, 0, 6}, {{}, {1, 3}, {}, {}, {}}) == allot::graph_violation{kind::not_strided, 1, 1});
    CHECK(found({6, 0, 2, 0, 6}, {{}, {1, 3}, {2, 3}, {}, {}}).kind == kind::mixed);
    made.writes[1].push_back(made.add_tensor(1));  // the operator also computes something
    CHECK(found({6, 0, 1, 0, 6, 7}, {{}, {1, 3}, {2, 3}, {}, {}, {}}).kind == kind::not_strided);
}

TEST_CASE("validate_graph: agrees with a run of each byte, for random offsets and rows") {
    std::mt19937 random{7};
    std::size_t valid = 0, valid_with_rows = 0, invalid = 0;
    for (int round = 0; round != 20'000; ++round) {
        graphs::owner made = graphs::random_strided_graph(random, 1 + random() % 4);
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i != made.reads.size(); ++i) order.push_back(i);
        std::vector<std::uint64_t> offsets(made.tensors.size());
        for (std::uint64_t& each : offsets) each = random() % 6 * 40;
        std::vector<allot::row_layout> rows(made.tensors.size());
        for (const allot::graph_alias& alias : made.aliases) {  // often in place
            if (random() % 4 == 0) continue;
            offsets[alias.part] = offsets[alias.whole] + alias.offset;
            rows[alias.part] = rows[alias.whole];
            if (alias.rows.size != 0) rows[alias.part] = alias.rows;
            if (rows[alias.part].size != 0 && made.tensors[alias.part].size % rows[alias.part].size != 0)
                rows[alias.part] = {};
        }
        const bool expected = graphs::runs(made.view(), offsets, rows);
        const auto found = allot::validate_graph(made.view(), order, offsets, unlimited, rows);
        CHECK((found.kind == kind::none) == expected);
        const bool has_rows = std::ranges::any_of(rows, [](allot::row_layout each) { return each.size != 0; });
        ++(expected ? has_rows ? valid_with_rows : valid : invalid);
    }
    CHECK(valid > 100);
    CHECK(valid_with_rows > 100);
    CHECK(invalid > 100);
}

TEST_CASE("validate_graph: all kinds have a description") {
    for (int i = 0; i <= static_cast<int>(kind::not_strided); ++i)
        CHECK(std::string_view{allot::to_string(static_cast<kind>(i))} != "unknown");
}
