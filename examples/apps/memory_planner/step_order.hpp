// SPDX-License-Identifier: BSL-1.0
// step_order: an order with few live bytes for the steps of a network with branches and loops.
//
//     blocks                  a block: no step of it continues elsewhere than its last one, and no path leads into it
//     0  Conv        ─┐ A     but to its first step. Only the steps of a block change places. A step with `next` is a
//     1  Relu        ─┘       block of its own, so that all indexes after `next` stay the same.
//     2  If, next 3 5  B
//     3  Neg           C      inputs of a block    tensors that are live when it begins
//     4  Exp, next 6   D      outputs              tensors that are live when it ends
//     5  Abs           E
//     6  Log           F
//
// What is live between blocks does not depend on the order inside them. So each block has an order of its own.
//
// A tensor that a block writes again is a new tensor of the graph of the block. Tensors without bytes keep the operators of
// the old one before the writer.
#pragma once

#include "../network_demo/network.hpp"

#include <allot/plan/order_operators.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace planner {

/// Returns the most bytes that are live at one step, on any path.
[[nodiscard]] inline std::uint64_t most_live(const demo::network& net) {
    std::vector<std::uint64_t> live(net.duration());
    for (const demo::tensor& each : net.tensors)
        for (const allot::lifetime life : each.lives)
            for (std::int64_t now = life.from; now != life.until; ++now)
                live[static_cast<std::size_t>(now)] += each.size;
    return *std::ranges::max_element(live);
}

/// The steps [begin, end) of a network as a graph.
class block_graph {
public:
    /// `is_live_at(tensor, step)` states whether a tensor has a value before a step that this step or a later one reads.
    template <class IsLiveAt>
    block_graph(const demo::network& net, const allot::operator_graph& graph, std::uint32_t begin, std::uint32_t end,
                IsLiveAt is_live_at)
        : graph_{graph} {
        for (std::uint32_t i = 0; i != net.tensors.size(); ++i)
            if (is_live_at(i, begin)) add_version(i, true);
        for (std::uint32_t now = begin; now != end; ++now) add(now);
        for (std::uint32_t i = 0; i != net.tensors.size(); ++i)
            if (is_live_at(i, end)) tensors_[version_.at(i)].is_output = true;
        for (std::size_t i = 0; i != reads_.size(); ++i) operators_.push_back({reads_[i], writes_[i]});
    }

    /// Returns the graph. It is a view of this object.
    [[nodiscard]] allot::operator_graph graph() const { return {tensors_, operators_, aliases_}; }

private:
    std::uint32_t add_tensor(std::uint64_t size, std::uint64_t align) {
        tensors_.push_back({.size = size, .align = align});
        users_.emplace_back();
        return static_cast<std::uint32_t>(tensors_.size() - 1);
    }
    std::uint32_t add_version(std::uint32_t tensor, bool is_input) {
        const std::uint32_t made = add_tensor(graph_.tensors[tensor].size, graph_.tensors[tensor].align);
        tensors_[made].is_input = is_input;
        return version_[tensor] = made;
    }
    void add(std::uint32_t now) {
        const auto self = static_cast<std::uint32_t>(reads_.size());
        const allot::graph_operator& each = graph_.operators[now];
        std::vector<std::uint32_t>& reads = reads_.emplace_back();
        writes_.emplace_back();
        const std::map<std::uint32_t, std::uint32_t> before = version_;
        for (const std::uint32_t in : each.reads) {
            reads.push_back(before.at(in));
            users_[before.at(in)].insert(self);
        }
        for (const std::uint32_t out : each.writes) {
            const auto old = before.find(out);
            const std::uint32_t made = add_version(out, false);
            writes_[self].push_back(made);
            if (old == before.end()) continue;
            for (const std::uint32_t other : users_[old->second]) {
                if (other == self) continue;
                const std::uint32_t first = add_tensor(0, 1);  // `other` runs before this operator
                writes_[other].push_back(first);
                reads_[self].push_back(first);
            }
            if (users_[old->second].contains(self))
                aliases_.push_back({old->second, made, 0, allot::alias_kind::overwrite});
        }
        for (const std::uint32_t out : each.writes) users_[version_.at(out)].insert(self);
        for (const allot::graph_alias& alias : graph_.aliases) {
            const auto relates = [&](std::uint32_t in, std::uint32_t out) {
                return std::ranges::count(each.reads, in) != 0 && std::ranges::count(each.writes, out) != 0;
            };
            allot::graph_alias made = alias;
            if (relates(alias.whole, alias.part)) {
                made.whole = before.at(alias.whole);
                made.part = version_.at(alias.part);
            } else if (relates(alias.part, alias.whole)) {
                made.part = before.at(alias.part);
                made.whole = version_.at(alias.whole);
            } else {
                continue;
            }
            aliases_.push_back(made);
        }
    }

