// SPDX-License-Identifier: BSL-1.0
// hip: HIP memory (AMD's GPUs) on the device, pinned on the host, managed, and stream-ordered.
//
//     allot::arena<allot::hip::device_memory, allot::best_fit<>> memory{allot::hip::device_memory{0}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     kernel<<<1, 64>>>(static_cast<float*>(x.address));       // a device pointer: offsets are added to it
//     auto y = allot::hip::make_span<float>(memory, 1024);        // an owner: y.data(), y.size()
//
//     device               allocates with       host access    frees with
//     device_memory        hipMalloc            no             hipFree, which waits for the device
//     pinned               hipHostMalloc        yes            hipHostFree
//     managed              hipMallocManaged     yes            hipFree
//     async_memory         hipMallocAsync       no             hipFreeAsync, in the order of its stream
//
// When to use: for memory of AMD's GPUs in programs that use the HIP runtime.
// When not to use: on NVIDIA's GPUs, use cuda/memory.hpp. There is no hip::virtual_memory yet: a device like that of
// cuda/virtual_memory.hpp exists for CUDA only.
//
// gpu/runtime.hpp describes the position of a region in its allocation, the choice of the current device, and
// the handling of errors. CUDA's memory shares it. Source: the comments of <hip/hip_runtime_api.h>. Rules of HIP alone:
//   - HIP's documentation does not state the alignment of its addresses. Its runtime requests 1024 bytes or more
//     (ROCclr's memBaseAddrAlign_: eight times 128 or 256) from pools that return multiples of their own alignment, a
//     page (HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT in <hsa/hsa_ext_amd.h>). allot relies on 256 and checks
//     it: for any other address, `acquire` fails with 17, hipErrorInvalidDevicePointer, because HIP has no code for
//     this case.
//   - hipFree rejects host memory (17, hipErrorInvalidDevicePointer), and hipHostFree rejects device memory (1).
//   - Without heterogeneous memory management, hipMallocManaged does the same as hipHostMalloc. The host may touch
//     managed memory while the device works only where hipDeviceAttributeConcurrentManagedAccess is 1. DLPack has a
//     number for CUDA's managed memory only, so that HIP's is exported as device memory.
//   - Before ROCm 7, a call that succeeds clears the last error. If `release` has to switch devices, its error is lost.
//   - hipMallocAsync requires ROCm 5.2 and hipDeviceAttributeMemoryPoolsSupported.
//
// Requires <hip/hip_runtime_api.h> and libamdhip64. The CMake target allot::hip provides both and defines
// __HIP_PLATFORM_AMD__; hipcc is not needed. Without a device, every `acquire` fails with the runtime's code: 100,
// hipErrorNoDevice, or 101, hipErrorInvalidDevice.
//
// Complexity: one runtime call for each `acquire` and `release`; at most four for device_memory.
// Memory: no overhead up to an alignment of 256; above that, less than twice the alignment for each region.
// Thread safety: that of the runtime. Any thread may call `acquire` and `release`.
#pragma once

#include <allot/gpu/runtime.hpp>
#include <allot/gpu/span.hpp>

#include <hip/hip_runtime_api.h>

namespace allot {
inline namespace v1 {
namespace hip {

/// The table of HIP's runtime for gpu/runtime.hpp.
struct runtime {
    using error = hipError_t;                                                  ///< The runtime's error codes.
    using stream = hipStream_t;                                                ///< The runtime's stream type.
    static constexpr error success = hipSuccess;                               ///< The code of a successful call.
    static constexpr error invalid_value = hipErrorInvalidValue;               ///< The error for an invalid layout.
    static constexpr error out_of_memory = hipErrorOutOfMemory;                ///< The error for exhausted memory.
    static constexpr error misaligned_address = hipErrorInvalidDevicePointer;  ///< The error for a misaligned address.
    static constexpr dl_device_type dl_memory = dl_device_type::rocm;          ///< DLPack's number for device memory.
    static constexpr dl_device_type dl_pinned = dl_device_type::rocm_host;     ///< DLPack's number for pinned memory.
    static constexpr dl_device_type dl_managed = dl_device_type::rocm;         ///< DLPack's number for managed memory.

    /// Returns and clears the last error.
    static error get_last_error() noexcept { return ::hipGetLastError(); }
    /// Gets the thread's current device.
    static error get_device(int* device) noexcept { return ::hipGetDevice(device); }
    /// Sets the thread's current device.
    static error set_device(int device) noexcept { return ::hipSetDevice(device); }

    /// Allocates device memory.
    static error malloc_device(void** address, std::size_t size) noexcept { return ::hipMalloc(address, size); }
    /// Allocates managed memory for all devices.
    static error malloc_managed(void** address, std::size_t size) noexcept {
        return ::hipMallocManaged(address, size, hipMemAttachGlobal);
    }
    /// Allocates device memory in the order of a stream.
    static error malloc_async(void** address, std::size_t size, stream order) noexcept {
        return ::hipMallocAsync(address, size, order);
    }
    /// Gets the free and the total bytes of the current device.
    static error get_memory_info(std::size_t* free, std::size_t* total) noexcept {
        return ::hipMemGetInfo(free, total);
    }
    /// Frees device memory or managed memory.
    static error free_device(void* address) noexcept { return ::hipFree(address); }
    /// Frees device memory in the order of a stream.
    static error free_async(void* address, stream order) noexcept { return ::hipFreeAsync(address, order); }

// Some versions of HIP's headers deprecate this pair; the other versions deprecate hipMallocHost and hipFreeHost.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    /// Allocates pinned host memory.
    static error malloc_host(void** address, std::size_t size) noexcept {
        return ::hipHostMalloc(address, size, hipHostMallocDefault);
    }
    /// Frees pinned host memory.
    static error free_host(void* address) noexcept { return ::hipHostFree(address); }
#pragma GCC diagnostic pop

    /// Enqueues a copy between any two kinds of memory.
    static error memcpy_async(void* to, const void* from, std::size_t size, stream order) noexcept {
        return ::hipMemcpyAsync(to, from, size, hipMemcpyDefault, order);
    }
    /// Waits for a stream.
    static error stream_synchronize(stream order) noexcept { return ::hipStreamSynchronize(order); }
    /// Gets the device of an address.
    static error get_device_of(const void* address, int* device) noexcept {
        hipPointerAttribute_t found{};
        const error status = ::hipPointerGetAttributes(&found, address);
        *device = found.device;
        return status;
    }
    /// Reports whether `device` can access the memory of `peer`.
    static error can_access_peer(int* can, int device, int peer) noexcept {
        return ::hipDeviceCanAccessPeer(can, device, peer);
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

}  // namespace hip
}  // namespace v1
}  // namespace allot
