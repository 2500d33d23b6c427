// SPDX-License-Identifier: BSL-1.0
#include "networks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace networks {

namespace {

using std::int64_t;

struct generator {  // SplitMix64
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    float real() { return static_cast<float>(static_cast<double>(next() >> 40) / (1 << 23) - 1); }
};

/// Fills a tensor with values that depend on the seed alone.
void fill(ggml_tensor* tensor, std::uint64_t seed, int below) {
    generator random{seed};
    const auto count = static_cast<std::size_t>(ggml_nelements(tensor));
    if (tensor->type == GGML_TYPE_I32) {
        std::vector<std::int32_t> values(count);
        for (auto& each : values) each = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(below)));
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
        return;
    }
    std::vector<float> values(count);
    const float scale = 1 / std::sqrt(static_cast<float>(tensor->ne[0]));
    for (auto& each : values) each = random.real() * scale;
    if (tensor->type == GGML_TYPE_F32) {
        ggml_backend_tensor_set(tensor, values.data(), 0, ggml_nbytes(tensor));
        return;
    }
    std::vector<std::byte> bytes(ggml_nbytes(tensor));
    ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0, ggml_nrows(tensor), tensor->ne[0], nullptr);
    ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

ggml_tensor* multiply(built& in, ggml_tensor* by, ggml_tensor* x) { return ggml_mul_mat(in.tensors.get(), by, x); }

ggml_tensor* normalize(built& in, ggml_tensor* x) {
    ggml_context* c = in.tensors.get();
    return ggml_mul(c, ggml_rms_norm(c, x, 1e-5f), in.weight(GGML_TYPE_F32, x->ne[0]));
}

struct decoder_shape {
    int64_t width = 256, heads = 8, key_heads = 4, hidden = 704, vocabulary = 1000, length = 256, layers = 4;
    bool flash = false;
    int64_t experts = 0;  // 0: one network for all tokens
    [[nodiscard]] int64_t head() const { return width / heads; }
    [[nodiscard]] int64_t key_width() const { return head() * key_heads; }
};

ggml_tensor* rotate(built& in, ggml_tensor* x, ggml_tensor* positions, const decoder_shape& shape) {
    return ggml_rope_ext(in.tensors.get(), x, positions, nullptr, static_cast<int>(shape.head()), 0, 0, 10000.0f, 1, 0,
                         1, 32, 1);
}

/// Attention over a key/value cache, into which the graph writes the new tokens.
ggml_tensor* attend(built& in, ggml_tensor* x, ggml_tensor* positions, ggml_tensor* mask, const decoder_shape& shape) {
    ggml_context* c = in.tensors.get();
    const int64_t batch = x->ne[1], past = 8, head = shape.head();
    ggml_tensor* keys = in.weight(GGML_TYPE_F16, shape.key_width(), shape.length);
    ggml_tensor* values = in.weight(GGML_TYPE_F16, shape.key_width(), shape.length);
    in.changed.insert(in.changed.end(), {keys, values});

    ggml_tensor* q = multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.width), x);
    ggml_tensor* k = multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.key_width()), x);
    ggml_tensor* v = multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.key_width()), x);
    q = rotate(in, ggml_reshape_3d(c, q, head, shape.heads, batch), positions, shape);
    k = rotate(in, ggml_reshape_3d(c, k, head, shape.key_heads, batch), positions, shape);

    const auto at = [&](ggml_tensor* cache) {
        return ggml_view_2d(c, cache, cache->ne[0], batch, cache->nb[1], static_cast<std::size_t>(past) * cache->nb[1]);
    };
    ggml_build_forward_expand(in.graph, ggml_cpy(c, ggml_reshape_2d(c, k, shape.key_width(), batch), at(keys)));
    ggml_build_forward_expand(in.graph, ggml_cpy(c, v, at(values)));

    const int64_t seen = mask->ne[0];
    const auto heads_of = [&](ggml_tensor* cache) {
        ggml_tensor* all =
            ggml_view_3d(c, cache, head, shape.key_heads, seen, ggml_row_size(cache->type, head), cache->nb[1], 0);
        return ggml_permute(c, all, 0, 2, 1, 3);
    };
    q = ggml_permute(c, q, 0, 2, 1, 3);
    ggml_tensor* result = nullptr;
    const float scale = 1 / std::sqrt(static_cast<float>(head));
    if (shape.flash) {
        result = ggml_flash_attn_ext(c, q, heads_of(keys), heads_of(values), mask, scale, 0, 0);
    } else {
        ggml_tensor* weights = ggml_soft_max_ext(c, ggml_mul_mat(c, heads_of(keys), q), mask, scale, 0);
        ggml_tensor* turned = ggml_cont(c, ggml_permute(c, heads_of(values), 1, 0, 2, 3));
        result = ggml_permute(c, ggml_mul_mat(c, turned, weights), 0, 2, 1, 3);
    }
    result = ggml_cont_2d(c, result, shape.width, batch);
    return multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.width), result);
}

