// SPDX-License-Identifier: BSL-1.0
// graph_input: a network as a graph: which operators work in place, which tensors are views, and an order with few live
// bytes.
//
//     element by element   Relu, Add, …          the output may overwrite an input of its size and type
//     all bytes            Reshape, Flatten, …   a view
//     consecutive parts    Concat, Split         views, if all dimensions before the axis are 1
//
// The network states no attributes. The axis of a concatenation follows from the shapes.
#pragma once

#include "network_input.hpp"
#include "options.hpp"

#include <allot/plan/order_operators.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <array>
#include <cctype>
#include <memory>
#include <sstream>

namespace planner {

/// A network as a graph. The graph is a view of this object.
class network_graph {
public:
    network_graph(const demo::network& net, bool shares, std::uint64_t align) : net_{net} {
        for (const demo::tensor& each : net.tensors)
            tensors_.push_back({each.size, align, each.is_input, each.is_output});
        for (const demo::step& each : net.steps) {
            lists_.emplace_back(each.reads.begin(), each.reads.end());
            lists_.emplace_back(each.writes.begin(), each.writes.end());
            if (shares) add_aliases(each);
        }
        for (std::size_t i = 0; i != lists_.size(); i += 2) operators_.push_back({lists_[i], lists_[i + 1]});
    }
    network_graph(const network_graph&) = delete;
    network_graph& operator=(const network_graph&) = delete;

    [[nodiscard]] allot::operator_graph graph() const { return {tensors_, operators_, aliases_}; }

private:
    void add_aliases(const demo::step& each) {
        static constexpr std::array over{"abs",          "add",        "batchnormalization",
                                         "clip",         "div",        "elu",
                                         "exp",          "hard_swish", "hardsigmoid",
                                         "hardswish",    "leaky_relu", "leakyrelu",
                                         "log",          "logistic",   "max",
                                         "maximum",      "min",        "minimum",
                                         "mul",          "neg",        "pow",
                                         "prelu",        "relu",       "relu6",
                                         "relu_n1_to_1", "sigmoid",    "softplus",
                                         "softsign",     "sqrt",       "sub",
                                         "sum",          "tanh"};
        static constexpr std::array whole{"dropout",  "expanddims", "expand_dims", "flatten",
                                          "identity", "reshape",    "squeeze",     "unsqueeze"};
        std::string name = each.operation;
        for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const auto is_in = [&](const auto& list) { return std::ranges::count(list, name) != 0; };
        if (each.writes.size() == 1 && is_in(over)) {
            for (const std::size_t in : each.reads) overwrite(in, each.writes[0]);
        } else if (each.writes.size() == 1 && !each.reads.empty() && is_in(whole)) {
            if (net_.tensors[each.reads[0]].size == net_.tensors[each.writes[0]].size)
                add(each.reads[0], each.writes[0], 0);
        } else if (each.writes.size() == 1 && (name == "concat" || name == "concatenation")) {
            divide(each.writes[0], each.reads);
        } else if (each.reads.size() == 1 && (name == "split" || name == "split_v")) {
            divide(each.reads[0], each.writes);
        }
    }
    void add(std::size_t large, std::size_t small, std::uint64_t offset,
             allot::alias_kind kind = allot::alias_kind::view) {
        aliases_.push_back({static_cast<std::uint32_t>(large), static_cast<std::uint32_t>(small), offset, kind});
    }
    void overwrite(std::size_t in, std::size_t out) {
        const demo::tensor &from = net_.tensors[in], &to = net_.tensors[out];
        if (from.size == to.size && from.dtype == to.dtype) add(in, out, 0, allot::alias_kind::overwrite);
    }
    /// Adds views of consecutive parts, if the parts are the whole tensor, and each is in one piece.
    void divide(std::size_t all, const std::vector<std::size_t>& parts) {
        std::uint64_t sum = 0;
        for (const std::size_t part : parts) {
            if (!is_in_one_piece(net_.tensors[all].shape, net_.tensors[part].shape)) return;
            sum += net_.tensors[part].size;
        }
        if (sum != net_.tensors[all].size) return;
        std::uint64_t offset = 0;
        for (const std::size_t part : parts) {
            if (net_.tensors[part].size != 0) add(all, part, offset);
            offset += net_.tensors[part].size;
        }
    }
    /// Returns whether the shapes, such as 1x64x8x8 and 1x16x8x8, differ in one dimension, with only 1 before it.
    [[nodiscard]] static bool is_in_one_piece(const std::string& all, const std::string& part) {
        std::istringstream in_all{all}, in_part{part};
        std::string a, b;
        bool is_leading = true;
        while (std::getline(in_all, a, 'x')) {
            if (!std::getline(in_part, b, 'x')) return false;
            if (!is_leading && a != b) return false;
            if (a != "1" || b != "1") is_leading = false;
        }
        return !std::getline(in_part, b, 'x');
    }

