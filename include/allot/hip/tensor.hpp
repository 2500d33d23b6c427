// SPDX-License-Identifier: BSL-1.0
// Tensors in HIP memory: copies on a stream. How they go is said in gpu/tensor.hpp; HIP's rules are beside
// hipMemcpyAsync, hipPointerGetAttributes and hipDeviceCanAccessPeer in <hip/hip_runtime_api.h>.
//
//     auto copied = allot::copy_tensor(host, device, allot::hip::stream_copy{stream});
#pragma once

#include <allot/gpu/tensor.hpp>
#include <allot/hip/memory.hpp>

namespace allot {
inline namespace v1 {
namespace hip {

template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

using stream_copy = gpu::stream_copy<runtime>;

}  // namespace hip
}  // namespace v1
}  // namespace allot
