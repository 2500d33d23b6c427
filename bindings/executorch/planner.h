/* SPDX-License-Identifier: BSL-1.0 */
/* The function of liballot_planner.so. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer: its size and alignment in bytes, and the half-open interval of steps in which its bytes are in use. */
struct allot_plan_buffer {
    uint64_t size;
    int64_t from;
    int64_t until;
    uint64_t align;
};

/* The bytes of the plan, a number of bytes that no plan can be below, and the reason of a failure. */
struct allot_plan_result {
    uint64_t peak;
    uint64_t bound;
    char message[240];
};

/* Writes an offset for each buffer. `effort` limits the search; 0 makes one greedy plan. Returns 0, or -1 with a
 * message. */
int allot_plan(const struct allot_plan_buffer* buffers, size_t count, uint64_t effort, uint64_t* offsets,
               struct allot_plan_result* result);

#ifdef __cplusplus
}
#endif
