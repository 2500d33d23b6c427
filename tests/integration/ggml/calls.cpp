// SPDX-License-Identifier: BSL-1.0
// The interfaces of bindings/ggml: buffer types over arenas, refusals, several buffers and several types.
#include "networks.hpp"
#include "oracle.hpp"

#include <buffer_type.hpp>
#include <graph_allocator.hpp>

#include <allot/allot.hpp>
#include <allot/compose/counted.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using allot_ggml::refusal;
using namespace allot::literals;

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using counted = allot::counted<arena>;

counted make_memory(std::size_t size) { return counted{arena{{}, size}}; }

/// A graph of tensors of 1000 floats, in a context of its own.
struct small_graph {
    networks::context context = networks::make_context(64);
    ggml_cgraph* graph = ggml_new_graph(context.get());

    ggml_tensor* leaf() const { return ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 1000); }
    void expand(ggml_tensor* result) const { ggml_build_forward_expand(graph, result); }
};
constexpr std::size_t one = 4000;  // bytes of a tensor; a multiple of 32

}  // namespace

TEST_CASE("ggml buffer type: weights and graphs are in one arena, which is empty at the end") {
    counted memory = make_memory(32_MiB);
    allot_ggml::buffer_type type{memory, {.name = "arena"}};
    CHECK(std::string{ggml_backend_buft_name(type.get())} == "arena");
    CHECK(ggml_backend_buft_is_host(type.get()));
    CHECK(ggml_backend_buft_get_alignment(type.get()) == 32);
    for (const networks::network& network : networks::all()) {
        CAPTURE(network.name);
        const networks::built expected = network.build(network.batches[0]),
                              made = network.build(network.batches[0], type.get());
        allot_ggml::graph_allocator plain{ggml_backend_cpu_buffer_type()}, ours{type.get()};
        REQUIRE(plain.allocate(*expected.graph) == refusal::none);
        REQUIRE(ours.allocate(*made.graph) == refusal::none);
        expected.fill_inputs();
        made.fill_inputs();
        expected.compute();
        made.compute();
        CHECK(made.results() == expected.results());
        CHECK(memory.statistics().used == ggml_backend_buffer_get_size(made.weight_bytes.get()) + ours.size());
    }
    CHECK(memory.statistics().used == 0);
    CHECK(memory.statistics().refusals == 0);
}

