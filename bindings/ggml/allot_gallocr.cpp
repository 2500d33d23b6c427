// SPDX-License-Identifier: BSL-1.0
// The functions ggml_gallocr_* over allot_ggml::graph_allocator, as a shared object that is loaded before ggml's:
//
//     LD_PRELOAD="liballot_gallocr.so libggml-base.so" program
//
// They replace ggml's own functions, so that ggml_backend_sched, ggml_opt and llama.cpp use plans of allot without a
// change. ggml must be a shared object of the version whose headers this file is compiled with.
#include "graph_allocator.hpp"

#include <ggml-alloc.h>

#include <string_view>

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

/// Returns whether ggml's library places the members of tensors and graphs where the headers place them.
bool fits_headers() {
    const std::size_t bytes = 3 * ggml_tensor_overhead() + ggml_graph_overhead_custom(4, false);
    const std::unique_ptr<ggml_context, decltype(&ggml_free)> context{ggml_init({bytes, nullptr, true}), ggml_free};
    ggml_tensor* leaf = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 8);
    ggml_tensor* view = ggml_set_name(ggml_view_1d(context.get(), leaf, 4, 16), "second half");
    ggml_cgraph* graph = ggml_new_graph_custom(context.get(), 4, false);
    ggml_set_output(view);
    ggml_build_forward_expand(graph, view);
    return std::string_view{view->name} == "second half" && view->op == GGML_OP_VIEW && view->view_src == leaf &&
           view->view_offs == 16 && (view->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 && view->data == nullptr &&
           graph->n_nodes == 1 && graph->n_leafs == 1 && graph->nodes[0] == view && graph->leafs[0] == leaf;
}

}  // namespace

extern "C" {

ggml_gallocr_t ggml_gallocr_new_n(ggml_backend_buffer_type_t* types, int count) {
    if (!fits_headers())
        GGML_ABORT(
            "allot: liballot_gallocr.so is compiled with the headers of another version of ggml: build it again");
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
