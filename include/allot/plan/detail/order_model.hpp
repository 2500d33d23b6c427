// SPDX-License-Identifier: BSL-1.0
// order_model: the live bytes of a graph whose operators run in any order.
//
//     step of an operator     live bytes before it + written bytes - bytes that its outputs take over from its inputs
//     after it                live bytes before it + written bytes - inputs that end - outputs that nothing reads
//
// Tensors that are views of all bytes of another one, such as a reshaped tensor, are one storage.
//
// Complexity: linear in the graph. `try_next` visits the users of each input. Not synchronized.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// Live bytes at an operator and after it.
struct order_step {
    std::uint64_t during = 0, after = 0;
};

/// Bytes of a tensor, or of several tensors that are views of all of them.
struct order_storage {
    std::uint64_t size = 0;
    bool is_present = false, is_kept = false;  // an input; an output
    std::uint32_t producer = by_caller;
    std::vector<std::uint32_t> users{};
};
/// A storage that an operator reads, and the bytes that its outputs take over if the storage ends there.
struct order_use {
    std::uint32_t of = 0;
    std::uint64_t credit = 0;
};

/// A graph, prepared for the search of an order.
class order_model {
public:
    explicit order_model(const operator_graph& graph)
        : nodes_(graph.operators.size()), storage_of_(graph.tensors.size()) {
        const std::vector<std::uint32_t> producer = producers_of(graph);
        make_storages(graph, producer);
        for (std::uint32_t now = 0; now != nodes_.size(); ++now) add_operator(graph, producer, now);
        for (const graph_alias& alias : graph.aliases) add_credit(graph, producer, alias);
        for (std::uint32_t now = 0; now != nodes_.size(); ++now)
            for (const std::uint32_t each : nodes_[now].writes)
                if (storages_[each].users.empty() && !storages_[each].is_kept)
                    nodes_[now].unread += storages_[each].size;
        for (const order_storage& each : storages_)
            if (each.is_present) (each.is_kept || !each.users.empty() ? live_ : unread_) += each.size;
    }

    /// Returns the number of operators.
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
    /// Returns the bytes of inputs, except those of `unread`.
    [[nodiscard]] std::uint64_t live() const noexcept { return live_; }
    /// Returns the bytes of inputs that are no outputs and that no operator reads. They are live at the first operator.
    [[nodiscard]] std::uint64_t unread() const noexcept { return unread_; }
    /// Returns the operators that must run before one.
    [[nodiscard]] std::span<const std::uint32_t> before(std::uint32_t of) const noexcept { return nodes_[of].before; }
    /// Returns the operators that one must run before.
    [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t of) const noexcept { return nodes_[of].after; }
    /// Returns all storages.
    [[nodiscard]] std::span<const order_storage> storages() const noexcept { return storages_; }
    /// Returns the storages that an operator reads.
    [[nodiscard]] std::span<const order_use> inputs(std::uint32_t of) const noexcept { return nodes_[of].reads; }
    /// Returns the bytes that an operator writes.
    [[nodiscard]] std::uint64_t written(std::uint32_t of) const noexcept { return nodes_[of].written; }
    /// Returns 0, 1, 2, …
    [[nodiscard]] std::vector<std::uint32_t> given_order() const {
        std::vector<std::uint32_t> made(nodes_.size());
        for (std::uint32_t i = 0; i != made.size(); ++i) made[i] = i;
        return made;
    }
    /// Returns the bytes that an operator needs in every order.
    [[nodiscard]] std::uint64_t least(std::uint32_t of) const noexcept {
        const node& each = nodes_[of];
        std::uint64_t sum = each.written, credit = 0;
        for (const order_use& in : each.reads) {
            sum += storages_[in.of].size;
            credit += in.credit;
        }
        return sum - std::min(credit, each.written);
    }
    /// Returns the live bytes if an operator is next, without those of `unread`. `is_done(operator)` states which
    /// operators have run.
    template <class IsDone>
    [[nodiscard]] order_step try_next(std::uint32_t next, std::uint64_t live, IsDone is_done) const noexcept {
        const node& each = nodes_[next];
        std::uint64_t freed = each.unread, credit = 0;
        for (const order_use& in : each.reads) {
            const order_storage& of = storages_[in.of];
            const auto has_run = [&](std::uint32_t user) { return user == next || is_done(user); };
            if (of.is_kept || !std::ranges::all_of(of.users, has_run)) continue;
            freed += of.size;
            credit += in.credit;
        }
        return {live + each.written - std::min(credit, each.written), live + each.written - freed};
    }
    /// Returns the most live bytes of a step.
    [[nodiscard]] std::uint64_t peak_of(std::span<const std::uint32_t> order) const {
        std::vector<bool> done(nodes_.size());
        std::uint64_t live = live_, unread = unread_, peak = live_ + unread_;
        for (const std::uint32_t next : order) {
            const order_step now = try_next(next, live, [&](std::uint32_t i) { return bool{done[i]}; });
            peak = std::max(peak, now.during + std::exchange(unread, 0));
            live = now.after;
            done[next] = true;
        }
        return peak;
    }

private:
    struct node {
        std::vector<order_use> reads;
        std::vector<std::uint32_t> writes, before, after;
        std::uint64_t written = 0, unread = 0;
    };

