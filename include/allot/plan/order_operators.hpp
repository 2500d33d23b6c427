// SPDX-License-Identifier: BSL-1.0
// order_operators: selects an order of the operators of a graph with few live bytes.
//
//     const allot::operator_order chosen = allot::order_operators(graph);
//     chosen.order;                                  // operator 0, 2, 1, …
//     chosen.peak; chosen.bound;                     // the most live bytes of a step; no order has fewer than `bound`
//
//              ┌─► b: 90 ─► c: 10 ─┐                   a b d c e f      b and d are live together
//     a: 10 ───┤                   ├─► f               a b c d e f      only c, which is small, is live beside d
//              └─► d: 90 ─► e: 10 ─┘
//
// The state of a program is the set of operators that have run: their order does not change the live bytes. The search
// visits the states in the order of the most live bytes on the way to them, so the first path to the end is optimal. An
// operator that every other one precedes or follows divides the graph, and each part is searched alone. An operator
// that frees at least as much as it writes, and does not raise the peak, runs at once.
//
// The bound is the maximum over the operators of the least bytes that any order has live when the operator runs: a
// minimum cut. An order with that peak is optimal without a search.
//
// A part that exceeds the effort has the best order of several rules: the given order, the operator that frees most,
// the operators that read the newest tensors, and a search that keeps some of the best states.
//
// An output that may overwrite an input, or is a view, needs no bytes of its own if the input ends there. The aliases
// of the graph state this. The peak is that of the live bytes. A view of a part and its tensor count in full while both
// are live. The peak of a plan can be higher, and lower if such a view has no bytes of its own.
// An input that is no output and that no operator reads is live at the first operator, as in `share_bytes`.
//
// When to use: operators may run in any order that their tensors permit.
// When not to use: their order is part of the program, for example because of side effects.
//
// Source: Ahn et al., Ordering Chaos: memory-aware scheduling of irregularly wired neural networks, MLSys 2020, for the
// search over sets and the division of the graph.
// Complexity: the effort times the tensors of an operator, and O(n · m) for n operators of which m can run. The cuts
// visit at most about 64 edges for each operator of the effort.
// Memory: for each visited state, the operators of the part in bits, and 32 bytes, on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/order_search.hpp>

namespace allot {
inline namespace v1 {

/// Options of `order_operators`.
struct order_options {
    /// Limit on the number of operators that the search tries in all states of a part. For 200 parallel operators, the
    /// default takes up to half a second and 100 MB.
    std::uint64_t effort = 2'000'000;
};

/// An order of the operators of a graph.
struct operator_order {
    std::vector<std::uint32_t> order;  ///< Indices of all operators.
    std::uint64_t peak = 0;            ///< Most live bytes of a step.
    std::uint64_t given_peak = 0;      ///< Most live bytes of a step in the given order. Never lower than `peak`.
    std::uint64_t bound = 0;           ///< Lower bound on the peak of every order.
    bool is_optimal = false;           ///< Whether no order has a lower peak: `peak == bound`.
};

/// Returns an order with a low peak. It is the same on every machine. Throws the exceptions of the heap.
///
/// Precondition: `check_graph` accepts the graph.
[[nodiscard]] inline operator_order order_operators(const operator_graph& graph, const order_options& options = {}) {
    const detail::order_model model{graph};
    detail::operator_orderer orderer{model, options.effort};
    operator_order made;
    made.bound = orderer.run();
    made.order = orderer.order();
    made.peak = model.peak_of(made.order);
    made.is_optimal = made.peak == made.bound;
    made.given_peak = model.peak_of(model.given_order());
    return made;
}

}  // namespace v1
}  // namespace allot