    const demo::network& net_;
    std::vector<allot::graph_tensor> tensors_;
    std::vector<std::vector<std::uint32_t>> lists_;  // tensors that an operator reads; those that it writes; …
    std::vector<allot::graph_operator> operators_;
    std::vector<allot::graph_alias> aliases_;
};

/// Returns the text of a network with its steps in another order.
[[nodiscard]] inline std::string reordered(const std::string& text, const std::vector<std::uint32_t>& order) {
    std::istringstream lines{text};
    std::string made;
    std::vector<std::string> steps;  // without "step" and the index
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields{line};
        std::string kind, index, rest;
        fields >> kind;
        if (kind != "step") {
            made += line + '\n';
            continue;
        }
        fields >> index;
        std::getline(fields, rest);
        steps.push_back(rest);
    }
    for (std::size_t i = 0; i != order.size(); ++i) made += "step " + std::to_string(i) + steps[order[i]] + '\n';
    return made;
}

/// Returns the buffers of a network with the order and the sharing that the options select.
[[nodiscard]] inline input graph_input(const std::string& text, const std::string& path, const options& chosen) {
    const auto net = std::make_shared<const demo::network>(demo::network_reader{path}.read(text));
    const auto graph = std::make_shared<const network_graph>(*net, chosen.in_place, chosen.align);
    auto order = std::make_shared<std::vector<std::uint32_t>>(net->steps.size());
    for (std::uint32_t i = 0; i != order->size(); ++i) (*order)[i] = i;
    if (chosen.order) *order = allot::order_operators(graph->graph()).order;
    allot::graph_sharing shared = allot::share_bytes(graph->graph(), *order);

    input made = input_of(*net, path);
    made.given_bound = net->lower_bound();
    made.network = reordered(text, *order);
    made.rows.clear();
    for (std::size_t i = 0; i != shared.buffers.size(); ++i) {
        const allot::lifetime live = shared.buffers[i].live;
        made.rows.push_back({i, std::to_string(i) + ',' + std::to_string(live.from) + ',' + std::to_string(live.until) +
                                    ',' + std::to_string(net->tensors[i].size)});
    }
    std::vector<std::int64_t> position(order->size());
    for (std::size_t i = 0; i != position.size(); ++i) position[(*order)[i]] = static_cast<std::int64_t>(i);
    for (allot::plan_access& each : made.accesses)
        if (!position.empty()) each.step = position[static_cast<std::size_t>(each.step)];
    made.buffers = std::move(shared.buffers);
    made.together = std::move(shared.together);
    made.shift = std::move(shared.shift);
    made.run = [net, graph, order](const std::vector<std::uint64_t>& offsets) -> std::string {
        const auto found = allot::validate_graph(graph->graph(), *order, offsets, unlimited);
        return found.kind == allot::graph_violation_kind::none
                   ? ""
                   : std::string{found.what()} + ": " + std::to_string(found.first) + ", " +
                         std::to_string(found.second);
    };
    return made;
}

}  // namespace planner
