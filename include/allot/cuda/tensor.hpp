// SPDX-License-Identifier: BSL-1.0
// cuda: copies of tensors in CUDA memory, on a stream.
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
//
// When to use: to copy tensors between the host and NVIDIA's GPUs, or between GPUs.
// When not to use: for memory of the host alone: copy_tensor needs no way for it.
//
// gpu/tensor.hpp describes the copies. CUDA's rules: CUDA runtime API reference, "Unified Addressing" and "Peer
// Device Memory Access".
//
// Complexity: one runtime call for each contiguous run; three more between devices.
// Memory: no overhead.
// Thread safety: that of the runtime.
#pragma once

#include <allot/cuda/memory.hpp>
#include <allot/gpu/tensor.hpp>

namespace allot {
inline namespace v1 {
namespace cuda {

/// Memory that a GPU owns or shares: device memory and managed memory of CUDA.
template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

/// Copies on a CUDA stream.
using stream_copy = gpu::stream_copy<runtime>;

}  // namespace cuda
}  // namespace v1
}  // namespace allot
