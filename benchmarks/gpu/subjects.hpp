// SPDX-License-Identifier: BSL-1.0
// The allocators that gpu_benchmark compares. Each has these members:
//
//     name                              a text for the table
//     streams                           whether several streams can share the allocator
//     block                             the type of a block; convertible to bool
//     allocate(bytes, stream)           returns a block for work on the stream
//     free(block, bytes, stream)        frees it on that stream
//     free(block, bytes, stream, user)  the same for a block that work on a second stream has used; if `streams`
//     address(block)
//     reserved()                        the most bytes that were held from the driver; 0: not known
#pragma once

#include "peer.h"

#include <allot/allot.hpp>
#include <allot/compose/indexed_ordered.hpp>
#include <allot/cuda/events.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/virtual_memory.hpp>

#include <dlfcn.h>

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace benchmarks {

/// The alignment of all blocks: that of cudaMalloc.
inline constexpr std::size_t gpu_align = 256;

struct cuda_malloc {
    static constexpr const char* name = "cudaMalloc";
    static constexpr bool streams = false;
    using block = void*;
    explicit cuda_malloc(std::size_t) {}
    block allocate(std::size_t bytes, cudaStream_t) {
        void* given = nullptr;
        return cudaMalloc(&given, bytes) == cudaSuccess ? given : nullptr;
    }
    void free(block held, std::size_t, cudaStream_t) { static_cast<void>(cudaFree(held)); }
    static void* address(block held) { return held; }
    std::size_t reserved() { return 0; }
};

/// An event with which one stream waits for another one, for allocators that free on a single stream.
class wait_for_user {
public:
    wait_for_user() {
        if (cudaEventCreateWithFlags(&event_, cudaEventDisableTiming) != cudaSuccess)
            throw std::runtime_error{"an event cannot be created"};
    }
    wait_for_user(const wait_for_user&) = delete;
    wait_for_user& operator=(const wait_for_user&) = delete;
    ~wait_for_user() { static_cast<void>(cudaEventDestroy(event_)); }
    /// Makes later work of `order` start after all work of `user`.
    void operator()(cudaStream_t order, cudaStream_t user) const {
        static_cast<void>(cudaEventRecord(event_, user));
        static_cast<void>(cudaStreamWaitEvent(order, event_, 0));
    }

private:
    cudaEvent_t event_ = nullptr;
};

/// The default pool of the device, which keeps all freed memory.
class cuda_malloc_async {
public:
    static constexpr const char* name = "cudaMallocAsync";
    static constexpr bool streams = true;
    using block = void*;
    explicit cuda_malloc_async(std::size_t) {
        int device = 0;
        std::uint64_t all = UINT64_MAX, none = 0;
        if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetDefaultMemPool(&pool_, device) != cudaSuccess ||
            cudaMemPoolTrimTo(pool_, 0) != cudaSuccess ||
            cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &none) != cudaSuccess ||
            cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all) != cudaSuccess)
            throw std::runtime_error{"the device has no default memory pool"};
    }
    cuda_malloc_async(const cuda_malloc_async&) = delete;
    cuda_malloc_async& operator=(const cuda_malloc_async&) = delete;
    ~cuda_malloc_async() { static_cast<void>(cudaMemPoolTrimTo(pool_, 0)); }
    block allocate(std::size_t bytes, cudaStream_t order) {
        void* given = nullptr;
        return cudaMallocAsync(&given, bytes, order) == cudaSuccess ? given : nullptr;
    }
    void free(block held, std::size_t, cudaStream_t order) { static_cast<void>(cudaFreeAsync(held, order)); }
    void free(block held, std::size_t bytes, cudaStream_t order, cudaStream_t user) {
        wait_(order, user);
        free(held, bytes, order);
    }
    static void* address(block held) { return held; }
    std::size_t reserved() {
        std::uint64_t high = 0;
        static_cast<void>(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &high));
        return static_cast<std::size_t>(high);
    }

private:
    cudaMemPool_t pool_ = nullptr;
    wait_for_user wait_;
};

/// One region of the size that the caller expects, and no growth.
struct allot_arena {
    static constexpr const char* name = "allot: arena<cuda::device_memory, best_fit>";
    static constexpr bool streams = false;
    using arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
    using block = arena::block_type;
    explicit allot_arena(std::size_t bytes) : memory{allot::cuda::device_memory{0}, bytes} {}
    block allocate(std::size_t bytes, cudaStream_t) { return memory.allocate({bytes, gpu_align}); }
    void free(const block& held, std::size_t, cudaStream_t) { memory.deallocate(held); }
    static void* address(const block& held) { return held.address; }
    std::size_t reserved() { return 0; }
    arena memory;
};

/// A range of addresses that grows in place as blocks need it.
struct allot_growing {
    static constexpr const char* name = "allot: the same, growing in cuda::virtual_memory";
    static constexpr bool streams = false;
    using arena =
        allot::arena<allot::cuda::virtual_memory, allot::best_fit<>,
                     allot::growth::contiguous<allot::growth_options{.step = std::size_t{2} << 20, .regions = 1}>>;
    using block = arena::block_type;
    explicit allot_growing(std::size_t bytes) : memory{allot::cuda::virtual_memory{bytes}} {}
    block allocate(std::size_t bytes, cudaStream_t) { return memory.allocate({bytes, gpu_align}); }
    void free(const block& held, std::size_t, cudaStream_t) { memory.deallocate(held); }
    static void* address(const block& held) { return held.address; }
    std::size_t reserved() { return memory.size(); }
    arena memory;
};

