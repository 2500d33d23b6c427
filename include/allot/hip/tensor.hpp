// SPDX-License-Identifier: BSL-1.0
// hip: copies of tensors in HIP memory, on a stream.
//
//     auto copied = allot::copy_tensor(host, device, allot::hip::stream_copy{stream});
//
// When to use: to copy tensors between the host and AMD's GPUs, or between GPUs.
// When not to use: for memory of the host alone: copy_tensor needs no way for it.
//
// gpu/tensor.hpp describes the copies. HIP's rules: the comments of hipMemcpyAsync, hipPointerGetAttributes and
// hipDeviceCanAccessPeer in <hip/hip_runtime_api.h>.
//
// Complexity: one runtime call for each contiguous run; three more between devices.
// Memory: no overhead.
// Thread safety: that of the runtime.
#pragma once

#include <allot/gpu/tensor.hpp>
#include <allot/hip/memory.hpp>

namespace allot {
inline namespace v1 {
namespace hip {

/// Memory that a GPU owns or shares: device memory and managed memory of HIP.
template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

/// Copies on a HIP stream.
using stream_copy = gpu::stream_copy<runtime>;

}  // namespace hip
}  // namespace v1
}  // namespace allot
