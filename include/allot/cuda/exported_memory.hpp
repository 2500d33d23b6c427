// SPDX-License-Identifier: BSL-1.0
// cuda::exported_memory: CUDA device memory whose regions Vulkan, OpenCL or network cards can import (Linux).
//
//     using exported = allot::cuda::exported_memory<allot::external::handle_kind::opaque_fd>;
//     allot::arena<exported, allot::best_fit<>> memory{{}, 64_MiB};
//     auto shared = memory.device().export_memory(memory.regions()[0]);           // for vulkan::imported_memory
//
//     cuMemCreate ──► one mapping for each region ──► cuMemExportToShareableHandle   (opaque_fd)
//                                                 └─► cuMemGetHandleForAddressRange  (dma_buf)
//
// When to use: for results of kernels that another driver reads in place. `opaque_fd` is for Vulkan on the same GPU,
// `dma_buf` for other devices, such as network cards.
// When not to use: for memory of CUDA alone: cuda/memory.hpp. For memory that grows in place: cuda/virtual_memory.hpp.
//
// The code relies on these rules of the driver (CUDA driver API reference, "Virtual Memory Management"; the comments of
// <cuda.h> say the same):
//   - Memory is exported as an opaque descriptor only if CUmemAllocationProp::requestedHandleTypes names that kind, and
//     CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED is set.
//   - A DMA buffer has whole host pages of a range that is mapped completely, and
//     CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED is set (CUDA 11.7 or later, with the open kernel modules).
//   - Each export returns a new descriptor, which the program owns. The memory lives until it is unmapped and released,
//     and all descriptors and imports are gone.
//   - Vulkan chooses the memory type of CUDA's memory: VUID-VkMemoryAllocateInfo-allocationSize-01742 concerns memory
//     of Vulkan only. The GPU is the one with the same deviceUUID.
// cuda/virtual_memory.hpp lists the rules of mappings and contexts. libcuda.so.1 is opened at run time.
//
// Complexity: four driver calls for a region. `release` waits for the device.
// Memory: 24 bytes for each of `Regions`, inside the object; the unused end of a region's last granule of 2 MiB.
// Thread safety: none for one object.
#pragma once

#include <allot/cuda/virtual_memory.hpp>
#include <allot/external/crossing.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace cuda {

/// The driver's functions for exports, in addition to those of `driver_functions`.
struct exporting_functions : driver_functions {
    /// Looks up the functions.
    exporting_functions() noexcept {
        if (error == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED) return;
        find(::dlopen("libcuda.so.1", RTLD_NOW), "cuMemExportToShareableHandle", export_handle);
        find(::dlopen("libcuda.so.1", RTLD_NOW), "cuMemGetHandleForAddressRange", export_range);
        find(::dlopen("libcuda.so.1", RTLD_NOW), "cuDeviceGetUuid_v2", get_uuid);
    }

    PFN_cuMemExportToShareableHandle_v10020 export_handle = nullptr;  ///< `cuMemExportToShareableHandle`
    PFN_cuMemGetHandleForAddressRange_v11070 export_range = nullptr;  ///< `cuMemGetHandleForAddressRange`
    PFN_cuDeviceGetUuid_v11040 get_uuid = nullptr;                    ///< `cuDeviceGetUuid_v2`
};

/// Device memory whose regions other drivers can import, at most `Regions` of them at a time.
template <external::handle_kind Kind, std::size_t Regions = 16>
class exported_memory : public traits_of<virtual_memory> {
    static_assert(Regions > 0, "allot: set Regions to 1 or more: the device holds at least one region");
    static constexpr bool as_dma_buffer = Kind == external::handle_kind::dma_buf;

public:
    using error = CUresult;  ///< The driver's error codes.
    /// The kind of handle that `export_memory` returns.
    static constexpr external::handle_kinds exports = external::handle_kinds::of(Kind);

    /// Allocates on the GPU with this ordinal.
    explicit exported_memory(int device = 0) noexcept : device_{device} {}
    /// Moves the device with its regions.
    exported_memory(exported_memory&& other) noexcept : driver_{other.driver_}, device_{other.device_} {
        std::swap(entries_, other.entries_);
    }
    exported_memory& operator=(exported_memory&&) = delete;

