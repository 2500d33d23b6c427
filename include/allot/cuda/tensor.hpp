// SPDX-License-Identifier: BSL-1.0
// Tensors in CUDA memory: copies on a stream. How they go is said in gpu/tensor.hpp; CUDA's rules are in its
// runtime API reference, "Unified Addressing" and "Peer Device Memory Access".
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
#pragma once

#include <allot/cuda/memory.hpp>
#include <allot/gpu/tensor.hpp>

namespace allot {
inline namespace v1 {
namespace cuda {

template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

using stream_copy = gpu::stream_copy<runtime>;

}  // namespace cuda
}  // namespace v1
}  // namespace allot
