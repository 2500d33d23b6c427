// SPDX-License-Identifier: BSL-1.0
// order_bound: the least live bytes at an operator in all orders, as a minimum cut.
//
//     When operator v runs, the operators that have run are a set that contains all that v depends on, none that
//     depends on v, and with each operator all that it depends on. A tensor is live if its operator is in the set and
//     a reader is not. The set with the fewest live bytes is a minimum cut between the set and the rest:
//
//         operator ──size──► tensor ──∞──► reader         the cut separates operator and tensor, if a reader is outside
//         reader ──∞──► operator                          no reader is inside without the operator
//         operator ──size──► outside                      the tensor is an output of the graph
//
//     So no order has fewer live bytes at v, and the maximum over the operators is a lower bound on the peak.
//
// Bytes that the outputs of v may take over from an input are live twice only if another reader of it is outside. If
// all inputs together can give more than the outputs take, all of that counts as taken over.
//
// Source: Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation, Soviet
// Mathematics Doklady 11, 1970.
// Complexity: a maximum flow in the operators and tensors of a part. Memory: on the heap, about 100 bytes an operator,
// a tensor and a reader. Not synchronized.
#pragma once

#include <allot/plan/detail/order_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// Maximum flow from node 0 to node 1.
class maximum_flow {
public:
    static constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

    void begin(std::uint32_t nodes) {
        first_.assign(nodes, none);
        edges_.clear();
    }
    [[nodiscard]] std::uint32_t add_node() {
        first_.push_back(none);
        return static_cast<std::uint32_t>(first_.size() - 1);
    }
    void add(std::uint32_t from, std::uint32_t to, std::uint64_t capacity) {
        if (from == to) return;
        for (const auto& [at, other, room] : {end{from, to, capacity}, end{to, from, 0}}) {
            edges_.push_back({other, first_[at], room});
            first_[at] = static_cast<std::uint32_t>(edges_.size() - 1);
        }
    }
    /// Returns the flow. Adds the visited edges to `spent`. Precondition: the flow has 64 bits.
    [[nodiscard]] std::uint64_t run(std::uint64_t& spent) {
        std::uint64_t sum = 0;
        while (find_levels(spent)) {
            next_ = first_;
            while (const std::uint64_t more = push(spent)) sum += more;
        }
        return sum;
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    struct edge {
        std::uint32_t to, next;
        std::uint64_t room;
    };
    struct end {
        std::uint32_t at, other;
        std::uint64_t room;
    };

    /// Numbers the nodes by their distance from node 0. Returns whether node 1 can be reached.
    [[nodiscard]] bool find_levels(std::uint64_t& spent) {
        level_.assign(first_.size(), none);
        level_[0] = 0;
        path_.assign(1, 0);  // a queue
        for (std::size_t at = 0; at != path_.size() && level_[1] == none; ++at)
            for (std::uint32_t e = first_[path_[at]]; e != none; e = edges_[e].next) {
                ++spent;
                if (edges_[e].room == 0 || level_[edges_[e].to] != none) continue;
                level_[edges_[e].to] = level_[path_[at]] + 1;
                path_.push_back(edges_[e].to);
            }
        return level_[1] != none;
    }
    /// Increases the flow along one path of increasing levels. Returns the increase; 0 if there is no path.
    [[nodiscard]] std::uint64_t push(std::uint64_t& spent) {
        path_.clear();  // edges
        for (std::uint32_t at = 0; at != 1;) {
            while (next_[at] != none && (edges_[next_[at]].room == 0 || level_[edges_[next_[at]].to] != level_[at] + 1))
                next_[at] = edges_[next_[at]].next;
            ++spent;
            if (next_[at] != none) {
                path_.push_back(next_[at]);
                at = edges_[next_[at]].to;
                continue;
            }
            if (path_.empty()) return 0;
            at = edges_[path_.back() ^ 1].to;
            next_[at] = edges_[next_[at]].next;
            path_.pop_back();
        }
        std::uint64_t most = unlimited;
        for (const std::uint32_t e : path_) most = std::min(most, edges_[e].room);
        for (const std::uint32_t e : path_) {
            if (edges_[e].room != unlimited) edges_[e].room -= most;
            if (edges_[e ^ 1].room != unlimited) edges_[e ^ 1].room += most;
        }
        return most;
    }

    std::vector<edge> edges_;  // each is next to its reverse
    std::vector<std::uint32_t> first_, next_, level_, path_;
};

/// The least live bytes at the operators [begin, end) of the given order. All operators before run before them, and all
/// others after them.
class order_bound {
public:
    order_bound(const order_model& model, std::uint32_t begin, std::uint32_t end)
        : model_{model}, begin_{begin}, end_{end}, node_(end - begin) {}