ggml_tensor* feed_forward(built& in, ggml_tensor* x, const decoder_shape& shape) {
    ggml_context* c = in.tensors.get();
    ggml_tensor* gate = multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.hidden), x);
    ggml_tensor* up = multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.hidden), x);
    return multiply(in, in.weight(GGML_TYPE_Q8_0, shape.hidden, shape.width), ggml_mul(c, ggml_silu(c, gate), up));
}

/// Two of several networks for each token.
ggml_tensor* mix_experts(built& in, ggml_tensor* x, const decoder_shape& shape) {
    ggml_context* c = in.tensors.get();
    constexpr int used = 2;
    const int64_t batch = x->ne[1], experts = shape.experts;
    ggml_tensor* odds = ggml_soft_max(c, multiply(in, in.weight(GGML_TYPE_F32, shape.width, experts), x));
    ggml_tensor* chosen = ggml_argsort_top_k(c, odds, used);
    ggml_tensor* shares = ggml_get_rows(c, ggml_reshape_3d(c, odds, 1, experts, batch), chosen);
    shares = ggml_reshape_2d(c, shares, used, batch);
    shares = ggml_reshape_3d(c, ggml_div(c, shares, ggml_sum_rows(c, shares)), 1, used, batch);

    ggml_tensor* each = ggml_reshape_3d(c, x, shape.width, 1, batch);
    const auto by = [&](int64_t from, int64_t to, ggml_tensor* with) {
        return ggml_mul_mat_id(c, in.weight(GGML_TYPE_Q8_0, from, to, experts), with, chosen);
    };
    ggml_tensor* gate = by(shape.width, shape.hidden, each);
    ggml_tensor* up = by(shape.width, shape.hidden, each);
    ggml_tensor* out = ggml_mul(c, by(shape.hidden, shape.width, ggml_swiglu_split(c, gate, up)), shares);
    ggml_tensor* sum = nullptr;
    for (std::size_t i = 0; i != used; ++i) {
        ggml_tensor* part = ggml_view_2d(c, out, shape.width, batch, out->nb[2], i * out->nb[1]);
        sum = sum == nullptr ? part : ggml_add(c, sum, part);
    }
    return sum;
}

