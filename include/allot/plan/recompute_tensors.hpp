// SPDX-License-Identifier: BSL-1.0
// recompute_tensors: repeats cheap operators, so that their results need not be in memory between two readers.
//
//     const std::uint64_t costs[] = {5, allot::never_repeated, 40};             // by operator, for example nanoseconds
//     const allot::recomputed_graph made = allot::recompute_tensors(graph, costs, 100);
//     const auto operators = made.operators();                                  // in the order in which they run
//     const auto aliases = made.aliases;
//     allot::share_bytes({made.tensors, operators, aliases}, made.order());     // then plan it
//
//     before   a ─► b ─► large ─► c                 b is live beside large
//                   └────────────► c
//     after    a ─► b ─► large ─► a ─► b' ─► c      b ends before large, and b' begins after it
//
// At the first step with the most live bytes, each tensor that this step does not use is a candidate. Its operator is
// repeated before the next reader. The candidate with the lowest peak is taken, until the costs of repeated operators
// reach the budget, or no candidate lowers the peak or the number of steps with it. The operators keep their order.
//
// When to use: the plan exceeds the memory, and the program has time left.
// When not to use: an operator has side effects, or its result differs in each run. Its cost is `never_repeated`.
//
// Source: Chen et al., Training deep nets with sublinear memory cost, 2016, for the repetition of cheap operators.
// Complexity: for each repeated operator, the tensors live at one step times the size of the graph.
// Memory: a few copies of the graph on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/order_model.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace allot {
inline namespace v1 {

/// Cost of an operator that must run once.
inline constexpr std::uint64_t never_repeated = std::numeric_limits<std::uint64_t>::max();

/// A graph with repeated operators. Result of `recompute_tensors`.
struct recomputed_graph {
    std::vector<graph_tensor> tensors;              ///< Tensors: those of the given graph, then results of repetitions.
    std::vector<std::uint32_t> tensor_of;           ///< Given tensor that each tensor is, or whose contents it has.
    std::vector<std::vector<std::uint32_t>> reads;  ///< Tensors that each operator reads.
    std::vector<std::vector<std::uint32_t>> writes;    ///< Tensors that each operator writes.
    std::vector<std::vector<strided_tensor>> strides;  ///< Those of them whose rows may be apart.
    std::vector<std::uint32_t> operator_of;            ///< Given operator that each operator is, or repeats.
    std::vector<graph_alias> aliases;                  ///< Aliases.
    std::uint64_t peak = 0;                            ///< Most live bytes of a step.
    std::uint64_t cost = 0;                            ///< Sum of the costs of repetitions.

    /// Returns the operators in the order in which they run. They view this object.
    [[nodiscard]] std::vector<graph_operator> operators() const {
        std::vector<graph_operator> made;
        for (std::size_t i = 0; i != reads.size(); ++i) made.push_back({reads[i], writes[i], strides[i]});
        return made;
    }
    /// Returns 0, 1, 2, … for `share_bytes`.
    [[nodiscard]] std::vector<std::uint32_t> order() const {
        std::vector<std::uint32_t> made(reads.size());
        for (std::uint32_t i = 0; i != made.size(); ++i) made[i] = i;
        return made;
    }
};

namespace detail {

/// Implementation of `recompute_tensors`.
class tensor_recomputer {
public:
    tensor_recomputer(const operator_graph& graph, std::span<const std::uint64_t> costs, std::uint64_t budget)
        : graph_{graph}, costs_{costs}, budget_{budget} {
        made_.tensors.assign(graph.tensors.begin(), graph.tensors.end());
        for (std::uint32_t i = 0; i != made_.tensors.size(); ++i) made_.tensor_of.push_back(i);
        for (std::uint32_t i = 0; i != graph.operators.size(); ++i) {
            made_.reads.emplace_back(graph.operators[i].reads.begin(), graph.operators[i].reads.end());
            made_.writes.emplace_back(graph.operators[i].writes.begin(), graph.operators[i].writes.end());
            made_.operator_of.push_back(i);
        }
        add_aliases(made_);
    }

    [[nodiscard]] recomputed_graph run() {
        measure_of now = measure(made_);
        made_.peak = now.peak;
        recomputed_graph best = made_;
        for (;;) {
            recomputed_graph chosen;
            measure_of lowest = now;
            for (std::uint32_t tensor = 0; tensor != made_.tensors.size(); ++tensor) {
                recomputed_graph fresh;
                if (!repeat(tensor, now.step, fresh)) continue;
                const measure_of found = measure(fresh);
                if (found.peak > lowest.peak || (found.peak == lowest.peak && found.count >= lowest.count)) continue;
                lowest = found;
                chosen = std::move(fresh);
            }
            if (chosen.tensors.empty()) return best;
            made_ = std::move(chosen);
            made_.peak = lowest.peak;
            now = lowest;
            if (made_.peak < best.peak) best = made_;
        }
    }

private:
    struct measure_of {
        std::uint64_t peak = 0;
        std::size_t count = 0, step = 0;  // steps with the peak; the first of them
    };

    /// Adds the aliases and the strided tensors of the given graph, for each run of their operator.
    void add_aliases(recomputed_graph& to) const {
        const std::vector<std::uint32_t> producer = producers_of(graph_);
        std::vector<std::vector<graph_alias>> of(graph_.operators.size());  // by operator
        for (const graph_alias& alias : graph_.aliases) {
            const bool is_output = reads(graph_, producer[alias.part], alias.whole);
            of[producer[is_output ? alias.part : alias.whole]].push_back(alias);
        }
        to.aliases.clear();
        to.strides.assign(to.reads.size(), {});
        for (std::size_t i = 0; i != to.reads.size(); ++i) {
            const auto replace = [&](std::uint32_t& tensor) {
                for (const auto& list : {to.reads[i], to.writes[i]})
                    for (const std::uint32_t each : list)
                        if (to.tensor_of[each] == tensor) {
                            tensor = each;
                            return;
                        }
            };
            for (graph_alias alias : of[to.operator_of[i]]) {
                replace(alias.whole);
                replace(alias.part);
                to.aliases.push_back(alias);
            }
            for (strided_tensor each : graph_.operators[to.operator_of[i]].strides) {
                replace(each.tensor);
                to.strides[i].push_back(each);
            }
        }
    }
    [[nodiscard]] static measure_of measure(const recomputed_graph& of) {
        const std::vector<graph_operator> operators = of.operators();
        const order_model model{{of.tensors, operators, of.aliases}};
        measure_of made;
        std::uint64_t live = model.live();
        for (std::uint32_t now = 0; now != operators.size(); ++now) {
            const order_step step = model.try_next(now, live, [&](std::uint32_t i) { return i < now; });
            live = step.after;
            if (step.during > made.peak) made = {step.during, 0, now};
            if (step.during == made.peak) ++made.count;
        }
        return made;
    }
    /// Repeats the operator of a tensor that is live at a step, and not used there. Returns false if it cannot repeat.
    [[nodiscard]] bool repeat(std::uint32_t tensor, std::size_t step, recomputed_graph& fresh) const {
        constexpr std::size_t none = ~std::size_t{0};
        std::size_t from = none, next = made_.tensors[tensor].is_output ? made_.reads.size() : none;
        const auto has = [&](const std::vector<std::uint32_t>& list) { return std::ranges::count(list, tensor) != 0; };
        for (std::size_t i = 0; i != step && from == none; ++i)
            if (has(made_.writes[i])) from = i;
        if (from == none || has(made_.reads[step])) return false;
        for (std::size_t i = made_.reads.size(); i != step + 1; --i)
            if (has(made_.reads[i - 1])) next = i - 1;
        if (next == none) return false;
        const std::uint32_t source = made_.operator_of[from];
        if (costs_[source] == never_repeated || costs_[source] > budget_ - made_.cost) return false;

        fresh = made_;
        fresh.cost += costs_[source];
        std::vector<std::uint32_t> results;
        std::uint32_t copy = tensor;
        for (const std::uint32_t each : made_.writes[from]) {
            results.push_back(static_cast<std::uint32_t>(fresh.tensors.size()));
            if (each == tensor) copy = results.back();
            fresh.tensors.push_back(made_.tensors[each]);
            fresh.tensor_of.push_back(made_.tensor_of[each]);
            if (each != tensor) fresh.tensors.back().is_output = false;
        }
        fresh.tensors[tensor].is_output = false;
        for (std::size_t i = next; i != fresh.reads.size(); ++i) std::ranges::replace(fresh.reads[i], tensor, copy);
        const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(next); };
        fresh.reads.insert(at(fresh.reads), made_.reads[from]);
        fresh.writes.insert(at(fresh.writes), std::move(results));
        fresh.operator_of.insert(at(fresh.operator_of), source);
        add_aliases(fresh);
        return true;
    }

    operator_graph graph_;
    std::span<const std::uint64_t> costs_;
    std::uint64_t budget_;
    recomputed_graph made_;
};

}  // namespace detail

/// Returns a graph with repeated operators and a lower peak, or the given graph. `costs` has the cost of each operator.
///
/// The sum of the costs of repetitions is at most `budget`. An output of the graph may become the result of a
/// repetition: the tensor with `is_output` and its index in `tensor_of`. Precondition: `check_graph` accepts the graph.
/// Throws the exceptions of the heap.
[[nodiscard]] inline recomputed_graph recompute_tensors(const operator_graph& graph,
                                                        std::span<const std::uint64_t> costs, std::uint64_t budget) {
    return detail::tensor_recomputer{graph, costs, budget}.run();
}

}  // namespace v1
}  // namespace allot
