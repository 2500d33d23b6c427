// SPDX-License-Identifier: BSL-1.0
// Synthetic traces from a seed: workloads of host memory, of GPU memory and of key-value caches.
//
//     fixed64            steady churn of 64 bytes, 10,000 live
//     uni4k              steady churn of 16 to 4096 bytes, 10,000 live
//     logn1k, logn10k    log-normal sizes (median 128, sigma 1.5, at most 1 MiB), exponential lifetimes; 1k or 10k live
//     gpu500, gpu5k      log-uniform 512 bytes to 256 MiB, multiples of 4, aligned to 256; 500 or 5,000 live
//     kvblk              blocks of 64 KiB: a request allocates one per 16 tokens, and frees all when it ends
//     frame              600 frames of 500 to 4,000 small allocations, with a reset at the end of each
//     logn100, gpu50     short traces; benchmarks/traces has them as files
#pragma once

#include <allot/inspect/trace.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <queue>
#include <random>
#include <string_view>

namespace benchmarks {

/// Pseudorandom numbers, the same with every standard library.
class random {
public:
    explicit random(std::uint64_t seed) : engine_{seed} {}
    /// Returns a number in [0, below).
    std::uint64_t operator()(std::uint64_t below) { return engine_() % below; }
    /// Returns a number in (0, 1].
    double uniform() { return static_cast<double>((engine_() >> 11) + 1) * 0x1p-53; }
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
    double exponential(double mean) { return -mean * std::log(uniform()); }

private:
    std::mt19937_64 engine_;
};

inline std::uint64_t log_normal(random& draw, double median, double sigma, double most) {
    return static_cast<std::uint64_t>(std::clamp(median * std::exp(sigma * draw.normal()), 1.0, most));
}

/// Steady churn: once `live` blocks of sizes from `size` are live, one is freed for each that is allocated.
template <class Size>
void churn(allot::trace_writer& to, random& draw, std::size_t live, std::size_t events, std::uint64_t align,
           Size size) {
    std::vector<std::uint64_t> blocks;
    for (std::size_t i = 0; i != events; ++i) {
        if (blocks.size() < live) {
            blocks.push_back(to.allocate(size(), align));
        } else {
            std::swap(blocks[static_cast<std::size_t>(draw(live))], blocks.back());
            to.deallocate(blocks.back());
            blocks.pop_back();
        }
    }
}

/// Log-normal sizes. A block's lifetime is `live` allocations on average.
inline void log_normal_lives(allot::trace_writer& to, random& draw, double live, std::size_t events) {
    using death = std::pair<double, std::uint64_t>;
    std::priority_queue<death, std::vector<death>, std::greater<>> deaths;
    for (double now = 0; events != 0; --events) {
        if (!deaths.empty() && deaths.top().first <= now) {
            to.deallocate(deaths.top().second);
            deaths.pop();
        } else {
            deaths.emplace(now + draw.exponential(live), to.allocate(log_normal(draw, 128, 1.5, 1 << 20)));
            ++now;
        }
    }
}

inline void gpu(allot::trace_writer& to, random& draw, std::size_t live, std::size_t events) {
    churn(to, draw, live, events, 256,
          [&] { return static_cast<std::uint64_t>(512 * std::exp2(19 * draw.uniform())) / 4 * 4; });
}

/// 256 concurrent requests, served one token each in turn. A new request replaces each one that ends.
inline void key_value_blocks(allot::trace_writer& to, random& draw, std::size_t events) {
    struct request {
        std::uint64_t tokens = 0, last = 0;
        std::vector<std::uint64_t> blocks{};
    };
    std::vector<request> requests(256);
    std::size_t made = 0;
    for (std::size_t next = 0; made < events; next = (next + 1) % requests.size()) {
        request& each = requests[next];
        if (each.tokens == each.last) {
            made += each.blocks.size();
            for (const std::uint64_t block : each.blocks) to.deallocate(block);
            const std::uint64_t prompt = log_normal(draw, 256, 1, 4096);
            each = {.tokens = prompt, .last = prompt + log_normal(draw, 256, 1, 4096)};
        }
        for (++each.tokens; each.blocks.size() * 16 < each.tokens; ++made) each.blocks.push_back(to.allocate(64 << 10));
    }
}

inline void frames(allot::trace_writer& to, random& draw) {
    for (int frame = 0; frame != 600; ++frame) {
        for (std::uint64_t count = 500 + draw(3501); count != 0; --count) to.allocate(log_normal(draw, 48, 1, 4096));
        to.reset();
    }
}

/// Returns false if there is no trace of that name.
inline bool write_synthetic(allot::trace_writer& to, std::string_view name, std::uint64_t seed) {
    random draw{seed};
    if (name == "fixed64") return churn(to, draw, 10'000, 1'000'000, 16, [] { return 64; }), true;
    if (name == "uni4k") return churn(to, draw, 10'000, 1'000'000, 16, [&] { return 16 + draw(4081); }), true;
    if (name == "logn100") return log_normal_lives(to, draw, 100, 6'000), true;
    if (name == "logn1k") return log_normal_lives(to, draw, 1'000, 1'000'000), true;
    if (name == "logn10k") return log_normal_lives(to, draw, 10'000, 1'000'000), true;
    if (name == "gpu50") return gpu(to, draw, 50, 4'000), true;
    if (name == "gpu500") return gpu(to, draw, 500, 400'000), true;
    if (name == "gpu5k") return gpu(to, draw, 5'000, 400'000), true;
    if (name == "kvblk") return key_value_blocks(to, draw, 1'000'000), true;
    if (name == "frame") return frames(to, draw), true;
    return false;
}

inline constexpr std::string_view synthetic_names[] = {"fixed64", "uni4k", "logn1k", "logn10k",
                                                       "gpu500",  "gpu5k", "kvblk",  "frame"};

}  // namespace benchmarks
