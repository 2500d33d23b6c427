/* Every function refuses NULL and other invalid arguments with a code, and structures of other sizes. */
#include "check.h"

static _Alignas(16) unsigned char bytes[4096];

/* Returns whether a result of a failed call is 0, except struct_size. */
#define IS_ZERO(result) is_zero(&(result).struct_size, sizeof(result))
static int is_zero(const size_t* result, size_t size) {
    const unsigned char* rest = (const unsigned char*)(result + 1);
    if (*result != size) return 0;
    for (size_t i = 0; i != size - sizeof *result; ++i)
        if (rest[i] != 0) return 0;
    return 1;
}

static allot_arena* arena_of(size_t size) {
    allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
    allot_arena* arena = NULL;
    options.memory = bytes;
    options.size = size;
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_OK);
    return arena;
}

static void arena_arguments(void) {
    allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
    allot_statistics statistics = ALLOT_STATISTICS_INIT;
    allot_arena* arena = (allot_arena*)bytes;
    void* block = bytes;
    written into = {{0}, 0};
    allot_callbacks half = {NULL, NULL, NULL};
    counted_memory memory = {0, 0, 0, 0};

    CHECK_EQ(allot_arena_create(NULL, &arena), ALLOT_NULL_ARGUMENT);
    CHECK(arena == NULL);
    CHECK_EQ(allot_arena_create(&options, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_NULL_ARGUMENT); /* no memory */
    options.memory = bytes;
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_BAD_RANGE); /* no bytes */
    options.size = 15;
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_BAD_RANGE);
    options.size = SIZE_MAX; /* beyond the address space */
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_BAD_RANGE);
    options.size = sizeof bytes;
    half = callbacks_of(&memory);
    half.release = NULL;
    options.callbacks = &half;
    CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(memory.requests, 0);
    allot_arena_destroy(NULL);

    arena = arena_of(sizeof bytes);
    CHECK_EQ(allot_arena_allocate(NULL, 1, 1, &block), ALLOT_NULL_ARGUMENT);
    CHECK(block == NULL);
    CHECK_EQ(allot_arena_allocate(arena, 1, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_allocate(arena, 0, 1, &block), ALLOT_EMPTY_LAYOUT);
    CHECK_EQ(allot_arena_allocate(arena, 1, 0, &block), ALLOT_BAD_ALIGNMENT);
    CHECK_EQ(allot_arena_allocate(arena, 1, 3, &block), ALLOT_BAD_ALIGNMENT);
    CHECK_EQ(allot_arena_allocate(arena, SIZE_MAX, 1, &block), ALLOT_EXHAUSTED);
    CHECK_EQ(allot_arena_allocate(arena, sizeof bytes, 1, &block), ALLOT_EXHAUSTED);
    CHECK(block == NULL);
    CHECK_EQ(allot_arena_free(NULL, bytes), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_free(arena, NULL), ALLOT_OK);
    CHECK_EQ(allot_arena_free(arena, &options), ALLOT_FOREIGN_BLOCK);
    CHECK_EQ(allot_arena_free(arena, bytes + sizeof bytes), ALLOT_FOREIGN_BLOCK);
    CHECK_EQ(allot_arena_free(arena, bytes + 256), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_arena_resize(NULL, bytes, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_resize(arena, NULL, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_resize(arena, bytes + 256, 1), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_arena_allocate(arena, 100, 16, &block), ALLOT_OK);
    CHECK_EQ(allot_arena_resize(arena, block, 0), ALLOT_EMPTY_LAYOUT);
    CHECK_EQ(allot_arena_resize(arena, block, SIZE_MAX), ALLOT_NOT_FREE);
    CHECK_EQ(allot_arena_resize(arena, block, 3000), ALLOT_OK);
    CHECK_EQ(allot_arena_free(arena, (char*)block + 1), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_arena_free(arena, (char*)block + 16), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_arena_free(arena, block), ALLOT_OK);
    CHECK_EQ(allot_arena_free(arena, block), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_arena_reset(NULL), ALLOT_NULL_ARGUMENT);
    statistics.size = statistics.holes = 7;
    CHECK_EQ(allot_arena_statistics(NULL, &statistics), ALLOT_NULL_ARGUMENT);
    CHECK(IS_ZERO(statistics));
    CHECK_EQ(allot_arena_statistics(arena, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_snapshot(NULL, "", append, &into), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_arena_snapshot(arena, "", NULL, &into), ALLOT_NULL_ARGUMENT);
    allot_arena_destroy(arena);
}

static void arena_damage(void) { /* a write past the end of a block destroys the record of the next one */
    allot_arena* arena = arena_of(sizeof bytes);
    void *first = NULL, *second = NULL;
    unsigned char saved[64];
    CHECK_EQ(allot_arena_allocate(arena, 40, 16, &first), ALLOT_OK);
    CHECK_EQ(allot_arena_allocate(arena, 40, 16, &second), ALLOT_OK);
    memcpy(saved, (char*)second - sizeof(void*), sizeof(void*));
    memset((char*)second - sizeof(void*), 0xFF, sizeof(void*));
    CHECK_EQ(allot_arena_free(arena, second), ALLOT_OVERWRITTEN);
    CHECK_EQ(allot_arena_resize(arena, second, 10), ALLOT_OVERWRITTEN);
    memcpy((char*)second - sizeof(void*), saved, sizeof(void*));
    CHECK_EQ(allot_arena_free(arena, second), ALLOT_OK);
    CHECK_EQ(allot_arena_free(arena, first), ALLOT_OK);
    allot_arena_destroy(arena);
}

static void offsets_arguments(void) {
    allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
    allot_statistics statistics = ALLOT_STATISTICS_INIT;
    allot_offsets *arena = (allot_offsets*)bytes, *other = NULL;
    allot_block block = {1, 1, 1, 1}, none = {0, 0, 0, 0}, changed;
    counted_memory memory = {0, 0, 0, 0};
    const allot_callbacks callbacks = callbacks_of(&memory);
    written into = {{0}, 0};

    CHECK_EQ(allot_offsets_create(NULL, &arena), ALLOT_NULL_ARGUMENT);
    CHECK(arena == NULL);
    CHECK_EQ(allot_offsets_create(&options, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_BAD_RANGE);
    options.size = 1000;
    options.blocks = UINT64_MAX;
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OUT_OF_RECORDS);
    options.callbacks = &callbacks;
    options.blocks = ((uint64_t)1 << 31) - 255;
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OUT_OF_RECORDS);
    options.blocks -= 1; /* the largest number: the records are requested, and the request fails */
    memory.fail_at = memory.requests + 2;
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OUT_OF_MEMORY);
    CHECK_EQ(memory.live, 0);
    options.callbacks = NULL;
    options.blocks = 0;
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OK);
    CHECK_EQ(allot_offsets_create(&options, &other), ALLOT_OK);
    allot_offsets_destroy(NULL);

    CHECK_EQ(allot_offsets_allocate(NULL, 1, 1, &block), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(block.size, 0);
    CHECK_EQ(allot_offsets_allocate(arena, 1, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_allocate(arena, 0, 1, &block), ALLOT_EMPTY_LAYOUT);
    CHECK_EQ(allot_offsets_allocate(arena, 1, 0, &block), ALLOT_BAD_ALIGNMENT);
    CHECK_EQ(allot_offsets_allocate(arena, 1, 12, &block), ALLOT_BAD_ALIGNMENT);
    CHECK_EQ(allot_offsets_allocate(arena, 1001, 1, &block), ALLOT_EXHAUSTED);
    CHECK_EQ(allot_offsets_allocate(arena, UINT64_MAX, 1, &block), ALLOT_EXHAUSTED);
    CHECK_EQ(allot_offsets_allocate_at(NULL, 0, 1, &block), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_allocate_at(arena, 0, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_allocate_at(arena, 0, 0, &block), ALLOT_EMPTY_LAYOUT);
    CHECK_EQ(allot_offsets_allocate_at(arena, 999, 2, &block), ALLOT_NOT_FREE);
    CHECK_EQ(allot_offsets_allocate_at(arena, UINT64_MAX, 2, &block), ALLOT_NOT_FREE);
    CHECK_EQ(allot_offsets_allocate_at(arena, 7, 3, &block), ALLOT_OK);
    CHECK_EQ(block.offset, 7);
    CHECK_EQ(allot_offsets_allocate_at(arena, 9, 1, &changed), ALLOT_NOT_FREE);
    CHECK_EQ(changed.size, 0);
    CHECK_EQ(allot_offsets_free(NULL, &block), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_free(arena, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_OK); /* no block */
    CHECK_EQ(allot_offsets_free(other, &block), ALLOT_NOT_LIVE);
    changed = block;
    changed.offset = 1000;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_FOREIGN_BLOCK);
    changed.offset = 6;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_NOT_LIVE);
    changed = block;
    changed.size = 4;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_WRONG_SIZE);
    changed.size = UINT64_MAX;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_FOREIGN_BLOCK);
    changed = block;
    changed.record = UINT32_MAX;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_NOT_LIVE);
    changed = block;
    changed.number += 2;
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_offsets_resize(NULL, &block, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_resize(arena, NULL, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_resize(arena, &block, 0), ALLOT_EMPTY_LAYOUT);
    CHECK_EQ(allot_offsets_resize(arena, &none, 1), ALLOT_NOT_LIVE);
    CHECK(none.offset == 0 && none.size == 0 && none.record == 0 && none.number == 0);
    none = block;
    none.size = 0;
    CHECK_EQ(allot_offsets_resize(arena, &none, 1), ALLOT_WRONG_SIZE);
    CHECK_EQ(none.size, 0);
    CHECK_EQ(allot_offsets_resize(arena, &block, 994), ALLOT_NOT_FREE);
    CHECK_EQ(allot_offsets_resize(arena, &changed, 1), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_offsets_resize(arena, &block, 993), ALLOT_OK);
    CHECK_EQ(block.size, 993);
    changed = block;
    CHECK_EQ(allot_offsets_free(arena, &block), ALLOT_OK);
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_offsets_allocate_at(arena, 7, 993, &block), ALLOT_OK);
    CHECK_EQ(block.record, changed.record); /* the same record, offset and size, and another number */
    CHECK_EQ(allot_offsets_free(arena, &changed), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_offsets_reset(NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_reset(arena), ALLOT_OK);
    CHECK_EQ(allot_offsets_free(arena, &block), ALLOT_NOT_LIVE);
    statistics.size = statistics.holes = 7;
    CHECK_EQ(allot_offsets_statistics(NULL, &statistics), ALLOT_NULL_ARGUMENT);
    CHECK(IS_ZERO(statistics));
    CHECK_EQ(allot_offsets_statistics(arena, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_snapshot(NULL, "", append, &into), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_offsets_snapshot(arena, "", NULL, &into), ALLOT_NULL_ARGUMENT);
    allot_offsets_destroy(other);
    allot_offsets_destroy(arena);
}

static void pool_arguments(void) {
    allot_pool_options options = ALLOT_POOL_OPTIONS_INIT;
    allot_statistics statistics = ALLOT_STATISTICS_INIT;
    allot_pool* pool = (allot_pool*)bytes;
    allot_slot slot = {bytes, 1, 1};
    written into = {{0}, 0};

    CHECK_EQ(allot_pool_create(NULL, &pool), ALLOT_NULL_ARGUMENT);
    CHECK(pool == NULL);
    CHECK_EQ(allot_pool_create(&options, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_EMPTY_LAYOUT);
    options.slot_size = 100;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_RANGE);
    options.size = 111;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_RANGE);
    options.slot_align = 3;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_ALIGNMENT);
    options.slot_align = (uint64_t)1 << 63;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_RANGE);
    options.slot_align = 1;
    options.slot_size = UINT64_MAX;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_RANGE);
    options.slot_size = 1;
    options.size = UINT64_MAX;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_OVER_LIMIT);
    options.memory = bytes;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_BAD_RANGE); /* beyond the address space */
    options.memory = NULL;
    options.slot_size = 100;
    options.slot_align = 0;
    options.size = 112;
    CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_OK);
    allot_pool_destroy(NULL);

    CHECK_EQ(allot_pool_allocate(NULL, &slot), ALLOT_NULL_ARGUMENT);
    CHECK(slot.address == NULL);
    CHECK_EQ(allot_pool_allocate(pool, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_pool_free(pool, 0), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_pool_free(pool, 1), ALLOT_FOREIGN_BLOCK);
    CHECK_EQ(allot_pool_free(pool, (uint64_t)1 << 32), ALLOT_FOREIGN_BLOCK);
    CHECK_EQ(allot_pool_allocate(pool, &slot), ALLOT_OK);
    CHECK(slot.address == NULL && slot.offset == 0 && slot.index == 0);
    CHECK_EQ(allot_pool_allocate(pool, &slot), ALLOT_EXHAUSTED);
    CHECK_EQ(allot_pool_free(NULL, 0), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_pool_free(pool, 0), ALLOT_OK);
    CHECK_EQ(allot_pool_free(pool, 0), ALLOT_NOT_LIVE);
    CHECK_EQ(allot_pool_reset(NULL), ALLOT_NULL_ARGUMENT);
    statistics.size = statistics.holes = 7;
    CHECK_EQ(allot_pool_statistics(NULL, &statistics), ALLOT_NULL_ARGUMENT);
    CHECK(IS_ZERO(statistics));
    CHECK_EQ(allot_pool_statistics(pool, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_pool_snapshot(NULL, "", append, &into), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_pool_snapshot(pool, "", NULL, &into), ALLOT_NULL_ARGUMENT);
    allot_pool_destroy(pool);
}

static void separate_arguments(void) {
    const allot_buffer buffers[2] = {{64, 0, 2, 1}, {64, 1, 3, 1}};
    const allot_memory memories[2] = {{100, 1, 0}, {UINT64_MAX, 1, 1}};
    allot_pair separate[1] = {{0, UINT64_MAX}};
    spread of = spread_of(buffers, 2, memories, 2);
    of.memories.separate_count = 1;
    CHECK_EQ(plan_memories_of(&of), ALLOT_NULL_ARGUMENT);
    of.memories.separate = separate;
    CHECK_EQ(plan_memories_of(&of), ALLOT_PLAN_NO_SUCH_BUFFER);
    CHECK_EQ(of.summary.which, SIZE_MAX);
    separate[0].second = 0;
    CHECK_EQ(plan_memories_of(&of), ALLOT_PLAN_CONTRADICTION);
    separate[0].second = 1;
    CHECK_EQ(plan_memories_of(&of), ALLOT_OK);
    of.memories.struct_size = offsetof(allot_memories, separate); /* a caller of the first version */
    CHECK_EQ(plan_memories_of(&of), ALLOT_OK);
    --of.memories.struct_size;
    CHECK_EQ(plan_memories_of(&of), ALLOT_BAD_STRUCT_SIZE);
}

static void rows_arguments(void) {
    const allot_buffer buffers[2] = {{64, 0, 2, 1}, {96, 1, 3, 1}};
    allot_memory memories[2] = {{100, 1, 0}, {UINT64_MAX, 1, 1}};
    const uint64_t wrong[6][2] = {{64, 7}, {8, 97}, {8, UINT64_MAX}, {8, 64}, {5, 12}, {65, 12}};
    const uint64_t rows[2] = {8, 12};
    spread of = spread_of(buffers, 2, memories, 2);
    for (size_t i = 0; i != 6; ++i) {
        of.rows_summary.cost = of.places[1].offset = of.needs[0].peak = of.splits[0].rows = 77;
        CHECK_EQ(plan_rows_of(&of, wrong[i]), ALLOT_PLAN_INDIVISIBLE);
        CHECK_EQ(of.rows_summary.which, i < 4 ? 1 : 0);
        of.rows_summary.which = 0;
        CHECK(IS_ZERO(of.rows_summary) && of.places[1].offset == 77 && of.needs[0].peak == 77 &&
              of.splits[0].rows == 77);
    }
    CHECK_EQ(allot_plan_rows(NULL, &of.memories, rows, NULL, of.places, of.needs, of.splits, &of.rows_summary),
             ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_rows(&of.problem, NULL, rows, NULL, of.places, of.needs, of.splits, &of.rows_summary),
             ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_rows(&of.problem, &of.memories, rows, NULL, NULL, of.needs, of.splits, &of.rows_summary),
             ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_rows(&of.problem, &of.memories, rows, NULL, of.places, NULL, of.splits, &of.rows_summary),
             ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_rows(&of.problem, &of.memories, rows, NULL, of.places, of.needs, NULL, &of.rows_summary),
             ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_rows(&of.problem, &of.memories, rows, NULL, of.places, of.needs, of.splits, NULL),
             ALLOT_NULL_ARGUMENT);
    of.rows_summary.struct_size = sizeof of.rows_summary - 1;
    CHECK_EQ(plan_rows_of(&of, rows), ALLOT_BAD_STRUCT_SIZE);
    of.rows_summary.struct_size = sizeof of.rows_summary;
    memories[1].align = 3;
    CHECK_EQ(plan_rows_of(&of, rows), ALLOT_PLAN_NOT_A_MEMORY);
    CHECK_EQ(of.rows_summary.which, 1);
    memories[1].align = 1;
    CHECK_EQ(plan_rows_of(&of, NULL), ALLOT_OK); /* whole buffers */
    CHECK(of.rows_summary.divided == 0 && of.rows_summary.cost == of.rows_summary.whole_cost);
    of.problem.buffer_count = 0;
    CHECK_EQ(allot_plan_rows(&of.problem, &of.memories, NULL, NULL, NULL, of.needs, NULL, &of.rows_summary), ALLOT_OK);
}

static void plan_arguments(void) {
    allot_buffer buffers[2] = {{64, 0, 2, 1}, {64, 1, 3, 1}};
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_memories memories = ALLOT_MEMORIES_INIT;
    allot_memory memory[2] = {{100, 1, 0}, {UINT64_MAX, 1, 1}};
    allot_plan_options options = ALLOT_PLAN_OPTIONS_INIT;
    allot_plan_summary summary = ALLOT_PLAN_SUMMARY_INIT;
    allot_memories_summary several = ALLOT_MEMORIES_SUMMARY_INIT;
    allot_place places[2] = {{0, 0}, {0, 0}};
    allot_need needs[2];
    allot_fixed fixed[1] = {{0, 3}};
    allot_callbacks half = {NULL, NULL, NULL};
    counted_memory counted = {0, 0, 0, 0};
    uint64_t which[2] = {9, 9};

    CHECK_EQ(allot_plan(NULL, NULL, places, &summary), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan(&problem, NULL, NULL, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan(&problem, NULL, NULL, &summary), ALLOT_OK); /* no buffers */
    problem.buffer_count = 2;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_NULL_ARGUMENT);
    problem.buffers = buffers;
    CHECK_EQ(allot_plan(&problem, NULL, NULL, &summary), ALLOT_NULL_ARGUMENT);
    buffers[1].align = 3;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_PLAN_NOT_AN_ALIGNMENT);
    CHECK_EQ(summary.which, 1);
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_PLAN_NOT_AN_ALIGNMENT);
    CHECK_EQ(which[0], 1);
    buffers[1].align = 2;
    buffers[1].until = 1;
    places[0].offset = places[1].memory = 77;
    summary.peak = summary.quality = 7;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_PLAN_EMPTY_LIFETIME);
    CHECK(places[0].offset == 77 && places[0].memory == 0 && places[1].offset == 0 && places[1].memory == 77);
    CHECK_EQ(summary.which, 1);
    summary.which = 0;
    CHECK(IS_ZERO(summary));
    places[0].offset = places[1].memory = 0;
    buffers[1].until = 3;
    problem.fixed_count = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_NULL_ARGUMENT);
    problem.fixed = fixed;
    fixed[0].buffer = UINT64_MAX;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_PLAN_NO_SUCH_BUFFER);
    fixed[0].buffer = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_PLAN_FIXED_MISALIGNED);
    problem.fixed_count = 0;
    half = callbacks_of(&counted);
    half.allocate = NULL;
    options.callbacks = &half;
    CHECK_EQ(allot_plan(&problem, &options, places, &summary), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_memories(&problem, &memories, &options, places, needs, &several), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_validate(&problem, &options, places, which), ALLOT_NULL_ARGUMENT);
    options.callbacks = NULL;

    CHECK_EQ(allot_plan_memories(NULL, &memories, NULL, places, needs, &several), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_memories(&problem, NULL, NULL, places, needs, &several), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, places, needs, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, places, needs, &several), ALLOT_PLAN_NOT_A_MEMORY);
    memories.memory_count = 2;
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, places, needs, &several), ALLOT_NULL_ARGUMENT);
    memories.memories = memory;
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, NULL, needs, &several), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, places, NULL, &several), ALLOT_NULL_ARGUMENT);
    memory[1].align = 5;
    needs[0].peak = places[1].offset = 77;
    several.cost = several.unplaced = 7;
    CHECK_EQ(allot_plan_memories(&problem, &memories, NULL, places, needs, &several), ALLOT_PLAN_NOT_A_MEMORY);
    CHECK_EQ(several.which, 1);
    several.which = 0;
    CHECK(IS_ZERO(several) && needs[0].peak == 77 && places[1].offset == 77);

    CHECK_EQ(allot_plan_validate(NULL, NULL, places, which), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_plan_validate(&problem, NULL, NULL, which), ALLOT_NULL_ARGUMENT);
    places[0].offset = 0;
    places[1].offset = 62;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_VIOLATION_OVERLAP);
    CHECK_EQ(which[0] + which[1], 1);
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, NULL), ALLOT_VIOLATION_OVERLAP);
    places[1].offset = 65;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_VIOLATION_MISALIGNED);
    places[1].offset = 64;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_OK);
    places[1].memory = 1;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_NO_SUCH_MEMORY);
    CHECK(which[0] == 1 && which[1] == 0);
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, NULL), ALLOT_NO_SUCH_MEMORY);
    places[1].memory = ALLOT_NOWHERE;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_NO_PLACE);
    CHECK(which[0] == 1 && which[1] == 0);
    places[0].memory = UINT64_MAX - 1; /* the first one is reported */
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_NO_SUCH_MEMORY);
    CHECK_EQ(which[0], 0);
    places[0].memory = places[1].memory = 0;
    options.capacity = 127;
    CHECK_EQ(allot_plan_validate(&problem, &options, places, which), ALLOT_VIOLATION_OVER_CAPACITY);
}

