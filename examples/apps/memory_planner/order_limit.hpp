// SPDX-License-Identifier: BSL-1.0
// order_limit: bytes that every order of the operators needs, if tensors share bytes in the best way.
//
//     x: 12 bytes                 pieces    x[0, 8): of x and a    x[8, 12): of x
//     a: a view of 8 bytes of x   a needs no bytes while x is live, and 8 bytes afterwards
//
// `order_operators` counts a view and its tensor in full while both are live. Here, the views of a graph divide its
// tensors into pieces, and each piece counts once, as long as one of its tensors is live.
//
// Complexity: that of `order_operators`, and for each run of bytes of a tensor the number of its tensors.
#pragma once

#include <allot/plan/detail/graph_contents.hpp>
#include <allot/plan/order_operators.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace planner {

/// The pieces of a graph as tensors of another graph.
class graph_of_pieces {
public:
    explicit graph_of_pieces(const allot::operator_graph& graph) : of_(graph.tensors.size()) {
        add_pieces(graph);
        std::vector<std::vector<std::uint32_t>> written(
            graph.tensors.size());  // by tensor: pieces that it is the origin of
        for (std::uint32_t piece = 0; piece != tensors_.size(); ++piece) written[origins_[piece]].push_back(piece);
        for (const allot::graph_operator& each : graph.operators) {
            std::set<std::uint32_t> reads;
            for (const std::uint32_t tensor : each.reads) reads.insert(of_[tensor].begin(), of_[tensor].end());
            reads_.emplace_back(reads.begin(), reads.end());
            std::vector<std::uint32_t>& writes = writes_.emplace_back();
            for (const std::uint32_t tensor : each.writes)
                writes.insert(writes.end(), written[tensor].begin(), written[tensor].end());
        }
        for (std::size_t i = 0; i != reads_.size(); ++i) operators_.push_back({reads_[i], writes_[i]});
        for (const allot::graph_alias& alias : graph.aliases)
            if (alias.kind == allot::alias_kind::overwrite)
                for (const std::uint32_t in : of_[alias.whole])
                    for (const std::uint32_t out : written[alias.part])
                        aliases_.push_back({in, out, 0, allot::alias_kind::overwrite});
    }

    /// Returns the graph. It is a view of this object.
    [[nodiscard]] allot::operator_graph graph() const { return {tensors_, operators_, aliases_}; }

private:
    /// Adds a piece for the bytes of each origin that the same tensors have.
    void add_pieces(const allot::operator_graph& graph) {
        struct end {
            std::uint64_t byte = 0;
            std::uint32_t tensor = 0;
            bool begins = false;
        };
        const allot::detail::graph_contents contents{graph};
        std::vector<std::vector<end>> ends(graph.tensors.size());  // by origin
        for (std::uint32_t i = 0; i != graph.tensors.size(); ++i)
            for (const auto& run : contents.runs(i)) {
                ends[run.origin].push_back({run.from, i, true});
                ends[run.origin].push_back({run.from + run.size, i, false});
            }
        for (std::uint32_t origin = 0; origin != ends.size(); ++origin) {
            add_piece(graph, origin, {origin}, 0);  // its operator runs before those that read it
            std::ranges::sort(ends[origin], {}, &end::byte);
            std::map<std::set<std::uint32_t>, std::uint64_t> sizes;  // by the tensors that have the bytes
            std::map<std::uint32_t, std::size_t> open;               // by tensor: runs that have the current bytes
            std::uint64_t at = 0;
            for (const end& each : ends[origin]) {
                if (each.byte != at && !open.empty()) {
                    std::set<std::uint32_t> tensors;
                    for (const auto& [tensor, runs] : open) tensors.insert(tensor);
                    sizes[tensors] += each.byte - at;
                }
                at = each.byte;
                if (each.begins) ++open[each.tensor];
                else if (--open[each.tensor] == 0) open.erase(each.tensor);
            }
            for (const auto& [tensors, size] : sizes) add_piece(graph, origin, tensors, size);
        }
    }
    void add_piece(const allot::operator_graph& graph, std::uint32_t origin, const std::set<std::uint32_t>& tensors,
                   std::uint64_t size) {
        const auto piece = static_cast<std::uint32_t>(tensors_.size());
        const auto is_output = [&](std::uint32_t i) { return graph.tensors[i].is_output; };
        tensors_.push_back({.size = size,
                            .is_input = graph.tensors[origin].is_input,
                            .is_output = std::ranges::any_of(tensors, is_output)});
        origins_.push_back(origin);
        for (const std::uint32_t each : tensors) of_[each].push_back(piece);
    }

    std::vector<std::vector<std::uint32_t>> of_;  // by tensor: its pieces
    std::vector<std::uint32_t> origins_;          // by piece
    std::vector<allot::graph_tensor> tensors_;
    std::vector<std::vector<std::uint32_t>> reads_, writes_;  // by operator
    std::vector<allot::graph_operator> operators_;
    std::vector<allot::graph_alias> aliases_;
};

/// Returns bytes that no order needs fewer of. `found` is the result of `order_operators` for the graph.
[[nodiscard]] inline std::uint64_t order_limit(const allot::operator_graph& graph, const allot::operator_order& found) {
    const auto is_view = [](const allot::graph_alias& each) { return each.kind == allot::alias_kind::view; };
    if (std::ranges::none_of(graph.aliases, is_view)) return found.bound;
    const graph_of_pieces pieces{graph};
    return allot::order_operators(pieces.graph()).bound;
}

}  // namespace planner
