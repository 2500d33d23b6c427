// SPDX-License-Identifier: BSL-1.0
// The memory of one device for PyTorch: blocks by address and stream, pools of captured graphs, and counters.
//
//     allocate ──► does a capture with a pool run on the stream? ──► yes: its graph_pool ──┐ regions
//                                                                └─► no: memory ◄──────────┘
//
// PyTorch names the pools. A pool ends when PyTorch has released it as often as it began, and its last block is freed.
// PyTorch does not tell on which streams a graph runs. Therefore the device is synchronized before a pool ends.
//
// Thread safety: each function holds the mutex of the device.
#pragma once

#include "allot_pytorch.h"

#include <allot/allot.hpp>
#include <allot/compose/graph_pool.hpp>
#include <allot/cuda/events.hpp>
#include <allot/cuda/virtual_memory.hpp>
#include <allot/inspect/snapshot.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace allot_pytorch {

using namespace allot::literals;

/// Returns a number of bytes from the environment, with one of the units K, M and G, or 0.
inline std::size_t bytes_from_environment(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr) return 0;
    char* unit = nullptr;
    const double number = std::strtod(text, &unit);
    const double factor = *unit == 'K'   ? 1024.0
                          : *unit == 'M' ? 1024.0 * 1024
                          : *unit == 'G' ? 1024.0 * 1024 * 1024
                                         : 1;
    return number <= 0 ? 0 : static_cast<std::size_t>(number * factor);
}

class device_state {
    static constexpr allot::growth_options in_place{.step = 2_MiB, .regions = 1}, by_regions{.step = 2_MiB};
    using arena_type =
        allot::arena<allot::cuda::virtual_memory, allot::best_fit<>, allot::growth::contiguous<in_place>>;
    static constexpr allot::ordered_options streams{.queues = 30};
    using memory_type = allot::indexed_ordered<allot::ordered<arena_type, allot::cuda::events, streams>>;
    using pool_type = allot::graph_pool<memory_type, allot::growth::geometric<by_regions>>;
    static constexpr std::size_t align = 256;

public:
    device_state(int device, double fraction)
        : device_{device},
          memory_{allot::cuda::events{device}, allot::cuda::virtual_memory{limit_of(device, fraction), device}} {
        if (const std::size_t first = bytes_from_environment("ALLOT_PYTORCH_FIRST"))
            if (const auto given = memory_.allocate({first, align})) memory_.deallocate(given.address);
    }
    device_state(const device_state&) = delete;
    device_state& operator=(const device_state&) = delete;

    void* allocate(std::size_t size, cudaStream_t stream) {
        const std::lock_guard alone{mutex_};
        void* given = try_allocate(size, stream);
        if (given == nullptr && end_unused_pools()) given = try_allocate(size, stream);
        if (given == nullptr) refuse(size, stream);
        ++counted_.allocations;
        ++counted_.blocks;
        counted_.allocated += size;
        note_peaks();
        return given;
    }
    /// Frees a block. `size` is the requested one.
    void free(void* address, std::size_t size, cudaStream_t stream) {
        const std::lock_guard alone{mutex_};
        pool_state* const in = pool_of(address);
        const bool is_freed = in != nullptr ? in->blocks.deallocate(address, stream) : free_in_memory(address, stream);
        if (!is_freed) return static_cast<void>(++counted_.unfreed);
        --counted_.blocks;
        counted_.allocated -= size;
        if (in != nullptr && --in->live == 0 && in->users == 0) end_unused_pools();
    }
    /// Returns true if the block is one of this device.
    bool used_on(void* address, cudaStream_t stream) {
        const std::lock_guard alone{mutex_};
        if (pool_state* const in = pool_of(address))
            return static_cast<void>(in->blocks.used_on(address, stream)), true;
        if (!memory_.block_at(address)) return false;
        if (!memory_.used_on(address, stream)) synchronized_.insert(address);  // too many streams
        return true;
    }
    void* base_of(void* address, std::size_t* size) {
        const std::lock_guard alone{mutex_};
        const auto held = memory_.block_containing(address);
        if (size != nullptr && held) *size = held.size;
        return held.address;
    }
    void trim() {
        const std::lock_guard alone{mutex_};
        end_unused_pools();
        if (captures_.empty()) static_cast<void>(memory_.synchronize());  // pending bytes are not unmapped
        memory_.trim();
    }

    void begin_pool(allot_pool_id id, std::function<bool(cudaStream_t)> filter) {
        const std::lock_guard alone{mutex_};
        pool_state& pool = pools_.try_emplace(id, memory_).first->second;
        ++pool.users;
        pool.blocks.begin_capture();
        captures_.push_back({id, std::move(filter)});
    }
    void end_pool(allot_pool_id id) {
        const std::lock_guard alone{mutex_};
        std::erase_if(captures_, [&](const capture& each) { return each.id == id; });
    }
    void release_pool(allot_pool_id id) {
        const std::lock_guard alone{mutex_};
        const auto known = pools_.find(id);
        if (known != pools_.end() && known->second.users != 0 && --known->second.users == 0) end_unused_pools();
    }

