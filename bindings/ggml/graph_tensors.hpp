// SPDX-License-Identifier: BSL-1.0
// allot_ggml::graph_tensors: the tensors of a graph of ggml that need bytes, with their lifetimes.
//
//     allot_ggml::graph_tensors found;
//     if (auto reason = found.read(graph, types); reason != allot_ggml::refusal::none) report(to_string(reason));
//     found.buffers; found.in_place;                        // a problem for allot::plan
//
//     step     0: inputs and leafs   1: first node   2   …   number of nodes   after the last node: results
//     leaf     ├────────── until the last node that reads it ─┤
//     node                           ├── from its step until the last node that reads it, or a view of it ─┤
//
// The rules are those of ggml_gallocr:
// - Tensors with data or a buffer are not included. A view has the bytes of its source.
// - An input (ggml_set_input), a parameter, a leaf and every other tensor that no node computes live from the start.
// - An output (ggml_set_output), and a tensor that no node reads, live until the end.
// - A node of an operation that ggml permits to work in place has the offset of a source that ends there and has the
//   same layout. It has the buffer type of that source.
// These rules differ:
// - A source that is a view at offset 0 may be overwritten, for example after a reshape. A view of an input may not.
// - Only additions, subtractions, multiplications and divisions overwrite another source than the first one: other
//   operations read it out of order.
// - A multiplication or addition does not overwrite the source of a normalization that it uses: backends compute both
//   at once, and read that source while they write.
// - If a view is an output, its source lives until the end.
//
// When to use: to plan the memory of a graph in a program of your own.
// When not to use: to allocate a graph. Use `graph_allocator`.
//
// Complexity: O(nodes). Memory: about 150 bytes for each tensor. Thread safety: none. Throws std::bad_alloc.
#pragma once

#include <allot/plan/problem.hpp>

#include <ggml-backend.h>
#include <ggml-impl.h>
#include <ggml.h>

#include <span>
#include <unordered_map>
#include <vector>

namespace allot_ggml {

/// Reason for which a graph has no memory.
enum class refusal : unsigned char {
    none,             ///< The call succeeded.
    no_memory,        ///< The buffer type gave no buffer, or the heap is full.
    too_large,        ///< The graph needs more than 16 buffers of the maximum size of its type.
    bad_alignment,    ///< The alignment of a buffer type is not a power of two.
    no_such_type,     ///< The number of a buffer type is not below the number of types.
    not_in_order,     ///< A node reads a tensor that a later node computes.
    other_graph,      ///< The graph is not the reserved one. With several buffer types, `reserve` must come first.
    not_initialized,  ///< The backend refused to initialize a tensor.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(refusal reason) noexcept {
    switch (reason) {
        case refusal::none: return "the call succeeded";
        case refusal::no_memory: return "the buffer type gave no buffer, or the heap is full";
        case refusal::too_large: return "the graph needs more than 16 buffers of the maximum size";
        case refusal::bad_alignment: return "the alignment of the buffer type is not a power of two";
        case refusal::no_such_type: return "the number of a buffer type is not below the number of types";
        case refusal::not_in_order: return "a node reads a tensor that a later node computes";
        case refusal::other_graph: return "the graph differs from the reserved one: reserve it with its buffer types";
        case refusal::not_initialized: return "the backend refused to initialize a tensor";
    }
    return "unknown";
}

/// Buffer types of the tensors of a graph, one number for each node and each leaf. Empty: all have type 0.
struct graph_types {
    std::span<const int>
        nodes{};  ///< Type of each node. A tensor that is no node and no leaf has the type of its reader.
    std::span<const int> leafs{};  ///< Type of each leaf.
};

/// The tensors of a graph that need bytes, and the views of them.
class graph_tensors {
public:
    /// A tensor with bytes of its own. Its buffer is `buffers[i]` with the same index.
    struct owned {
        ggml_tensor* tensor = nullptr;  ///< The tensor.
        int type = 0;                   ///< Number of its buffer type.
    };

