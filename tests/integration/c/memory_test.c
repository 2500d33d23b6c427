/* Each request of the library for memory of its own fails once. Nothing is lost, and the state before remains. */
#include "check.h"

static unsigned char memory[4096];

/* Runs `scenario` with the first request failing, with the second one, and so on, until none fails. */
static void fail_each(void (*scenario)(counted_memory* memory)) {
    unsigned failing = 1;
    for (;; ++failing) {
        counted_memory counted = {0, 0, 0, 0};
        counted.fail_at = failing;
        scenario(&counted);
        CHECK_EQ(counted.live, 0);
        CHECK_EQ(counted.bytes, 0);
        if (counted.requests < failing) break;
    }
    CHECK(failing > 1);
}

/* The code of a call during which a request may have failed. */
static int failed(const counted_memory* counted, unsigned before, allot_status status) {
    const int expected = counted->fail_at > before && counted->fail_at <= counted->requests;
    CHECK_EQ(status, expected ? ALLOT_OUT_OF_MEMORY : ALLOT_OK);
    return expected;
}

static void arenas(counted_memory* counted) {
    const allot_callbacks callbacks = callbacks_of(counted);
    allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
    allot_statistics before = ALLOT_STATISTICS_INIT, after = ALLOT_STATISTICS_INIT;
    allot_arena* arena = NULL;
    void* blocks[2] = {NULL, NULL};
    static written into;
    unsigned requests;
    options.memory = memory;
    options.size = sizeof memory;
    options.callbacks = &callbacks;
    if (failed(counted, 0, allot_arena_create(&options, &arena))) {
        CHECK(arena == NULL);
        return;
    }
    requests = counted->requests;
    CHECK_EQ(allot_arena_allocate(arena, 100, 64, &blocks[0]), ALLOT_OK);
    CHECK_EQ(allot_arena_allocate(arena, 100, 64, &blocks[1]), ALLOT_OK);
    CHECK_EQ(counted->requests, requests); /* blocks take no memory of the library */
    CHECK_EQ(allot_arena_statistics(arena, &before), ALLOT_OK);
    into.size = 0;
    if (failed(counted, requests, allot_arena_snapshot(arena, "arena", append, &into))) CHECK_EQ(into.size, 0);
    CHECK_EQ(allot_arena_statistics(arena, &after), ALLOT_OK);
    CHECK(memcmp(&before, &after, sizeof before) == 0);
    CHECK_EQ(allot_arena_free(arena, blocks[0]), ALLOT_OK);
    CHECK_EQ(allot_arena_free(arena, blocks[1]), ALLOT_OK);
    allot_arena_destroy(arena);
}

static void offsets(counted_memory* counted) {
    const allot_callbacks callbacks = callbacks_of(counted);
    allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
    allot_offsets* arena = NULL;
    allot_block blocks[100];
    static written into;
    size_t count = 0;
    unsigned requests;
    options.size = 1000;
    options.callbacks = &callbacks;
    if (failed(counted, 0, allot_offsets_create(&options, &arena))) {
        CHECK(arena == NULL);
        return;
    }
    while (count != 100) {
        allot_statistics before = ALLOT_STATISTICS_INIT, after = ALLOT_STATISTICS_INIT;
        const allot_block none = {0, 0, 0, 0};
        allot_status status;
        CHECK_EQ(allot_offsets_statistics(arena, &before), ALLOT_OK);
        requests = counted->requests;
        status = count % 2 == 0 ? allot_offsets_allocate(arena, 5, 1, &blocks[count])
                                : allot_offsets_allocate_at(arena, 990 - 5 * count, 5, &blocks[count]);
        if (!failed(counted, requests, status)) {
            ++count;
            continue;
        }
        CHECK(memcmp(&blocks[count], &none, sizeof none) == 0);
        CHECK_EQ(allot_offsets_statistics(arena, &after), ALLOT_OK);
        ++before.requests;
        ++before.refusals;
        CHECK(memcmp(&before, &after, sizeof before) == 0);
    }
    requests = counted->requests;
    into.size = 0;
    if (failed(counted, requests, allot_offsets_snapshot(arena, NULL, append, &into))) CHECK_EQ(into.size, 0);
    for (size_t i = 0; i != count; ++i) CHECK_EQ(allot_offsets_free(arena, &blocks[i]), ALLOT_OK);
    allot_offsets_destroy(arena);
}

