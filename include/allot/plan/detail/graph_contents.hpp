// SPDX-License-Identifier: BSL-1.0
// graph_contents: where the bytes of each tensor come from, through all views of a graph.
//
//     x: 8 bytes     Split to a, b        a = x[0, 4), b = x[4, 8)
//                    Concat of b, a to c  c = x[4, 8), x[0, 4)
//
// Complexity: the constructor needs time and memory for all runs of bytes. `are_equal` is linear in the runs of the two
// tensors. Not synchronized.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>
#include <span>
#include <vector>

namespace allot {
inline namespace v1 {
namespace detail {

/// The origin of each byte of each tensor.
class graph_contents {
public:
    /// Bytes of a tensor that were first written to its origin.
    struct run {
        std::uint64_t at = 0, size = 0;  // in the tensor
        std::uint32_t origin = 0;        // tensor that the bytes were first written to
        std::uint64_t from = 0;          // in the origin
    };

    explicit graph_contents(const operator_graph& graph) : runs_(graph.tensors.size()) {
        const std::vector<defined_bytes> defined = defined_by_views(graph);  // sorted by tensor
        std::vector<std::size_t> first(graph.tensors.size() + 1);            // by tensor: of the views that define it
        for (const defined_bytes& each : defined) ++first[each.tensor + 1];
        for (std::size_t i = 1; i != first.size(); ++i) first[i] += first[i - 1];
        const auto views = [&](std::uint32_t tensor) {
            return std::span{defined}.subspan(first[tensor], first[tensor + 1] - first[tensor]);
        };
        for (std::uint32_t i = 0; i != graph.tensors.size(); ++i)
            if (graph.tensors[i].is_input) define(i, graph.tensors[i].size, {});
        for (const graph_operator& each : graph.operators)
            for (const std::uint32_t tensor : each.writes)  // in a program with branches, perhaps for the second time
                if (runs_[tensor].empty()) define(tensor, graph.tensors[tensor].size, views(tensor));
    }

    /// Returns the bytes of a tensor in their order.
    [[nodiscard]] std::span<const run> runs(std::uint32_t tensor) const noexcept { return runs_[tensor]; }
    /// Returns whether `size` bytes of `a` from `at_a` on are those of `b` from `at_b` on.
    [[nodiscard]] bool are_equal(std::uint32_t a, std::uint64_t at_a, std::uint32_t b, std::uint64_t at_b,
                                 std::uint64_t size) const noexcept {
        std::size_t run_a = find(a, at_a), run_b = find(b, at_b);
        while (size != 0) {
            const run &in_a = runs_[a][run_a], &in_b = runs_[b][run_b];
            const std::uint64_t skip_a = at_a - in_a.at, skip_b = at_b - in_b.at;
            if (in_a.origin != in_b.origin || in_a.from + skip_a != in_b.from + skip_b) return false;
            const std::uint64_t step = std::min({size, in_a.size - skip_a, in_b.size - skip_b});
            at_a += step;
            at_b += step;
            size -= step;
            if (at_a == in_a.at + in_a.size) ++run_a;
            if (at_b == in_b.at + in_b.size) ++run_b;
        }
        return true;
    }

private:
    [[nodiscard]] std::size_t find(std::uint32_t tensor, std::uint64_t at) const noexcept {
        const auto after = std::ranges::upper_bound(runs_[tensor], at, {}, &run::at);
        return static_cast<std::size_t>(after - runs_[tensor].begin()) - 1;
    }
    /// Appends bytes [from, from + size) of a defined tensor at byte `at` of `tensor`.
    void append(std::uint32_t tensor, std::uint64_t at, std::uint32_t of, std::uint64_t from, std::uint64_t size) {
        for (std::size_t next = find(of, from); size != 0; ++next) {
            const run source = runs_[of][next];
            const std::uint64_t skip = from - source.at, step = std::min(size, source.size - skip);
            runs_[tensor].push_back({at, step, source.origin, source.from + skip});
            at += step;
            from += step;
            size -= step;
        }
    }
    /// Appends bytes of `tensor` that no view defines, up to `end`.
    void own(std::uint32_t tensor, std::uint64_t& at, std::uint64_t end) {
        if (at < end) runs_[tensor].push_back({at, end - at, tensor, at});
        at = std::max(at, end);
    }
    void define(std::uint32_t tensor, std::uint64_t size, std::span<const defined_bytes> views) {
        std::uint64_t at = 0;
        for (const defined_bytes& view : views) {
            own(tensor, at, view.begin);
            append(tensor, at, view.source, view.from, view.end - view.begin);
            at = view.end;
        }
        own(tensor, at, size);
    }

    std::vector<std::vector<run>> runs_;  // by tensor, in the order of their bytes
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