void define_decoder(built& in, int64_t batch, const decoder_shape& shape) {
    ggml_context* c = in.tensors.get();
    in.below = static_cast<int>(shape.vocabulary);
    ggml_tensor* tokens = in.input(GGML_TYPE_I32, batch);
    ggml_tensor* positions = in.input(GGML_TYPE_I32, batch);
    ggml_tensor* mask = in.input(shape.flash ? GGML_TYPE_F16 : GGML_TYPE_F32, shape.length, batch);
    ggml_tensor* x = ggml_get_rows(c, in.weight(GGML_TYPE_Q8_0, shape.width, shape.vocabulary), tokens);
    for (int64_t layer = 0; layer != shape.layers; ++layer) {
        x = ggml_add(c, attend(in, normalize(in, x), positions, mask, shape), x);
        ggml_tensor* normal = normalize(in, x);
        x = ggml_add(c, shape.experts == 0 ? feed_forward(in, normal, shape) : mix_experts(in, normal, shape), x);
    }
    in.outputs = {multiply(in, in.weight(GGML_TYPE_Q8_0, shape.width, shape.vocabulary), normalize(in, x))};
}

ggml_tensor* convolve(built& in, ggml_tensor* x, int64_t channels, int64_t kernel = 3, int stride = 1) {
    ggml_context* c = in.tensors.get();
    ggml_tensor* weights = in.weight(GGML_TYPE_F16, kernel, kernel, x->ne[2], channels);
    const int padding = static_cast<int>(kernel / 2);
    ggml_tensor* made = ggml_conv_2d(c, weights, x, stride, stride, padding, padding, 1, 1);
    return ggml_add(c, made, in.weight(GGML_TYPE_F32, 1, 1, channels));
}

/// A classifier with residual blocks, as ResNet.
void define_residual(built& in, int64_t batch) {
    ggml_context* c = in.tensors.get();
    ggml_tensor* x = in.input(GGML_TYPE_F32, 64, 64, 3, batch);
    x = ggml_relu(c, convolve(in, x, 16, 5, 2));
    for (const int64_t channels : {16, 32, 64})
        for (int block = 0; block != 2; ++block) {
            const bool narrows = block == 0 && channels != 16;
            ggml_tensor* straight = narrows ? convolve(in, x, channels, 1, 2) : x;
            ggml_tensor* bent = ggml_relu(c, convolve(in, x, channels, 3, narrows ? 2 : 1));
            x = ggml_relu(c, ggml_add(c, convolve(in, bent, channels), straight));
        }
    x = ggml_pool_2d(c, x, GGML_OP_POOL_AVG, 8, 8, 8, 8, 0, 0);
    x = ggml_reshape_2d(c, x, 64, batch);
    in.outputs = {ggml_soft_max(c, multiply(in, in.weight(GGML_TYPE_F32, 64, 10), x))};
}

/// A network that halves an image and doubles it again, and joins layers of equal sizes, as U-Net.
void define_segments(built& in, int64_t batch) {
    ggml_context* c = in.tensors.get();
    ggml_tensor* x = in.input(GGML_TYPE_F32, 48, 48, 3, batch);
    std::vector<ggml_tensor*> kept;
    for (const int64_t channels : {8, 16, 32}) {
        x = ggml_relu(c, convolve(in, x, channels));
        kept.push_back(x = ggml_silu(c, ggml_group_norm(c, convolve(in, x, channels), 4, 1e-5f)));
        x = ggml_pool_2d(c, x, GGML_OP_POOL_MAX, 2, 2, 2, 2, 0, 0);
    }
    x = ggml_relu(c, convolve(in, x, 64));
    for (; !kept.empty(); kept.pop_back()) {
        ggml_tensor* same = kept.back();
        x = ggml_concat(c, ggml_upscale(c, x, 2, GGML_SCALE_MODE_NEAREST), same, 2);
        x = ggml_relu(c, convolve(in, ggml_relu(c, convolve(in, x, same->ne[2])), same->ne[2]));
    }
    in.outputs = {ggml_sigmoid(c, convolve(in, x, 1, 1))};
}

