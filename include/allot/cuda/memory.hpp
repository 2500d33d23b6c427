// SPDX-License-Identifier: BSL-1.0
// CUDA memory: on the device, pinned on the host, managed by both, and in the order of a stream.
//
//     allot::arena<allot::cuda::device_memory, allot::best_fit<>> memory{allot::cuda::device_memory{0}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     kernel<<<1, 32>>>(static_cast<float*>(x.address));       // an address: offsets are added to it
//
//     device               from                 the host may touch it    given back by
//     device_memory        cudaMalloc           no                       cudaFree, which waits for the device
//     pinned               cudaMallocHost       yes                      cudaFreeHost
//     managed              cudaMallocManaged    yes                      cudaFree
//     async_memory         cudaMallocAsync      no                       cudaFreeAsync, in the order of its stream
//
// How a region lies in what CUDA gave, whose device is current and where errors go is said in gpu/runtime.hpp,
// which HIP's memory shares. The rules are written in CUDA's programming guide, "Device Memory Accesses" (every address
// that an allocation function returns is a multiple of 256), "Unified Memory" and "Stream-Ordered Memory Allocator", and
// in its runtime API reference, "Error Handling" and "Memory Management". CUDA's own:
//   - Managed memory may be touched by the host while the device works only where cudaDevAttrConcurrentManagedAccess
//     is 1. Elsewhere, and to keep its pages where the device has them, keep records out of it:
//     `.store = node_store::side_table`.
//
// Needs <cuda_runtime_api.h> and libcudart: the CMake target allot::cuda brings them. No nvcc is needed. Without a
// driver everything is refused with the driver's code (35, cudaErrorInsufficientDriver, or 100, cudaErrorNoDevice).
//
// Complexity, memory and thread safety: gpu/runtime.hpp.
#pragma once

#include <allot/gpu/runtime.hpp>

#include <cuda_runtime_api.h>

namespace allot {
inline namespace v1 {
namespace cuda {

/// CUDA's runtime, as gpu/runtime.hpp calls it.
struct runtime {
    using error = cudaError_t;
    using stream = cudaStream_t;
    static constexpr error success = cudaSuccess;
    static constexpr error invalid_value = cudaErrorInvalidValue;
    static constexpr error out_of_memory = cudaErrorMemoryAllocation;
    static constexpr error misaligned_address = cudaErrorMisalignedAddress;
    static constexpr dl_device_type dl_memory = dl_device_type::cuda;
    static constexpr dl_device_type dl_pinned = dl_device_type::cuda_host;
    static constexpr dl_device_type dl_managed = dl_device_type::cuda_managed;

    static error get_last_error() noexcept { return ::cudaGetLastError(); }
    static error get_device(int* device) noexcept { return ::cudaGetDevice(device); }
    static error set_device(int device) noexcept { return ::cudaSetDevice(device); }

    static error malloc_device(void** address, std::size_t size) noexcept { return ::cudaMalloc(address, size); }
    static error malloc_host(void** address, std::size_t size) noexcept { return ::cudaMallocHost(address, size); }
    static error malloc_managed(void** address, std::size_t size) noexcept {
        return ::cudaMallocManaged(address, size, cudaMemAttachGlobal);
    }
    static error malloc_async(void** address, std::size_t size, stream order) noexcept {
        return ::cudaMallocAsync(address, size, order);
    }
    static error free_device(void* address) noexcept { return ::cudaFree(address); }
    static error free_host(void* address) noexcept { return ::cudaFreeHost(address); }
    static error free_async(void* address, stream order) noexcept { return ::cudaFreeAsync(address, order); }

    static error memcpy_async(void* to, const void* from, std::size_t size, stream order) noexcept {
        return ::cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, order);
    }
    static error stream_synchronize(stream order) noexcept { return ::cudaStreamSynchronize(order); }
    static error get_device_of(const void* address, int* device) noexcept {
        cudaPointerAttributes found{};
        const error status = ::cudaPointerGetAttributes(&found, address);
        *device = found.device;
        return status;
    }
    static error can_access_peer(int* can, int device, int peer) noexcept {
        return ::cudaDeviceCanAccessPeer(can, device, peer);
    }
};

using gpu::acquire_by;
using gpu::base_align;
using gpu::given_address;
using gpu::refused;

using current_device = gpu::current_device<runtime>;
using device_memory = gpu::device_memory<runtime>;
using pinned = gpu::pinned<runtime>;
using managed = gpu::managed<runtime>;
using async_memory = gpu::async_memory<runtime>;

static_assert(device<device_memory> && device<pinned> && device<managed> && device<async_memory>);

}  // namespace cuda
}  // namespace v1
}  // namespace allot
