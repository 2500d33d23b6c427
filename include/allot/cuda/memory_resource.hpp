// SPDX-License-Identifier: BSL-1.0
// cuda::memory_resource: adapts an arena or any other allocator to a memory resource of CUDA (cuda::mr, of CCCL).
//
//     using slots = allot::pool<allot::pool_options{.slot = 4096, .count = 1024, .align = 256}>;
//     allot::arena<allot::cuda::device_memory, slots> memory{allot::cuda::device_memory{0}, 4_MiB};
//     allot::cuda::memory_resource resource{memory};                                      // refers to memory
//     cuda::mr::synchronous_resource_ref<cuda::mr::device_accessible> any{resource};      // before 3.1: resource_ref
//     void* bytes = any.allocate_sync(1000, 256);
//     any.deallocate_sync(bytes, 1000, 256);
//
// The interface passes an address, a size and an alignment to the deallocation. The blocks of the allocator must
// therefore have no metadata. That holds for bump and pool in any memory, and for best_fit in band in memory that the
// host can access (pinned, managed). Any other allocator of pointers works inside `indexed`, which finds a block by its
// address (compose/indexed.hpp):
//
//     using device_arena = allot::arena<allot::cuda::device_memory, allot::best_fit<>>;
//     allot::indexed memory{device_arena{allot::cuda::device_memory{0}, 1_GiB}};
//     allot::cuda::memory_resource resource{memory};
//
// The interface does not pass a stream. Deallocated memory can be reused immediately, so deallocate only after the
// device has finished with the memory. An arena over async_memory serves work on its own stream only.
//
// The properties follow from the traits of the allocator: device_accessible from `dl_device`, and host_accessible from
// `host_accessible`. A failure throws allot::bad_alloc, a std::bad_alloc with the text of `diagnose`. If exceptions
// are disabled, the program is aborted. A size of 0 is treated as 1. Two resources are equal if they refer to the same
// allocator, which must outlive them.
//
// This header needs CCCL, which is part of CUDA. The CMake target allot::cuda finds it. Both generations of the
// interface are supported: `allocate` (before CCCL 3.1) and `allocate_sync` (since 3.1). Before 3.1, a macro of CCCL
// enables the interface. This header defines that macro. Include it before <cuda/memory_resource>, or define the macro
// yourself.
//
// When to use: to pass an arena to CUDA libraries that take a cuda::mr resource.
// When not to use: for allocations that are ordered by several streams.
//
// Complexity: that of the allocator.
// Memory: one pointer.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/misuse.hpp>
#include <allot/core/allocator.hpp>

#include <memory>

#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <cuda/memory_resource>

namespace allot {
inline namespace v1 {
namespace cuda {

/// A memory resource that refers to an allocator.
template <class Allocator>
class memory_resource {
    static_assert(allocator_requirements<Allocator>());
    static_assert(std::same_as<typename Allocator::address_model, raw_pointer>,
                  "allot: a cuda::mr resource returns pointers: use an allocator of memory that has addresses");
    static_assert(detail::is_spare_metadata<decltype(block_of<Allocator>::metadata)>,
                  "allot: a cuda::mr resource deallocates by address and size, but blocks of this allocator have "
                  "metadata: use indexed<Allocator>");
    static constexpr bool for_devices = Allocator::dl_device == dl_device_type::cuda ||
                                        Allocator::dl_device == dl_device_type::cuda_host ||
                                        Allocator::dl_device == dl_device_type::cuda_managed;

public:
    /// Constructs a resource that refers to an allocator.
    explicit memory_resource(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}

    /// Returns at least `size` bytes. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate_sync(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        const layout wanted{served(size), align};
        const block_of<Allocator> given = allocator_->allocate(wanted);
        if (!given) detail::throw_refusal(*allocator_, wanted);
        return given.address;
    }
    /// Deallocates bytes, given the requested size. Does nothing for a null pointer.
    void deallocate_sync(void* address, std::size_t size, std::size_t = alignof(std::max_align_t)) noexcept {
        if (address != nullptr) allocator_->deallocate({address, served(size), {}});
    }

    /// Returns at least `size` bytes, for CCCL before 3.1. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        return allocate_sync(size, align);
    }
    /// Deallocates bytes, for CCCL before 3.1. Does nothing for a null pointer.
    void deallocate(void* address, std::size_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
        deallocate_sync(address, size, align);
    }

    /// Returns the allocator.
    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

    /// Returns true if both refer to the same allocator.
    friend bool operator==(const memory_resource&, const memory_resource&) = default;

    /// States that devices can access the memory.
    friend constexpr void get_property(const memory_resource&, ::cuda::mr::device_accessible) noexcept
        requires for_devices
    {}
    /// States that the host can access the memory.
    friend constexpr void get_property(const memory_resource&, ::cuda::mr::host_accessible) noexcept
        requires Allocator::host_accessible
    {}

private:
    [[nodiscard]] static constexpr std::size_t served(std::size_t size) noexcept { return size == 0 ? 1 : size; }

    Allocator* allocator_;
};

}  // namespace cuda
}  // namespace v1
}  // namespace allot
