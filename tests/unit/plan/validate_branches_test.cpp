#include "problems.hpp"
#include "programs.hpp"

#include <allot/plan/validate_branches.hpp>

#include <doctest/doctest.h>

namespace {

using kind = allot::graph_violation_kind;
constexpr std::uint64_t unlimited = ~std::uint64_t{0};

allot::graph_violation check(const programs::owner& made, std::vector<std::uint64_t> offsets,
                             std::uint64_t capacity = unlimited, std::vector<allot::row_layout> rows = {}) {
    return allot::validate_branches(made.graph.view(), made.view(), offsets, capacity, rows);
}

}  // namespace

TEST_CASE("validate_branches: each violation is found on the path that has it") {
    programs::owner made = programs::loop();
    CHECK(check(made, {8, 0, 8, 8}, 16).kind == kind::none);
    CHECK(check(made, {8, 0, 8, 8}, 15).kind == kind::outside);
    CHECK(check(made, {8, 0, 9, 8}, 17).kind == kind::misaligned);
    CHECK(check(made, {8, 0, 8}, 16).kind == kind::no_offset);
    CHECK(check(made, {8, 0, 4, 8}) == allot::graph_violation{kind::overwritten, 1, 1});
    CHECK(check(made, {4, 0, 8, 8}) == allot::graph_violation{kind::overwritten, 0, 0});
    made.graph.aliases = {{1, 2, 0, allot::alias_kind::overwrite}};
    CHECK(check(made, {8, 0, 0, 8}) == allot::graph_violation{kind::overwritten, 2, 2});
    made.graph.aliases.push_back({2, 1, 0, allot::alias_kind::overwrite});
    CHECK(check(made, {8, 0, 0, 8}, 16).kind == kind::none);
    made.graph.reads[2].push_back(0);  // the second iteration reads x again
    CHECK(check(made, {8, 0, 0, 8}).kind == kind::none);
    made.graph.writes[2].push_back(made.graph.add_tensor(8));  // and writes z over it
    made.graph.aliases.push_back({0, 4, 0, allot::alias_kind::overwrite});
    CHECK(check(made, {8, 0, 0, 16, 8}) == allot::graph_violation{kind::lost, 2, 0});
    CHECK(check(made, {8, 0, 0, 16, 4}) == allot::graph_violation{kind::lost, 1, 1});
    made.next[2] = {3};  // no loop
    CHECK(check(made, {8, 0, 0, 16, 4}) == allot::graph_violation{kind::mixed, 2, 1});
    CHECK(check(made, {8, 0, 0, 16, 8}).kind == kind::none);
    made.graph.tensors[0].is_output = true;
    CHECK(check(made, {8, 0, 0, 16, 8}) == allot::graph_violation{kind::output_lost, 0, 0});
    made.graph.tensors[2].is_input = true;
    CHECK(check(made, {8, 0, 8, 16, 24}) == allot::graph_violation{kind::mixed, 4, 0});
}

TEST_CASE("validate_branches: an input that the next iteration reads is lost") {
    programs::owner made;
    for (int i = 0; i != 3; ++i) made.graph.add_tensor(1);
    made.graph.tensors[0].is_input = true;
    made.graph.add_operator({}, {2});
    made.graph.add_operator({0}, {});
    made.graph.add_operator({}, {1});
    made.next = {{}, {}, {0, 3}};
    CHECK(check(made, {0, 0, 1}, 2) == allot::graph_violation{kind::lost, 1, 0});
    CHECK(check(made, {0, 2, 1}, 3).kind == kind::none);
}

TEST_CASE("validate_branches: tensors without bytes, in a loop") {
    programs::owner made;
    made.graph.add_tensor(0);
    made.graph.add_operator({}, {0});
    made.next = {{0, 1}};
    CHECK(check(made, {0}, 0).kind == kind::none);
}

TEST_CASE("validate_branches: one result overwrites a tensor, and another one is a view of its other bytes") {
    programs::owner made;
    made.graph.add_tensor(4);
    made.graph.add_tensor(2);
    made.graph.add_tensor(2);
    made.graph.tensors[0].is_input = made.graph.tensors[1].is_output = made.graph.tensors[2].is_output = true;
    made.graph.add_operator({0}, {1, 2});
    made.graph.aliases = {{0, 1, 0, allot::alias_kind::overwrite}, {0, 2, 2, allot::alias_kind::view}};
    made.next = {{}};
    CHECK(check(made, {0, 0, 2}, 4).kind == kind::none);
    CHECK(
        allot::validate_graph(made.graph.view(), std::vector<std::uint32_t>{0}, std::vector<std::uint64_t>{0, 0, 2}, 4)
            .kind == kind::none);
    made.graph.aliases.erase(made.graph.aliases.begin());
    CHECK(check(made, {0, 0, 2}, 4) == allot::graph_violation{kind::overwritten, 0, 0});
}

