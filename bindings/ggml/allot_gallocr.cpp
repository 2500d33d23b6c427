// SPDX-License-Identifier: BSL-1.0
// The functions ggml_gallocr_* over allot_ggml::graph_allocator. A program or a library that is loaded before ggml
// replaces ggml's own functions, so that ggml_backend_sched, ggml_opt and llama.cpp use plans of allot without a change.
#include "graph_allocator.hpp"

#include <ggml-alloc.h>

/// The opaque type of ggml's interface.
struct ggml_gallocr {
    allot_ggml::graph_allocator memory;
};

namespace {

bool succeeds(allot_ggml::refusal reason, const char* function) {
    if (reason == allot_ggml::refusal::none) return true;
    GGML_LOG_ERROR("%s: allot: %s\n", function, to_string(reason));
    return false;
}
allot_ggml::graph_types types_of(const ggml_cgraph& graph, const int* nodes, const int* leafs) {
    allot_ggml::graph_types chosen;
    if (nodes != nullptr) chosen.nodes = {nodes, static_cast<std::size_t>(graph.n_nodes)};
    if (leafs != nullptr) chosen.leafs = {leafs, static_cast<std::size_t>(graph.n_leafs)};
    return chosen;
}

}  // namespace

extern "C" {

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t* types, int count) {
    return new ggml_gallocr{allot_ggml::graph_allocator{
        std::span<const ggml_backend_buffer_type_t>{types, static_cast<std::size_t>(count)}}};
}
ggml_gallocr_t ggml_gallocr_new(ggml_backend_buffer_type_t type) { return ggml_gallocr_new_n(&type, 1); }
void ggml_gallocr_free(ggml_gallocr_t allocator) { delete allocator; }

bool ggml_gallocr_reserve_n(ggml_gallocr_t allocator, ggml_cgraph* graph, const int* nodes, const int* leafs) {
    return succeeds(allocator->memory.reserve(*graph, types_of(*graph, nodes, leafs)), __func__);
}
bool ggml_gallocr_reserve(ggml_gallocr_t allocator, ggml_cgraph* graph) {
    return ggml_gallocr_reserve_n(allocator, graph, nullptr, nullptr);
}
void ggml_gallocr_reserve_n_size(ggml_gallocr_t allocator, ggml_cgraph* graph, const int* nodes, const int* leafs,
                                 std::size_t* sizes) {
    const bool planned = succeeds(allocator->memory.measure(*graph, types_of(*graph, nodes, leafs)), __func__);
    GGML_ASSERT(planned);
    for (std::size_t type = 0; type != allocator->memory.types(); ++type) sizes[type] = allocator->memory.size(type);
}
bool ggml_gallocr_alloc_graph(ggml_gallocr_t allocator, ggml_cgraph* graph) {
    const allot_ggml::refusal reason = allocator->memory.allocate(*graph);
    // ggml's scheduler reserves such a graph, and calls again.
    return reason != allot_ggml::refusal::other_graph && succeeds(reason, __func__);
}
std::size_t ggml_gallocr_get_buffer_size(ggml_gallocr_t allocator, int type) {
    return allocator->memory.size(static_cast<std::size_t>(type));
}

}  // extern "C"