    allot_pytorch_statistics statistics() {
        const std::lock_guard alone{mutex_};
        allot_pytorch_statistics now = counted_;
        now.reserved = memory_.size();
        now.graph_pools = pools_.size();
        for (const auto& [id, each] : pools_) now.graph_reserved += each.blocks.size();
        return now;
    }
    void reset_peak() {
        const std::lock_guard alone{mutex_};
        counted_.allocated_peak = counted_.reserved_peak = 0;
        note_peaks();
    }
    /// The blocks of a pool stand for its regions, as far as the pool has blocks.
    allot::snapshot snapshot() {
        const std::lock_guard alone{mutex_};
        allot::snapshot now = memory_.locked(
            [&](auto& of) { return allot::take_snapshot(of.arena(), "cuda:" + std::to_string(device_)); });
        now.blocks.clear();
        now.tags = {"graph"};
        std::set<std::uint64_t> regions;
        for (const auto& [id, each] : pools_) {
            each.blocks.for_each_block([&](const void* address, std::size_t size) {
                now.blocks.push_back({allot::raw_pointer::position(address), size, 1});
                regions.insert(
                    allot::raw_pointer::position(memory_.block_containing(const_cast<void*>(address)).address));
            });
        }
        memory_.for_each_block([&](const void* address, std::size_t size) {
            const std::uint64_t at = allot::raw_pointer::position(address);
            if (!regions.contains(at)) now.blocks.push_back({at, size, 0});
        });
        std::ranges::sort(now.blocks, {}, &allot::snapshot_block::address);
        return now;
    }

private:
    struct pool_state {
        explicit pool_state(memory_type& memory) : blocks{memory} {}
        pool_type blocks;
        std::size_t users = 0, live = 0;
    };
    struct capture {
        allot_pool_id id;
        std::function<bool(cudaStream_t)> filter;
    };

    /// Returns the bytes of addresses to reserve: the limit of the memory.
    static std::size_t limit_of(int device, double fraction) {
        if (const std::size_t chosen = bytes_from_environment("ALLOT_PYTORCH_LIMIT")) return chosen;
        const auto budget = allot::cuda::device_memory{device}.budget();
        if (!budget) throw std::runtime_error{"allot: CUDA device " + std::to_string(device) + " is not available"};
        const double share = fraction > 0 && fraction < 1 ? fraction : 1;
        return static_cast<std::size_t>(static_cast<double>(budget->limit) * share);
    }
    void* try_allocate(std::size_t size, cudaStream_t stream) {
        if (captures_.empty()) return memory_.allocate({size, align}, stream).address;
        bool captures = false;
        if (allot::cuda::event_runtime::is_capturing(stream, &captures) == cudaSuccess && captures) {
            for (const capture& each : captures_) {
                if (!each.filter(stream)) continue;
                pool_state& in = pools_.at(each.id);
                void* const given = in.blocks.allocate({size, align}, stream).address;
                if (given != nullptr) ++in.live;
                return given;
            }
        }
        return memory_.allocate({size, align}, stream).address;
    }
    [[noreturn]] void refuse(std::size_t size, cudaStream_t stream) {
        ++counted_.refusals;
        const allot::diagnosis found = memory_.diagnose({size, align}, stream);
        throw std::runtime_error{"CUDA out of memory (allot). Tried to allocate " + std::to_string(size) +
                                 " bytes on device " + std::to_string(device_) + ": " + found.what() + ". Allocated: " +
                                 std::to_string(counted_.allocated) + ", held: " + std::to_string(memory_.size()) +
                                 ", largest hole: " + std::to_string(found.largest_hole) + " bytes"};
    }
    bool free_in_memory(void* address, cudaStream_t stream) {
        if (synchronized_.erase(address) == 0) return memory_.deallocate(address, stream);
        return synchronize() && memory_.deallocate(address);
    }
    pool_state* pool_of(void* address) {
        for (auto& [id, each] : pools_)
            if (each.blocks.block_at(address)) return &each;
        return nullptr;
    }
    /// Waits for all work. Returns false if the driver refuses, for example during a capture.
    static bool synchronize() {
        const bool is_done = cudaDeviceSynchronize() == cudaSuccess;
        if (!is_done) static_cast<void>(cudaGetLastError());
        return is_done;
    }
    /// Ends the pools that PyTorch has released. Returns true if there was one.
    bool end_unused_pools() {
        const auto is_unused = [](const auto& each) { return each.second.users == 0 && each.second.live == 0; };
        if (!captures_.empty() || std::ranges::none_of(pools_, is_unused) || !synchronize()) return false;
        return std::erase_if(pools_, is_unused) != 0;
    }
    void note_peaks() {
        counted_.allocated_peak = std::max(counted_.allocated_peak, counted_.allocated);
        counted_.reserved_peak = std::max<std::uint64_t>(counted_.reserved_peak, memory_.size());
    }

    std::mutex mutex_;
    int device_;
    memory_type memory_;
    std::map<allot_pool_id, pool_state> pools_;
    std::vector<capture> captures_;
    std::set<void*> synchronized_;  // blocks with more streams than `ordered` knows
    allot_pytorch_statistics counted_{};
};

}  // namespace allot_pytorch
