// SPDX-License-Identifier: BSL-1.0
// kv_cache: a small transformer answers many requests at once. Keys and values are in pages of a page_cache.
//
//     kv_cache [--engine host|opencl] [--svg FILE]
//
// Exits with 0 if all results have the bits of contiguous memory, and with 77 without a device of OpenCL.
#include "picture.hpp"
#include "server.hpp"

#include <cstdio>
#include <random>
#include <string>

namespace {

/// Conversations: few system prompts, many users, several turns of each user.
std::vector<request> make_requests() {
    std::mt19937 random{11};
    const auto tokens = [&](std::size_t count) {
        std::vector<uint> made(count);
        for (uint& token : made) token = static_cast<uint>(random() % vocabulary);
        return made;
    };
    const std::vector<uint> systems[] = {tokens(96), tokens(70)};
    std::vector<std::vector<uint>> users;
    std::vector<request> made;
    for (std::size_t i = 0; i != 48; ++i) {
        if (i < 20) users.push_back(systems[i % 2]);
        std::vector<uint>& user = users[i < 20 ? i : random() % users.size()];
        const auto more = tokens(12 + random() % 40);
        user.insert(user.end(), more.begin(), more.end());
        made.push_back({.prompt = user, .tokens = 16 + random() % 24, .two_continuations = i % 5 == 0});
    }
    return made;
}

template <class Engine>
int serve(const char* svg) {
    constexpr std::size_t pages = 64, slower_pages = 80;
    server<Engine> of{pages, slower_pages};
    of.run(make_requests());
    Engine contiguous{table_entries};
    std::size_t equal = 0;
    for (const answer& each : of.answers) equal += is_equal_to_contiguous(contiguous, each);
    std::uint64_t named = 0, used = 0;
    for (const usage& now : of.history) {
        named = std::max(named, now.named);
        used = std::max(used, now.used);
    }
    const std::size_t all = of.cached_tokens + of.computed_tokens;
    std::printf("engine: %s\nanswers: %zu, in %zu steps\nequal to contiguous memory, bit by bit: %zu\n", Engine::name,
                of.answers.size(), of.history.size(), equal);
    std::printf("tokens found in the cache: %zu of %zu (%.0f %%)\n", of.cached_tokens, all,
                100.0 * static_cast<double>(of.cached_tokens) / static_cast<double>(all));
    std::printf("pages at most: %llu used, for %llu entries of tables (%.0f %% saved), of %zu\n",
                static_cast<unsigned long long>(used), static_cast<unsigned long long>(named),
                100.0 - 100.0 * static_cast<double>(used) / static_cast<double>(named), pages);
    std::printf("copies: %zu after forks, %zu to the slower tier, %zu back\nsequences that waited for pages: %zu\n",
                of.copies, of.to_slower, of.from_slower, of.preempted);
    if (svg != nullptr) draw(svg, of.history, pages);
    return equal == of.answers.size() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
    std::string engine = "host";
    const char* svg = nullptr;
    for (int i = 1; i + 1 < count; i += 2) {
        if (arguments[i] == std::string{"--engine"}) engine = arguments[i + 1];
        if (arguments[i] == std::string{"--svg"}) svg = arguments[i + 1];
    }
    if (engine == "host") return serve<host_engine>(svg);
#ifdef KV_CACHE_OPENCL
    if (engine == "opencl") try {
            return serve<opencl_engine>(svg);
        } catch (const no_device& reason) {
            std::printf("skipped: %s\n", reason.what());
            return 77;
        }
#endif
    std::fprintf(stderr, "kv_cache: there is no engine %s\n", engine.c_str());
    return 2;
} catch (const std::exception& reason) {
    std::fprintf(stderr, "kv_cache: %s\n", reason.what());
    return 2;
}
