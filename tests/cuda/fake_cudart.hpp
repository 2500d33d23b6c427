// A CUDA runtime without a GPU: the functions of libcudart that allot and its tests call, with CUDA's rules enforced.
// A program links this library in place of libcudart.
//
//     device memory      pages that the host must not touch: any touch is a fault. "Kernels" and copies reach them
//                        through a second mapping of the same pages
//     bases              multiples of 256 and, unless `phase` says otherwise, of a page; each has pages of its own
//     copies             of a stream wait like its other work, also those out of the host's bytes
//     a wrong free       cudaErrorInvalidValue, and it is counted
//     out of memory      cudaErrorMemoryAllocation, by a limit for each device and one for the host
//     no driver          every call answers with the driver's code
//     last error         kept by thread until cudaGetLastError takes it; after a fault, all calls fail with it
//     streams            work waits until someone waits for it. Memory of cudaMallocAsync is there, for a kernel, only
//                        between its allocation and its free in the order of work; a kernel elsewhere is a fault.
//                        What a stream freed may be had again on that stream at once, on others when that has happened
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace fake_cuda {

struct settings {
    int devices = 2;
    std::size_t memory = std::size_t{64} << 20;  // bytes of each device, and of the host
    std::size_t phase = 0;                       // bytes between a page boundary and every base
    cudaError_t driver = cudaSuccess;            // what every call answers when it is not this
    bool peers = true;                           // devices reach each other's memory
};

/// A new process on a machine like that. Nothing is live, and nothing waits.
void start(const settings& machine = {});

/// The next allocation fails with this.
void refuse_next(cudaError_t error);

/// A kernel that works on `size` bytes at `address`. It runs when someone waits for the stream.
void launch(cudaStream_t stream, void* address, std::size_t size, std::function<void(std::byte*)> kernel);

/// Allocations that were not freed.
[[nodiscard]] std::size_t live();
/// Calls that freed what they must not.
[[nodiscard]] std::size_t wrong_frees();
/// Bytes of a device that are in use.
[[nodiscard]] std::size_t in_use(int device);
/// Whether something made a context on this device.
[[nodiscard]] bool has_context(int device);

}  // namespace fake_cuda
