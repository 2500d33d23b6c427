// SPDX-License-Identifier: BSL-1.0
// cuda: CUDA memory on the device, pinned on the host, managed, and stream-ordered.
//
//     allot::arena<allot::cuda::device_memory, allot::best_fit<>> memory{allot::cuda::device_memory{0}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     kernel<<<1, 32>>>(static_cast<float*>(x.address));       // a device pointer: offsets are added to it
//     auto y = allot::cuda::make_span<float>(memory, 1024);        // an owner: y.data(), y.size()
//
//     device               allocates with       host access    frees with
//     device_memory        cudaMalloc           no             cudaFree, which waits for the device
//     pinned               cudaMallocHost       yes            cudaFreeHost
//     managed              cudaMallocManaged    yes            cudaFree
//     async_memory         cudaMallocAsync      no             cudaFreeAsync, in the order of its stream
//
// When to use: for memory of NVIDIA's GPUs in programs that use the CUDA runtime.
// When not to use: if regions must grow without moving their blocks, use cuda/virtual_memory.hpp.
//
// gpu/runtime.hpp describes the position of a region in its allocation, the choice of the current device, and
// the handling of errors. HIP's memory shares it. Sources: the CUDA programming guide, "Device Memory Accesses" (every
// address that an allocation function returns is a multiple of 256), "Unified Memory" and "Stream-Ordered Memory
// Allocator"; the CUDA runtime API reference, "Error Handling" and "Memory Management". A rule of CUDA alone:
//   - The host may touch managed memory while the device works only where cudaDevAttrConcurrentManagedAccess is 1. On
//     other devices, use `.store = node_store::side_table`, so that an arena writes no records to managed memory. The
//     same option avoids the migration of pages to the host.
//
// Requires <cuda_runtime_api.h> and libcudart, which the CMake target allot::cuda provides; nvcc is not needed. Without
// a driver, every `acquire` fails with the driver's code (35, cudaErrorInsufficientDriver, or 100, cudaErrorNoDevice).
//
// Complexity: one runtime call for each `acquire` and `release`; at most four for device_memory.
// Memory: no overhead up to an alignment of 256; above that, less than twice the alignment for each region.
// Thread safety: that of the runtime. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/gpu/runtime.hpp>
#include <allot/gpu/span.hpp>

#include <cuda_runtime_api.h>

namespace allot {
inline namespace v1 {
namespace cuda {

/// The table of CUDA's runtime for gpu/runtime.hpp.
struct runtime {
    using error = cudaError_t;                                                  ///< The runtime's error codes.
    using stream = cudaStream_t;                                                ///< The runtime's stream type.
    static constexpr error success = cudaSuccess;                               ///< The code of a successful call.
    static constexpr error invalid_value = cudaErrorInvalidValue;               ///< The error for an invalid layout.
    static constexpr error out_of_memory = cudaErrorMemoryAllocation;           ///< The error for exhausted memory.
    static constexpr error misaligned_address = cudaErrorMisalignedAddress;     ///< The error for a misaligned address.
    static constexpr dl_device_type dl_memory = dl_device_type::cuda;           ///< DLPack's number for device memory.
    static constexpr dl_device_type dl_pinned = dl_device_type::cuda_host;      ///< DLPack's number for pinned memory.
    static constexpr dl_device_type dl_managed = dl_device_type::cuda_managed;  ///< DLPack's number for managed memory.

    /// Returns and clears the last error.
    static error get_last_error() noexcept { return ::cudaGetLastError(); }
    /// Gets the thread's current device.
    static error get_device(int* device) noexcept { return ::cudaGetDevice(device); }
    /// Sets the thread's current device.
    static error set_device(int device) noexcept { return ::cudaSetDevice(device); }

    /// Allocates device memory.
    static error malloc_device(void** address, std::size_t size) noexcept { return ::cudaMalloc(address, size); }
    /// Allocates pinned host memory.
    static error malloc_host(void** address, std::size_t size) noexcept { return ::cudaMallocHost(address, size); }
    /// Allocates managed memory for all devices.
    static error malloc_managed(void** address, std::size_t size) noexcept {
        return ::cudaMallocManaged(address, size, cudaMemAttachGlobal);
    }
    /// Allocates device memory in the order of a stream.
    static error malloc_async(void** address, std::size_t size, stream order) noexcept {
        return ::cudaMallocAsync(address, size, order);
    }
    /// Gets the free and the total bytes of the current device.
    static error get_memory_info(std::size_t* free, std::size_t* total) noexcept {
        return ::cudaMemGetInfo(free, total);
    }
    /// Frees device memory or managed memory.
    static error free_device(void* address) noexcept { return ::cudaFree(address); }
    /// Frees pinned host memory.
    static error free_host(void* address) noexcept { return ::cudaFreeHost(address); }
    /// Frees device memory in the order of a stream.
    static error free_async(void* address, stream order) noexcept { return ::cudaFreeAsync(address, order); }

    /// Enqueues a copy between any two kinds of memory.
    static error memcpy_async(void* to, const void* from, std::size_t size, stream order) noexcept {
        return ::cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, order);
    }
    /// Waits for a stream.
    static error stream_synchronize(stream order) noexcept { return ::cudaStreamSynchronize(order); }
    /// Gets the device of an address.
    static error get_device_of(const void* address, int* device) noexcept {
        cudaPointerAttributes found{};
        const error status = ::cudaPointerGetAttributes(&found, address);
        *device = found.device;
        return status;
    }
    /// Reports whether `device` can access the memory of `peer`.
    static error can_access_peer(int* can, int device, int peer) noexcept {
        return ::cudaDeviceCanAccessPeer(can, device, peer);
    }
};

using gpu::acquire_by;
using gpu::base_align;
using gpu::given_address;
using gpu::make_span;
using gpu::refused;
using gpu::unique_span;

using current_device = gpu::current_device<runtime>;  ///< Makes one device current for the lifetime of the object.
using device_memory = gpu::device_memory<runtime>;    ///< Device memory of one GPU.
using pinned = gpu::pinned<runtime>;                  ///< Page-locked host memory.
using managed = gpu::managed<runtime>;                ///< Managed memory, which migrates between the host and GPUs.
using async_memory = gpu::async_memory<runtime>;      ///< Stream-ordered device memory.

static_assert(device<device_memory> && device<pinned> && device<managed> && device<async_memory>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
