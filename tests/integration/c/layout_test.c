/* The sizes and the members of the structures are those of version 1 of the binary interface, on 64-bit machines. */
#include "check.h"

#if UINTPTR_MAX == UINT64_MAX
#define LAYOUT(type, size) _Static_assert(sizeof(type) == (size), #type)
#define MEMBER(type, member, offset) _Static_assert(offsetof(type, member) == (offset), #type "." #member)

LAYOUT(allot_status, 4);
LAYOUT(allot_callbacks, 24);
MEMBER(allot_callbacks, user, 16);
LAYOUT(allot_statistics, 80);
MEMBER(allot_statistics, size, 8);
MEMBER(allot_statistics, free, 56);
LAYOUT(allot_arena_options, 32);
MEMBER(allot_arena_options, size, 16);
LAYOUT(allot_offsets_options, 32);
MEMBER(allot_offsets_options, blocks, 16);
LAYOUT(allot_block, 24);
MEMBER(allot_block, number, 20);
LAYOUT(allot_pool_options, 48);
MEMBER(allot_pool_options, slot_align, 32);
LAYOUT(allot_slot, 24);
LAYOUT(allot_buffer, 32);
MEMBER(allot_buffer, align, 24);
LAYOUT(allot_revival, 24);
LAYOUT(allot_fixed, 16);
LAYOUT(allot_pair, 16);
LAYOUT(allot_reserved, 16);
LAYOUT(allot_problem, 104);
MEMBER(allot_problem, reserved, 88);
LAYOUT(allot_place, 16);
LAYOUT(allot_plan_options, 48);
MEMBER(allot_plan_options, watch, 32);
LAYOUT(allot_plan_summary, 56);
MEMBER(allot_plan_summary, which, 48);
LAYOUT(allot_memory, 24);
LAYOUT(allot_need, 16);
LAYOUT(allot_memories, 56);
MEMBER(allot_memories, separate, 40);
LAYOUT(allot_memories_summary, 64);
LAYOUT(allot_split, 32);
MEMBER(allot_split, rest, 16);
LAYOUT(allot_rows_summary, 88);
MEMBER(allot_rows_summary, divided, 64);
LAYOUT(allot_page_group, 24);
LAYOUT(allot_page_place, 24);
LAYOUT(allot_page_cache_options, 72);
MEMBER(allot_page_cache_options, sequences, 32);
MEMBER(allot_page_cache_options, copy, 56);
LAYOUT(allot_page_content, 32);
LAYOUT(allot_page_request, 48);
MEMBER(allot_page_request, salt_high, 32);
LAYOUT(allot_sequence, 8);
LAYOUT(allot_page_counts, 40);
#endif

/* The initial values of the macros: the size, and 0. */
#define INITIAL(type, value)                                \
    do {                                                    \
        const type initial = value;                         \
        type zeros;                                         \
        memset(&zeros, 0, sizeof zeros);                    \
        zeros.struct_size = sizeof zeros;                   \
        CHECK(memcmp(&initial, &zeros, sizeof zeros) == 0); \
    } while (0)

void test_layout(void) {
    INITIAL(allot_statistics, ALLOT_STATISTICS_INIT);
    INITIAL(allot_arena_options, ALLOT_ARENA_OPTIONS_INIT);
    INITIAL(allot_offsets_options, ALLOT_OFFSETS_OPTIONS_INIT);
    INITIAL(allot_pool_options, ALLOT_POOL_OPTIONS_INIT);
    INITIAL(allot_problem, ALLOT_PROBLEM_INIT);
    INITIAL(allot_plan_options, ALLOT_PLAN_OPTIONS_INIT);
    INITIAL(allot_plan_summary, ALLOT_PLAN_SUMMARY_INIT);
    INITIAL(allot_memories, ALLOT_MEMORIES_INIT);
    INITIAL(allot_memories_summary, ALLOT_MEMORIES_SUMMARY_INIT);
    INITIAL(allot_page_cache_options, ALLOT_PAGE_CACHE_OPTIONS_INIT);
    INITIAL(allot_page_request, ALLOT_PAGE_REQUEST_INIT);
    INITIAL(allot_page_counts, ALLOT_PAGE_COUNTS_INIT);
}