    allot::operator_graph graph_;
    std::vector<allot::graph_tensor> tensors_;
    std::deque<std::set<std::uint32_t>> users_;              // by tensor: the operators that read or write it
    std::deque<std::vector<std::uint32_t>> reads_, writes_;  // by operator
    std::map<std::uint32_t, std::uint32_t> version_;         // by tensor of the network: its last one in the block
    std::vector<allot::graph_operator> operators_;
    std::vector<allot::graph_alias> aliases_;
};

/// Returns the tensors, by step, that this step or a later one reads before a step writes them. The last list is that of
/// the caller.
[[nodiscard]] inline std::vector<std::vector<bool>> needed_before(const demo::network& net) {
    const std::size_t count = net.steps.size();
    std::vector<std::vector<bool>> made(count + 1, std::vector<bool>(net.tensors.size()));
    for (std::size_t i = 0; i != net.tensors.size(); ++i) made[count][i] = net.tensors[i].is_output;
    for (bool changes = true; changes;) {
        changes = false;
        for (std::size_t now = count; now-- != 0;) {
            std::vector<bool> needed(net.tensors.size());
            const auto follow = [&](std::size_t next) {
                for (std::size_t i = 0; i != needed.size(); ++i) needed[i] = needed[i] || made[next][i];
            };
            if (net.steps[now].next.empty()) follow(now + 1);
            for (const std::uint32_t next : net.steps[now].next) follow(next);
            for (const std::size_t out : net.steps[now].writes) needed[out] = false;
            for (const std::size_t in : net.steps[now].reads) needed[in] = true;
            changes = changes || needed != made[now];
            made[now] = std::move(needed);
        }
    }
    return made;
}

/// Returns an order of the steps of a network with branches.
[[nodiscard]] inline std::vector<std::uint32_t> order_of_steps(const demo::network& net,
                                                               const allot::operator_graph& graph) {
    const auto count = static_cast<std::uint32_t>(net.steps.size());
    std::set<std::uint32_t> begins{0, count};
    for (std::uint32_t now = 0; now != count; ++now) {
        begins.insert(net.steps[now].next.begin(), net.steps[now].next.end());
        if (!net.steps[now].next.empty()) begins.insert({now, now + 1});  // a step with `next` is a block of its own
    }
    const std::vector<std::vector<bool>> needed = needed_before(net);
    std::vector<std::uint32_t> order;
    for (auto begin = begins.begin(); *begin != count; ++begin) {
        const std::uint32_t from = *begin, until = *std::next(begin);
        if (until == from + 1) {
            order.push_back(from);
            continue;
        }
        const block_graph block{net, graph, from, until, [&](std::uint32_t tensor, std::uint32_t step) {
                                    return static_cast<bool>(needed[step][tensor]);
                                }};
        for (const std::uint32_t each : allot::order_operators(block.graph()).order) order.push_back(from + each);
    }
    return order;
}

}  // namespace planner
