// SPDX-License-Identifier: BSL-1.0
// The C functions of a peer: a shared object that lends an allocator of another project to gpu_benchmark (--peer FILE).
// The state of a peer belongs to the process. `peer_reset` begins a new measurement. No block is live then.
#pragma once

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the name and the version of the allocator.
const char* peer_name(void);
/// Returns device memory for work on a stream, or a null pointer.
void* peer_allocate(size_t bytes, cudaStream_t order);
/// Frees memory on the stream of its allocation.
void peer_free(void* address, size_t bytes, cudaStream_t order);
/// States that the memory is also used on another stream, before it is freed. Returns 0 if the allocator has no such
/// call, so that the stream of the allocation must wait for the other one.
int peer_used_on(void* address, cudaStream_t other);
/// Returns all cached memory to the driver and resets the peak.
void peer_reset(void);
/// Returns the most bytes that the allocator has held from the driver since the reset.
size_t peer_reserved(void);

#ifdef __cplusplus
}
#endif
