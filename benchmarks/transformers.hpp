// SPDX-License-Identifier: BSL-1.0
// transformers: graphs of transformers whose sizes depend on a batch and on lengths, for the benchmark of the planner.
//
//     operators ──► one value each, which lives from its operator to the last one that reads it
//
// The operators are those of an unfused export in 32-bit floating point: normalizations, projections, scores, masks,
// softmax, the product with the values, sums, and two linear layers with an activation between.
#pragma once

#include <allot/plan/ranged.hpp>

#include <string>
#include <vector>

namespace transformers {

struct graph {
    std::string name;
    std::vector<std::string> symbols{};
    std::vector<std::uint64_t> least{}, most{};
    std::vector<allot::symbolic_buffer> buffers{};
    std::int64_t steps = 0;
    std::vector<std::size_t> kept{};  // values that live until the end

    /// Adds an operator that reads values and writes one.
    std::size_t add(std::vector<std::size_t> reads, allot::symbolic_size size) {
        for (const std::size_t each : reads) buffers[each].live.until = steps + 1;
        buffers.push_back({size, {steps, steps + 1}, 64});
        ++steps;
        return buffers.size() - 1;
    }
    /// Keeps a value until the end, as a result.
    void keep(std::size_t value) { kept.push_back(value); }
    /// Returns the problem after all operators were added.
    [[nodiscard]] allot::ranged_problem problem() {
        for (const std::size_t each : kept) buffers[each].live.until = steps;
        return {{.buffers = buffers, .bounds = most}, least};
    }
};

struct shape {
    unsigned layers = 12, heads = 12;
    std::uint64_t hidden = 768, inner = 3072, vocabulary = 0;
};

/// The attention of `queries` rows to `keys` rows. `rows` is the number of query rows as a factor of sizes.
struct attention {
    graph& of;
    const shape& with;
    allot::plan_symbol batch;
    allot::symbolic_extent queries, keys;

