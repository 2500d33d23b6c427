// Tensors in CUDA memory: copies on a stream. How they go is said in tensor/gpu_runtime.hpp; CUDA's rules are in its
// runtime API reference, "Unified Addressing" and "Peer Device Memory Access".
//
//     auto copied = allot::copy_tensor(host, device, allot::cuda::stream_copy{stream});
#pragma once

#include <allot/device/cuda.hpp>
#include <allot/tensor/gpu_runtime.hpp>

namespace allot::inline v1::cuda {

template <class Memory>
concept memory_of_a_device = gpu::memory_of_a_device<Memory, runtime>;

using stream_copy = gpu::stream_copy<runtime>;

}  // namespace allot::inline v1::cuda
