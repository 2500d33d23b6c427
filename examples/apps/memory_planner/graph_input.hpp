// SPDX-License-Identifier: BSL-1.0
// graph_input: a network with the order, the repetitions and the shared bytes that the options select.
//
//     --order       an order with few live bytes; with branches and loops, of the steps between them
//     --recompute   operators that read and write few bytes are repeated, so that their results need not be in memory
//                   between two readers
//     --in-place    tensors share bytes (network_graph.hpp)
//
// Parts that share the bytes of a tensor have fixed distances, which can make the lowest plan higher. With --in-place,
// `input::others` therefore has the orders and the shared bytes of fewer permissions.
#pragma once

#include "network_graph.hpp"
#include "network_input.hpp"
#include "options.hpp"
#include "order_limit.hpp"
#include "step_order.hpp"

#include <allot/plan/order_operators.hpp>
#include <allot/plan/recompute_tensors.hpp>
#include <allot/plan/share_branches.hpp>
#include <allot/plan/validate_branches.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

namespace planner {

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
        const std::vector<std::uint32_t>& next = net.steps[graph.operator_of[i]].next;
        for (std::size_t each = 0; each != next.size(); ++each) made << (each == 0 ? " next " : " ") << next[each];
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

    transformed_network(const std::string& given, const std::string& path, const options& chosen, sharing permitted)
        : text{given}, net{demo::network_reader{path}.read(given)} {
        if (net.has_branches() && chosen.recompute)
            throw input_error{path + ": --recompute does not support branches and loops"};
        given_bound = net.has_branches() ? most_live(net) : net.lower_bound();
        const auto replace = [&](auto change) {
            const allot::recomputed_graph graph = change(network_graph{net, chosen, permitted}.graph());
            text = text_of(comments_of(given), net, graph);
            net = demo::network_reader{path}.read(text);
        };
        if (chosen.order && net.has_branches()) {
            replace([&](const allot::operator_graph& graph) { return in_order(graph, order_of_steps(net, graph)); });
        } else if (chosen.order) {
            replace([&](const allot::operator_graph& graph) {
                const allot::operator_order best = allot::order_operators(graph);
                if (!chosen.recompute) order_bound = order_limit(graph, best);
                return in_order(graph, best.order);
            });
        }
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

/// Returns the buffers of a network whose tensors share bytes as permitted.
[[nodiscard]] inline input input_of(const std::shared_ptr<const transformed_network>& changed, const std::string& path,
                                    const options& chosen, sharing permitted) {
    const auto graph = std::make_shared<const network_graph>(changed->net, chosen, permitted);
    std::vector<std::uint32_t> order(changed->net.steps.size());
    for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i;
    const bool has_branches = changed->net.has_branches();
    allot::graph_sharing shared =
        has_branches ? allot::share_branches(graph->graph(), graph->next()) : allot::share_bytes(graph->graph(), order);

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
    made.run = [changed, graph, order, has_branches,
                layouts = std::move(shared.rows)](const std::vector<std::uint64_t>& offsets) -> std::string {
        const auto found = has_branches
                               ? allot::validate_branches(graph->graph(), graph->next(), offsets, unlimited, layouts)
                               : allot::validate_graph(graph->graph(), order, offsets, unlimited, layouts);
        return found.kind == allot::graph_violation_kind::none
                   ? ""
                   : std::string{found.what()} + ": " + std::to_string(found.first) + ", " +
                         std::to_string(found.second);
    };
    return made;
}

/// Returns the buffers of a network with the order, the repetitions and the sharing that the options select.
[[nodiscard]] inline input graph_input(const std::string& text, const std::string& path, const options& chosen) {
    using network = std::shared_ptr<const transformed_network>;
    const auto ordered_for = [=](sharing permitted) -> network {
        return std::make_shared<const transformed_network>(text, path, chosen, permitted);
    };
    if (!chosen.in_place) return input_of(ordered_for(sharing::none), path, chosen, sharing::none);
    const network first = ordered_for(sharing::parts);
    input made = input_of(first, path, chosen, sharing::parts);
    const auto aliases_for = [&](sharing permitted) {
        return network_graph{first->net, chosen, permitted}.graph().aliases.size();
    };
    std::vector<sharing> permissions{sharing::parts};
    for (const sharing fewer : {sharing::whole, sharing::none})
        if (aliases_for(fewer) != aliases_for(permissions.back())) permissions.push_back(fewer);
    for (const sharing of_order : permissions) {
        const auto made_once = std::make_shared<network>(of_order == sharing::parts ? first : nullptr);
        for (const sharing permitted : permissions) {
            if (of_order == sharing::parts && permitted == sharing::parts) continue;
            made.others.emplace_back([=, bound = made.order_bound] {
                if (!*made_once) *made_once = ordered_for(of_order);
                input other = input_of(*made_once, path, chosen, permitted);
                other.order_bound = bound;
                return other;
            });
        }
        if (!chosen.order && !chosen.recompute) break;
    }
    return made;
}

}  // namespace planner