static void pools(counted_memory* counted) {
    const allot_callbacks callbacks = callbacks_of(counted);
    allot_pool_options options = ALLOT_POOL_OPTIONS_INIT;
    allot_pool* pool = NULL;
    allot_slot slot;
    static written into;
    unsigned requests;
    options.size = 1000;
    options.slot_size = 10;
    options.callbacks = &callbacks;
    if (failed(counted, 0, allot_pool_create(&options, &pool))) {
        CHECK(pool == NULL);
        return;
    }
    requests = counted->requests;
    CHECK_EQ(allot_pool_allocate(pool, &slot), ALLOT_OK);
    into.size = 0;
    if (failed(counted, requests, allot_pool_snapshot(pool, "", append, &into))) CHECK_EQ(into.size, 0);
    CHECK_EQ(allot_pool_free(pool, slot.index), ALLOT_OK);
    allot_pool_destroy(pool);
}

static void plans(counted_memory* counted) {
    const allot_callbacks callbacks = callbacks_of(counted);
    const allot_buffer buffers[4] = {{64, 0, 2, 1}, {64, 1, 4, 1}, {32, 4, 5, 1}, {100, 0, 5, 8}};
    const allot_revival revivals[1] = {{0, 6, 8}};
    const allot_fixed fixed[1] = {{2, 10}};
    const allot_pair together[1] = {{0, 1}}, apart[1] = {{1, 2}}, separate[1] = {{0, 3}};
    const allot_reserved reserved[1] = {{0, 5}};
    const allot_memory fast_and_slow[2] = {{100, 1, 0}, {UINT64_MAX, 1, 1}};
    const uint64_t allowed[4] = {3, 3, 1, 3};
    const allot_place untouched = {77, 77};
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_memories memories = ALLOT_MEMORIES_INIT;
    allot_plan_options options = ALLOT_PLAN_OPTIONS_INIT;
    allot_plan_summary summary = ALLOT_PLAN_SUMMARY_INIT;
    allot_memories_summary several = ALLOT_MEMORIES_SUMMARY_INIT;
    allot_place places[4];
    allot_need needs[2];
    allot_split splits[4];
    const uint64_t rows[4] = {1, 1, 1, 10};
    allot_rows_summary divided = ALLOT_ROWS_SUMMARY_INIT;
    unsigned requests = 0;
    options.callbacks = &callbacks;
    problem.buffers = buffers;
    problem.buffer_count = 4;
    problem.revivals = revivals;
    problem.fixed = fixed;
    problem.together = together;
    problem.apart = apart;
    problem.revival_count = problem.fixed_count = problem.together_count = problem.apart_count = 1;
    memories.memories = fast_and_slow;
    memories.memory_count = 2;
    memories.allowed = allowed;
    memories.separate = separate;
    memories.separate_count = 1;
    for (size_t i = 0; i != 4; ++i) places[i] = untouched;
    if (failed(counted, requests, allot_plan_memories(&problem, &memories, &options, places, needs, &several)))
        for (size_t i = 0; i != 4; ++i) CHECK(memcmp(&places[i], &untouched, sizeof untouched) == 0);
    CHECK_EQ(counted->live, 0);
    memories.separate_count = 0;
    for (size_t i = 0; i != 4; ++i) places[i] = untouched;
    requests = counted->requests;
    if (failed(counted, requests,
               allot_plan_rows(&problem, &memories, rows, &options, places, needs, splits, &divided)))
        for (size_t i = 0; i != 4; ++i) CHECK(memcmp(&places[i], &untouched, sizeof untouched) == 0);
    problem.reserved = reserved;
    problem.reserved_count = 1;
    CHECK_EQ(counted->live, 0);
    for (size_t i = 0; i != 4; ++i) places[i] = untouched;
    requests = counted->requests;
    if (failed(counted, requests, allot_plan(&problem, &options, places, &summary))) {
        for (size_t i = 0; i != 4; ++i) CHECK(memcmp(&places[i], &untouched, sizeof untouched) == 0);
        return;
    }
    requests = counted->requests;
    (void)failed(counted, requests, allot_plan_validate(&problem, &options, places, NULL));
}

