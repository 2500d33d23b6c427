// SPDX-License-Identifier: BSL-1.0
// allot_ggml::graph_allocator: a planned allocator for graphs of ggml, in place of ggml_gallocr.
//
//     allot_ggml::graph_allocator memory{ggml_backend_cpu_buffer_type()};
//     if (auto why = memory.reserve(*build(max_batch)); why != allot_ggml::refusal::none) report(to_string(why));
//     ggml_cgraph* graph = build(batch);
//     if (auto why = memory.allocate(*graph); …) …          // no new plan: each tensor is at most as large
//     ggml_backend_graph_compute(backend, graph);
//
//     graph ──► graph_tensors ──► allot::plan ──► offsets ──► one buffer of the type ──► data of each tensor
//                     │                                │
//                     └── same lifetimes as reserved? ─┘ keeps the offsets
//
// A plan serves each graph with the same lifetimes, with tensors of at most the reserved sizes, if its nodes may
// overwrite the same sources. Another graph gets a plan of its own, and a larger buffer if it needs one: tensors of
// earlier graphs then point into a freed buffer, and those graphs must be built again. Eight plans are kept, for
// example of prompts and of single tokens. If a plan exceeds the maximum size of the buffer type, it has several
// buffers.
//
// When to use: to run graphs of ggml in fewer bytes, with a lower bound that shows how many bytes any plan needs.
// When not to use: with ggml_backend_sched, which creates its own ggml_gallocr. allot_gallocr.cpp replaces it.
//
// The buffer types must outlive the allocator, and the allocator must outlive the use of the tensors.
//
// Complexity: O(nodes) for a graph that the plan serves; otherwise that of `allot::plan` with `effort`.
// Memory: the buffers; about 300 bytes of the heap for each tensor, and the workspace of the planner while it plans.
// Thread safety: none.
#pragma once

#include "graph_tensors.hpp"

#include <allot/plan.hpp>

#include <algorithm>
#include <memory>
#include <new>

