// SPDX-License-Identifier: BSL-1.0
// Page caches on requests of a chat service: pages_benchmark [TRACE.jsonl [CAPACITY...]]
//
// Each line of the trace has `input_length` and `hash_ids`, one id for every 512 tokens of a prompt. A request starts
// with the longest cached prefix, takes pages for the rest, names them, and ends. For each policy and capacity: the
// share of pages that were found, and the processor time of all calls for one page, the shortest of several runs. The
// best policy that knows the future (Belady) evicts the page whose next use is last. Then the waste of memory with
// several page sizes.
#include <allot/page_cache.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using prompt = std::vector<allot::page_content>;
constexpr std::size_t most_pages = std::size_t{1} << 20U;

// ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Reads the prompts of a trace, with pages of `tokens` tokens.
std::vector<prompt> read_prompts(const char* path, std::uint64_t tokens) {
    std::vector<prompt> made;
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        const std::size_t ids = line.find('['), length = line.find("\"input_length\":");
        if (ids == std::string::npos || length == std::string::npos) break;
        std::uint64_t left = std::strtoull(&line[length + 15], nullptr, 10);
        prompt& pages = made.emplace_back();
        for (char* at = &line[ids + 1]; *at != ']' && left != 0; at += *at == ',') {
            const std::uint64_t id = std::strtoull(at, &at, 10);
            for (std::uint64_t part = 0; part != 512 / tokens && left != 0; ++part) {
                pages.push_back({.hash = {part, id}});
                left -= std::min(left, tokens);
            }
        }
    }
    return made;
}

// ── policies ─────────────────────────────────────────────────────────────────────────────────────────────────────────

struct outcome {
    double found = 0;        // percent of all pages
    double nanoseconds = 0;  // for a page
};

/// Plays all prompts. Every sequence ends before the next one starts.
template <class Cache>
std::size_t play(Cache& cache, const std::vector<prompt>& prompts) {
    std::size_t found = 0;
    for (const prompt& pages : prompts) {
        const auto begun = cache.start({.contents = pages});
        found += begun->tokens;
        if (!cache.append(begun->sequence, static_cast<std::uint32_t>(pages.size()) - begun->tokens)) std::abort();
        if (!cache.name(begun->sequence, std::span{pages}.subspan(begun->tokens))) std::abort();
        cache.release(begun->sequence);
    }
    return found;
}

constexpr allot::page_group page_of_one_token[] = {{.page_tokens = 1}};  // pages are counted, not tokens

allot::page_cache_limits limits_of(std::uint64_t capacity) {
    return {.bytes = capacity, .groups = page_of_one_token, .sequences = 1, .sequence_pages = 16384};
}

template <class Policy>
outcome measure(const std::vector<prompt>& prompts, std::uint64_t capacity, int rounds) {
    using cache = allot::page_cache<allot::page_pool<most_pages>, Policy>;
    std::vector<std::byte> records(cache::bytes_for(limits_of(capacity)));
    std::size_t pages = 0;
    for (const prompt& each : prompts) pages += each.size();
    outcome made{.nanoseconds = std::numeric_limits<double>::max()};
    for (int round = 0; round != rounds; ++round) {
        const auto subject = std::make_unique<cache>(limits_of(capacity), records);
        const std::clock_t start = std::clock();
        const std::size_t found = play(*subject, prompts);
        const double spent = static_cast<double>(std::clock() - start) * (1e9 / CLOCKS_PER_SEC);
        made.found = 100.0 * static_cast<double>(found) / static_cast<double>(pages);
        made.nanoseconds = std::min(made.nanoseconds, spent / static_cast<double>(pages));
        if (subject->check() != allot::page_cache_fault::none) std::abort();
    }
    return made;
}

/// Returns the percentage of pages that a policy finds that evicts the page whose next use is last.
double measure_belady(const std::vector<prompt>& prompts, std::uint64_t capacity) {
    const auto id = [](const allot::page_content& page) { return page.hash.low << 8U | page.hash.high; };
    std::unordered_map<std::uint64_t, std::uint64_t> upcoming;
    std::vector<std::vector<std::uint64_t>> next_use(prompts.size());
    for (std::size_t i = prompts.size(); i-- != 0;) {
        for (std::size_t at = 0; at != prompts[i].size(); ++at) {
            const auto known = upcoming.find(id(prompts[i][at]));
            const std::uint64_t when = known == upcoming.end() ? prompts.size() : known->second;
            next_use[i].push_back(when << 16U | at);  // of one request, the last page leaves first
        }
        for (const allot::page_content& page : prompts[i]) upcoming[id(page)] = i;
    }
    std::set<std::pair<std::uint64_t, std::uint64_t>> order;
    std::unordered_map<std::uint64_t, std::uint64_t> cached;
    std::size_t found = 0, pages = 0;
    for (std::size_t i = 0; i != prompts.size(); ++i) {
        pages += prompts[i].size();
        std::size_t hits = 0;
        while (hits != prompts[i].size() && cached.contains(id(prompts[i][hits]))) ++hits;
        found += hits;
        for (std::size_t at = 0; at != prompts[i].size(); ++at) {
            const std::uint64_t page = id(prompts[i][at]);
            if (const auto old = cached.find(page); old != cached.end()) order.erase({old->second, page});
            cached[page] = next_use[i][at];
            order.emplace(next_use[i][at], page);
        }
        while (order.size() > capacity) {
            cached.erase(std::prev(order.end())->second);
            order.erase(std::prev(order.end()));
        }
    }
    return 100.0 * static_cast<double>(found) / static_cast<double>(pages);
}

void print(const char* name, std::uint64_t capacity, outcome of) {
    std::printf("| %-25s | %8llu | %8.2f | %8.0f |\n", name, static_cast<unsigned long long>(capacity), of.found,
                of.nanoseconds);
    std::fflush(stdout);
}

