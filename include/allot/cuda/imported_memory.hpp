// SPDX-License-Identifier: BSL-1.0
// cuda::imported_memory: memory of Vulkan, or of another process, as CUDA device memory (external resource
// interoperability).
//
//     using exported = allot::vulkan::exported_memory<allot::external::handle_kind::opaque_fd>;
//     auto shared = vertices.device().export_memory(vertices.regions()[0]);       // an arena over `exported`
//     allot::arena<allot::cuda::imported_memory, allot::best_fit<>> memory{
//         allot::cuda::imported_memory{std::move(*shared)}};
//     auto x = memory.allocate({.size = 4096, .align = 256});                     // a pointer for kernels
//
// When to use: for kernels that read or write what Vulkan draws or computes on the same GPU.
// When not to use: for DMA buffers: CUDA imports them on Jetson Thor only (cuda.h of CUDA 13.0). Let Vulkan import the
// DMA buffer, or export from CUDA: cuda/exported_memory.hpp.
//
// The code relies on these rules of CUDA (Runtime API, "External Resource Interoperability"):
//   - cudaImportExternalMemory takes ownership of an opaque descriptor when it succeeds. Any operation on the
//     descriptor afterward is undefined.
//   - The size is that of the Vulkan allocation. cudaExternalMemoryDedicated is set for a dedicated allocation.
//   - The GPU is the one with the exporter's deviceUUID (Programming Guide, "Vulkan Interoperability").
//   - The address of cudaExternalMemoryGetMappedBuffer is freed with cudaFree, before cudaDestroyExternalMemory.
// Importing orders nothing: wait for Vulkan's work before kernels use the bytes, or use external semaphores.
//
// Complexity: three runtime calls and one system call for the region.
// Memory: the descriptor and two pointers.
// Thread safety: that of the runtime.
#pragma once

#include <allot/cuda/memory.hpp>
#include <allot/gpu/imported_memory.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace cuda {

/// The table of CUDA's runtime for gpu/imported_memory.hpp.
struct importing_runtime : runtime {
    using external = cudaExternalMemory_t;  ///< The runtime's type of imported memory.

    /// Imports an opaque descriptor.
    static error import_memory(external* object, int descriptor, const allot::external::properties& about) noexcept {
        cudaExternalMemoryHandleDesc from{};
        from.type = cudaExternalMemoryHandleTypeOpaqueFd;
        from.handle.fd = descriptor;
        from.size = about.size;
        from.flags = about.dedicated ? cudaExternalMemoryDedicated : 0;
        return ::cudaImportExternalMemory(object, &from);
    }
    /// Maps all of the memory.
    static error get_mapped_buffer(void** address, external object, std::size_t size) noexcept {
        cudaExternalMemoryBufferDesc all{};
        all.size = size;
        return ::cudaExternalMemoryGetMappedBuffer(address, object, &all);
    }
    /// Destroys the imported memory.
    static error destroy_external(external object) noexcept { return ::cudaDestroyExternalMemory(object); }
    /// Gets the identifier of a GPU.
    static error get_uuid(allot::external::uuid* found, int device) noexcept {
        cudaDeviceProp about{};
        const error status = ::cudaGetDeviceProperties(&about, device);
        std::copy_n(about.uuid.bytes, found->size(), found->begin());
        return status;
    }
};

/// The device whose only region is memory of another driver.
using imported_memory = gpu::imported_memory<importing_runtime>;

static_assert(external::importable<imported_memory>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
