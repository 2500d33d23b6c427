// SPDX-License-Identifier: BSL-1.0
// Runs the networks with ggml's scheduler, and trains one with ggml's optimizer: prints the compute bytes and a hash of
// the outputs. It has no code of allot: scheduler_test.py loads the plans in front of ggml.
#include "networks.hpp"

#include <ggml-backend-impl.h>
#include <ggml-opt.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

using backend = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;
using scheduler = std::unique_ptr<ggml_backend_sched, decltype(&ggml_backend_sched_free)>;

backend make_backend() {
    backend made{ggml_backend_cpu_init(), ggml_backend_free};
    ggml_backend_cpu_set_n_threads(made.get(), 1);
    return made;
}

std::uint64_t hash(std::uint64_t seed, const std::vector<std::byte>& bytes) {  // FNV-1a
    for (const std::byte each : bytes) seed = (seed ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3;
    return seed;
}

void require(bool succeeded, const char* call) {
    if (succeeded) return;
    std::fprintf(stderr, "%s failed\n", call);
    std::exit(1);
}

/// Runs all batches after one reservation. With two backends, every third node is on the second one, in its own memory.
void run(const networks::network& network, std::size_t backends) {
    const backend first = make_backend(), second = make_backend();
    ggml_backend_buffer_type other = *ggml_backend_cpu_buffer_type();
    std::array list{first.get(), second.get()};
    std::array types{ggml_backend_cpu_buffer_type(), &other};
    const scheduler plan{
        ggml_backend_sched_new(list.data(), types.data(), static_cast<int>(backends), 4096, false, false),
        ggml_backend_sched_free};
    const auto assign = [&](const networks::built& made) {
        for (int i = 0; backends == 2 && i != ggml_graph_n_nodes(made.graph); ++i)
            ggml_backend_sched_set_tensor_backend(plan.get(), ggml_graph_node(made.graph, i), list[i % 3 == 2]);
    };
    const networks::built largest = network.build(network.batches[0]);
    assign(largest);
    require(ggml_backend_sched_reserve(plan.get(), largest.graph), "ggml_backend_sched_reserve");
    std::uint64_t outputs = 0xcbf29ce484222325;
    for (const std::int64_t batch : network.batches) {
        const networks::built made = network.build(batch);
        assign(made);
        require(ggml_backend_sched_alloc_graph(plan.get(), made.graph), "ggml_backend_sched_alloc_graph");
        made.fill_inputs();
        require(ggml_backend_sched_graph_compute(plan.get(), made.graph) == GGML_STATUS_SUCCESS, "computing");
        outputs = hash(outputs, made.results());
        ggml_backend_sched_reset(plan.get());
    }
    std::size_t bytes = 0;
    for (std::size_t i = 0; i != backends; ++i) bytes += ggml_backend_sched_get_buffer_size(plan.get(), list[i]);
    std::printf("%s%s: %zu %016llx\n", network.name.c_str(), backends == 2 ? ", two memories" : "", bytes,
                static_cast<unsigned long long>(outputs));
}

/// Trains with AdamW: batches of 40 samples, gradients of two batches for each step.
void train() {
    constexpr std::int64_t width = 40, batch = 40, samples = 400;
    networks::built made;
    ggml_context* c = made.tensors.get();
    ggml_tensor* x = made.weight(GGML_TYPE_F32, width, batch);
    ggml_tensor* inputs = x;
    for (const std::int64_t to : {96, 48, 8}) {
        std::array parameters{made.weight(GGML_TYPE_F32, x->ne[0], to), made.weight(GGML_TYPE_F32, to)};
        for (ggml_tensor* each : parameters) ggml_set_param(each);
        made.changed.insert(made.changed.end(), parameters.begin(), parameters.end());
        x = ggml_add(c, ggml_mul_mat(c, parameters[0], x), parameters[1]);
        if (to != 8) x = ggml_relu(c, x);
    }
    made.allocate_weights(ggml_backend_cpu_buffer_type());

    const backend only = make_backend();
    ggml_backend_t one = only.get();
    const scheduler plan{ggml_backend_sched_new(&one, nullptr, 1, 4096, false, false), ggml_backend_sched_free};
    const std::unique_ptr<ggml_opt_dataset, decltype(&ggml_opt_dataset_free)> data{
        ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32, width, 8, samples, 10), ggml_opt_dataset_free};
    float* values = ggml_get_data_f32(ggml_opt_dataset_data(data.get()));
    float* labels = ggml_get_data_f32(ggml_opt_dataset_labels(data.get()));
    for (std::int64_t i = 0; i != samples * width; ++i) values[i] = static_cast<float>(i * 7919 % 113) / 113 - 0.5f;
    for (std::int64_t i = 0; i != samples * 8; ++i) labels[i] = i / 8 * 31 % 8 == i % 8 ? 1.0f : 0.0f;
    ggml_opt_fit(plan.get(), c, inputs, x, data.get(), GGML_OPT_LOSS_TYPE_CROSS_ENTROPY, GGML_OPT_OPTIMIZER_TYPE_ADAMW,
                 ggml_opt_get_default_optimizer_params, 3, 2 * batch, 0.2f, true);
    std::printf("optimizer: %zu %016llx\n", ggml_backend_sched_get_buffer_size(plan.get(), one),
                static_cast<unsigned long long>(hash(0xcbf29ce484222325, made.results())));
}

}  // namespace

int main() {
    for (const networks::network& network : networks::all())
        for (const std::size_t backends : {1u, 2u}) run(network, backends);
    train();
}
