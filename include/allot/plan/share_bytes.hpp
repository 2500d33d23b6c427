// SPDX-License-Identifier: BSL-1.0
// share_bytes: selects the aliases of a graph that save memory, and makes a planning problem of them.
//
//     const allot::graph_sharing shared = allot::share_bytes(graph, order);     // operators in the given order
//     const auto made = allot::plan(shared.problem());
//     made->places[i].offset + shared.shift[i];                                 // the offset of tensor i
//
//     Concat of a, b to c             bytes                        The tensors of a group are at fixed distances. The
//       without views                   ▲  ┌────┬──────┐           planner sees buffers that share an offset: a with
//       a + b + c at this step          │  │ b  │      │           size(a), b with size(a) + size(b), and c. Below b,
//       with views                      ├──┴─┬──┤  c   │           bytes of a are already in use.
//       c                               │ a  │  │      │
//                                       └────┴──┴──────┴──► time
//
// An alias is taken if no tensor loses bytes that a later operator reads, and if it lowers the live bytes of the steps
// that it concerns, or their sum without raising their maximum. The aliases are tried in the given order. An alias
// whose offset is not a multiple of the part's alignment is not taken.
//
//     Concat of columns: a has rows of 2 bytes, b rows of 1      c: a a b a a b     `rows` of a is {2, 3}, of b {1, 3}
//
// A view with rows gives its part rows that are apart: byte `i` of a tensor is at
// `offset + i / rows.size * rows.stride + i % rows.size`. It is taken only if each operator that reads or writes bytes
// of the part lists it in `strides`. An operator that finds its views in place reads and writes none of their bytes.
// The buffer of the part spans all of its rows, and the bytes between them are not used by others. Inputs and outputs
// of the graph stay consecutive. Views with rows of one tensor that follow each other are tried together and alone.
//
// The group of a tensor has one offset, which can make the lowest plan and its bound higher. Compare the peak with
// those of plans of the graph without views of parts, and without aliases.
//
// When to use: before `plan`, for operators that can work in place, and for reshaping, slicing, splitting and
// concatenation.
// When not to use: for lifetimes without operators. Use `plan_problem` with `together`.
//
// Complexity: for each alias, the steps of its tensors, and the product of the sizes of the two groups. If views have
// rows, several times as much, and the rows of two tensors for each pair of overlapping ones.
// Memory: about 150 bytes a tensor, and 150 bytes for each row of a view, on the heap.
// Thread safety: the function has no state.
#pragma once

#include <allot/plan/detail/byte_sharer.hpp>
#include <allot/plan/detail/ordered_lives.hpp>
#include <allot/plan/graph.hpp>
#include <allot/plan/problem.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

/// Buffers for the tensors of a graph, and the aliases that they use. Result of `share_bytes`.
struct graph_sharing {
    std::vector<plan_buffer> buffers;    ///< Buffer of each tensor. It begins `shift` bytes before the tensor.
    std::vector<plan_pair> together;     ///< Buffers of one group, which share an offset.
    std::vector<std::uint64_t> shift;    ///< Offset of each tensor in its buffer.
    std::vector<row_layout> rows;        ///< Rows of each tensor; none if its bytes are consecutive.
    std::vector<std::uint32_t> aliases;  ///< Indices of the aliases that are taken.
    std::vector<plan_revival> revivals;  ///< With branches: further lifetimes of the buffers.

    /// Returns the problem to plan. It views this object.
    [[nodiscard]] plan_problem problem() const noexcept {
        return {.buffers = buffers, .revivals = revivals, .together = together};
    }
};

namespace detail {

/// Returns the buffers of a graph whose tensors are live at some steps, from the first one to the last one.
template <class Lives>
[[nodiscard]] graph_sharing share(const operator_graph& graph, const Lives& lives) {
    byte_sharer<Lives> sharer{graph, lives};
    sharer.run(false);
    if (has_rows(graph)) {
        byte_sharer<Lives> other{graph, lives};
        other.run(true);
        if (other.is_below(sharer)) sharer = std::move(other);
    }
    graph_sharing made;
    made.shift.reserve(graph.tensors.size());
    made.rows.reserve(graph.tensors.size());
    made.buffers.reserve(graph.tensors.size());
    for (std::uint32_t i = 0; i != graph.tensors.size(); ++i) {
        const strided_place& place = sharer.place(i);
        made.shift.push_back(place.at);
        made.rows.push_back(place.rows);
        made.buffers.push_back(
            {.size = place.end(graph.tensors[i].size), .live = sharer.live(i), .align = graph.tensors[i].align});
        if (sharer.leader(i) != i) made.together.push_back({sharer.leader(i), i});
    }
    for (std::uint32_t i = 0; i != graph.aliases.size(); ++i)
        if (sharer.is_taken(i)) made.aliases.push_back(i);
    return made;
}

}  // namespace detail

/// Returns the buffers of a graph whose operators run in `order`, the indices of all operators.
///
/// Precondition: `check_graph` accepts the graph, and each operator follows those that write its inputs. Throws the
/// exceptions of the heap.
[[nodiscard]] inline graph_sharing share_bytes(const operator_graph& graph, std::span<const std::uint32_t> order) {
    return detail::share(graph, detail::ordered_lives{graph, order});
}

}  // namespace v1
}  // namespace allot
