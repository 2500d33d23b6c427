// SPDX-License-Identifier: BSL-1.0
// Runs a model of llama.cpp: llama_run MODEL FLASH. Reads a prompt of 75 tokens in batches of 64 and 11, then ten
// single tokens. Prints a hash of the outputs. The log of llama.cpp has the bytes of the compute buffers.
#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

int main(int count, char** arguments) {
    if (count != 3) return 2;
    llama_backend_init();
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> model{
        llama_model_load_from_file(arguments[1], llama_model_default_params()), llama_model_free};
    llama_context_params options = llama_context_default_params();
    options.n_ctx = 512;
    options.n_batch = 128;
    options.n_ubatch = 64;
    options.n_threads = options.n_threads_batch = 1;
    options.flash_attn_type = static_cast<llama_flash_attn_type>(std::atoi(arguments[2]));
    const std::unique_ptr<llama_context, decltype(&llama_free)> context{
        model ? llama_init_from_model(model.get(), options) : nullptr, llama_free};
    if (!context) return 1;

    const int words = llama_vocab_n_tokens(llama_model_get_vocab(model.get()));
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    const auto decode = [&](std::vector<llama_token> tokens) {
        if (llama_decode(context.get(), llama_batch_get_one(tokens.data(), static_cast<int>(tokens.size()))) != 0)
            std::exit(1);
        const float* row = llama_get_logits_ith(context.get(), -1);
        const auto* bytes = reinterpret_cast<const unsigned char*>(row);
        for (std::size_t i = 0; i != sizeof(float) * static_cast<std::size_t>(words); ++i)
            hash = (hash ^ bytes[i]) * 0x100000001b3;
        return static_cast<llama_token>(std::max_element(row, row + words) - row);
    };
    std::vector<llama_token> prompt(75);
    for (int i = 0; i != 75; ++i) prompt[static_cast<std::size_t>(i)] = i * 37 % words;
    llama_token next = decode(prompt);
    for (int i = 0; i != 10; ++i) next = decode({next});
    std::printf("outputs %016llx\n", static_cast<unsigned long long>(hash));
}
