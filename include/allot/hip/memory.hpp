// SPDX-License-Identifier: BSL-1.0
// HIP memory (AMD's GPUs): on the device, pinned on the host, managed by both, and in the order of a stream.
//
//     allot::arena<allot::hip::device_memory, allot::best_fit<>> memory{allot::hip::device_memory{0}, 64_MiB};
//     auto x = memory.allocate({.size = 4096, .align = 256});
//     kernel<<<1, 64>>>(static_cast<float*>(x.address));       // an address: offsets are added to it
//
//     device               from                 the host may touch it    given back by
//     device_memory        hipMalloc            no                       hipFree, which waits for the device
//     pinned               hipHostMalloc        yes                      hipHostFree
//     managed              hipMallocManaged     yes                      hipFree
//     async_memory         hipMallocAsync       no                       hipFreeAsync, in the order of its stream
//
// How a region lies in what HIP gave, whose device is current and where errors go is said in gpu/runtime.hpp,
// which CUDA's memory shares. What each function does is written beside it in <hip/hip_runtime_api.h>. HIP's own:
//   - No document of HIP's says what its addresses are multiples of. Its runtime asks for 1024 bytes or more (ROCclr's
//     memBaseAddrAlign_: eight times 128 or 256) of pools that give multiples of their own alignment
//     (HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT in <hsa/hsa_ext_amd.h>), a page. 256 is what allot relies on, and
//     looks at: what comes back otherwise is refused with 17, hipErrorInvalidDevicePointer, since HIP has no code for it.
//   - hipFree takes no memory of the host (17, hipErrorInvalidDevicePointer) and hipHostFree none of a device (1).
//   - Where the machine has no heterogeneous memory management, hipMallocManaged does what hipHostMalloc does. Managed
//     memory may be touched by the host while the device works only where hipDeviceAttributeConcurrentManagedAccess is 1.
//     DLPack has one number for managed memory, CUDA's: HIP's is exported as the device's.
//   - Until ROCm 7 a call that succeeds takes the last error away: where `release` has to switch devices, nothing is left.
//   - hipMallocAsync needs ROCm 5.2, and hipDeviceAttributeMemoryPoolsSupported.
//
// Needs <hip/hip_runtime_api.h> and libamdhip64: the CMake target allot::hip brings them, with __HIP_PLATFORM_AMD__
// defined. No hipcc is needed. Without a device everything is refused with the runtime's code: 100, hipErrorNoDevice, or
// 101, hipErrorInvalidDevice. There is no hip::virtual_memory yet, as cuda/virtual_memory.hpp has it for CUDA.
//
// Complexity, memory and thread safety: gpu/runtime.hpp.
#pragma once

#include <allot/gpu/runtime.hpp>

#include <hip/hip_runtime_api.h>

namespace allot {
inline namespace v1 {
namespace hip {

/// HIP's runtime, as gpu/runtime.hpp calls it.
struct runtime {
    using error = hipError_t;
    using stream = hipStream_t;
    static constexpr error success = hipSuccess;
    static constexpr error invalid_value = hipErrorInvalidValue;
    static constexpr error out_of_memory = hipErrorOutOfMemory;
    static constexpr error misaligned_address = hipErrorInvalidDevicePointer;
    static constexpr dl_device_type dl_memory = dl_device_type::rocm;
    static constexpr dl_device_type dl_pinned = dl_device_type::rocm_host;
    static constexpr dl_device_type dl_managed = dl_device_type::rocm;

    static error get_last_error() noexcept { return ::hipGetLastError(); }
    static error get_device(int* device) noexcept { return ::hipGetDevice(device); }
    static error set_device(int device) noexcept { return ::hipSetDevice(device); }

    static error malloc_device(void** address, std::size_t size) noexcept { return ::hipMalloc(address, size); }
    static error malloc_managed(void** address, std::size_t size) noexcept {
        return ::hipMallocManaged(address, size, hipMemAttachGlobal);
    }
    static error malloc_async(void** address, std::size_t size, stream order) noexcept {
        return ::hipMallocAsync(address, size, order);
    }
    static error free_device(void* address) noexcept { return ::hipFree(address); }
    static error free_async(void* address, stream order) noexcept { return ::hipFreeAsync(address, order); }

// HIP's headers call this pair deprecated in some versions, and in the others hipMallocHost and hipFreeHost.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    static error malloc_host(void** address, std::size_t size) noexcept {
        return ::hipHostMalloc(address, size, hipHostMallocDefault);
    }
    static error free_host(void* address) noexcept { return ::hipHostFree(address); }
#pragma GCC diagnostic pop

    static error memcpy_async(void* to, const void* from, std::size_t size, stream order) noexcept {
        return ::hipMemcpyAsync(to, from, size, hipMemcpyDefault, order);
    }
    static error stream_synchronize(stream order) noexcept { return ::hipStreamSynchronize(order); }
    static error get_device_of(const void* address, int* device) noexcept {
        hipPointerAttribute_t found{};
        const error status = ::hipPointerGetAttributes(&found, address);
        *device = found.device;
        return status;
    }
    static error can_access_peer(int* can, int device, int peer) noexcept {
        return ::hipDeviceCanAccessPeer(can, device, peer);
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

}  // namespace hip
}  // namespace v1
}  // namespace allot