static void page_cache_arguments(void) {
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
    allot_page_counts counts = ALLOT_PAGE_COUNTS_INIT;
    allot_page_group groups[1] = {{1, 4, 0, 0, 0}};
    allot_page_content content = {1, 2, NULL, 0};
    allot_page_cache* cache = (allot_page_cache*)bytes;
    allot_sequence sequence = 1, made = 1;
    uint32_t tokens = 1, pages[9];
    size_t count = 1;

    CHECK_EQ(allot_page_cache_create(NULL, &cache), ALLOT_NULL_ARGUMENT);
    CHECK(cache == NULL);
    CHECK_EQ(allot_page_cache_create(&options, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_PAGE_BAD_LIMITS);
    options.bytes = 8;
    options.eviction = 5;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_BAD_OPTION);
    options.eviction = ALLOT_EVICT_LRU;
    options.compare_tokens = 2;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_BAD_OPTION);
    options.compare_tokens = 0;
    options.group_count = 1;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_NULL_ARGUMENT);
    options.groups = groups;
    options.group_count = 9;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_PAGE_BAD_LIMITS);
    options.group_count = 1;
    groups[0].reserved = 1;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_BAD_OPTION);
    groups[0].reserved = 0;
    groups[0].page_tokens = 0;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_PAGE_BAD_LIMITS);
    groups[0].page_tokens = 4;
    options.bytes = UINT64_MAX;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_PAGE_BAD_LIMITS);
    options.bytes = 8;
    options.sequences = 2;
    options.sequence_pages = 9;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
    allot_page_cache_destroy(NULL);

    CHECK_EQ(allot_page_cache_start(NULL, &request, &sequence, &tokens), ALLOT_NULL_ARGUMENT);
    CHECK(sequence == 0 && tokens == 0);
    CHECK_EQ(allot_page_cache_start(cache, NULL, &sequence, &tokens), ALLOT_NULL_ARGUMENT);
    tokens = 7;
    CHECK_EQ(allot_page_cache_start(cache, &request, NULL, &tokens), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(tokens, 0);
    sequence = 7;
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(sequence, 0);
    request.content_count = 1;
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_NULL_ARGUMENT);
    request.contents = &content;
    content.token_count = 4;
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_NULL_ARGUMENT);
    content.token_count = 0;
    request.model = 1;
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_PAGE_NOT_A_MODEL);
    request.model = 0;
    request.priority = 16;
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_BAD_OPTION);
    request.priority = 15;

    for (int round = 0; round != 3; ++round) { /* numbers of sequences that never started, or that ended */
        const allot_sequence wrong[] = {0, 1, 2, UINT64_MAX, (uint64_t)1 << 32, (uint64_t)3 << 32, sequence};
        for (size_t i = 0; i != sizeof wrong / sizeof *wrong; ++i) {
            CHECK_EQ(allot_page_cache_append(cache, wrong[i], 1, NULL), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_name(cache, wrong[i], &content, 1, NULL), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_fork(cache, wrong[i], &made), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_truncate(cache, wrong[i], 0), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_release(cache, wrong[i]), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_pin(cache, wrong[i], 1), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_pin(cache, wrong[i], 0), ALLOT_PAGE_NOT_A_SEQUENCE);
            CHECK_EQ(allot_page_cache_read_pages(cache, wrong[i], 0, pages, 8, &count), ALLOT_PAGE_NOT_A_SEQUENCE);
        }
        if (round == 2) break;
        CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_OK);
        CHECK(sequence != 0);
        CHECK_EQ(allot_page_cache_release(cache, sequence), ALLOT_OK);
    }

    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(NULL, sequence, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_append(cache, sequence, UINT32_MAX, NULL), ALLOT_PAGE_TOO_LONG);
    CHECK_EQ(allot_page_cache_append(cache, sequence, 33, NULL), ALLOT_PAGE_OUT_OF_PAGES);
    CHECK_EQ(allot_page_cache_append(cache, sequence, 6, &tokens), ALLOT_OK);
    CHECK_EQ(tokens, 2);
    CHECK_EQ(allot_page_cache_name(NULL, sequence, &content, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_name(cache, sequence, NULL, 1, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_name(cache, sequence, &content, 1, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_name(cache, sequence, &content, 1, &tokens), ALLOT_PAGE_NOT_FULL);
    CHECK_EQ(allot_page_cache_fork(NULL, sequence, &made), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_fork(cache, sequence, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_fork(cache, sequence, &made), ALLOT_OK);
    CHECK_EQ(allot_page_cache_start(cache, &request, &sequence, &tokens), ALLOT_PAGE_OUT_OF_SEQUENCES);
    CHECK_EQ(allot_page_cache_append(cache, made, 1, NULL), ALLOT_PAGE_NOT_COPIED); /* no function copies */
    CHECK_EQ(allot_page_cache_truncate(NULL, made, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_truncate(cache, made, 7), ALLOT_PAST_END);
    CHECK_EQ(allot_page_cache_truncate(cache, made, 6), ALLOT_OK);
    CHECK_EQ(allot_page_cache_release(NULL, made), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_pin(NULL, made, 1), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_pin(cache, made, 0), ALLOT_PAGE_NOT_PINNED);
    CHECK_EQ(allot_page_cache_read_pages(NULL, made, 0, pages, 8, &count), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, NULL, 8, &count), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, pages, 8, NULL), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 1, pages, 8, &count), ALLOT_NO_SUCH_GROUP);
    CHECK_EQ(count, 0);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, pages, 1, &count), ALLOT_TOO_SMALL);
    CHECK_EQ(count, 9); /* sequence_pages */
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, NULL, 0, &count), ALLOT_TOO_SMALL);
    CHECK_EQ(count, 9);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, pages, count, &count), ALLOT_OK);
    CHECK_EQ(count, 2);
    CHECK_EQ(allot_page_cache_read_pages(cache, made, 0, pages, 2, &count), ALLOT_OK);
    CHECK_EQ(count, 2);
    CHECK_EQ(allot_page_cache_counts(NULL, 0, &counts), ALLOT_NULL_ARGUMENT);
    CHECK_EQ(allot_page_cache_counts(cache, 0, NULL), ALLOT_NULL_ARGUMENT);
    counts.free = counts.evictions = 7;
    CHECK_EQ(allot_page_cache_counts(cache, 1, &counts), ALLOT_NO_SUCH_GROUP);
    CHECK(IS_ZERO(counts));
    counts.free = counts.evictions = 7;
    CHECK_EQ(allot_page_cache_counts(NULL, 0, &counts), ALLOT_NULL_ARGUMENT);
    CHECK(IS_ZERO(counts));
    CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
    CHECK(counts.free == 6 && counts.used == 2 && counts.cached == 0);
    allot_page_cache_destroy(cache);
}

