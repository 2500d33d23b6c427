// SPDX-License-Identifier: BSL-1.0
// Networks in ggml for the tests: weights and inputs with reproducible values, and a graph for each batch.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace networks {

struct context_freer {
    void operator()(ggml_context* context) const { ggml_free(context); }
};
struct buffer_freer {
    void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};
using context = std::unique_ptr<ggml_context, context_freer>;
using buffer = std::unique_ptr<ggml_backend_buffer, buffer_freer>;

context make_context(std::size_t tensors);

/// One graph and its tensors. The weights have a context and a buffer of their own, as in llama.cpp.
struct built {
    built();

    ggml_tensor* weight(ggml_type type, std::int64_t n0, std::int64_t n1 = 1, std::int64_t n2 = 1, std::int64_t n3 = 1);
    ggml_tensor* input(ggml_type type, std::int64_t n0, std::int64_t n1 = 1, std::int64_t n2 = 1, std::int64_t n3 = 1);
    /// Allocates the weights, and fills them.
    void allocate_weights(ggml_backend_buffer_type_t type);
    /// Fills the inputs. Their data must be set.
    void fill_inputs() const;
    /// Computes the graph with one thread.
    void compute() const;
    /// Returns the bytes of the outputs and of the weights that the graph changes.
    std::vector<std::byte> results() const;

    context weights, tensors;
    buffer weight_bytes;
    ggml_cgraph* graph = nullptr;
    std::vector<ggml_tensor*> inputs, outputs, changed;
    int below = 1;  // inputs of integers are below this number
};

struct network {
    std::string name;
    std::vector<std::int64_t> batches;  // the largest first
    std::function<void(built&, std::int64_t batch)> define;

    /// Returns the graph for a batch. The weights are allocated.
    built build(std::int64_t batch, ggml_backend_buffer_type_t type = ggml_backend_cpu_buffer_type()) const;
};

/// The networks of the table in docs/ggml.md.
std::vector<network> all();
/// A graph of random operations on small tensors.
network random(std::uint64_t seed);

}  // namespace networks