    [[nodiscard]] allot::symbolic_size wide(allot::symbolic_extent rows, std::uint64_t width) const {
        return {batch, rows, 4 * width};
    }
    [[nodiscard]] std::size_t add(std::size_t input, std::size_t mask, std::size_t source, bool keeps) const {
        const std::size_t normal = of.add({input}, wide(queries, with.hidden));
        const std::size_t from = source == input ? normal : source;
        const std::size_t query = of.add({normal}, wide(queries, with.hidden));
        const std::size_t key = of.add({from}, wide(keys, with.hidden)),
                          value = of.add({from}, wide(keys, with.hidden));
        if (keeps) of.keep(key), of.keep(value);
        const std::size_t query_heads = of.add({query}, wide(queries, with.hidden));
        const std::size_t key_heads = of.add({key}, wide(keys, with.hidden));
        const std::size_t value_heads = of.add({value}, wide(keys, with.hidden));
        const allot::symbolic_size square{batch, queries, keys, 4 * with.heads};
        const std::size_t scores = of.add({query_heads, key_heads}, square);
        const std::size_t masked = of.add({scores, mask}, square);
        const std::size_t weights = of.add({masked}, square);
        const std::size_t context = of.add({weights, value_heads}, wide(queries, with.hidden));
        const std::size_t rows = of.add({context}, wide(queries, with.hidden));
        const std::size_t projected = of.add({rows}, wide(queries, with.hidden));
        return of.add({projected, input}, wide(queries, with.hidden));
    }
    [[nodiscard]] std::size_t add_feed_forward(std::size_t input) const {
        const std::size_t normal = of.add({input}, wide(queries, with.hidden));
        const std::size_t inner = of.add({normal}, wide(queries, with.inner));
        const std::size_t active = of.add({inner}, wide(queries, with.inner));
        const std::size_t output = of.add({active}, wide(queries, with.hidden));
        return of.add({output, input}, wide(queries, with.hidden));
    }
};

/// An encoder such as BERT, or the prefill of a decoder such as GPT-2, whose keys and values are results.
[[nodiscard]] inline graph one_stack(std::string name, const shape& with, std::uint64_t batch, std::uint64_t length,
                                     bool keeps) {
    graph made{std::move(name), {"batch", "length"}, {1, 1}, {batch, length}};
    constexpr allot::plan_symbol b{0}, s{1};
    const attention layer{made, with, b, s, s};
    const std::size_t ids = made.add({}, {b, s, 8}), mask = made.add({}, {b, s, 4});
    std::size_t value = made.add({ids}, {b, s, 4 * with.hidden});
    for (unsigned i = 0; i != with.layers; ++i) value = layer.add_feed_forward(layer.add(value, mask, value, keeps));
    made.keep(with.vocabulary == 0 ? value : made.add({value}, {b, s, 4 * with.vocabulary}));
    return made;
}

/// One token of a decoder with a cache, whose length is a symbol: a new cache is written in each layer.
[[nodiscard]] inline graph decode(std::string name, const shape& with, std::uint64_t batch, std::uint64_t length) {
    graph made{std::move(name), {"batch", "past"}, {1, 1}, {batch, length}};
    constexpr allot::plan_symbol b{0}, past{1};
    const attention layer{made, with, b, 1, past + 1};
    const std::size_t ids = made.add({}, {b, 8}), mask = made.add({}, {b, past + 1, 4});
    std::vector<std::size_t> caches;
    for (unsigned i = 0; i != with.layers; ++i) caches.push_back(made.add({}, {b, past, 8 * with.hidden}));
    std::size_t value = made.add({ids}, {b, 4 * with.hidden});
    for (unsigned i = 0; i != with.layers; ++i) value = layer.add_feed_forward(layer.add(value, mask, caches[i], true));
    made.keep(value);
    return made;
}

/// An encoder and a decoder with attention to it, such as T5: two lengths.
[[nodiscard]] inline graph two_stacks(std::string name, const shape& with, std::uint64_t batch, std::uint64_t length) {
    graph made{std::move(name), {"batch", "source", "target"}, {1, 1, 1}, {batch, length, length}};
    constexpr allot::plan_symbol b{0}, source{1}, target{2};
    const attention encoder{made, with, b, source, source}, decoder{made, with, b, target, target},
        across{made, with, b, target, source};
    const std::size_t ids = made.add({}, {b, source, 8}), mask = made.add({}, {b, source, 4});
    std::size_t value = made.add({ids}, {b, source, 4 * with.hidden});
    for (unsigned i = 0; i != with.layers; ++i)
        value = encoder.add_feed_forward(encoder.add(value, mask, value, false));
    const std::size_t memory = value;
    const std::size_t targets = made.add({}, {b, target, 8}), causal = made.add({}, {target, target, 4});
    value = made.add({targets}, {b, target, 4 * with.hidden});
    for (unsigned i = 0; i != with.layers; ++i) {
        value = decoder.add(value, causal, value, false);
        value = decoder.add_feed_forward(across.add(value, mask, memory, false));
    }
    made.keep(value);
    return made;
}

[[nodiscard]] inline std::vector<graph> all() {
    std::vector<graph> made;
    made.push_back(one_stack("BERT base", {}, 16, 512, false));
    made.push_back(one_stack("BERT large", {.layers = 24, .heads = 16, .hidden = 1024, .inner = 4096}, 16, 512, false));
    made.push_back(one_stack("GPT-2, prefill", {.vocabulary = 50257}, 8, 1024, true));
    made.push_back(decode("GPT-2, one token", {}, 8, 1023));
    made.push_back(
        one_stack("ViT large, patches", {.layers = 24, .heads = 16, .hidden = 1024, .inner = 4096}, 32, 1025, false));
    made.push_back(two_stacks("T5 base", {}, 8, 512));
    return made;
}

}  // namespace transformers