TEST_CASE("ggml buffer type: ggml's own allocators, in several buffers of at most the maximum size") {
    counted memory = make_memory(1_MiB);
    allot_ggml::buffer_type type{memory, {.align = 128, .max_size = 5000}};
    CHECK(ggml_backend_buft_get_max_size(type.get()) == 5000);
    const small_graph small;
    std::array<ggml_tensor*, 3> tensors{small.leaf(), small.leaf(), small.leaf()};
    {
        const networks::buffer bytes{ggml_backend_alloc_ctx_tensors_from_buft(small.context.get(), type.get())};
        REQUIRE(bytes);
        CHECK(memory.statistics().count == 3);
        std::array<float, 1000> values{}, read{};
        values[7] = 7;
        for (ggml_tensor* each : tensors) {
            CHECK(reinterpret_cast<std::uintptr_t>(each->data) % 128 == 0);
            ggml_backend_tensor_set(each, values.data(), 0, one);
        }
        ggml_backend_tensor_copy(tensors[0], tensors[1]);
        ggml_backend_tensor_memset(tensors[1], 0, 0, 28);
        ggml_backend_tensor_get(tensors[1], read.data(), 0, one);
        CHECK(read == values);
        ggml_backend_buffer_clear(bytes.get(), 0);
        ggml_backend_tensor_get(tensors[2], read.data(), 0, one);
        CHECK(read[7] == 0);
    }
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("ggml buffer type: a request that fails gives no buffer, and its reason is known") {
    counted memory = make_memory(10'000);
    allot_ggml::buffer_type type{memory};
    CHECK(type.failure().reason == allot::refusal::none);
    CHECK(ggml_backend_buft_alloc_buffer(type.get(), 20'000) == nullptr);
    CHECK(type.failure().reason == allot::refusal::exhausted);
    const networks::buffer empty{ggml_backend_buft_alloc_buffer(type.get(), 0)};  // ggml's own
    REQUIRE(empty);
    CHECK(ggml_backend_buffer_get_size(empty.get()) == 0);
    CHECK(memory.statistics().count == 0);

    const small_graph small;
    ggml_context* c = small.context.get();
    small.expand(ggml_add(c, ggml_add(c, small.leaf(), small.leaf()), small.leaf()));
    allot_ggml::graph_allocator graphs{type.get()};
    CHECK(graphs.allocate(*small.graph) == refusal::no_memory);
    CHECK(graphs.size() == 0);
}

TEST_CASE("ggml graph: an operation in place overwrites a source that ends, also after a reshape") {
    for (const bool reshaped : {false, true}) {
        CAPTURE(reshaped);
        const small_graph small;
        ggml_context* c = small.context.get();
        ggml_tensor* sum = ggml_add(c, small.leaf(), small.leaf());
        ggml_tensor* viewed = reshaped ? ggml_reshape_2d(c, sum, 10, 100) : sum;
        ggml_tensor* last = ggml_relu(c, viewed);
        small.expand(last);
        allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
        REQUIRE(graphs.allocate(*small.graph) == refusal::none);
        CHECK(graphs.size() == 2 * one);  // each operation overwrites its first source
        CHECK(last->data == sum->data);
        CHECK(graphs.allocate(*small.graph) == refusal::none);  // all tensors have data: no change
        CHECK(graphs.plans() == 1);
    }
}

TEST_CASE("ggml graph: sources that stay are not overwritten") {
    const auto bytes_of = [](auto define) {
        const small_graph small;
        define(small, small.context.get());
        allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
        REQUIRE(graphs.allocate(*small.graph) == refusal::none);
        CHECK(oracle::check(small.graph) == "");
        return graphs.size();
    };
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) { g.expand(ggml_relu(c, g.leaf())); }) == one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {
              ggml_tensor* x = g.leaf();
              ggml_set_output(x);
              g.expand(ggml_relu(c, x));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // read twice by one node
              ggml_tensor* x = g.leaf();
              g.expand(ggml_mul(c, x, x));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // a result without a reader is kept
              ggml_tensor* x = g.leaf();
              g.expand(ggml_relu(c, x));
              g.expand(ggml_sqr(c, x));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // an output that is a view, and is read later
              ggml_tensor* view = ggml_reshape_2d(c, ggml_relu(c, g.leaf()), 10, 100);
              ggml_set_output(view);
              g.expand(ggml_sqr(c, ggml_sqr(c, view)));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // a view without an operation: it ends with its reader
              ggml_tensor* x = ggml_cumsum(c, g.leaf());
              g.expand(x);
              g.expand(ggml_cumsum(c, ggml_cumsum(c, ggml_view_tensor(c, x))));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // another operation needs bytes of its own
              g.expand(ggml_cumsum(c, g.leaf()));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // a view of an input, which the program may set once
              ggml_tensor* x = g.leaf();
              ggml_set_input(x);
              g.expand(ggml_relu(c, ggml_reshape_2d(c, x, 10, 100)));
          }) == 2 * one);
    CHECK(bytes_of([](const small_graph& g, ggml_context* c) {  // an input that is a view of a computed tensor
              ggml_tensor* x = ggml_reshape_2d(c, ggml_cumsum(c, g.leaf()), 10, 100);
              ggml_set_input(x);
              g.expand(ggml_relu(c, x));
          }) == 2 * one);
}

TEST_CASE("ggml graph: sources that an operation reads out of order are not overwritten") {
    const auto overwrites = [](auto define) {
        const small_graph small;
        const auto [node, source] = define(small, small.context.get());
        ggml_set_output(node);
        small.expand(node);
        allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
        REQUIRE(graphs.allocate(*small.graph) == refusal::none);
        return node->data == source->data;
    };
    const auto kept = [](const small_graph& g, ggml_context* c) {  // ends later than any node that reads it
        ggml_tensor* x = ggml_sqr(c, g.leaf());
        ggml_set_output(x);
        return x;
    };
    using pair = std::pair<ggml_tensor*, ggml_tensor*>;
    CHECK(overwrites([&](const small_graph& g, ggml_context* c) {  // element by element: the second source is free
        ggml_tensor* x = ggml_cumsum(c, g.leaf());
        return pair{ggml_sub(c, kept(g, c), x), x};
    }));
    CHECK_FALSE(overwrites([&](const small_graph& g, ggml_context* c) {
        ggml_tensor* x = ggml_cumsum(c, g.leaf());
        return pair{ggml_soft_max_ext_back(c, kept(g, c), x, 1, 0), x};
    }));
    CHECK_FALSE(overwrites([&](const small_graph& g, ggml_context* c) {
        ggml_tensor* wide = ggml_reshape_3d(c, kept(g, c), 100, 10, 1);
        ggml_tensor* x = ggml_cumsum(c, g.leaf());
        ggml_tensor* ids = ggml_new_tensor_2d(c, GGML_TYPE_I32, 10, 1);
        return pair{ggml_add_id(c, wide, ggml_reshape_2d(c, x, 100, 10), ids), x};
    }));
    for (const bool scaled : {false, true}) {  // backends compute a normalization and its users at once
        CAPTURE(scaled);
        CHECK_FALSE(overwrites([&](const small_graph& g, ggml_context* c) {
            ggml_tensor* x = ggml_cumsum(c, g.leaf());
            ggml_tensor* norm = ggml_rms_norm(c, ggml_view_1d(c, x, 1000, 0), 1e-5f);
            if (!scaled) return pair{ggml_mul(c, x, norm), x};
            return pair{ggml_add(c, x, ggml_mul(c, norm, g.leaf())), x};
        }));
    }
}

