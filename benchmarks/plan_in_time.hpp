// SPDX-License-Identifier: BSL-1.0
// plan_in_time: rows of the planner's benchmark for two memories at scale: without copies, and with copies that run
// beside the steps.
#pragma once

#include "plan_instances.hpp"

#include <allot/plan/timed.hpp>
#include <allot/plan/validate_timed.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <stdexcept>

namespace in_time {

/// A program with accesses and durations of its steps.
struct program {
    instances::buffers of;
    std::vector<allot::plan_access> accesses{};
    std::vector<std::uint64_t> durations{};
    std::uint64_t peak = 0;  // live bytes of the fullest step

    void add(std::uint64_t size, std::initializer_list<std::int64_t> steps) {
        for (const std::int64_t step : steps) accesses.push_back({of.size(), step, step == *steps.begin()});
        of.push_back({.size = size, .live = {*steps.begin(), *(steps.end() - 1) + 1}, .align = 64});
    }
    /// Adds the durations: every eighth step takes long on average.
    void finish(std::mt19937& random) {
        std::int64_t last = 0;
        for (const allot::plan_buffer& each : of) last = std::max(last, each.live.until);
        std::vector<std::uint64_t> load(static_cast<std::size_t>(last) + 1);
        for (const allot::plan_buffer& each : of) {
            load[static_cast<std::size_t>(each.live.from)] += each.size;
            load[static_cast<std::size_t>(each.live.until)] -= each.size;
        }
        std::partial_sum(load.begin(), load.end(), load.begin());
        peak = *std::max_element(load.begin(), load.end());
        for (std::int64_t s = 0; s != last; ++s) durations.push_back(random() % 8 == 0 ? 4'000'000 : 200'000);
    }
};

/// A training step: a value is read by the next operator, and two of three values of the first half again in the
/// backward pass, which runs in the opposite order.
inline program training(std::size_t count) {
    std::mt19937 random{1};
    program made;
    const auto last = static_cast<std::int64_t>(count);
    for (std::int64_t s = 0; s != last; ++s) {
        const std::uint64_t size = 64 * (1 + random() % 4096);
        if (s < last / 2 - 1 && random() % 3 != 0) made.add(size, {s, s + 1, last - s});
        else if (random() % 4 == 0) made.add(size, {s, s + 1, s + 2 + static_cast<std::int64_t>(random() % 40)});
        else made.add(size, {s, s + 1});
    }
    made.finish(random);
    return made;
}
/// Buffers of random sizes with two or three accesses in up to 400 steps.
inline program scattered(std::size_t count) {
    std::mt19937 random{1};
    program made;
    for (std::size_t i = 0; i != count; ++i) {
        const auto from = static_cast<std::int64_t>(random() % (2 * count));
        const auto length = 2 + static_cast<std::int64_t>(random() % 400);
        const std::uint64_t size = 64 * (1 + random() % 2048);
        if (random() % 2 == 0) made.add(size, {from, from + length / 2, from + length});
        else made.add(size, {from, from + length});
    }
    made.finish(random);
    return made;
}

/// Plans a program with a fast memory of half of the fullest step's bytes.
inline void row(const char* name, const program& of) {
    const allot::plan_memory memories[] = {{.capacity = of.peak / 2, .cost = 1}, {.cost = 10}};
    const auto seconds_since = [](auto begin) {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const allot::memories_problem whole{.buffers = {.buffers = of.of}, .memories = memories};
    auto begin = std::chrono::steady_clock::now();
    const auto still = allot::plan_memories(whole);
    const double without = seconds_since(begin);
    const allot::timed_problem problem{{whole, of.accesses}, of.durations, 10, 1000};
    begin = std::chrono::steady_clock::now();
    const auto made = allot::plan_timed(problem);
    const double with = seconds_since(begin);
    if (!still || !made || allot::validate_timed(problem, *made).kind != allot::moves_violation_kind::none)
        throw std::logic_error{"the plan in time is invalid"};
    const auto ratio = [](std::uint64_t a, std::uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); };
    std::printf("| %s | %zu | %.2f s | %.3f | %llu | %.2f s | %.3f | %.3f | %zu | %llu |\n", name, of.of.size(),
                without, ratio(still->cost, still->bound), static_cast<unsigned long long>(still->effort), with,
                ratio(made->elapsed, made->bound), ratio(made->whole_elapsed, made->bound), made->copies.size(),
                static_cast<unsigned long long>(made->effort));
    std::fflush(stdout);
}

}  // namespace in_time
