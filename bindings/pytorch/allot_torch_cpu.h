/* SPDX-License-Identifier: BSL-1.0 */
/* The functions of liballot_torch_cpu.so. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes allot the allocator of all CPU tensors of the process. `limit` is the maximum number of bytes that it holds, or 0,
 * rounded up to 64 KiB. If the system gives fewer addresses, it holds fewer bytes. Tensors that exist stay in their memory. Returns 0, or -1 if it was installed before. */
int allot_torch_cpu_install(size_t limit);

/* Counters of the allocator. Sizes are in bytes. */
struct allot_torch_cpu_statistics {
    uint64_t used;     /* requested sizes of all live tensors */
    uint64_t peak;     /* maximum of `used` since allot_torch_cpu_reset_peak */
    uint64_t held;     /* bytes that are held from the system */
    uint64_t blocks;   /* live storages of tensors, without empty ones */
    uint64_t requests; /* requests that succeeded */
    uint64_t refusals; /* requests that failed */
};
/* These functions return 0, or -1 if the allocator is not installed. */
int allot_torch_cpu_get_statistics(struct allot_torch_cpu_statistics* found);
/* Starts the maximum again. */
int allot_torch_cpu_reset_peak(void);
/* Returns the free memory at the end of the arena to the system. `released` is the number of bytes. */
int allot_torch_cpu_trim(size_t* released);

#ifdef __cplusplus
}
#endif