    /// Reads a graph. `types` are the buffer types that the numbers in `chosen` refer to.
    [[nodiscard]] refusal read(const ggml_cgraph& graph, std::span<const ggml_backend_buffer_type_t> types,
                               const graph_types& chosen = {}) {
        *this = {};
        types_ = types;
        known_.reserve(static_cast<std::size_t>(graph.n_nodes + graph.n_leafs) * 2);
        end_ = graph.n_nodes + 2;
        add_leafs(graph, chosen, false);
        for (int i = 0; i != graph.n_nodes; ++i) add_inputs(*graph.nodes[i], number(chosen.nodes, i));
        for (int i = 0; i != graph.n_nodes && reason_ == refusal::none; ++i)
            add_node(*graph.nodes[i], number(chosen.nodes, i), i + 1);
        add_leafs(graph, chosen, true);  // a node may compute the source of a view
        if (reason_ != refusal::none) return reason_;
        keep_results();
        for (int i = 0; i != graph.n_nodes; ++i) reuse_source(*graph.nodes[i]);
        return refusal::none;
    }

    /// Returns whether `node` may overwrite `source`: two indices of `owners`, of a graph that was read.
    [[nodiscard]] bool may_overwrite(std::size_t node, std::size_t source) const noexcept {
        const ggml_tensor& writer = *owners[node].tensor;
        if (node == source || !ggml_op_can_inplace(writer.op) ||
            buffers[source].live.until != buffers[node].live.from + 1 ||
            buffers[source].size < size_of(writer, owners[source].type))
            return false;
        int readings = 0;
        bool permitted = false;
        for (const ggml_tensor* read : writer.src) {
            if (read == nullptr) continue;
            if (owner_of(*read) != source) {
                if (normalizes(*read, source)) return false;
                continue;
            }
            ++readings;
            permitted = ggml_are_same_layout(&writer, read) && read->view_offs == 0 &&
                        (read == writer.src[0] || is_arithmetic(writer.op)) &&
                        (read->view_src == nullptr || (owners[source].tensor->flags & GGML_TENSOR_FLAG_INPUT) == 0);
        }
        return readings == 1 && permitted;
    }

    std::vector<owned> owners;                ///< The tensors, in the order of the graph.
    std::vector<allot::plan_buffer> buffers;  ///< Size, lifetime and alignment of each tensor.
    std::vector<allot::plan_pair> in_place;   ///< A source, and the node that overwrites it.
    std::vector<ggml_tensor*> views;          ///< Views of any tensor, with a backend or without.

private:
    static constexpr std::size_t none = ~std::size_t{0};
    struct use {
        std::size_t owner = none;  // index of the tensor with the bytes; none if they are not ours
        bool is_read = false;      // by a node; a dependency of ggml's scheduler needs no reader
    };

    [[nodiscard]] static bool is_arithmetic(ggml_op op) noexcept {
        return op == GGML_OP_ADD || op == GGML_OP_SUB || op == GGML_OP_MUL || op == GGML_OP_DIV;
    }
    /// Returns whether `tensor` is a normalization of `source`, or a product of one.
    [[nodiscard]] bool normalizes(const ggml_tensor& tensor, std::size_t source) const noexcept {
        switch (tensor.op) {
            case GGML_OP_NORM:
            case GGML_OP_RMS_NORM:
            case GGML_OP_GROUP_NORM:
            case GGML_OP_L2_NORM: return owner_of(*tensor.src[0]) == source;
            case GGML_OP_MUL: return normalizes(*tensor.src[0], source) || normalizes(*tensor.src[1], source);
            default: return false;
        }
    }

    [[nodiscard]] static int number(std::span<const int> of, int i) noexcept {
        return of.empty() ? 0 : of[static_cast<std::size_t>(i)];
    }
    [[nodiscard]] std::size_t owner_of(const ggml_tensor& tensor) const noexcept {
        const auto found = known_.find(&tensor);
        return found == known_.end() ? none : found->second.owner;
    }

    [[nodiscard]] std::uint64_t align_of(int type) const noexcept {
        return ggml_backend_buft_get_alignment(types_[static_cast<std::size_t>(type)]);
    }
    [[nodiscard]] std::uint64_t size_of(const ggml_tensor& tensor, int type) const noexcept {
        const std::uint64_t size = ggml_backend_buft_get_alloc_size(types_[static_cast<std::size_t>(type)], &tensor);
        return allot::align_up(size, align_of(type));
    }