/// Frees by address alone, as the interfaces of PyTorch and RMM do.
struct allot_indexed {
    static constexpr const char* name = "allot: indexed<the growing arena>, free by address";
    static constexpr bool streams = false;
    using block = void*;
    explicit allot_indexed(std::size_t bytes) : memory{allot_growing::arena{allot::cuda::virtual_memory{bytes}}} {}
    block allocate(std::size_t bytes, cudaStream_t) { return memory.allocate({bytes, gpu_align}).address; }
    void free(block held, std::size_t, cudaStream_t) { memory.deallocate(held); }
    static void* address(block held) { return held; }
    std::size_t reserved() { return memory.size(); }
    allot::indexed<allot_growing::arena> memory;
};

/// An arena in the order of streams.
template <class Arena>
class allot_ordered {
public:
    static constexpr bool streams = true;
    static constexpr const char* name = std::is_same_v<Arena, allot_arena::arena>
                                            ? "allot: ordered<arena<cuda::device_memory, best_fit>, cuda::events>"
                                            : "allot: ordered, growing in cuda::virtual_memory";
    using memory_type = allot::ordered<Arena, allot::cuda::events>;
    using block = typename memory_type::block_type;
    explicit allot_ordered(std::size_t bytes)
        requires std::is_same_v<Arena, allot_arena::arena>
        : memory_{allot::cuda::events{0}, allot::cuda::device_memory{0}, bytes} {}
    explicit allot_ordered(std::size_t bytes) : memory_{allot::cuda::events{0}, allot::cuda::virtual_memory{bytes}} {}
    block allocate(std::size_t bytes, cudaStream_t order) {
        return memory_.allocate({bytes, gpu_align}, queue_of(order));
    }
    void free(const block& held, std::size_t, cudaStream_t order) { memory_.deallocate(held, queue_of(order)); }
    void free(const block& held, std::size_t, cudaStream_t order, cudaStream_t user) {
        memory_.deallocate(held, {queue_of(order), queue_of(user)});
    }
    static void* address(const block& held) { return held.address; }
    std::size_t reserved() { return std::is_same_v<Arena, allot_arena::arena> ? 0 : memory_.size(); }

private:
    allot::queue_id queue_of(cudaStream_t order) {
        for (unsigned i = 0; i != known_; ++i)
            if (queues_[i] == order) return {i};
        queues_[known_++] = order;
        return memory_.attach(order);
    }

    memory_type memory_;
    cudaStream_t queues_[8] = {};
    unsigned known_ = 0;
};

/// The interface of PyTorch's and RMM's allocators: by address and stream, and with a lock.
class allot_by_address {
public:
    static constexpr bool streams = true;
    static constexpr const char* name = "allot: indexed_ordered, growing, std::mutex";
    using block = void*;
    explicit allot_by_address(std::size_t bytes)
        : memory_{allot::cuda::events{0}, allot::cuda::virtual_memory{bytes}} {}
    block allocate(std::size_t bytes, cudaStream_t order) {
        return memory_.allocate({bytes, gpu_align}, order).address;
    }
    void free(block held, std::size_t, cudaStream_t order) { static_cast<void>(memory_.deallocate(held, order)); }
    void free(block held, std::size_t bytes, cudaStream_t order, cudaStream_t user) {
        static_cast<void>(memory_.used_on(held, user));
        free(held, bytes, order);
    }
    static void* address(block held) { return held; }
    std::size_t reserved() { return memory_.size(); }

private:
    allot::indexed_ordered<allot::ordered<allot_growing::arena, allot::cuda::events>, std::mutex> memory_;
};

/// The functions of a shared object (peer.h).
class peer_library {
public:
    explicit peer_library(const std::string& path) : library_{::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)} {
        if (library_ == nullptr) throw std::runtime_error{::dlerror()};
    }
    template <class Function>
    [[nodiscard]] Function* find(const char* name, Function*) const {
        void* const found = ::dlsym(library_, name);
        if (found == nullptr) throw std::runtime_error{std::string{name} + " is missing"};
        return reinterpret_cast<Function*>(found);
    }

private:
    void* library_;  // stays open: its threads and caches live as long as the process
};

/// An allocator of another project.
class peer {
public:
    static constexpr bool streams = true;
    using block = void*;
    explicit peer(const peer_library& from)
        : name{from.find("peer_name", &::peer_name)()},
          allocate_{from.find("peer_allocate", &::peer_allocate)},
          free_{from.find("peer_free", &::peer_free)},
          used_on_{from.find("peer_used_on", &::peer_used_on)},
          reserved_{from.find("peer_reserved", &::peer_reserved)} {
        from.find("peer_reset", &::peer_reset)();
    }
    block allocate(std::size_t bytes, cudaStream_t order) { return allocate_(bytes, order); }
    void free(block held, std::size_t bytes, cudaStream_t order) { free_(held, bytes, order); }
    void free(block held, std::size_t bytes, cudaStream_t order, cudaStream_t user) {
        if (!used_on_(held, user)) wait_(order, user);
        free_(held, bytes, order);
    }
    static void* address(block held) { return held; }
    std::size_t reserved() { return reserved_(); }

    const char* name;

private:
    decltype(&::peer_allocate) allocate_;
    decltype(&::peer_free) free_;
    decltype(&::peer_used_on) used_on_;
    decltype(&::peer_reserved) reserved_;
    wait_for_user wait_;
};

}  // namespace benchmarks