static void page_caches(counted_memory* counted) {
    const allot_callbacks callbacks = callbacks_of(counted);
    const allot_page_group group = {1, 1, 0, 0, 0};
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
    allot_page_counts counts = ALLOT_PAGE_COUNTS_INIT;
    static allot_page_content contents[60];
    allot_page_cache* cache = NULL;
    allot_sequence first = 0, second = 0;
    uint32_t tokens = 0;
    unsigned requests;
    options.bytes = 60;
    options.groups = &group;
    options.group_count = 1;
    options.callbacks = &callbacks;
    if (failed(counted, 0, allot_page_cache_create(&options, &cache))) {
        CHECK(cache == NULL);
        return;
    }
    for (unsigned i = 0; i != 60; ++i) contents[i].hash_low = i;
    CHECK_EQ(allot_page_cache_start(cache, &request, &first, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, first, 60, NULL), ALLOT_OK);
    requests = counted->requests;
    if (failed(counted, requests, allot_page_cache_name(cache, first, contents, 60, NULL)))
        CHECK_EQ(allot_page_cache_name(cache, first, contents, 60, NULL), ALLOT_OK);
    requests = counted->requests;
    request.contents = contents;
    request.content_count = 60;
    if (failed(counted, requests, allot_page_cache_start(cache, &request, &second, &tokens))) {
        CHECK(second == 0 && tokens == 0);
        CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_OK);
    }
    CHECK_EQ(tokens, 60);
    CHECK_EQ(allot_page_cache_release(cache, first), ALLOT_OK);
    CHECK_EQ(allot_page_cache_release(cache, second), ALLOT_OK);
    CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
    CHECK(counts.cached == 60 && counts.used == 0 && counts.free == 0);
    allot_page_cache_destroy(cache);
}

void test_failing_memory(void) {
    fail_each(arenas);
    fail_each(offsets);
    fail_each(pools);
    fail_each(plans);
    fail_each(page_caches);
}

/* ── snapshots ───────────────────────────────────────────────────────────────────────────────────────────────────── */

static int refuse(void* user, const void* bytes, size_t size) {
    CHECK(bytes != NULL && size != 0);
    ++*(unsigned*)user;
    return 1;
}

/* codes.cpp reads snapshots. This test is about their calls. */
void test_snapshots(void) {
    allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
    allot_offsets* arena = NULL;
    allot_block block;
    static written first, second;
    unsigned calls = 0;
    options.size = (uint64_t)1 << 40;
    CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OK);
    for (unsigned i = 0; i != 2000; ++i)
        CHECK_EQ(allot_offsets_allocate_at(arena, (uint64_t)i << 20, 4096, &block), ALLOT_OK);
    CHECK_EQ(allot_offsets_snapshot(arena, "two thousand blocks", refuse, &calls), ALLOT_STOPPED);
    CHECK_EQ(calls, 1); /* not called again */
    first.size = second.size = 0;
    CHECK_EQ(allot_offsets_snapshot(arena, "two thousand blocks", append, &first), ALLOT_OK);
    CHECK_EQ(allot_offsets_snapshot(arena, "two thousand blocks", append, &second), ALLOT_OK);
    CHECK(first.size > 8000 && first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0);
    CHECK(memcmp(first.bytes, "ALSN1\n", 6) == 0);
    allot_offsets_destroy(arena);
}