TEST_CASE("ggml graph: tensors with data stay where they are, and views of them have none of the planned bytes") {
    const small_graph small;
    ggml_context* c = small.context.get();
    std::vector<float> own(1000, 2.0f);
    ggml_tensor* mine = small.leaf();
    mine->data = own.data();
    ggml_tensor* part = ggml_view_1d(c, mine, 500, 2000);
    ggml_tensor* result = ggml_sqr(c, part);
    small.expand(result);
    allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
    REQUIRE(graphs.allocate(*small.graph) == refusal::none);
    CHECK(graphs.size() == 2016);
    CHECK(part->data == own.data() + 500);
    CHECK(mine->data == own.data());
}

TEST_CASE("ggml graph: a parameter has its value before the first node") {
    const small_graph small;
    ggml_context* c = small.context.get();
    ggml_tensor* parameter = small.leaf();
    ggml_set_param(parameter);
    small.expand(ggml_sub(c, ggml_cumsum(c, ggml_cumsum(c, small.leaf())), parameter));
    REQUIRE(small.graph->nodes[2] == parameter);  // ggml lists it among the nodes, where its first reader needs it
    allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
    REQUIRE(graphs.allocate(*small.graph) == refusal::none);
    CHECK(oracle::check(small.graph) == "");
    CHECK(graphs.size() == 3 * one);
}

TEST_CASE("ggml graph: wrong graphs and types are refused") {
    const small_graph small;
    ggml_context* c = small.context.get();
    ggml_tensor* first = ggml_sqr(c, small.leaf());
    ggml_tensor* second = ggml_cumsum(c, first);
    small.expand(second);
    allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
    const std::array<int, 2> absent{0, 1};
    CHECK(graphs.reserve(*small.graph, {.nodes = absent}) == refusal::no_such_type);
    const std::array<int, 1> too_few{};
    CHECK(graphs.reserve(*small.graph, {.nodes = too_few}) == refusal::other_graph);
    CHECK(graphs.measure(*small.graph, {.leafs = absent}) == refusal::other_graph);
    std::swap(small.graph->nodes[0], small.graph->nodes[1]);
    CHECK(graphs.allocate(*small.graph) == refusal::not_in_order);
    CHECK(first->data == nullptr);
    std::swap(small.graph->nodes[0], small.graph->nodes[1]);
    CHECK(graphs.allocate(*small.graph) == refusal::none);

    counted memory = make_memory(1_MiB);
    allot_ggml::buffer_type odd{memory, {.align = 48}};
    const small_graph other;
    other.expand(ggml_sqr(other.context.get(), other.leaf()));
    allot_ggml::graph_allocator misaligned{odd.get()};
    CHECK(misaligned.allocate(*other.graph) == refusal::bad_alignment);
    for (int code = 0; code != 8; ++code) CHECK(std::string{to_string(static_cast<refusal>(code))} != "unknown");
}

