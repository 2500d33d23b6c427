// SPDX-License-Identifier: BSL-1.0
// A small transformer for one token of each sequence, whose keys and values are in
// pages. The same text is compiled as C++ and as OpenCL C.
//
// A page has `page_tokens` tokens: for each layer, the keys of all tokens, then their values. The table of a sequence
// has the index of each of its pages.
#pragma once

#include <math.h>

#include <cstdint>

using uint = std::uint32_t;
using ulong = std::uint64_t;
// NOLINTBEGIN
#define BOTH_LANGUAGES(...)                                \
    inline constexpr const char* attention = #__VA_ARGS__; \
    __VA_ARGS__
#define global
// clang-format off
BOTH_LANGUAGES(
enum {
    dim = 32, heads = 2, head_dim = 16, layers = 2, vocabulary = 96, page_tokens = 16,
    page_floats = layers * 2 * page_tokens * dim, layer_floats = 5 * dim * dim
};

static inline float dot_with(global const float* matrix_row, const float* vector) {
    float sum = 0;
    for (uint i = 0; i != dim; ++i) sum += matrix_row[i] * vector[i];
    return sum;
}

/* One sequence: computes the token at `position`, stores its keys and values, and returns its last vector in `out`. */
static inline void compute_token(global const float* weights, global float* pages, global const uint* table, uint token,
                                 uint position, global float* out) {
    float x[dim], q[dim], a[dim];
    for (uint i = 0; i != dim; ++i)
        x[i] = weights[token * dim + i] + 0.25f * weights[(position * 7 + 3) % vocabulary * dim + i];
    for (uint layer = 0; layer != layers; ++layer) {
        global const float* w = weights + vocabulary * dim + layer * layer_floats;
        const uint in_page = position % page_tokens;
        global float* own = pages + (ulong)table[position / page_tokens] * page_floats + layer * 2 * page_tokens * dim;
        for (uint i = 0; i != dim; ++i) {
            q[i] = dot_with(w + i * dim, x);
            own[in_page * dim + i] = dot_with(w + (dim + i) * dim, x);
            own[(page_tokens + in_page) * dim + i] = dot_with(w + (2 * dim + i) * dim, x);
        }
        for (uint head = 0; head != heads; ++head) {
            float most = -1e30f; float sum = 0; float mean[head_dim];
            for (uint i = 0; i != head_dim; ++i) mean[i] = 0;
            for (uint t = 0; t <= position; ++t) {
                global const float* at = pages + (ulong)table[t / page_tokens] * page_floats +
                                         layer * 2 * page_tokens * dim + t % page_tokens * dim + head * head_dim;
                float score = 0;
                for (uint i = 0; i != head_dim; ++i) score += q[head * head_dim + i] * at[i];
                score *= 0.25f;
                const float larger = score > most ? score : most;
                const float before = exp(most - larger); const float now = exp(score - larger);
                sum = sum * before + now;
                for (uint i = 0; i != head_dim; ++i) mean[i] = mean[i] * before + now * at[page_tokens * dim + i];
                most = larger;
            }
            for (uint i = 0; i != head_dim; ++i) a[head * head_dim + i] = mean[i] / sum;
        }
        for (uint i = 0; i != dim; ++i) q[i] = x[i] + dot_with(w + (3 * dim + i) * dim, a);
        float squares = 0;
        for (uint i = 0; i != dim; ++i) {
            const float hidden = dot_with(w + (4 * dim + i) * dim, q);
            x[i] = q[i] + (hidden > 0 ? hidden : 0.1f * hidden);
            squares += x[i] * x[i];
        }
        const float scale = 1 / sqrt(squares / (float)dim + 1e-6f);
        for (uint i = 0; i != dim; ++i) x[i] *= scale;
    }
    for (uint i = 0; i != dim; ++i) out[i] = x[i];
}
)
// clang-format on
#undef global
#undef BOTH_LANGUAGES
// NOLINTEND