    /// Allocates and maps memory. The bytes are not initialized. Fails with CUDA_ERROR_INVALID_VALUE (1) for an invalid
    /// layout, if the device holds `Regions` regions, or for an unsuitable granularity of the driver;
    /// CUDA_ERROR_NOT_SUPPORTED (801) if the GPU does not export this kind; CUDA_ERROR_MISALIGNED_ADDRESS (716);
    /// CUDA_ERROR_OUT_OF_MEMORY (2); otherwise like `virtual_memory`.
    [[nodiscard]] acquired<exported_memory> acquire(layout wanted) noexcept {
        entry* const free = find({});
        if (!wanted.is_valid() || free == nullptr) return refused(CUDA_ERROR_INVALID_VALUE);
        if (!checked_align_up(wanted.size, granularity, wanted.size)) return refused(CUDA_ERROR_OUT_OF_MEMORY);
        if (wanted.align < min_align) wanted.align = min_align;
        current_context there{driver_, device_};
        if (there.error() != CUDA_SUCCESS) return refused(there.error());
        CUmemAllocationProp memory{};
        memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        memory.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        memory.location.id = there.device();
        if (!as_dma_buffer) memory.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        CUresult status = check_support(there.device(), memory);
        entry fresh{0, wanted.size, 0};
        if (status == CUDA_SUCCESS) status = driver_.create(&fresh.handle, fresh.size, &memory, 0);
        if (status != CUDA_SUCCESS) return refused(status);
        status = map(fresh, wanted.align, memory.location);
        if (status != CUDA_SUCCESS) {
            static_cast<void>(driver_.release(fresh.handle));
            return refused(status);
        }
        there.keep();
        *free = fresh;
        return region<void*>{reinterpret_cast<void*>(static_cast<std::uintptr_t>(fresh.base)), fresh.size,
                             wanted.align};
    }
    /// Waits for the device and frees the region.
    void release(region<void*> held) noexcept {
        entry* const found = find(raw_pointer::position(held.base));
        if (found == nullptr) return;
        const entry gone = std::exchange(*found, {});
        const current_context there{driver_, device_};
        const bool is_current = there.error() == CUDA_SUCCESS;
        if (is_current) static_cast<void>(driver_.synchronize());
        static_cast<void>(driver_.unmap(gone.base, gone.size));
        static_cast<void>(driver_.free_range(gone.base, gone.size));
        static_cast<void>(driver_.release(gone.handle));
        if (is_current) static_cast<void>(driver_.release_context(there.device()));  // retained by `acquire`
    }

    /// Returns the memory of a region for another driver, with a new descriptor. Fails with CUDA_ERROR_INVALID_VALUE
    /// (1) for a region that the device does not hold, otherwise with the driver's code.
    [[nodiscard]] result<external::memory, CUresult> export_memory(region<void*> held) const noexcept {
        using answer = result<external::memory, CUresult>;
        const entry* const found = find(raw_pointer::position(held.base));
        if (held.base == nullptr || found == nullptr) return answer::failure(CUDA_ERROR_INVALID_VALUE);
        const current_context there{driver_, device_};
        CUuuid id{};
        CUresult status = there.error();
        if (status == CUDA_SUCCESS) status = driver_.get_uuid(&id, there.device());
        if (status != CUDA_SUCCESS) return answer::failure(status);
        int descriptor = -1;
        status =
            as_dma_buffer
                ? driver_.export_range(&descriptor, found->base, found->size, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)
                : driver_.export_handle(&descriptor, found->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        if (status != CUDA_SUCCESS) return answer::failure(status);
        external::properties about{.kind = Kind, .size = found->size};
        std::copy_n(id.bytes, about.device.size(), about.device.begin());
        return external::memory{descriptor, about};
    }

    /// Returns the device's ordinal, as cuDeviceGet and cudaSetDevice count.
    [[nodiscard]] int device() const noexcept { return device_; }

private:
    struct entry {
        CUdeviceptr base = 0;
        std::size_t size = 0;
        CUmemGenericAllocationHandle handle = 0;
    };

    [[nodiscard]] static acquired<exported_memory> refused(CUresult reason) noexcept {
        return acquired<exported_memory>::failure(reason);
    }
    // The entry of a base, or an unused one for 0.
    [[nodiscard]] entry* find(CUdeviceptr base) noexcept {
        entry* const found = std::find_if(entries_, entries_ + Regions, [=](const entry& e) { return e.base == base; });
        return found == entries_ + Regions ? nullptr : found;
    }
    [[nodiscard]] const entry* find(CUdeviceptr base) const noexcept {
        return const_cast<exported_memory*>(this)->find(base);
    }

    [[nodiscard]] CUresult check_support(CUdevice device, const CUmemAllocationProp& memory) const noexcept {
        int has_memory = 0, exports_it = 0;
        const CUdevice_attribute kind = as_dma_buffer ? CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
                                                      : CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
        CUresult status =
            driver_.get_attribute(&has_memory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
        if (status == CUDA_SUCCESS) status = driver_.get_attribute(&exports_it, kind, device);
        if (status != CUDA_SUCCESS) return status;
        if (has_memory == 0 || exports_it == 0) return CUDA_ERROR_NOT_SUPPORTED;
        std::size_t least = 0;
        status = driver_.get_granularity(&least, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
        if (status != CUDA_SUCCESS) return status;
        return least != 0 && granularity % least == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }

    // Maps the memory of an entry at new addresses. Undoes everything on failure.
    [[nodiscard]] CUresult map(entry& fresh, std::size_t align, CUmemLocation where) const noexcept {
        CUresult status = driver_.reserve(&fresh.base, fresh.size, align, 0, 0);
        if (status != CUDA_SUCCESS) return status;
        status = fresh.base % align == 0 ? driver_.map(fresh.base, fresh.size, 0, fresh.handle, 0)
                                         : CUDA_ERROR_MISALIGNED_ADDRESS;
        if (status == CUDA_SUCCESS) {
            const CUmemAccessDesc access{where, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            status = driver_.set_access(fresh.base, fresh.size, &access, 1);
            if (status != CUDA_SUCCESS) static_cast<void>(driver_.unmap(fresh.base, fresh.size));
        }
        if (status != CUDA_SUCCESS) static_cast<void>(driver_.free_range(fresh.base, fresh.size));
        return status;
    }

    exporting_functions driver_;
    int device_;
    entry entries_[Regions]{};
};

static_assert(external::exportable<exported_memory<external::handle_kind::opaque_fd>>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