    /// Returns the least live bytes of all orders when operator `now` runs. Adds the work to `spent`.
    [[nodiscard]] std::uint64_t at(std::uint32_t now, std::uint64_t& spent) {
        number_operators(now);
        std::uint64_t sum = 0;  // bytes that are live in all orders
        for (const order_storage& each : model_.storages()) {
            const std::uint32_t from = each.is_present ? inside : node_of(each.producer);
            if (from == outside || each.size == 0) continue;
            if (each.is_kept) {
                if (from == inside) sum += each.size;
                else flow_.add(from, outside, each.size);
            } else {
                sum += add_tensor(from, each, each.size, by_caller);
            }
        }
        sum += model_.written(now);
        std::uint64_t credit = 0;
        for (const order_use& in : model_.inputs(now))
            if (!model_.storages()[in.of].is_kept) credit += in.credit;
        if (credit > model_.written(now)) return sum + flow_.run(spent) - model_.written(now);
        for (const order_use& in : model_.inputs(now)) {
            const order_storage& of = model_.storages()[in.of];
            if (!of.is_kept && in.credit != 0) sum += add_tensor(inside, of, in.credit, now);
        }
        return sum + flow_.run(spent) - credit;
    }

private:
    static constexpr std::uint32_t inside = 0, outside = 1, unknown = ~std::uint32_t{0};

    [[nodiscard]] std::uint32_t node_of(std::uint32_t which) const noexcept {
        return which < begin_ ? inside : which >= end_ ? outside : node_[which - begin_];
    }
    /// Gives a node to each operator that may run before or after `now`.
    void number_operators(std::uint32_t now) {
        for (std::uint32_t& each : node_) each = unknown;
        node_[now - begin_] = outside;
        const auto spread = [&](std::uint32_t side, auto neighbors) {
            stack_.assign(1, now);
            while (!stack_.empty()) {
                const std::uint32_t from = stack_.back();
                stack_.pop_back();
                for (const std::uint32_t to : neighbors(from)) {
                    if (to < begin_ || to >= end_ || node_[to - begin_] != unknown) continue;
                    node_[to - begin_] = side;
                    stack_.push_back(to);
                }
            }
        };
        spread(inside, [&](std::uint32_t i) { return model_.before(i); });
        spread(outside, [&](std::uint32_t i) { return model_.after(i); });
        std::uint32_t count = 2;
        for (std::uint32_t& each : node_)
            if (each == unknown) each = count++;
        flow_.begin(count);
        for (std::uint32_t i = begin_; i != end_; ++i)
            for (const std::uint32_t other : model_.before(i))
                if (node_of(i) > outside && node_of(other) != inside)
                    flow_.add(node_of(i), node_of(other), maximum_flow::unlimited);
    }
    /// Adds bytes that are live if a reader other than `except` is outside. Returns them if they always are.
    [[nodiscard]] std::uint64_t add_tensor(std::uint32_t from, const order_storage& of, std::uint64_t bytes,
                                           std::uint32_t except) {
        bool is_live = false, is_free = true;  // whether a reader is outside; whether all are inside
        for (const std::uint32_t user : of.users) {
            if (user == except) continue;
            is_live = is_live || node_of(user) == outside;
            is_free = is_free && node_of(user) == inside;
        }
        if (is_free) return 0;
        if (is_live && from == inside) return bytes;
        if (is_live) {
            flow_.add(from, outside, bytes);
            return 0;
        }
        const std::uint32_t tensor = flow_.add_node();
        flow_.add(from, tensor, bytes);
        for (const std::uint32_t user : of.users)
            if (user != except && node_of(user) != inside) flow_.add(tensor, node_of(user), maximum_flow::unlimited);
        return 0;
    }

    const order_model& model_;
    std::uint32_t begin_, end_;
    std::vector<std::uint32_t> node_, stack_;  // by operator from `begin_` on
    maximum_flow flow_;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
