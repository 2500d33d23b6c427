// SPDX-License-Identifier: BSL-1.0
// graph_input: a network as a graph: which operators work in place, which tensors are views, and an order with few live
// bytes.
//
//     element by element   Relu, Add, …          the output may overwrite an input of its size and type
//     all bytes            Reshape, Flatten, …   a view
//     consecutive parts    Concat, Split, Slice  views, if all dimensions before the axis are 1
//     rows                 Concat, Split, Slice  views, if --strided lists the other operators of the parts
//
// With --recompute, operators that read and write few bytes are repeated, so that their results need not be in memory
// between two readers.
//
// Of all attributes, the network only states the begin of a slice. The axis of a concatenation follows from the shapes.
#pragma once

#include "network_input.hpp"
#include "options.hpp"

#include <allot/plan/order_operators.hpp>
#include <allot/plan/recompute_tensors.hpp>
#include <allot/plan/share_bytes.hpp>
#include <allot/plan/validate_graph.hpp>

#include <array>
#include <charconv>
#include <memory>
#include <sstream>

namespace planner {

/// A network as a graph. The graph is a view of this object.
class network_graph {
public:
    network_graph(const demo::network& net, const options& chosen) : net_{net}, strided_{chosen.strided} {
        for (const demo::tensor& each : net.tensors)
            tensors_.push_back({each.size, chosen.align, each.is_input, each.is_output});
        for (const demo::step& each : net.steps) {
            lists_.emplace_back(each.reads.begin(), each.reads.end());
            lists_.emplace_back(each.writes.begin(), each.writes.end());
            if (chosen.in_place) add_aliases(each);
            strides_.push_back(strides_of(each));
        }
        for (std::size_t i = 0; i != strides_.size(); ++i)
            operators_.push_back({lists_[2 * i], lists_[2 * i + 1], strides_[i]});
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
        const std::string name = names_of(each.operation)[0];
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
        } else if (!each.begin.empty()) {
            slice(each);
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
    /// Adds views of parts, if the parts are the whole tensor and their shapes differ from it in one dimension.
    void divide(std::size_t all, const std::vector<std::size_t>& parts) {
        const std::vector<std::uint64_t> whole = demo::dimensions_of(net_.tensors[all].shape);
        std::uint64_t sum = 0;
        for (const std::size_t part : parts) sum += net_.tensors[part].size;
        if (sum != net_.tensors[all].size || sum == 0) return;
        std::vector<allot::graph_alias> views;
        for (std::uint64_t offset = 0; const std::size_t part : parts) {
            const auto rows = rows_in(whole, demo::dimensions_of(net_.tensors[part].shape), net_.tensors[part].size);
            if (!rows) return;
            if (net_.tensors[part].size != 0)
                views.push_back({static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(part), offset,
                                 allot::alias_kind::view, *rows});
            offset += rows->size == 0 ? net_.tensors[part].size : rows->size;
        }
        const auto differs = [&](const allot::graph_alias& view) { return view.rows.stride != views[0].rows.stride; };
        if (std::ranges::any_of(views, differs) || (views[0].rows.size != 0 && strided_.empty())) return;
        aliases_.insert(aliases_.end(), views.begin(), views.end());
    }
    /// Adds the view of a slice, if its bytes are consecutive or in rows with a common distance.
    void slice(const demo::step& each) {
        const std::vector<std::uint64_t> part = demo::dimensions_of(net_.tensors[each.writes[0]].shape);
        const std::vector<std::uint64_t> strides = strides_in(each.reads[0]), own = strides_in(each.writes[0]);
        if (strides.empty() || own.empty() || own.back() != strides.back()) return;
        std::uint64_t offset = 0, row = strides.back(), rows = 1, stride = 0;
        for (std::size_t i = part.size(); i-- != 0;) {
            offset += each.begin[i] * strides[i];
            if (part[i] == 1) continue;
            if (rows == 1 && strides[i] == row) row *= part[i];
            else if (rows == 1) stride = strides[i], rows = part[i];
            else if (strides[i] == stride * rows) rows *= part[i];
            else return;
        }
        if (rows != 1 && strided_.empty()) return;
        aliases_.push_back({static_cast<std::uint32_t>(each.reads[0]), static_cast<std::uint32_t>(each.writes[0]),
                            offset, allot::alias_kind::view,
                            rows == 1 ? allot::row_layout{} : allot::row_layout{row, stride}});
    }
    /// Returns the distance in bytes of elements that follow each other in each dimension of a tensor; none if an element
    /// does not have a whole number of bytes.
    [[nodiscard]] std::vector<std::uint64_t> strides_in(std::size_t tensor) const {
        std::vector<std::uint64_t> made;
        std::uint64_t bytes = net_.tensors[tensor].size;
        for (const std::uint64_t dimension : demo::dimensions_of(net_.tensors[tensor].shape)) {
            if (dimension == 0 || bytes % dimension != 0) return {};
            made.push_back(bytes /= dimension);
        }
        return made;
    }
    /// Returns the rows of a part of a tensor, no bytes a row if it is one piece, or nothing if the shapes, such as
    /// 4x64x8x8 and 4x16x8x8, do not differ in one dimension.
    [[nodiscard]] static std::optional<allot::row_layout> rows_in(const std::vector<std::uint64_t>& whole,
                                                                  const std::vector<std::uint64_t>& part,
                                                                  std::uint64_t bytes) {
        if (whole.empty() || whole.size() != part.size()) return std::nullopt;
        const std::size_t axis =
            static_cast<std::size_t>(std::mismatch(whole.begin(), whole.end(), part.begin()).first - whole.begin());
        if (axis == whole.size()) return allot::row_layout{};
        if (!std::equal(whole.begin() + static_cast<std::ptrdiff_t>(axis) + 1, whole.end(),
                        part.begin() + static_cast<std::ptrdiff_t>(axis) + 1))
            return std::nullopt;
        std::uint64_t rows = 1;
        for (std::size_t i = 0; i != axis; ++i) rows *= whole[i];
        if (rows <= 1 || bytes == 0) return allot::row_layout{};
        if (bytes % rows != 0 || part[axis] == 0) return std::nullopt;
        const std::uint64_t row = bytes / rows;
        return allot::row_layout{row, row / part[axis] * whole[axis]};
    }
    /// Returns the rows in which an operator can use its tensors: all dimensions from one on.
    [[nodiscard]] std::vector<allot::strided_tensor> strides_of(const demo::step& each) const {
        std::vector<allot::strided_tensor> made;
        if (std::ranges::count(strided_, names_of(each.operation)[0]) == 0) return made;
        for (const auto& list : {each.reads, each.writes})
            for (const std::size_t tensor : list) {
                std::uint64_t row = net_.tensors[tensor].size;
                for (const std::uint64_t dimension : demo::dimensions_of(net_.tensors[tensor].shape)) {
                    if (dimension == 0 || row % dimension != 0) break;
                    if (dimension == 1) continue;
                    row /= dimension;
                    made.push_back({static_cast<std::uint32_t>(tensor), row});
                }
            }
        return made;
    }

    const demo::network& net_;
    const std::vector<std::string>& strided_;  // operators that can use rows that are apart
    std::vector<allot::graph_tensor> tensors_;
    std::vector<std::vector<std::uint32_t>> lists_;  // tensors that an operator reads; those that it writes; …
    std::vector<std::vector<allot::strided_tensor>> strides_;
    std::vector<allot::graph_operator> operators_;
    std::vector<allot::graph_alias> aliases_;
};

/// Returns the lines of a network that are comments.
[[nodiscard]] inline std::string comments_of(const std::string& text) {
    std::istringstream lines{text};
    std::string made;
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with('#')) made += line + '\n';
    return made;
}

/// Returns a network as text. The steps have the tensors of a graph, and each tensor and step is one of the network.
[[nodiscard]] inline std::string text_of(const std::string& comments, const demo::network& net,
                                         const allot::recomputed_graph& graph) {
    std::ostringstream made;
    made << comments << "network " << net.name << '\n';
    for (std::size_t i = 0; i != graph.tensors.size(); ++i) {
        const demo::tensor& each = net.tensors[graph.tensor_of[i]];
        made << "tensor " << i << ' ' << each.size << ' ' << each.dtype << ' ' << each.shape << ' ' << each.name
             << '\n';
    }
    for (std::size_t i = 0; i != graph.tensors.size(); ++i)
        if (graph.tensors[i].is_input) made << "input " << i << '\n';
    for (std::size_t i = 0; i != graph.tensors.size(); ++i)
        if (graph.tensors[i].is_output) made << "output " << i << '\n';
    for (std::size_t i = 0; i != graph.reads.size(); ++i) {
        made << "step " << i << ' ' << net.steps[graph.operator_of[i]].operation;
        for (const std::uint32_t each : graph.reads[i]) made << ' ' << each;
        made << " ->";
        for (const std::uint32_t each : graph.writes[i]) made << ' ' << each;
        const std::vector<std::uint64_t>& begin = net.steps[graph.operator_of[i]].begin;
        for (std::size_t axis = 0; axis != begin.size(); ++axis) made << (axis == 0 ? " from " : "x") << begin[axis];
        made << '\n';
    }
    return std::move(made).str();
}

/// Returns the costs of the operators: the bytes that each one reads and writes.
[[nodiscard]] inline std::vector<std::uint64_t> costs_of(const demo::network& net) {
    static constexpr std::array random{"Bernoulli",        "Multinomial",   "RandomNormal",
                                       "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
    std::vector<std::uint64_t> made;
    for (const demo::step& each : net.steps) {
        std::uint64_t bytes = 0;
        for (const std::size_t id : each.reads) bytes += net.tensors[id].size;
        for (const std::size_t id : each.writes) bytes += net.tensors[id].size;
        made.push_back(std::ranges::count(random, each.operation) != 0 ? allot::never_repeated : bytes);
    }
    return made;
}

/// Returns a graph with its operators in another order.
[[nodiscard]] inline allot::recomputed_graph in_order(const allot::operator_graph& graph,
                                                      const std::vector<std::uint32_t>& order) {
    allot::recomputed_graph made;
    made.tensors.assign(graph.tensors.begin(), graph.tensors.end());
    for (std::uint32_t i = 0; i != made.tensors.size(); ++i) made.tensor_of.push_back(i);
    for (const std::uint32_t each : order) {
        made.reads.emplace_back(graph.operators[each].reads.begin(), graph.operators[each].reads.end());
        made.writes.emplace_back(graph.operators[each].writes.begin(), graph.operators[each].writes.end());
    }
    made.operator_of = order;
    return made;
}

/// A network in an order with few live bytes, and with repeated operators, as the options say.
struct transformed_network {
    std::string text;
    demo::network net;

    transformed_network(const std::string& given, const std::string& path, const options& chosen)
        : text{given}, net{demo::network_reader{path}.read(given)} {
        if (net.has_branches())
            throw input_error{path + ": --order, --in-place and --recompute do not support branches and loops"};
        given_bound = net.lower_bound();
        const auto replace = [&](auto change) {
            const allot::recomputed_graph graph = change(network_graph{net, chosen}.graph());
            text = text_of(comments_of(given), net, graph);
            net = demo::network_reader{path}.read(text);
        };
        if (chosen.order)
            replace([&](const allot::operator_graph& graph) {
                const allot::operator_order best = allot::order_operators(graph);
                if (!chosen.recompute) order_bound = best.bound;
                return in_order(graph, best.order);
            });
        if (chosen.recompute)
            replace([&](const allot::operator_graph& graph) {
                const std::vector<std::uint64_t> costs = costs_of(net);
                std::uint64_t sum = 0;
                for (const std::uint64_t each : costs) sum += each == allot::never_repeated ? 0 : each;
                return allot::recompute_tensors(graph, costs, sum / 100 * *chosen.recompute);
            });
    }
    std::uint64_t given_bound = 0;               // lower bound of the given order
    std::optional<std::uint64_t> order_bound{};  // lower bound of all orders
};

/// Returns the buffers of a network with the order, the repetitions and the sharing that the options select.
[[nodiscard]] inline input graph_input(const std::string& text, const std::string& path, const options& chosen) {
    const auto changed = std::make_shared<const transformed_network>(text, path, chosen);
    const auto graph = std::make_shared<const network_graph>(changed->net, chosen);
    std::vector<std::uint32_t> order(changed->net.steps.size());
    for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i;
    allot::graph_sharing shared = allot::share_bytes(graph->graph(), order);

    input made = input_of(changed->net, path);
    made.given_bound = changed->given_bound;
    made.order_bound = changed->order_bound;
    made.network = changed->text;
    made.buffers = std::move(shared.buffers);
    made.together = std::move(shared.together);
    made.shift = std::move(shared.shift);
    if (!chosen.strided.empty()) {
        made.columns += ",row,stride";
        for (row& each : made.rows) {
            const auto [size, stride] = shared.rows[each.buffer];
            each.text += size == 0 ? ",," : ',' + std::to_string(size) + ',' + std::to_string(stride);
        }
    }
    made.run = [changed, graph, order,
                layouts = std::move(shared.rows)](const std::vector<std::uint64_t>& offsets) -> std::string {
        const auto found = allot::validate_graph(graph->graph(), order, offsets, unlimited, layouts);
        return found.kind == allot::graph_violation_kind::none
                   ? ""
                   : std::string{found.what()} + ": " + std::to_string(found.first) + ", " +
                         std::to_string(found.second);
    };
    return made;
}

}  // namespace planner