TEST_CASE("ggml graph: several buffer types need a reservation, and tensors stay in the memory of their type") {
    counted fast = make_memory(1_MiB), slow = make_memory(1_MiB);
    allot_ggml::buffer_type first{fast}, second{slow, {.align = 256}};
    const std::array types{first.get(), second.get(), first.get()};  // the third has the memory of the first
    const auto build = [](const small_graph& in) {
        ggml_context* c = in.context.get();
        ggml_tensor* moved = ggml_cumsum(c, ggml_cumsum(c, in.leaf()));
        in.expand(ggml_add(c, ggml_cumsum(c, moved), moved));
    };
    const small_graph small;
    build(small);
    REQUIRE(small.graph->n_nodes == 4);
    REQUIRE(small.graph->n_leafs == 1);
    const std::array nodes{0, 1, 2, 2};
    const std::array leafs{1};
    allot_ggml::graph_allocator graphs{types};
    CHECK(graphs.allocate(*small.graph) == refusal::other_graph);
    REQUIRE(graphs.reserve(*small.graph, {nodes, leafs}) == refusal::none);
    REQUIRE(graphs.allocate(*small.graph) == refusal::none);
    CHECK(oracle::check(small.graph) == "");
    CHECK(small.graph->leafs[0]->buffer->buft == second.get());
    for (std::size_t i = 0; i != 4; ++i)
        CHECK(small.graph->nodes[i]->buffer->buft == types[static_cast<std::size_t>(nodes[i])]);
    CHECK(graphs.size(0) == fast.statistics().used);
    CHECK(graphs.size(1) == slow.statistics().used);
    CHECK(graphs.size(2) == 0);

    small_graph longer;
    build(longer);
    longer.expand(ggml_sqr(longer.context.get(), longer.graph->nodes[3]));
    CHECK(graphs.allocate(*longer.graph) == refusal::other_graph);
    small_graph again;
    build(again);
    CHECK(graphs.allocate(*again.graph) == refusal::none);
    CHECK(graphs.plans() == 1);
}

TEST_CASE("ggml graph: a plan above the maximum size has several buffers") {
    counted memory = make_memory(1_MiB);
    allot_ggml::buffer_type type{memory, {.max_size = 2 * one}};
    const small_graph small;
    ggml_context* c = small.context.get();
    std::array<ggml_tensor*, 5> kept{};
    ggml_tensor* sum = small.leaf();
    for (ggml_tensor*& each : kept) small.expand(each = ggml_cumsum(c, sum));
    ggml_tensor* joined = kept[0];
    for (std::size_t i = 1; i != kept.size(); ++i) joined = ggml_add(c, joined, kept[i]);
    small.expand(joined);
    allot_ggml::graph_allocator graphs{type.get()};
    REQUIRE(graphs.allocate(*small.graph) == refusal::none);
    CHECK(graphs.summary().peak == 6 * one);
    CHECK(graphs.size() == 6 * one);
    CHECK(memory.statistics().count == 3);
    CHECK(oracle::check(small.graph) == "");
    for (ggml_tensor* each : kept) CHECK(ggml_backend_buffer_get_size(each->buffer) <= 2 * one);

    allot_ggml::buffer_type tiny{memory, {.max_size = 100}};  // each tensor needs a larger buffer
    const small_graph other;
    ggml_tensor* x = other.leaf();
    for (int i = 0; i != 15; ++i) other.expand(ggml_cumsum(other.context.get(), x));
    allot_ggml::graph_allocator parts{tiny.get()};
    REQUIRE(parts.reserve(*other.graph) == refusal::none);
    CHECK(parts.size() == 16 * one);
    CHECK(memory.statistics().count == 3 + 16);
    other.expand(ggml_cumsum(other.context.get(), x));
    CHECK(parts.reserve(*other.graph) == refusal::too_large);
}

TEST_CASE("ggml graph: a larger graph enlarges the buffer, and the plans of eight graphs are kept") {
    allot_ggml::graph_allocator graphs{ggml_backend_cpu_buffer_type()};
    const auto run = [&](int nodes) {
        const small_graph small;
        ggml_tensor* x = small.leaf();
        for (int i = 0; i != nodes; ++i) small.expand(ggml_cumsum(small.context.get(), x));
        REQUIRE(graphs.allocate(*small.graph) == refusal::none);
        CHECK(oracle::check(small.graph) == "");
    };
    for (int nodes = 1; nodes <= 8; ++nodes) {
        run(nodes);
        CHECK(graphs.size() == static_cast<std::size_t>(nodes + 1) * one);
    }
    for (const int nodes : {8, 1, 5, 2, 1}) run(nodes);
    CHECK(graphs.plans() == 8);
    run(9);  // replaces the plan that was not used for the longest time, of 3
    run(1);
    CHECK(graphs.plans() == 9);
    run(3);
    CHECK(graphs.plans() == 10);
    CHECK(graphs.size() == 10 * one);

    const small_graph large;
    ggml_tensor* x = large.leaf();
    for (int i = 0; i != 12; ++i) large.expand(ggml_cumsum(large.context.get(), x));
    REQUIRE(graphs.measure(*large.graph) == refusal::none);
    CHECK(graphs.size() == 13 * one);
    CHECK(x->data == nullptr);
    run(2);  // measuring released the buffer
    CHECK(graphs.size() == 3 * one);
}