    void make_storages(const operator_graph& graph, const std::vector<std::uint32_t>& producer) {
        std::vector<std::uint32_t> same(graph.tensors.size());  // an earlier tensor with the same bytes, or itself
        for (std::uint32_t i = 0; i != same.size(); ++i) same[i] = i;
        for (const graph_alias& alias : graph.aliases) {
            const bool is_whole = graph.tensors[alias.whole].size == graph.tensors[alias.part].size;
            if (alias.kind != alias_kind::view || !is_whole) continue;
            if (reads(graph, producer[alias.part], alias.whole)) same[alias.part] = alias.whole;
            else same[alias.whole] = alias.part;
        }
        std::vector<std::uint32_t> number(same.size());
        for (std::uint32_t i = 0; i != same.size(); ++i) {
            std::uint32_t root = i;
            while (same[root] != root) root = same[root];
            same[i] = root;
        }
        for (std::uint32_t i = 0; i != same.size(); ++i)
            if (same[i] == i) {
                number[i] = static_cast<std::uint32_t>(storages_.size());
                storages_.push_back({.size = graph.tensors[i].size, .is_present = graph.tensors[i].is_input});
            }
        for (std::uint32_t i = 0; i != same.size(); ++i) {
            storage_of_[i] = number[same[i]];
            if (graph.tensors[i].is_output) storages_[storage_of_[i]].is_kept = true;
            if (same[i] != i || producer[i] == by_caller) continue;
            nodes_[producer[i]].writes.push_back(storage_of_[i]);
            storages_[storage_of_[i]].producer = producer[i];
        }
    }
    void add_operator(const operator_graph& graph, const std::vector<std::uint32_t>& producer, std::uint32_t now) {
        node& each = nodes_[now];
        for (const std::uint32_t tensor : graph.operators[now].reads) {
            const std::uint32_t of = storage_of_[tensor];
            if (storages_[of].users.empty() || storages_[of].users.back() != now) {
                storages_[of].users.push_back(now);
                each.reads.push_back({of, 0});
            }
            if (producer[tensor] != by_caller) each.before.push_back(producer[tensor]);
        }
        for (const std::uint32_t of : each.writes) each.written += storages_[of].size;
        std::ranges::sort(each.before);
        each.before.erase(std::unique(each.before.begin(), each.before.end()), each.before.end());
        for (const std::uint32_t other : each.before) nodes_[other].after.push_back(now);
    }
    void add_credit(const operator_graph& graph, const std::vector<std::uint32_t>& producer, const graph_alias& alias) {
        const bool is_output = reads(graph, producer[alias.part], alias.whole);
        const std::uint32_t in = is_output ? alias.whole : alias.part, out = is_output ? alias.part : alias.whole;
        if (storage_of_[in] == storage_of_[out]) return;
        for (order_use& each : nodes_[producer[out]].reads)
            if (each.of == storage_of_[in]) each.credit += std::min(graph.tensors[in].size, graph.tensors[out].size);
    }

    std::vector<node> nodes_;
    std::vector<std::uint32_t> storage_of_;  // by tensor
    std::vector<order_storage> storages_;
    std::uint64_t live_ = 0, unread_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
