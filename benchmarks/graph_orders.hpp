// SPDX-License-Identifier: BSL-1.0
// graph_orders: tables of the bytes that networks need in the given order, in a better order, and with shared bytes.
//
// The randomly wired graphs are Watts-Strogatz graphs (4 neighbors, probability 0.75), as in Xie et al., Exploring
// randomly wired neural networks for image recognition, 2019. Edges go from the smaller to the larger number.
#pragma once

#include "../examples/apps/memory_planner/graph_input.hpp"

#include <allot/plan/plan.hpp>

#include <chrono>
#include <cstdio>
#include <random>
#include <set>

namespace graph_orders {

/// Returns the peak of the valid plan of a network, and throws if the plan is invalid.
[[nodiscard]] inline std::uint64_t peak_of(const std::string& path, bool orders, bool shares) {
    planner::options chosen;
    chosen.order = orders;
    chosen.in_place = shares;
    const planner::input made = planner::graph_input(demo::text_of(path), path, chosen);
    const auto plan = allot::plan({.buffers = made.buffers, .together = made.together}).value();
    std::vector<std::uint64_t> offsets;
    for (std::size_t i = 0; i != plan.places.size(); ++i) offsets.push_back(plan.places[i].offset + made.shift[i]);
    if (const std::string mistake = made.run(offsets); !mistake.empty()) throw std::logic_error{path + ": " + mistake};
    return plan.peak;
}

/// Prints the row of a network.
inline void network_row(const std::string& path, const std::string& name) {
    const auto bytes = [&](bool orders, bool shares) {
        return static_cast<unsigned long long>(peak_of(path, orders, shares));
    };
    std::printf("| %s | %llu | %llu | %llu | %llu |\n", name.c_str(), bytes(false, false), bytes(true, false),
                bytes(false, true), bytes(true, true));
}

/// A graph whose arrays it has. Each operator adds its inputs and writes one tensor.
struct wired_graph {
    explicit wired_graph(std::uint32_t count, std::uint32_t seed) {
        std::mt19937 random{seed * 100 + count};
        std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
        for (std::uint32_t i = 0; i != count; ++i)
            for (std::uint32_t k = 1; k <= 2; ++k) {
                std::uint32_t other = (i + k) % count;
                if (random() % 4 != 0) do
                        other = static_cast<std::uint32_t>(random() % count);
                    while (other == i || edges.contains({std::min(i, other), std::max(i, other)}));
                edges.insert({std::min(i, other), std::max(i, other)});
            }
        tensors.push_back({.size = 64, .is_input = true});
        std::vector<std::vector<std::uint32_t>> users(count);
        for (const auto& [from, to] : edges) users[from].push_back(to);
        reads.resize(count + 1);
        for (std::uint32_t i = 0; i != count; ++i) {
            tensors.push_back({.size = seed % 2 != 0 ? 64 : 16 + 16 * (random() % 8)});
            for (const std::uint32_t user : users[i]) reads[user].push_back(i + 1);
            if (users[i].empty()) reads[count].push_back(i + 1);
        }
        tensors.push_back({.size = 64, .is_output = true});
        for (std::uint32_t i = 0; i <= count; ++i) {
            if (reads[i].empty()) reads[i].push_back(0);
            writes.push_back({i + 1});
        }
        for (std::uint32_t i = 0; i <= count; ++i) operators.push_back({reads[i], writes[i]});
    }
    wired_graph(const wired_graph&) = delete;
    wired_graph& operator=(const wired_graph&) = delete;

    std::vector<allot::graph_tensor> tensors;
    std::vector<std::vector<std::uint32_t>> reads, writes;
    std::vector<allot::graph_operator> operators;
};

/// Prints the row of six random graphs of one size.
inline void wired_row(std::uint32_t count) {
    double least = 1, most = 0, gap = 0, longest = 0;
    int proved = 0;
    for (std::uint32_t seed = 0; seed != 6; ++seed) {
        const wired_graph graph{count, seed};
        const auto begin = std::chrono::steady_clock::now();
        const auto made = allot::order_operators({graph.tensors, graph.operators, {}});
        longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        const double saved = 1 - static_cast<double>(made.peak) / static_cast<double>(made.given_peak);
        least = std::min(least, saved);
        most = std::max(most, saved);
        gap = std::max(gap, static_cast<double>(made.peak) / static_cast<double>(made.bound) - 1);
        proved += made.is_optimal ? 1 : 0;
    }
    std::printf("| %u | %d of 6 | %.1f %% | %.1f %% | %.1f %% | %.3f s |\n", count, proved, 100 * least, 100 * most,
                100 * gap, longest);
}

}  // namespace graph_orders
