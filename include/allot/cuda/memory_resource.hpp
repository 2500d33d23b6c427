// SPDX-License-Identifier: BSL-1.0
// An arena, or any allocator of allot's, as a memory resource in CUDA's terms (cuda::mr, of CCCL).
//
//     using slots = allot::pool<allot::pool_options{.slot = 4096, .count = 1024, .align = 256}>;
//     allot::arena<allot::cuda::device_memory, slots> memory{allot::cuda::device_memory{0}, 4_MiB};
//     allot::cuda::memory_resource resource{memory};                                      // refers to it
//     cuda::mr::synchronous_resource_ref<cuda::mr::device_accessible> any{resource};      // to CCCL 3.0: resource_ref
//     void* bytes = any.allocate_sync(1000, 256);
//     any.deallocate_sync(bytes, 1000, 256);
//
// A resource takes back an address, a size and an alignment, and nothing more. So the allocator's blocks must not carry
// a metadata: bump and pool on any memory, best_fit in band where the host can touch the memory (pinned, managed). Others
// are refused by a sentence. Nothing is said about streams: what is given back may be given out again at once, so the
// device has to be done with it; an arena over async_memory serves work on its one stream only.
//
// The properties follow from the allocator's traits: device_accessible from `dl_device`, host_accessible from
// `host_accessible`. A refusal is thrown as allot::bad_alloc, a std::bad_alloc with the text of `diagnose`; without
// exceptions the program is aborted. A size of 0 is served as 1. Two resources are equal when they refer to the same
// allocator, which outlives them.
//
// Needs CCCL, which comes with CUDA; the CMake target allot::cuda finds it. Both generations of its interface are
// there: allocate (to 3.0) and allocate_sync (from 3.1). To 3.0 the interface hides behind a macro of CCCL's, which
// this header defines: include it before <cuda/memory_resource>, or define the macro yourself.
// Complexity and thread safety: the allocator's. Memory: none.
#pragma once

#include <allot/adapt/bad_alloc.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/core/allocator.hpp>

#include <memory>

#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <cuda/memory_resource>

namespace allot {
inline namespace v1 {
namespace cuda {

template <class Allocator>
class memory_resource {
    static_assert(allocator_requirements<Allocator>());
    static_assert(std::same_as<typename Allocator::address_model, raw_pointer>,
                  "allot: a cuda::mr resource gives pointers: use an allocator of memory that has addresses");
    static_assert(detail::is_spare_metadata<decltype(block_of<Allocator>::metadata)>,
                  "allot: a cuda::mr resource takes back an address and a size, and blocks of this allocator carry "
                  "more: use bump or pool, or best_fit with node_store::in_band where the host can touch the memory");
    static constexpr bool for_devices = Allocator::dl_device == dl_device_type::cuda ||
                                        Allocator::dl_device == dl_device_type::cuda_host ||
                                        Allocator::dl_device == dl_device_type::cuda_managed;

public:
    explicit memory_resource(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}

    /// At least `size` bytes. Throws allot::bad_alloc.
    [[nodiscard]] void* allocate_sync(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        const layout wanted{served(size), align};
        const block_of<Allocator> given = allocator_->allocate(wanted);
        if (!given) detail::throw_refusal(*allocator_, wanted);
        return given.address;
    }
    /// Takes bytes back, with the size that was asked for. A null pointer is fine.
    void deallocate_sync(void* address, std::size_t size, std::size_t = alignof(std::max_align_t)) noexcept {
        if (address != nullptr) allocator_->deallocate({address, served(size), {}});
    }

    [[nodiscard]] void* allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
        return allocate_sync(size, align);
    }
    void deallocate(void* address, std::size_t size, std::size_t align = alignof(std::max_align_t)) noexcept {
        deallocate_sync(address, size, align);
    }

    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

    friend bool operator==(const memory_resource&, const memory_resource&) = default;

    friend constexpr void get_property(const memory_resource&, ::cuda::mr::device_accessible) noexcept
        requires for_devices
    {}
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