TEST_CASE("validate_branches: programs that are invalid") {
    const auto refused = [](auto change) {
        programs::owner made = programs::loop();
        change(made);
        return check(made, {8, 0, 8, 16}).kind == kind::bad_graph;
    };
    CHECK(!refused([](programs::owner&) {}));
    CHECK(refused([](programs::owner& made) { made.next[2] = {5}; }));
    CHECK(refused([](programs::owner& made) { made.next.pop_back(); }));
    CHECK(refused([](programs::owner& made) { made.graph.reads[1] = {4}; }));
    CHECK(refused([](programs::owner& made) { made.graph.tensors[1].align = 3; }));
    CHECK(refused([](programs::owner& made) { made.graph.aliases = {{1, 4}}; }));
    CHECK(refused([](programs::owner& made) { made.graph.aliases = {{1, 2, 1}}; }));
    CHECK(refused([](programs::owner& made) { made.graph.aliases = {{1, 2, 0, {}, {2, 3}}}; }));
    CHECK(refused([](programs::owner& made) { made.graph.aliases = {{1, 2, 0, {}, {2, 1}}}; }));
    programs::owner made = programs::loop();
    made.next[0] = {1, 2};  // a path leads to operator 2, which reads t, without operator 1
    CHECK(check(made, {8, 0, 8, 16}) == allot::graph_violation{kind::lost, 2, 2});
}

TEST_CASE("validate_branches: a view of a variable keeps the bytes of its iteration") {
    programs::owner made =
        programs::loop();  // t is a view of v, the loop writes v without reading t, and the last operator reads t
    made.graph.aliases = {{1, 2}};
    made.graph.reads[2] = {0};
    made.graph.reads[3] = {2};
    CHECK(check(made, {8, 0, 0, 16}) == allot::graph_violation{kind::lost, 3, 2});
    CHECK(check(made, {8, 0, 16, 24}).kind == kind::none);
    made.graph.writes[2] = {made.graph.add_tensor(8)};
    CHECK(check(made, {8, 0, 0, 16, 24}).kind == kind::none);
}

TEST_CASE("validate_branches: rows need operators that can use them") {
    programs::owner made = programs::loop();
    CHECK(check(made, {16, 0, 2, 16}, unlimited, {{}, {2, 4}, {2, 4}, {}}).kind == kind::misaligned);
    made.graph.tensors[2].align = 1;
    CHECK(check(made, {16, 0, 2, 16}, unlimited, {{}, {2, 4}, {2, 4}, {}}) ==
          allot::graph_violation{kind::not_strided, 0, 1});
    made.graph.strides = {{{1, 2}}, {{1, 2}, {2, 2}}, {{1, 2}, {2, 2}}, {{1, 2}}};
    CHECK(check(made, {16, 0, 2, 16}, unlimited, {{}, {2, 4}, {2, 4}, {}}).kind == kind::none);
    CHECK(check(made, {16, 0, 3, 20}, unlimited, {{}, {2, 4}, {2, 4}, {}}).kind == kind::overwritten);
    CHECK(check(made, {16, 0, 2, 16}, unlimited, {{}, {2, 4}, {2, 4}, {2, 2}}).kind == kind::not_strided);
}

TEST_CASE("validate_branches: it refuses all offsets that fail on a random path, and few others") {
    std::mt19937 random{3};
    std::size_t valid = 0, invalid = 0, unseen = 0;
    const int rounds = problems::is_slow ? 600 : 3000;
    for (int round = 0; round != rounds; ++round) {
        programs::owner made = programs::maker{random, 1 + random() % 2}.make();
        const allot::operator_graph graph = made.graph.view();
        std::vector<std::uint64_t> offsets(graph.tensors.size());
        std::vector<allot::row_layout> rows(graph.tensors.size());
        for (std::uint64_t& each : offsets) each = random() % 40 * 16;
        for (const allot::graph_alias& alias : graph.aliases) {  // often in place
            if (random() % 3 == 0) continue;
            offsets[alias.part] = offsets[alias.whole] + alias.offset;
            rows[alias.part] = alias.rows.size == 0 ? rows[alias.whole] : alias.rows;
        }
        const bool seen = programs::runs(made, offsets, rows, random, 30);
        const bool accepted = check(made, offsets, unlimited, rows).kind == kind::none;
        if (!seen) CHECK(!accepted);
        ++(!seen ? invalid : accepted ? valid : unseen);
    }
    const auto all = static_cast<std::size_t>(rounds);
    CHECK(valid > all / 10);
    CHECK(invalid > all / 10);
    CHECK(unseen < all / 50);
}