/// An encoder of sound, as that of Whisper: convolutions, then attention between all steps.
void define_encoder(built& in, int64_t batch) {
    ggml_context* c = in.tensors.get();
    constexpr int64_t width = 192, heads = 6, steps = 150;
    const auto affine = [&](ggml_tensor* x, int64_t to) {
        return ggml_add(c, multiply(in, in.weight(GGML_TYPE_F16, x->ne[0], to), x), in.weight(GGML_TYPE_F32, to));
    };
    const auto normal = [&](ggml_tensor* x) {
        x = ggml_mul(c, ggml_norm(c, x, 1e-5f), in.weight(GGML_TYPE_F32, width));
        return ggml_add(c, x, in.weight(GGML_TYPE_F32, width));
    };
    ggml_tensor* x = in.input(GGML_TYPE_F32, 2 * steps, 40, batch);
    x = ggml_gelu(c, ggml_conv_1d(c, in.weight(GGML_TYPE_F16, 3, 40, width), x, 1, 1, 1));
    x = ggml_gelu(c, ggml_conv_1d(c, in.weight(GGML_TYPE_F16, 3, width, width), x, 2, 1, 1));
    x = ggml_add(c, ggml_cont(c, ggml_transpose(c, x)), in.weight(GGML_TYPE_F32, width, steps));
    for (int layer = 0; layer != 3; ++layer) {
        ggml_tensor* from = normal(x);
        const auto split = [&](ggml_tensor* whole) {
            return ggml_permute(c, ggml_reshape_4d(c, whole, width / heads, heads, steps, batch), 0, 2, 1, 3);
        };
        ggml_tensor* q = split(affine(from, width));
        ggml_tensor* k = split(affine(from, width));
        ggml_tensor* v = ggml_cont(c, ggml_permute(c, split(affine(from, width)), 1, 0, 2, 3));
        ggml_tensor* weights = ggml_soft_max_ext(c, ggml_mul_mat(c, k, q), nullptr, 0.18f, 0);
        ggml_tensor* joined = ggml_permute(c, ggml_mul_mat(c, v, weights), 0, 2, 1, 3);
        x = ggml_add(c, x, affine(ggml_cont_3d(c, joined, width, steps, batch), width));
        x = ggml_add(c, x, affine(ggml_gelu(c, affine(normal(x), 4 * width)), width));
    }
    in.outputs = {normal(x)};
}

/// One step of training: forward, backward, and stochastic gradient descent.
void define_training(built& in, int64_t batch) {
    ggml_context* c = in.tensors.get();
    in.graph = ggml_new_graph_custom(c, 1024, true);
    std::vector<ggml_tensor*> parameters;
    const auto affine = [&](ggml_tensor* x, int64_t to) {
        parameters.push_back(in.weight(GGML_TYPE_F32, x->ne[0], to));
        parameters.push_back(in.weight(GGML_TYPE_F32, to));
        ggml_tensor* made = multiply(in, parameters[parameters.size() - 2], x);
        return ggml_add(c, made, parameters.back());
    };
    ggml_tensor* x = in.input(GGML_TYPE_F32, 256, batch);
    for (const int64_t width : {384, 256, 128, 64}) x = ggml_relu(c, affine(x, width));
    ggml_tensor* scores = affine(x, 10);
    ggml_tensor* labels = in.input(GGML_TYPE_F32, 10, batch);
    ggml_tensor* loss = ggml_cross_entropy_loss(c, scores, labels);
    ggml_tensor* rates = in.input(GGML_TYPE_F32, 2);
    for (ggml_tensor* each : parameters) ggml_set_param(each);
    ggml_set_loss(loss);
    in.outputs = {loss, scores};
    in.changed = parameters;
    for (ggml_tensor* each : in.outputs) {
        ggml_set_output(each);
        ggml_build_forward_expand(in.graph, each);
    }
    ggml_build_backward_expand(c, in.graph, nullptr);
    for (ggml_tensor* each : parameters)
        ggml_build_forward_expand(in.graph, ggml_opt_step_sgd(c, each, ggml_graph_get_grad(in.graph, each), rates));
}

struct random_graph {
    built& in;
    generator random;
    std::vector<ggml_tensor*> made{};

