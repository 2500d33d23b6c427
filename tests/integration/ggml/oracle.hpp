// SPDX-License-Identifier: BSL-1.0
// An independent check of the memory of a graph: plays the nodes in order and follows the owner of each byte.
//
// It knows no lifetimes. Each node must find the bytes of its sources as their tensors left them, and each result must
// be there at the end.
#pragma once

#include <ggml-impl.h>
#include <ggml.h>

#include <map>
#include <string>

namespace oracle {

/// Intervals of addresses, each with the tensor that wrote it last.
class bytes {
public:
    void write(const ggml_tensor* tensor) {
        const auto [begin, end] = range(tensor);
        if (begin == end) return;
        cut(begin);
        cut(end);
        owners_.erase(owners_.lower_bound(begin), owners_.lower_bound(end));
        owners_[begin] = {end, tensor};
    }
    [[nodiscard]] bool holds(const ggml_tensor* tensor) const {
        auto [begin, end] = range(tensor);
        for (auto each = owners_.upper_bound(begin); begin != end;) {
            if (each == owners_.begin()) return false;
            const auto& [until, owner] = std::prev(each)->second;
            if (owner != tensor || until <= begin) return false;
            if (until >= end) return true;
            begin = until;
            if (each == owners_.end() || each->first != begin) return false;
            ++each;
        }
        return true;
    }

private:
    struct part {
        const char* until;
        const ggml_tensor* owner;
    };
    static std::pair<const char*, const char*> range(const ggml_tensor* tensor) {
        const auto* begin = static_cast<const char*>(tensor->data);
        return {begin, begin + ggml_nbytes(tensor)};
    }
    void cut(const char* at) {
        auto after = owners_.lower_bound(at);
        if (after == owners_.begin()) return;
        auto& [until, owner] = std::prev(after)->second;
        if (until <= at) return;
        owners_[at] = {until, owner};
        until = at;
    }
    std::map<const char*, part> owners_;
};

inline const ggml_tensor* root(const ggml_tensor* tensor) {
    return tensor->view_src == nullptr ? tensor : tensor->view_src;
}

/// Returns the first violation, or an empty string. All tensors have data.
inline std::string check(ggml_cgraph* graph) {
    bytes memory;
    const auto name = [](const ggml_tensor* tensor) {
        return std::string{ggml_op_name(tensor->op)} + " " + tensor->name;
    };
    std::map<const ggml_tensor*, bool> computed, read;
    for (int i = 0; i != graph->n_nodes; ++i) computed[graph->nodes[i]] = graph->nodes[i]->op != GGML_OP_NONE;
    const auto start = [&](const ggml_tensor* tensor) {
        if (!computed[tensor] && tensor->view_src == nullptr) memory.write(tensor);
    };
    for (int i = 0; i != graph->n_leafs; ++i) start(graph->leafs[i]);
    for (int i = 0; i != graph->n_nodes; ++i)
        for (const ggml_tensor* source : graph->nodes[i]->src)
            if (source != nullptr) start(root(source));
    for (int i = 0; i != graph->n_leafs; ++i)  // no two of them overlap
        if (graph->leafs[i]->view_src == nullptr && !memory.holds(graph->leafs[i]))
            return "two leafs share bytes: " + name(graph->leafs[i]);

    for (int i = 0; i != graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        if (node->op == GGML_OP_NONE) continue;
        for (const ggml_tensor* source : node->src) {
            if (source == nullptr) continue;
            read[source] = read[root(source)] = true;
            if (!memory.holds(root(source))) return name(node) + " reads lost bytes of " + name(root(source));
            if (node->view_src != nullptr) continue;  // works in place because the program requested it
            const auto* begin = static_cast<const char*>(node->data);
            const auto* from = static_cast<const char*>(source->data);
            const bool overlaps = begin < from + ggml_nbytes(source) && from < begin + ggml_nbytes(node);
            if (overlaps && !(begin == from && ggml_op_can_inplace(node->op) && ggml_are_same_layout(node, source)))
                return name(node) + " overwrites its source " + name(source);
        }
        if (node->view_src == nullptr) memory.write(node);
        else if (!memory.holds(node->view_src)) return name(node) + " is a view of lost bytes";
    }
    for (int i = 0; i != graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        const bool is_result = (node->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 || !read[node];
        if (is_result && !memory.holds(root(node))) return "the result " + name(node) + " is lost";
    }
    return {};
}

}  // namespace oracle
