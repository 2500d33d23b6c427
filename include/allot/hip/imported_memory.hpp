// SPDX-License-Identifier: BSL-1.0
// hip::imported_memory: memory of Vulkan, or of another process, as HIP device memory (external resource
// interoperability).
//
//     auto shared = vertices.device().export_memory(vertices.regions()[0]);       // vulkan::exported_memory<opaque_fd>
//     allot::arena<allot::hip::imported_memory, allot::best_fit<>> memory{
//         allot::hip::imported_memory{std::move(*shared)}};
//
// When to use: for kernels that read or write what Vulkan draws or computes on the same GPU.
// When not to use: for memory that HIP itself allocates: hip/memory.hpp.
//
// The rules are those of CUDA, with HIP's names (HIP Runtime API, "External Resource Interoperability"). HIP's
// documentation does not state the owner of the descriptor after an import; this device follows CUDA's rule. Not run on
// hardware.
//
// Complexity: three runtime calls and one system call for the region.
// Memory: the descriptor and two pointers.
// Thread safety: that of the runtime.
#pragma once

#include <allot/gpu/imported_memory.hpp>
#include <allot/hip/memory.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace hip {

/// The table of HIP's runtime for gpu/imported_memory.hpp.
struct importing_runtime : runtime {
    using external = hipExternalMemory_t;  ///< The runtime's type of imported memory.

    /// Imports an opaque descriptor.
    static error import_memory(external* object, int descriptor, const allot::external::properties& about) noexcept {
        hipExternalMemoryHandleDesc from{};
        from.type = hipExternalMemoryHandleTypeOpaqueFd;
        from.handle.fd = descriptor;
        from.size = about.size;
        from.flags = about.dedicated ? dedicated : 0;
        return ::hipImportExternalMemory(object, &from);
    }
    /// Maps all of the memory.
    static error get_mapped_buffer(void** address, external object, std::size_t size) noexcept {
        hipExternalMemoryBufferDesc all{};
        all.size = size;
        return ::hipExternalMemoryGetMappedBuffer(address, object, &all);
    }
    /// Destroys the imported memory.
    static error destroy_external(external object) noexcept { return ::hipDestroyExternalMemory(object); }
    /// Gets the identifier of a GPU.
    static error get_uuid(allot::external::uuid* found, int device) noexcept {
        hipUUID id{};
        const error status = ::hipDeviceGetUuid(&id, device);
        std::copy_n(id.bytes, found->size(), found->begin());
        return status;
    }

private:
    static constexpr unsigned dedicated = 1;  // hipExternalMemoryDedicated of newer headers
};

/// The device whose only region is memory of another driver.
using imported_memory = gpu::imported_memory<importing_runtime>;

static_assert(external::importable<imported_memory>);

}  // namespace hip
}  // namespace v1
}  // namespace allot