    [[nodiscard]] ggml_tensor* any() { return made[static_cast<std::size_t>(random.below(made.size()))]; }
    [[nodiscard]] ggml_tensor* any_contiguous() {
        ggml_tensor* found = any();
        bool is_plain = found->nb[0] == sizeof(float);  // also where ggml ignores the stride of one element
        for (std::size_t i = 1; i != GGML_MAX_DIMS; ++i)
            is_plain = is_plain && found->nb[i] == found->nb[i - 1] * static_cast<std::size_t>(found->ne[i - 1]);
        return is_plain ? found : ggml_cont(in.tensors.get(), found);
    }

    [[nodiscard]] ggml_tensor* unary() {
        ggml_context* c = in.tensors.get();
        ggml_tensor* x = any_contiguous();
        switch (random.below(6)) {
            case 0: return ggml_scale(c, x, 0.5f);
            case 1: return ggml_tanh(c, x);
            case 2: return ggml_sqr(c, x);
            case 3: return ggml_rms_norm(c, x, 1e-5f);
            case 4: return ggml_soft_max(c, x);
            default: return ggml_silu(c, x);
        }
    }
    [[nodiscard]] ggml_tensor* binary() {
        ggml_context* c = in.tensors.get();
        ggml_tensor *x = any_contiguous(), *y = any_contiguous();
        for (int tries = 0; tries != 5 && !ggml_can_repeat(y, x); ++tries) y = any_contiguous();
        if (!ggml_can_repeat(y, x)) y = x;
        if (random.below(4) == 0 && x->view_src == nullptr) return ggml_add_inplace(c, x, y);
        return random.below(2) == 0 ? ggml_add(c, x, y) : ggml_mul(c, x, y);
    }
    [[nodiscard]] ggml_tensor* view() {
        ggml_context* c = in.tensors.get();
        ggml_tensor* x = any_contiguous();
        const int64_t count = ggml_nelements(x);
        switch (random.below(5)) {
            case 0: return ggml_reshape_1d(c, x, count);
            case 1: return ggml_reshape_2d(c, x, x->ne[0] * x->ne[1], x->ne[2]);
            case 2: return ggml_permute(c, x, 1, 0, 2, 3);
            case 3: return ggml_view_1d(c, x, (count + 1) / 2, 4 * static_cast<std::size_t>(count / 2));
            default: return ggml_view_1d(c, x, (count + 1) / 2, 0);
        }
    }
    [[nodiscard]] ggml_tensor* product() {
        ggml_context* c = in.tensors.get();
        ggml_tensor *x = any_contiguous(), *y = any_contiguous();
        if (random.below(2) == 0)
            return ggml_concat(c, ggml_reshape_1d(c, x, ggml_nelements(x)), ggml_reshape_1d(c, y, ggml_nelements(y)),
                               0);
        const int64_t width = 5 + static_cast<int64_t>(random.below(20));
        return ggml_mul_mat(c, in.weight(GGML_TYPE_F32, x->ne[0], width), x);
    }
    [[nodiscard]] ggml_tensor* next() {
        switch (random.below(6)) {
            case 0: return view();
            case 1: return product();
            case 2:
            case 3: return unary();
            default: return binary();
        }
    }
};

void define_random(built& in, std::uint64_t seed) {
    random_graph draw{in, {seed}};
    const int inputs = 2 + static_cast<int>(draw.random.below(4));
    for (int i = 0; i != inputs; ++i) {
        const auto extent = [&] { return 1 + static_cast<int64_t>(draw.random.below(9)); };
        const int64_t n0 = 4 * extent() + extent() % 2, n1 = extent(), n2 = extent();
        draw.made.push_back(in.input(GGML_TYPE_F32, n0, n1, n2));
        if (draw.random.below(3) == 0) draw.made.back()->flags &= ~GGML_TENSOR_FLAG_INPUT;  // a leaf without a flag
    }
    const int nodes = 10 + static_cast<int>(draw.random.below(60));
    for (int i = 0; i != nodes; ++i) {
        ggml_tensor* fresh = draw.next();
        if (ggml_nelements(fresh) > 20'000) continue;
        draw.made.push_back(fresh);
        ggml_build_forward_expand(in.graph, fresh);
        if (draw.random.below(12) == 0) in.outputs.push_back(fresh);
    }
    in.outputs.push_back(draw.made.back());
}

}  // namespace