namespace allot_ggml {

/// Plans graphs, owns their buffers, and sets the data of their tensors.
class graph_allocator {
public:
    /// Options of the planner. The default effort takes some milliseconds for a graph of 1000 nodes.
    static constexpr allot::plan_options quick{.effort = 20'000};

    /// Allocates in one buffer type.
    explicit graph_allocator(ggml_backend_buffer_type_t type, const allot::plan_options& options = quick)
        : graph_allocator{std::span{&type, 1}, options} {}
    /// Allocates in several buffer types. The arguments of `reserve` refer to them by their numbers.
    explicit graph_allocator(std::span<const ggml_backend_buffer_type_t> types,
                             const allot::plan_options& options = quick)
        : types_{types.begin(), types.end()}, options_{options}, pools_(types.size()) {}

    /// Plans a graph, and allocates buffers if those of earlier graphs are too small. Does not change the graph.
    [[nodiscard]] refusal reserve(const ggml_cgraph& graph, const graph_types& chosen = {}) noexcept {
        return guarded([&] { return reserve_for(graph, chosen, true); });
    }
    /// Plans a graph, and allocates nothing: `size` returns the bytes that `reserve` would allocate.
    /// Releases all buffers.
    [[nodiscard]] refusal measure(const ggml_cgraph& graph, const graph_types& chosen = {}) noexcept {
        return guarded([&] { return reserve_for(graph, chosen, false); });
    }
    /// Sets the data of all tensors of a graph that have no data yet. Plans the graph if no plan serves it; with
    /// several buffer types it fails with `other_graph` instead.
    [[nodiscard]] refusal allocate(const ggml_cgraph& graph) noexcept {
        return guarded([&] { return allocate_for(graph); });
    }

    /// Returns the number of buffer types.
    [[nodiscard]] std::size_t types() const noexcept { return types_.size(); }
    /// Returns the bytes of the buffers of a type: the number of a type that was passed before has 0.
    [[nodiscard]] std::size_t size(std::size_t type = 0) const noexcept {
        std::size_t sum = 0;
        for (const chunk& each : pools_[type].chunks) sum += each.size;
        return sum;
    }
    /// Returns the properties of the last plan for a type: its bytes, its lower bound, and its status.
    [[nodiscard]] const allot::plan_summary& summary(std::size_t type = 0) const noexcept {
        return pools_[type].summary;
    }
    /// Returns the number of plans that were made.
    [[nodiscard]] std::size_t plans() const noexcept { return made_; }

private:
    static constexpr std::size_t max_chunks = 16, max_plans = 8;
    struct freer {
        void operator()(ggml_backend_buffer* buffer) const noexcept { ggml_backend_buffer_free(buffer); }
    };
    struct chunk {
        std::size_t size = 0;
        std::unique_ptr<ggml_backend_buffer, freer> buffer;
    };
    struct pool {  // of one buffer type
        std::vector<chunk> chunks;
        allot::plan_summary summary;
    };
    struct place {
        std::size_t pool = 0, chunk = 0;
        std::uint64_t offset = 0;
    };
    struct saved_plan {
        std::vector<allot::plan_buffer> buffers;
        std::vector<allot::plan_pair> in_place;
        std::vector<place> places;
    };

    template <class Call>
    [[nodiscard]] refusal guarded(Call call) noexcept {
        try {
            return call();
        } catch (const std::exception&) {  // of a vector: no memory, or too long
            plans_.clear();
            return refusal::no_memory;
        }
    }

    /// Returns the number of the first type that is equal to the given one.
    [[nodiscard]] std::size_t pool_of(int type) const noexcept {
        const auto found = std::find(types_.begin(), types_.end(), types_[static_cast<std::size_t>(type)]);
        return static_cast<std::size_t>(found - types_.begin());
    }

    /// Returns whether there is a number for each node and each leaf, or none for all.
    [[nodiscard]] static bool are_complete(const graph_types& chosen, const ggml_cgraph& graph) noexcept {
        return (chosen.nodes.empty() || chosen.nodes.size() == static_cast<std::size_t>(graph.n_nodes)) &&
               (chosen.leafs.empty() || chosen.leafs.size() == static_cast<std::size_t>(graph.n_leafs));
    }

    [[nodiscard]] refusal reserve_for(const ggml_cgraph& graph, const graph_types& chosen, bool allocates) {
        if (!are_complete(chosen, graph)) return refusal::other_graph;
        graph_tensors found;
        if (const refusal reason = found.read(graph, types_, chosen); reason != refusal::none) return reason;
        node_types_.assign(chosen.nodes.begin(), chosen.nodes.end());
        leaf_types_.assign(chosen.leafs.begin(), chosen.leafs.end());
        return plan(found, allocates);
    }

    [[nodiscard]] refusal allocate_for(const ggml_cgraph& graph) {
        graph_types chosen;
        const bool is_one_type = types_.size() == 1;
        if (!is_one_type) chosen = {node_types_, leaf_types_};
        if (!are_complete(chosen, graph)) return refusal::other_graph;
        graph_tensors found;
        if (const refusal reason = found.read(graph, types_, chosen); reason != refusal::none) return reason;
        if (!found.owners.empty()) {
            const auto known =
                std::find_if(plans_.begin(), plans_.end(), [&](auto& each) { return serves(each, found); });
            if (known != plans_.end()) std::rotate(plans_.begin(), known, known + 1);
            else if (!is_one_type) return refusal::other_graph;
            else if (const refusal reason = plan(found, true); reason != refusal::none) return reason;
        }
        return set_data(found);
    }

    /// Returns whether a plan is valid for a graph.
    [[nodiscard]] bool serves(const saved_plan& plan, const graph_tensors& found) const noexcept {
        if (found.buffers.size() != plan.buffers.size()) return false;
        for (std::size_t i = 0; i != plan.buffers.size(); ++i)
            if (pool_of(found.owners[i].type) != plan.places[i].pool || found.buffers[i].size > plan.buffers[i].size ||
                found.buffers[i].live != plan.buffers[i].live)
                return false;
        return std::all_of(plan.in_place.begin(), plan.in_place.end(),
                           [&](const allot::plan_pair& pair) { return found.may_overwrite(pair.second, pair.first); });
    }

    /// Plans a graph. The plan becomes the first one.
    [[nodiscard]] refusal plan(const graph_tensors& found, bool allocates) {
        saved_plan fresh{found.buffers, found.in_place, std::vector<place>(found.owners.size())};
        for (std::size_t i = 0; i != fresh.places.size(); ++i) fresh.places[i].pool = pool_of(found.owners[i].type);
        if (!allocates) plans_.clear();  // they need the buffers
        for (std::size_t p = 0; p != pools_.size(); ++p) {
            if (!allocates) pools_[p].chunks.clear();
            if (pool_of(static_cast<int>(p)) != p) continue;
            std::vector<std::uint64_t> sizes;
            if (const refusal reason = plan_pool(p, fresh, sizes); reason != refusal::none) return reason;
            if (const refusal reason = enlarge(p, sizes, allocates); reason != refusal::none) {
                plans_.clear();  // a buffer is gone
                return reason;
            }
        }
        ++made_;
        if (!allocates) return refusal::none;
        if (plans_.size() == max_plans) plans_.pop_back();
        plans_.insert(plans_.begin(), std::move(fresh));
        return refusal::none;
    }

    /// Plans the tensors of one buffer type. Writes their places, and the size of each buffer.
    [[nodiscard]] refusal plan_pool(std::size_t p, saved_plan& fresh, std::vector<std::uint64_t>& sizes) {
        std::vector<place>& places = fresh.places;
        std::vector<std::size_t> members, index(places.size());
        std::vector<allot::plan_buffer> buffers;
        std::vector<allot::plan_pair> pairs;
        std::uint64_t largest = ggml_backend_buft_get_max_size(types_[p]);
        for (std::size_t i = 0; i != places.size(); ++i) {
            if (places[i].pool != p) continue;
            index[i] = members.size();
            members.push_back(i);
            buffers.push_back(fresh.buffers[i]);
            largest = std::max(largest, fresh.buffers[i].size);
        }
        for (const allot::plan_pair& pair : fresh.in_place)
            if (places[pair.second].pool == p) pairs.push_back({index[pair.first], index[pair.second]});
        const allot::plan_problem problem{.buffers = buffers, .together = pairs};

        allot::plan_options options = options_;
        if (pools_[p].chunks.size() == 1) options.capacity = pools_[p].chunks[0].size;  // stays if the plan fits
        const auto made = allot::plan(problem, options);
        if (!made) return refusal::too_large;
        pools_[p].summary = *made;
        pools_[p].summary.status =
            made->peak == made->bound ? allot::plan_status::optimal : allot::plan_status::feasible;
        if (made->peak > largest) return split(problem, members, places, largest, sizes);
        for (std::size_t i = 0; i != members.size(); ++i) places[members[i]].offset = made->places[i].offset;
        if (!members.empty()) sizes = {made->peak};
        return refusal::none;
    }

    /// Plans several buffers of at most `capacity` bytes.
    [[nodiscard]] refusal split(const allot::plan_problem& problem, std::span<const std::size_t> members,
                                std::span<place> places, std::uint64_t capacity, std::vector<std::uint64_t>& sizes) {
        allot::plan_memory memories[max_chunks];
        for (std::size_t m = 0; m != max_chunks; ++m) memories[m] = {.capacity = capacity, .cost = m};
        const auto made = allot::plan_memories({.buffers = problem, .memories = memories}, {.effort = options_.effort});
        if (!made || made->unplaced != 0) return refusal::too_large;
        for (std::size_t i = 0; i != members.size(); ++i) {
            places[members[i]].chunk = made->places[i].memory;
            places[members[i]].offset = made->places[i].offset;
        }
        for (const allot::memory_needs& need : made->needs) sizes.push_back(need.peak);
        while (sizes.back() == 0) sizes.pop_back();
        return refusal::none;
    }

    /// Replaces the buffers that are too small.
    [[nodiscard]] refusal enlarge(std::size_t p, std::span<const std::uint64_t> sizes, bool allocates) {
        std::vector<chunk>& chunks = pools_[p].chunks;
        if (chunks.size() < sizes.size()) chunks.resize(sizes.size());
        for (std::size_t c = 0; c != sizes.size(); ++c) {
            chunk& each = chunks[c];
            if (each.buffer && each.size >= sizes[c]) continue;
            each = {};
            if (allocates) {
                each.buffer.reset(ggml_backend_buft_alloc_buffer(types_[p], sizes[c]));
                if (!each.buffer) return refusal::no_memory;
                ggml_backend_buffer_set_usage(each.buffer.get(), GGML_BACKEND_BUFFER_USAGE_COMPUTE);
            }
            each.size = sizes[c];
        }
        return refusal::none;
    }

    [[nodiscard]] refusal set_data(const graph_tensors& found) {
        for (const pool& each : pools_)
            for (const chunk& part : each.chunks)
                if (part.buffer) ggml_backend_buffer_reset(part.buffer.get());
        for (std::size_t i = 0; i != found.owners.size(); ++i) {
            const std::vector<place>& places = plans_.front().places;
            ggml_backend_buffer_t buffer = pools_[places[i].pool].chunks[places[i].chunk].buffer.get();
            const auto base = static_cast<std::byte*>(ggml_backend_buffer_get_base(buffer));
            if (ggml_backend_tensor_alloc(buffer, found.owners[i].tensor, base + places[i].offset) !=
                GGML_STATUS_SUCCESS)
                return refusal::not_initialized;
        }
        for (ggml_tensor* view : found.views)
            if (view->buffer == nullptr && view->view_src->buffer != nullptr &&
                ggml_backend_view_init(view) != GGML_STATUS_SUCCESS)
                return refusal::not_initialized;
        return refusal::none;
    }

    std::vector<ggml_backend_buffer_type_t> types_;
    allot::plan_options options_;
    std::vector<pool> pools_;                   // of each type; equal types use the pool of the first
    std::vector<int> node_types_, leaf_types_;  // of the reserved graph
    std::vector<saved_plan> plans_;             // the last one that was used is the first
    std::size_t made_ = 0;
};

}  // namespace allot_ggml
