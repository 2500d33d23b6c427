#include "graphs.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace {

using reason = allot::graph_refusal;

graphs::owner concatenation() {
    graphs::owner made;
    made.add_tensor(8);
    made.add_tensor(8);
    made.add_tensor(16);
    made.tensors[0].is_input = made.tensors[2].is_output = true;
    made.add_operator({0}, {1});
    made.add_operator({0, 1}, {2});
    made.aliases = {{2, 0}, {2, 1, 8}};
    return made;
}

allot::graph_error error_after(void (*change)(graphs::owner&)) {
    graphs::owner made = concatenation();
    change(made);
    return allot::check_graph(made.view());
}

}  // namespace

TEST_CASE("check_graph: each mistake is found") {
    CHECK(error_after([](graphs::owner&) {}) == allot::graph_error{});
    CHECK(error_after([](auto& made) { made.tensors[1].size = ~std::uint64_t{0}; }) ==
          allot::graph_error{reason::too_large, 1});
    CHECK(error_after([](auto& made) { made.tensors[2].align = 3; }) == allot::graph_error{reason::bad_alignment, 2});
    CHECK(error_after([](auto& made) { made.reads[1][0] = 3; }) == allot::graph_error{reason::no_such_tensor, 1});
    CHECK(error_after([](auto& made) { made.writes[0][0] = 3; }) == allot::graph_error{reason::no_such_tensor, 0});
    CHECK(error_after([](auto& made) { made.writes[1][0] = 1; }) == allot::graph_error{reason::written_twice, 1});
    CHECK(error_after([](auto& made) { made.writes[1][0] = 0; }) == allot::graph_error{reason::written_twice, 1});
    CHECK(error_after([](auto& made) { made.reads[0][0] = 1; }) == allot::graph_error{reason::read_too_early, 0});
    CHECK(error_after([](auto& made) { made.add_tensor(1); }) == allot::graph_error{reason::never_written, 3});
    CHECK(error_after([](auto& made) { made.aliases[1] = {0, 0}; }) == allot::graph_error{reason::unrelated_alias, 1});
    CHECK(error_after([](auto& made) { made.aliases[1] = {0, 9}; }) == allot::graph_error{reason::unrelated_alias, 1});
    CHECK(error_after([](auto& made) { made.aliases[0].kind = allot::alias_kind::overwrite; }) ==
          allot::graph_error{reason::unrelated_alias, 0});
    CHECK(error_after([](auto& made) { made.aliases[1].offset = 9; }) == allot::graph_error{reason::outside_whole, 1});
    CHECK(error_after([](auto& made) { made.aliases[1] = {0, 1, 1, allot::alias_kind::overwrite}; }) ==
          allot::graph_error{reason::outside_whole, 1});
    CHECK(error_after([](auto& made) { made.aliases[1].offset = 7; }).reason == reason::contradiction);
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {4, 8}, made.aliases[1] = {2, 1, 4, {}, {4, 8}}; }) ==
          allot::graph_error{});
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {4, 8}; }).reason == reason::contradiction);
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {3, 8}; }) == allot::graph_error{reason::bad_rows, 0});
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {4, 3}; }) == allot::graph_error{reason::bad_rows, 0});
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {4, 13}; }) ==
          allot::graph_error{reason::outside_whole, 0});
    CHECK(error_after([](auto& made) { made.aliases[0].rows = {4, ~std::uint64_t{0}}; }) ==
          allot::graph_error{reason::outside_whole, 0});
    CHECK(error_after([](auto& made) { made.aliases = {{0, 1, 0, allot::alias_kind::overwrite, {4, 4}}}; }) ==
          allot::graph_error{reason::bad_rows, 0});
    CHECK(error_after([](auto& made) { made.strides[0] = {{0, 4}, {1, 8}}; }) == allot::graph_error{});
    CHECK(error_after([](auto& made) { made.strides[0] = {{2, 8}}; }) == allot::graph_error{reason::bad_stride, 0});
    CHECK(error_after([](auto& made) { made.strides[0] = {{9, 8}}; }) == allot::graph_error{reason::bad_stride, 0});
    CHECK(error_after([](auto& made) { made.strides[1] = {{0, 3}}; }) == allot::graph_error{reason::bad_stride, 1});
    CHECK(error_after([](auto& made) { made.strides[1] = {{0, 0}}; }) == allot::graph_error{reason::bad_stride, 1});
}

TEST_CASE("check_graph: all reasons have a description") {
    for (int i = 0; i <= static_cast<int>(reason::bad_stride); ++i)
        CHECK(std::string_view{allot::to_string(static_cast<reason>(i))} != "unknown");
}