context make_context(std::size_t tensors) {
    return context{
        ggml_init({tensors * ggml_tensor_overhead() + 2 * ggml_graph_overhead_custom(4096, true), nullptr, true})};
}

built::built() : weights{make_context(512)}, tensors{make_context(4096)} {
    graph = ggml_new_graph_custom(tensors.get(), 4096, false);
}

ggml_tensor* built::weight(ggml_type type, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return ggml_new_tensor_4d(weights.get(), type, n0, n1, n2, n3);
}
ggml_tensor* built::input(ggml_type type, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    inputs.push_back(ggml_new_tensor_4d(tensors.get(), type, n0, n1, n2, n3));
    ggml_set_input(inputs.back());
    return inputs.back();
}

void built::allocate_weights(ggml_backend_buffer_type_t type) {
    weight_bytes.reset(ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), type));
    std::uint64_t seed = 1000;
    for (ggml_tensor* each = ggml_get_first_tensor(weights.get()); each != nullptr;
         each = ggml_get_next_tensor(weights.get(), each))
        fill(each, ++seed, below);
}

void built::fill_inputs() const {
    std::uint64_t seed = 1;
    for (ggml_tensor* each : inputs)
        if (++seed; each->data != nullptr) fill(each, seed, below);  // a graph may ignore an input
    for (int i = 0; i != ggml_graph_n_nodes(graph); ++i)
        if ((ggml_graph_node(graph, i)->flags & GGML_TENSOR_FLAG_LOSS) != 0) {
            ggml_graph_reset(graph);  // the gradient of the loss is 1
            break;
        }
}

void built::compute() const {
    const std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)> backend{ggml_backend_cpu_init(),
                                                                              ggml_backend_free};
    ggml_backend_cpu_set_n_threads(backend.get(), 1);
    ggml_backend_graph_compute(backend.get(), graph);
}

std::vector<std::byte> built::results() const {
    std::vector<std::byte> bytes;
    for (const auto* list : {&outputs, &changed})
        for (ggml_tensor* each : *list) {
            const std::size_t end = bytes.size();
            bytes.resize(end + ggml_nbytes(each));
            ggml_backend_tensor_get(each, bytes.data() + end, 0, ggml_nbytes(each));
        }
    return bytes;
}

built network::build(int64_t batch, ggml_backend_buffer_type_t type) const {
    built made;
    define(made, batch);
    for (ggml_tensor* each : made.outputs) {
        ggml_set_output(each);
        ggml_build_forward_expand(made.graph, each);
    }
    made.allocate_weights(type);
    return made;
}

std::vector<network> all() {
    const auto decoder = [](decoder_shape shape) {
        return [shape](built& in, int64_t batch) { define_decoder(in, batch, shape); };
    };
    return {{"decoder", {64, 1, 7}, decoder({})},
            {"decoder, flash attention", {64, 1, 7}, decoder({.flash = true})},
            {"decoder, mixture of experts", {48, 1, 5}, decoder({.layers = 3, .experts = 6})},
            {"residual convolutions", {4, 1, 3}, define_residual},
            {"segmentation", {2, 1}, define_segments},
            {"sound encoder", {2, 1}, define_encoder},
            {"training", {64, 1, 33}, define_training}};
}

network random(std::uint64_t seed) {
    return {"random " + std::to_string(seed), {1}, [seed](built& in, int64_t) { define_random(in, seed); }};
}

}  // namespace networks
