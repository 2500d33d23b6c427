/* SPDX-License-Identifier: BSL-1.0 */
/* The functions of liballot_pytorch.so. Those of the first part have the signatures that PyTorch calls
 * (torch/csrc/cuda/CUDAPluggableAllocator.h). Those of the second part are for programs: statistics and snapshots. */
#pragma once

#include <cuda_runtime_api.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <functional>
#include <utility>

extern "C" {
#endif

/* Returns memory of a device for work on a stream. Throws std::runtime_error if there is none. */
void* allot_malloc(ptrdiff_t size, int device, cudaStream_t stream);
/* Frees memory behind the work on a stream, and behind that of allot_record_stream. `size` is the requested size. */
void allot_free(void* address, ptrdiff_t size, int device, cudaStream_t stream);

#ifdef __cplusplus
/* The optional functions, which allot_torch.install passes to PyTorch. */
using allot_pool_id = std::pair<unsigned long long, unsigned long long>; /* c10::MempoolId_t */
void allot_record_stream(void* address, cudaStream_t stream);
void* allot_base_allocation(void* address, size_t* size);
void allot_set_memory_fraction(double fraction, int device);
void allot_empty_cache(void);
void allot_begin_allocate_to_pool(int device, allot_pool_id pool, std::function<bool(cudaStream_t)> filter);
void allot_end_allocate_to_pool(int device, allot_pool_id pool);
void allot_release_pool(int device, allot_pool_id pool);
#endif

/* Counters of one device. Sizes are in bytes. */
struct allot_pytorch_statistics {
    uint64_t allocated;      /* requested sizes of all live blocks */
    uint64_t allocated_peak; /* maximum of `allocated` since allot_reset_peak */
    uint64_t reserved;       /* bytes that are held from the driver */
    uint64_t reserved_peak;  /* maximum of `reserved` since allot_reset_peak */
    uint64_t blocks;         /* live blocks */
    uint64_t allocations;    /* blocks that were allocated */
    uint64_t refusals;       /* requests that failed */
    uint64_t unfreed;        /* frees without effect: no such block, or the driver refused a point on the stream */
    uint64_t graph_pools;    /* pools of captured graphs */
    uint64_t graph_reserved; /* bytes of `reserved` that these pools hold */
};
/* Returns 0, or -1 if the device has no memory yet. */
int allot_get_statistics(int device, struct allot_pytorch_statistics* found);
/* Starts the maxima again. */
int allot_reset_peak(int device);
/* Writes the regions, blocks and holes as a snapshot of PyTorch ("pytorch"), or as one of allot ("allot", for
 * `./dev view`). Calls write(to, bytes, count) for each part. Returns 0, or -1 if there is no such device or format. */
int allot_write_snapshot(int device, const char* format, void (*write)(void* to, const char* bytes, size_t count),
                         void* to);

#ifdef __cplusplus
}
#endif