void test_arguments(void) {
    CHECK(allot_version() >= 100);
    CHECK(strcmp(allot_status_text(ALLOT_OK), "the call succeeded") == 0);
    CHECK(strcmp(allot_status_text(-1), "unknown") == 0);
    CHECK(strcmp(allot_status_text(INT32_MAX), "unknown") == 0);
    arena_arguments();
    arena_damage();
    offsets_arguments();
    pool_arguments();
    plan_arguments();
    separate_arguments();
    rows_arguments();
    page_cache_arguments();
}

/* A caller of a later version: a member more at the end. */
typedef struct later_options {
    allot_arena_options known;
    uint64_t added;
} later_options;
typedef struct later_statistics {
    allot_statistics known;
    uint64_t added;
} later_statistics;

void test_structs(void) {
    later_options options = {ALLOT_ARENA_OPTIONS_INIT, 0};
    later_statistics statistics = {ALLOT_STATISTICS_INIT, 77};
    allot_arena* arena = NULL;

    options.known.memory = bytes;
    options.known.size = sizeof bytes;
    options.known.struct_size = sizeof(allot_arena_options) - 1;
    CHECK_EQ(allot_arena_create(&options.known, &arena), ALLOT_BAD_STRUCT_SIZE);
    options.known.struct_size = 0;
    CHECK_EQ(allot_arena_create(&options.known, &arena), ALLOT_BAD_STRUCT_SIZE);
    options.known.struct_size = sizeof options;
    options.added = 1; /* a member that this library does not know */
    CHECK_EQ(allot_arena_create(&options.known, &arena), ALLOT_BAD_STRUCT_SIZE);
    options.added = 0;
    CHECK_EQ(allot_arena_create(&options.known, &arena), ALLOT_OK);

    statistics.known.struct_size = sizeof(allot_statistics) - 1;
    CHECK_EQ(allot_arena_statistics(arena, &statistics.known), ALLOT_BAD_STRUCT_SIZE);
    CHECK_EQ(statistics.added, 77);
    statistics.known.struct_size = sizeof(allot_statistics);
    CHECK_EQ(allot_arena_statistics(arena, &statistics.known), ALLOT_OK);
    CHECK_EQ(statistics.added, 77);
    statistics.known.struct_size = sizeof statistics;
    CHECK_EQ(allot_arena_statistics(arena, &statistics.known), ALLOT_OK);
    CHECK_EQ(statistics.added, 0);
    CHECK_EQ(statistics.known.struct_size, sizeof statistics);
    CHECK_EQ(statistics.known.size, sizeof bytes);
    allot_arena_destroy(arena);
}
