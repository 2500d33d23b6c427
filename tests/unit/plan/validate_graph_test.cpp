#include "graphs.hpp"

#include <allot/plan/validate_graph.hpp>

#include <doctest/doctest.h>

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

/// Runs a graph byte by byte. Returns whether each operator reads what was written to its inputs.
bool runs(const graphs::owner& made, const std::vector<std::uint64_t>& offsets) {
    using byte = std::pair<std::uint32_t, std::uint64_t>;  // a tensor, and a byte of it
    std::vector<byte> memory(4096, byte{~0u, 0});
    std::vector<std::vector<byte>> contents(made.tensors.size());
    const auto put = [&](std::uint32_t tensor) {
        for (std::size_t i = 0; i != contents[tensor].size(); ++i) memory[offsets[tensor] + i] = contents[tensor][i];
    };
    const auto has = [&](std::uint32_t tensor) {
        for (std::size_t i = 0; i != contents[tensor].size(); ++i)
            if (memory[offsets[tensor] + i] != contents[tensor][i]) return false;
        return true;
    };
    const auto fill = [&](std::uint32_t tensor) {
        for (std::uint64_t i = 0; i != made.tensors[tensor].size; ++i) contents[tensor].push_back({tensor, i});
    };
    for (std::uint32_t i = 0; i != made.tensors.size(); ++i)
        if (made.tensors[i].is_input) fill(i), put(i);
    for (std::size_t now = 0; now != made.reads.size(); ++now) {
        for (const std::uint32_t in : made.reads[now])
            if (!has(in)) return false;
        for (const std::uint32_t out : made.writes[now]) {
            fill(out);
            for (const allot::graph_alias& alias : made.aliases) {
                if (alias.kind != allot::alias_kind::view) continue;
                const bool in_whole = alias.part == out && std::ranges::count(made.reads[now], alias.whole) != 0;
                const bool in_part = alias.whole == out && std::ranges::count(made.reads[now], alias.part) != 0;
                for (std::uint64_t i = 0; i != made.tensors[alias.part].size; ++i) {
                    if (in_whole) contents[out][i] = contents[alias.whole][alias.offset + i];
                    if (in_part) contents[out][alias.offset + i] = contents[alias.part][i];
                }
            }
            put(out);
        }
        for (const std::uint32_t out : made.writes[now])
            if (!has(out)) return false;
        for (const std::uint32_t in : made.reads[now]) {
            if (has(in)) continue;
            for (const std::uint32_t out : made.writes[now]) {
                const bool apart = offsets[in] + made.tensors[in].size <= offsets[out] ||
                                   offsets[out] + made.tensors[out].size <= offsets[in];
                const bool permitted = std::ranges::any_of(made.aliases, [&](const allot::graph_alias& alias) {
                    return alias.kind == allot::alias_kind::overwrite && alias.whole == in && alias.part == out &&
                           offsets[in] == offsets[out];
                });
                if (!apart && !permitted) return false;
            }
        }
    }
    for (std::uint32_t i = 0; i != made.tensors.size(); ++i)
        if (made.tensors[i].is_output && !has(i)) return false;
    return true;
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
        const bool expected = runs(made, offsets);
        CHECK((allot::validate_graph(made.view(), order, offsets, unlimited).kind == kind::none) == expected);
        ++(expected ? valid : invalid);
    }
    CHECK(valid > 100);
    CHECK(invalid > 100);
}

TEST_CASE("validate_graph: all kinds have a description") {
    for (int i = 0; i <= static_cast<int>(kind::output_lost); ++i)
        CHECK(std::string_view{allot::to_string(static_cast<kind>(i))} != "unknown");
}
