// SPDX-License-Identifier: BSL-1.0
// cuda::stream_ordered_resource: adapts an `ordered` to a stream-ordered resource of CUDA (cuda::mr, of CCCL) and of
// RMM.
//
//     using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
//     using memory_type = allot::indexed_ordered<allot::ordered<device_arena, allot::cuda::events>, std::mutex>;
//     memory_type memory{allot::cuda::events{0}, allot::cuda::device_memory{0}, 1_GiB};
//     allot::cuda::stream_ordered_resource resource{memory};              // refers to memory
//     cuda::mr::resource_ref<cuda::mr::device_accessible> any{resource};  // before 3.1: async_resource_ref
//     void* bytes = any.allocate(stream, 1000, 256);  // before 3.1: allocate_async(1000, 256, stream)
//     kernel<<<…, stream>>>(bytes);
//     any.deallocate(stream, bytes, 1000, 256);                           // does not wait for the kernel
//
// A stream reuses its own bytes at once. Another stream gets them behind a wait on the device. A stream is attached
// when it is first named (compose/indexed_ordered.hpp). Call `memory.detach(stream)` before a stream is destroyed.
//
// Functions without a stream serve the host: their bytes have no pending work, and their deallocation requires that all
// work with the bytes is done.
//
// A deallocation whose stream the runtime refuses, such as a destroyed one, leaves the block allocated. A stream that
// captures a graph cannot wait for others: allocate for a capture from a `graph_pool`.
//
// RMM 26.06 takes the resource where it takes a `device_async_resource_ref`, for example in rmm::device_buffer and in
// rmm::mr::set_current_device_resource.
//
// Failures, sizes of 0, equality, properties and the versions of CCCL are as in cuda/memory_resource.hpp.
//
// When to use: to give one memory to CUDA libraries that work on several streams.
// When not to use: where all work is on one stream. `cuda::memory_resource` over an arena does the same there.
//
// Complexity: that of `indexed_ordered`.
// Memory: one pointer.
// Thread safety: that of the `indexed_ordered`, whose lock can be std::mutex.
#pragma once

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/core/layout.hpp>

#include <memory>

#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <cuda/memory_resource>
#include <cuda/stream_ref>

namespace allot {
inline namespace v1 {
namespace cuda {

/// A stream-ordered memory resource that refers to an `indexed_ordered`.
template <class Memory>
class stream_ordered_resource {
    static_assert(
        requires(Memory& memory, cudaStream_t stream, void* address) {
            memory.allocate(layout{}, stream);
            memory.deallocate(address, stream);
        },
        "allot: a stream-ordered resource allocates and deallocates by address and stream: use "
        "indexed_ordered<ordered<Arena, cuda::events>, std::mutex>");
    static constexpr bool for_devices = Memory::dl_device == dl_device_type::cuda ||
                                        Memory::dl_device == dl_device_type::cuda_host ||
                                        Memory::dl_device == dl_device_type::cuda_managed;

public:
    /// Constructs a resource that refers to a memory.
    explicit stream_ordered_resource(Memory& memory) noexcept : memory_{std::addressof(memory)} {}

    /// Returns at least `size` bytes for work on a stream. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate(::cuda::stream_ref stream, std::size_t size,
                                 std::size_t align = alignof(std::max_align_t)) {
        return checked({served(size), align}, stream.get());
    }
    /// Deallocates bytes after the work that was submitted to a stream. Does nothing for a null pointer.
    void deallocate(::cuda::stream_ref stream, void* address, std::size_t,
                    std::size_t = alignof(std::max_align_t)) noexcept {
        if (address != nullptr) memory_->deallocate(address, stream.get());
    }
    /// Returns at least `size` bytes for any use. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate_sync(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        return checked({served(size), align});
    }
    /// Deallocates bytes. All work with them is done. Does nothing for a null pointer.
    void deallocate_sync(void* address, std::size_t, std::size_t = alignof(std::max_align_t)) noexcept {
        if (address != nullptr) memory_->deallocate(address);
    }

    /// Returns at least `size` bytes for work on a stream, for CCCL before 3.1. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate_async(std::size_t size, std::size_t align, ::cuda::stream_ref stream) {
        return allocate(stream, size, align);
    }
    /// Deallocates bytes after the work that was submitted to a stream, for CCCL before 3.1.
    void deallocate_async(void* address, std::size_t size, std::size_t align, ::cuda::stream_ref stream) noexcept {
        deallocate(stream, address, size, align);
    }
    /// Returns at least `size` bytes for any use, for CCCL before 3.1. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        return allocate_sync(size, align);
    }
    /// Deallocates bytes, for CCCL before 3.1. All work with them is done.
    void deallocate(void* address, std::size_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
        deallocate_sync(address, size, align);
    }

    /// Returns the memory.
    [[nodiscard]] Memory& memory() const noexcept { return *memory_; }

    /// Returns true if both refer to the same memory.
    friend bool operator==(const stream_ordered_resource&, const stream_ordered_resource&) = default;

    /// States that devices can access the memory.
    friend constexpr void get_property(const stream_ordered_resource&, ::cuda::mr::device_accessible) noexcept
        requires for_devices
    {}
    /// States that the host can access the memory.
    friend constexpr void get_property(const stream_ordered_resource&, ::cuda::mr::host_accessible) noexcept
        requires Memory::host_accessible
    {}

private:
    [[nodiscard]] static constexpr std::size_t served(std::size_t size) noexcept { return size == 0 ? 1 : size; }
    [[nodiscard]] void* checked(layout wanted, cudaStream_t stream) {
        const auto given = memory_->allocate(wanted, stream);
        if (!given) detail::throw_refusal(memory_->diagnose(wanted, stream));
        return given.address;
    }
    [[nodiscard]] void* checked(layout wanted) {
        const auto given = memory_->allocate(wanted);
        if (!given) detail::throw_refusal(*memory_, wanted);
        return given.address;
    }

    Memory* memory_;
};

}  // namespace cuda
}  // namespace v1
}  // namespace allot
