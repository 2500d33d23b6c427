// Tensors in HIP memory: copies on a stream. How they go is said in tensor/gpu_runtime.hpp; HIP's rules are beside
// hipMemcpyAsync, hipPointerGetAttributes and hipDeviceCanAccessPeer in <hip/hip_runtime_api.h>.
//
//     auto copied = allot::copy_tensor(host, device, allot::hip::stream_copy{stream});
#pragma once

#include <allot/device/hip.hpp>
#include <allot/tensor/gpu_runtime.hpp>

namespace allot::inline v1::hip {

template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

using stream_copy = gpu::stream_copy<runtime>;

}  // namespace allot::inline v1::hip
