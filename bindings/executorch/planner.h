/* SPDX-License-Identifier: BSL-1.0 */
/* The functions of liballot_planner.so. */
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

/* Chooses a memory and an offset for each buffer. `capacities` are those of `memories` memories, the fastest first; as
 * few bytes as possible are in the slower ones. A memory of capacity UINT64_MAX has no limit, and may get a lower peak
 * from allot_plan. Bit m of allowed[i] permits memory m for buffer i. `result` has no peak and no bound. Returns 0, or
 * -1 with a message. */
int allot_plan_memories(const struct allot_plan_buffer* buffers, size_t count, const uint64_t* allowed,
                        const uint64_t* capacities, size_t memories, uint64_t effort, uint32_t* chosen,
                        uint64_t* offsets, struct allot_plan_result* result);

#ifdef __cplusplus
}
#endif