/// Returns false if the trace has no request.
bool compare_policies(const char* trace, std::uint64_t tokens, const std::vector<std::uint64_t>& capacities) {
    const std::vector<prompt> prompts = read_prompts(trace, tokens);
    if (prompts.empty()) return false;
    const int rounds = tokens == 512 ? 9 : 2;
    std::printf("\npages of %llu tokens, %zu requests\n\n| %-25s | %8s | %8s | %8s |\n|---|--:|--:|--:|\n",
                static_cast<unsigned long long>(tokens), prompts.size(), "policy", "pages", "found %", "ns a page");
    for (std::uint64_t capacity : capacities) {
        capacity *= 512 / tokens;
        print("lru", capacity, measure<allot::lru_eviction>(prompts, capacity, rounds));
        print("reuse", capacity, measure<allot::reuse_eviction>(prompts, capacity, rounds));
        print("s3_fifo", capacity, measure<allot::s3_fifo_eviction<>>(prompts, capacity, rounds));
        print("leaf_first reuse", capacity,
              measure<allot::leaf_first_eviction<allot::reuse_eviction>>(prompts, capacity, rounds));
        if (tokens == 512) print("Belady", capacity, {measure_belady(prompts, capacity), 0});
    }
    return true;
}

// ── page sizes ───────────────────────────────────────────────────────────────────────────────────────────────────────

/// Layers of a model with equal needs: bytes of a token in units of one layer, and tokens of one request.
struct layers {
    std::uint32_t count = 0, tokens = 0, window = 0, model = 0;
};

/// Fills a memory with requests. Prints the share of the used bytes that hold no needed key or value.
void compare_sizes(const char* name, std::span<const layers> kinds) {
    std::vector<allot::page_group> groups;
    std::uint64_t needed = 0, uniform = 0, all_layers = 0, all_tokens = 0;
    for (const layers& kind : kinds) {
        groups.push_back({.page_bytes = std::size_t{kind.count} * 16, .window = kind.window, .model = kind.model});
        needed += std::uint64_t{kind.count} * (kind.window != 0 ? std::min(kind.window, kind.tokens) : kind.tokens);
        all_layers += kind.count;
        if (kind.model != 0 || &kind == kinds.data()) all_tokens += kind.tokens;
    }
    uniform = all_layers * all_tokens;
    using cache_type = allot::page_cache<allot::page_pool<most_pages>>;
    const allot::page_cache_limits limits{
        .bytes = 200 * needed, .groups = groups, .sequences = 512, .sequence_pages = 8192};
    std::vector<std::byte> records(cache_type::bytes_for(limits));
    const auto cache = std::make_unique<cache_type>(limits, records);
    if (!*cache) std::abort();
    std::uint64_t requests = 0;
    for (bool room = true; room; requests += room)
        for (std::uint32_t model = 0; model <= kinds.back().model && room; ++model) {
            const auto begun = cache->start({.model = model});
            const auto kind = std::ranges::find(kinds, model, &layers::model);
            std::uint32_t left = kind->tokens;
            while (room && left != 0) {  // a long prompt is computed in parts, so that windows pass
                const std::uint32_t part = std::min(left, 512U);
                room = static_cast<bool>(cache->append(begun->sequence, part));
                left -= part;
            }
            room = room && static_cast<bool>(cache->append(begun->sequence, 0));
        }
    const auto waste = [&](double bytes) { return 100 * (1 - static_cast<double>(needed) / bytes); };
    const double each = static_cast<double>(limits.bytes) / static_cast<double>(requests);
    std::printf("| %-41s | %10zu | %7.1f | %6.1f |\n", name, kinds.size(), waste(static_cast<double>(uniform)),
                waste(each));
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::uint64_t> capacities;
    for (int i = 2; i < count; ++i) capacities.push_back(std::strtoull(arguments[i], nullptr, 10));
    if (capacities.empty()) capacities = {1000, 5000, 10000, 30000, 100000};
    using cache = allot::page_cache<allot::page_pool<most_pages>>;
    std::printf("records of a page: %.1f bytes (2^20 pages, without tables)\n",
                static_cast<double>(cache::bytes_for({.bytes = most_pages, .sequences = 1, .sequence_pages = 1})) /
                    static_cast<double>(most_pages));
    if (count > 1) {
        const bool has_requests = compare_policies(arguments[1], 512, capacities);
        while (!capacities.empty() && capacities.back() > most_pages / 32) capacities.pop_back();
        if (!has_requests || !compare_policies(arguments[1], 16, capacities)) {
            std::fprintf(stderr, "%s has no requests: the trace is a file of JSON lines (docs/benchmarks.md)\n",
                         arguments[1]);
            return 2;
        }
    } else {
        std::puts("skipped: the policies need a trace (docs/benchmarks.md)");
    }
    std::printf("\nwasted bytes in percent, a memory of requests\n\n| %-41s | %10s | %7s | %6s |\n|---|--:|--:|--:|\n",
                "model and request", "page sizes", "uniform", "cut");
    const layers vision[] = {{32, 43}, {8, 6193, 0, 1}}, gemma[] = {{21, 8192}, {21, 8192, 4096}},
                 ministral[] = {{9, 131072}, {27, 131072, 32768}},
                 drafted[] = {{9, 131072}, {27, 131072, 32768}, {4, 131072, 0, 1}};
    compare_sizes("Llama 3.2 11B Vision: 43 and 6193 tokens", vision);
    compare_sizes("Gemma 2: 8192 tokens, window 4096", gemma);
    compare_sizes("Ministral 8B: 131072 tokens, window 32768", ministral);
    compare_sizes("the same with a draft model of 4 layers", drafted);
    return 0;
}
