/* SPDX-License-Identifier: BSL-1.0 */
/* The functions of liballot_onnxruntime.so. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct OrtApiBase;
struct OrtSessionOptions;
struct OrtStatus;

/* Called by OrtApi::RegisterCustomOpsLibrary. Registers the arena, and lets the session with these options use it. */
struct OrtStatus* RegisterCustomOps(struct OrtSessionOptions* options, const struct OrtApiBase* base);

/* Counters of the arena. Sizes are in bytes. */
struct allot_onnxruntime_statistics {
    uint64_t used;       /* requested sizes of all live blocks */
    uint64_t peak;       /* maximum of `used` */
    uint64_t held;       /* bytes that are held from the system */
    uint64_t held_peak;  /* maximum of `held` */
    uint64_t requests;   /* requests that succeeded */
    uint64_t reserves;   /* those of OrtAllocator::Reserve */
    uint64_t refusals;   /* requests that failed */
    uint64_t extensions; /* requests for which the arena acquired memory */
    uint64_t trims;      /* calls of trim that released memory */
    uint64_t largest;    /* the largest request that succeeded */
};
/* Returns 0, or -1 if no session has used the arena. */
int allot_onnxruntime_get_statistics(struct allot_onnxruntime_statistics* found);
/* Releases the free memory at the end of the arena. Returns the number of released bytes. */
size_t allot_onnxruntime_trim(void);

#ifdef __cplusplus
}
#endif
