// SPDX-License-Identifier: BSL-1.0
// strided_use: whether the rows of a tensor may be apart, for all operators that read or write its bytes.
//
//     Concat of a, b to c       a is a view in c   The operator reads no byte of a, and writes those of b only.
//                               b is not           So the rows of a may be apart for it, and those of c if it can
//                                                  write c in rows.
//
// Complexity: `permits` is linear in the views and the strided tensors of the operators of the tensor. Thread safety:
// not synchronized.
#pragma once

#include <allot/plan/graph.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns whether a tensor of a graph may have rows that are apart.
[[nodiscard]] inline bool has_rows(const operator_graph& graph) noexcept {
    return std::ranges::any_of(graph.aliases, [](const graph_alias& each) { return each.rows.size != 0; });
}

class strided_use {
public:
    explicit strided_use(const operator_graph& graph) : graph_{graph}, taken_(graph.aliases.size()) {
        if (!has_rows(graph)) return;
        producer_ = producers_of(graph);
        readers_.resize(graph.tensors.size());
        views_.resize(graph.operators.size());
        own_.resize(graph.operators.size());
        for (std::uint32_t now = 0; now != graph.operators.size(); ++now) {
            for (const std::uint32_t tensor : graph.operators[now].reads) readers_[tensor].push_back(now);
            for (const std::uint32_t tensor : graph.operators[now].writes) own_[now] += graph.tensors[tensor].size;
        }
        for (std::uint32_t i = 0; i != graph.aliases.size(); ++i) {
            const auto& [whole, part, offset, kind, rows] = graph.aliases[i];
            if (kind != alias_kind::view) continue;
            const std::uint32_t by = reads(graph, producer_[part], whole) ? producer_[part] : producer_[whole];
            views_[by].push_back(i);
            own_[by] -= graph.tensors[part].size;
        }
    }

    /// States that the tensors of an alias are at one place.
    void take(std::uint32_t alias) noexcept { taken_[alias] = true; }
    /// States that they are not.
    void leave(std::uint32_t alias) noexcept { taken_[alias] = false; }
    [[nodiscard]] bool is_taken(std::uint32_t alias) const noexcept { return taken_[alias]; }

    /// Returns whether all operators that read or write bytes of a tensor can do so if it has these rows.
    [[nodiscard]] bool permits(std::uint32_t tensor, row_layout rows) const noexcept {
        if (rows.size == 0) return true;
        if (graph_.tensors[tensor].is_input || graph_.tensors[tensor].is_output) return false;
        if (writes_bytes_of(tensor) && !can_stride(producer_[tensor], tensor, rows)) return false;
        for (const std::uint32_t each : readers_[tensor])
            if (reads_bytes_of(each, tensor) && !can_stride(each, tensor, rows)) return false;
        return true;
    }

private:
    [[nodiscard]] bool can_stride(std::uint32_t by, std::uint32_t tensor, row_layout rows) const noexcept {
        return std::ranges::any_of(graph_.operators[by].strides, [&](const strided_tensor& each) {
            return each.tensor == tensor && each.row == rows.size;
        });
    }
    /// Returns whether views do not place all bytes of a tensor for its producer.
    [[nodiscard]] bool writes_bytes_of(std::uint32_t tensor) const noexcept {
        std::uint64_t open = graph_.tensors[tensor].size;
        for (const std::uint32_t i : views_[producer_[tensor]]) {
            const graph_alias& alias = graph_.aliases[i];
            const bool is_output = reads(graph_, producer_[tensor], alias.whole);
            if (taken_[i] && (is_output ? alias.part : alias.whole) == tensor) open -= graph_.tensors[alias.part].size;
        }
        return open != 0;
    }
    /// Returns whether an operator computes something, or copies bytes of a tensor.
    [[nodiscard]] bool reads_bytes_of(std::uint32_t by, std::uint32_t tensor) const noexcept {
        if (own_[by] != 0 || graph_.operators[by].writes.empty()) return true;
        return std::ranges::any_of(views_[by], [&](std::uint32_t i) {
            return !taken_[i] && (graph_.aliases[i].whole == tensor || graph_.aliases[i].part == tensor);
        });
    }

    operator_graph graph_;
    std::vector<std::uint32_t> producer_;              // by tensor
    std::vector<std::vector<std::uint32_t>> readers_;  // by tensor
    std::vector<std::vector<std::uint32_t>> views_;    // by operator: its aliases of that kind
    std::vector<std::uint64_t> own_;                   // by operator: bytes that it writes and no view defines
    std::vector<bool> taken_;                          // by alias
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