    /// Returns the entry of a tensor. A new tensor lives from `step` on.
    use& find(ggml_tensor* tensor, int type, std::int64_t step) {
        const auto [found, is_new] = known_.try_emplace(tensor);
        if (!is_new) return found->second;
        if (tensor->view_src != nullptr) {
            views.push_back(tensor);
            use& source = find(tensor->view_src, type, 0);
            source.is_read = true;  // by its view, whose readers count
            const use made{source.owner};
            return known_[tensor] = made;
        }
        if (tensor->data == nullptr && tensor->buffer == nullptr) found->second.owner = add_owner(*tensor, type, step);
        return found->second;
    }
    [[nodiscard]] std::size_t add_owner(ggml_tensor& tensor, int type, std::int64_t step) {
        if (type < 0 || static_cast<std::size_t>(type) >= types_.size()) {
            reason_ = refusal::no_such_type;
            return none;
        }
        const std::uint64_t align = align_of(type);
        if (!allot::is_alignment(align)) {
            reason_ = refusal::bad_alignment;
            return none;
        }
        buffers.push_back({size_of(tensor, type), {step, step + 1}, align});
        owners.push_back({&tensor, type});
        return owners.size() - 1;
    }

    void add_leafs(const ggml_cgraph& graph, const graph_types& chosen, bool views_only) {
        for (int i = 0; i != graph.n_leafs; ++i)
            if ((graph.leafs[i]->view_src != nullptr) == views_only) find(graph.leafs[i], number(chosen.leafs, i), 0);
    }
    void add_inputs(ggml_tensor& node, int type) {
        const auto is_input = [](const ggml_tensor& tensor) {
            return (tensor.flags & GGML_TENSOR_FLAG_INPUT) != 0 && tensor.view_src == nullptr;
        };
        if (is_input(node)) find(&node, type, 0);
        for (ggml_tensor* source : node.src)
            if (source != nullptr && is_input(*source)) find(source, type, 0);
    }

    void add_node(ggml_tensor& node, int type, std::int64_t step) {
        for (ggml_tensor* source : node.src) {
            if (source == nullptr) continue;
            use& found = find(source, type, 0);
            found.is_read = true;
            lengthen(found.owner, step);
        }
        const bool was_known = known_.contains(&node);
        use& found = find(&node, type, (node.flags & GGML_TENSOR_FLAG_PARAM) != 0 ? 0 : step);
        // A view without an operation only orders the copies of ggml's scheduler.
        if (node.op == GGML_OP_NONE && node.view_src != nullptr) found.is_read = true;
        if (node.view_src == nullptr && was_known && node.op != GGML_OP_NONE &&
            (node.flags & GGML_TENSOR_FLAG_INPUT) == 0 && found.owner != none)
            reason_ = refusal::not_in_order;
    }
    void lengthen(std::size_t owner, std::int64_t step) noexcept {
        if (owner != none) buffers[owner].live.until = std::max(buffers[owner].live.until, step + 1);
    }

    void keep_results() noexcept {
        for (const auto& [tensor, found] : known_)
            if (found.owner != none && (!found.is_read || (tensor->flags & GGML_TENSOR_FLAG_OUTPUT) != 0))
                buffers[found.owner].live.until = end_;
    }

    void reuse_source(const ggml_tensor& node) {
        const std::size_t owner = owner_of(node);
        if (owner == none || node.view_src != nullptr) return;
        for (const ggml_tensor* source : node.src) {
            const std::size_t read = source == nullptr ? none : owner_of(*source);
            if (read == none || !may_overwrite(owner, read)) continue;
            in_place.push_back({read, owner});
            owners[owner].type = owners[read].type;
            buffers[owner].size = size_of(node, owners[read].type);
            buffers[owner].align = buffers[read].align;
            return;
        }
    }

    std::unordered_map<const ggml_tensor*, use> known_;
    std::span<const ggml_backend_buffer_type_t> types_;
    std::int64_t end_ = 0;
    refusal reason_ = refusal::none;
};

}  // namespace allot_ggml
