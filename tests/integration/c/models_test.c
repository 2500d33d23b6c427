/* Random calls, compared with simple models that look at every byte. */
#include "check.h"

/* ── arenas ──────────────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct held {
    unsigned char* at;
    size_t size;
    unsigned char mark;
} held;

static unsigned char memory[20011];

static int is_marked(const held* block) {
    for (size_t i = 0; i != block->size; ++i)
        if (block->at[i] != block->mark) return 0;
    return 1;
}

static void arena_calls(allot_arena* arena, size_t calls) {
    held blocks[64];
    size_t count = 0;
    for (; calls != 0; --calls) {
        allot_statistics now = ALLOT_STATISTICS_INIT;
        const size_t which = count == 0 ? 0 : index_below(count), size = index_below(900) + 1;
        if (count != 64 && below(2) == 0) {
            const size_t align = (size_t)1 << below(9);
            void* block = NULL;
            const allot_status status = allot_arena_allocate(arena, size, align, &block);
            CHECK_EQ(allot_arena_statistics(arena, &now), ALLOT_OK);
            if (status != ALLOT_OK) {
                CHECK(status == (now.free < size ? ALLOT_EXHAUSTED : ALLOT_FRAGMENTED));
                CHECK(align > 2 * sizeof(void*) || now.largest_hole < size);
                continue;
            }
            blocks[count].at = block;
            blocks[count].size = size;
            blocks[count].mark = (unsigned char)calls;
            CHECK((uintptr_t)block % align == 0);
            CHECK(blocks[count].at >= memory && blocks[count].at + size <= memory + sizeof memory);
            memset(block, blocks[count].mark, size);
            ++count;
        } else if (count != 0 && below(3) == 0) {
            held* block = &blocks[which];
            const allot_status status = allot_arena_resize(arena, block->at, size);
            CHECK(status == ALLOT_OK || (status == ALLOT_NOT_FREE && size > block->size));
            CHECK(is_marked(block) || size < block->size);
            if (status != ALLOT_OK) continue;
            block->size = size;
            memset(block->at, block->mark, size);
        } else if (count != 0) {
            CHECK(is_marked(&blocks[which]));
            CHECK_EQ(allot_arena_free(arena, blocks[which].at), ALLOT_OK);
            CHECK_EQ(allot_arena_free(arena, blocks[which].at), ALLOT_NOT_LIVE);
            blocks[which] = blocks[--count];
        }
        CHECK_EQ(allot_arena_statistics(arena, &now), ALLOT_OK);
        CHECK_EQ(now.blocks, count);
    }
    while (count-- != 0) {
        CHECK(is_marked(&blocks[count]));
        CHECK_EQ(allot_arena_free(arena, blocks[count].at), ALLOT_OK);
    }
}

void test_arena(void) {
    for (size_t skipped = 0; skipped != 19; ++skipped) {
        allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
        allot_statistics now = ALLOT_STATISTICS_INIT;
        counted_memory counted = {0, 0, 0, 0};
        const allot_callbacks callbacks = callbacks_of(&counted);
        allot_arena* arena = NULL;
        void* block = NULL;
        uint64_t largest;
        options.memory = memory + skipped;
        options.size = sizeof memory - 3 * skipped;
        options.callbacks = &callbacks;
        CHECK_EQ(allot_arena_create(&options, &arena), ALLOT_OK);
        CHECK(counted.bytes < 8192);
        CHECK_EQ(allot_arena_statistics(arena, &now), ALLOT_OK);
        largest = now.largest_hole;
        arena_calls(arena, 400);
        CHECK_EQ(allot_arena_statistics(arena, &now), ALLOT_OK);
        CHECK(now.used == 0 && now.blocks == 0 && now.holes == 1 && now.largest_hole == largest);
        CHECK(now.requests > now.refusals && now.peak > 900);
        CHECK_EQ(allot_arena_allocate(arena, (size_t)largest, 1, &block), ALLOT_OK);
        CHECK_EQ(allot_arena_allocate(arena, 1, 1, &block), ALLOT_EXHAUSTED);
        CHECK_EQ(allot_arena_reset(arena), ALLOT_OK);
        CHECK_EQ(allot_arena_allocate(arena, (size_t)largest, 1, &block), ALLOT_OK);
        CHECK_EQ(counted.live, 2);
        allot_arena_destroy(arena);
        CHECK_EQ(counted.live, 0);
    }
}

/* ── offsets ─────────────────────────────────────────────────────────────────────────────────────────────────────── */

#define BYTES 997

static unsigned char used[BYTES]; /* whether a byte is in a block */

static int is_free(uint64_t from, uint64_t size) {
    if (from > BYTES || size > BYTES - from) return 0;
    for (uint64_t i = from; i != from + size; ++i)
        if (used[i]) return 0;
    return 1;
}
static int has_hole(uint64_t size, uint64_t align) {
    for (uint64_t at = 0; at < BYTES; at += align)
        if (is_free(at, size)) return 1;
    return 0;
}
static void compare_offsets(const allot_offsets* arena, size_t blocks) {
    allot_statistics now = ALLOT_STATISTICS_INIT;
    uint64_t busy = 0, holes = 0, largest = 0, run = 0;
    for (size_t i = 0; i != BYTES; ++i) {
        busy += used[i];
        run = used[i] ? 0 : run + 1;
        holes += run == 1;
        if (run > largest) largest = run;
    }
    CHECK_EQ(allot_offsets_statistics(arena, &now), ALLOT_OK);
    CHECK(now.size == BYTES && now.used == busy && now.blocks == blocks && now.holes == holes);
    CHECK(now.largest_hole == largest && now.free == BYTES - busy);
}

static void take(allot_block* blocks, size_t* count, const allot_block* made, allot_status status) {
    if (status != ALLOT_OK) {
        CHECK_EQ(made->size, 0);
        return;
    }
    CHECK(is_free(made->offset, made->size));
    memset(used + made->offset, 1, (size_t)made->size);
    blocks[(*count)++] = *made;
}

static void offsets_calls(allot_offsets* arena, size_t calls) {
    static allot_block blocks[BYTES];
    size_t count = 0;
    memset(used, 0, sizeof used);
    for (; calls != 0; --calls) {
        const uint64_t size = below(8) == 0 ? below(300) + 1 : below(12) + 1;
        allot_block made;
        allot_status status;
        if (below(16) == 0) {
            const uint64_t offset = below(BYTES + 10);
            const int possible = is_free(offset, size);
            status = allot_offsets_allocate_at(arena, offset, size, &made);
            CHECK_EQ(status, possible ? ALLOT_OK : ALLOT_NOT_FREE);
            CHECK(status != ALLOT_OK || (made.offset == offset && made.size == size));
            take(blocks, &count, &made, status);
        } else if (count == 0 || below(5) < 3) {
            const uint64_t align = (uint64_t)1 << below(6);
            const int possible = has_hole(size, align);
            status = allot_offsets_allocate(arena, size, align, &made);
            CHECK_EQ(status == ALLOT_OK, possible);
            CHECK(status != ALLOT_OK || (made.offset % align == 0 && made.size == size));
            take(blocks, &count, &made, status);
        } else if (below(4) == 0) {
            allot_block* block = &blocks[index_below(count)];
            const int possible = size <= block->size || is_free(block->offset + block->size, size - block->size);
            CHECK_EQ(allot_offsets_resize(arena, block, size), possible ? ALLOT_OK : ALLOT_NOT_FREE);
            if (!possible) continue;
            CHECK_EQ(block->size, size);
            memset(used, 0, sizeof used);
            for (size_t i = 0; i != count; ++i) memset(used + blocks[i].offset, 1, (size_t)blocks[i].size);
        } else {
            const size_t which = index_below(count);
            CHECK_EQ(allot_offsets_free(arena, &blocks[which]), ALLOT_OK);
            CHECK_EQ(allot_offsets_free(arena, &blocks[which]), ALLOT_NOT_LIVE);
            memset(used + blocks[which].offset, 0, (size_t)blocks[which].size);
            blocks[which] = blocks[--count];
        }
        compare_offsets(arena, count);
    }
    while (count-- != 0) CHECK_EQ(allot_offsets_free(arena, &blocks[count]), ALLOT_OK);
}

void test_offsets(void) {
    for (unsigned round = 0; round != 4; ++round) {
        allot_offsets_options options = ALLOT_OFFSETS_OPTIONS_INIT;
        counted_memory counted = {0, 0, 0, 0};
        const allot_callbacks callbacks = callbacks_of(&counted);
        allot_offsets* arena = NULL;
        options.size = BYTES;
        options.blocks = round == 3 ? BYTES : round * 10; /* in the last round, no call takes memory */
        options.callbacks = &callbacks;
        CHECK_EQ(allot_offsets_create(&options, &arena), ALLOT_OK);
        CHECK_EQ(counted.requests, 2);
        offsets_calls(arena, 600);
        CHECK(round == 3 ? counted.requests == 2 : counted.requests > 2);
        memset(used, 0, sizeof used);
        compare_offsets(arena, 0);
        CHECK_EQ(allot_offsets_reset(arena), ALLOT_OK);
        offsets_calls(arena, 100);
        CHECK_EQ(counted.live, 2);
        allot_offsets_destroy(arena);
        CHECK_EQ(counted.live, 0);
    }
}

/* ── pools ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

static void pool_calls(allot_pool* pool, uint64_t slots, uint64_t stride, unsigned char* base, uint64_t first) {
    static unsigned char taken[4096];
    uint64_t count = 0;
    memset(taken, 0, sizeof taken);
    for (unsigned calls = 3000; calls != 0; --calls) {
        allot_statistics now = ALLOT_STATISTICS_INIT;
        const uint64_t index = below(slots + 2);
        allot_slot slot;
        if (below(5) < 3) {
            CHECK_EQ(allot_pool_allocate(pool, &slot), count == slots ? ALLOT_EXHAUSTED : ALLOT_OK);
            if (count == slots) continue;
            CHECK(slot.index < slots && !taken[slot.index] && slot.offset == first + slot.index * stride);
            CHECK(slot.address == (base == NULL ? NULL : base + slot.offset));
            taken[slot.index] = 1;
            ++count;
        } else {
            const int live = index < slots && taken[index];
            CHECK_EQ(allot_pool_free(pool, index), live            ? ALLOT_OK
                                                   : index < slots ? ALLOT_NOT_LIVE
                                                                   : ALLOT_FOREIGN_BLOCK);
            if (!live) continue;
            taken[index] = 0;
            --count;
        }
        CHECK_EQ(allot_pool_statistics(pool, &now), ALLOT_OK);
        CHECK(now.blocks == count && now.used == count * stride && now.holes == slots - count);
        CHECK(now.free == now.holes * stride && now.largest_hole == (now.holes == 0 ? 0 : stride));
    }
    CHECK_EQ(allot_pool_reset(pool), ALLOT_OK);
    for (uint64_t i = 0; i != slots; ++i) {
        allot_slot slot;
        CHECK_EQ(allot_pool_allocate(pool, &slot), ALLOT_OK);
        if (slot.address != NULL) memset(slot.address, 1, (size_t)stride);
    }
}

void test_pool(void) {
    counted_memory counted = {0, 0, 0, 0};
    const allot_callbacks callbacks = callbacks_of(&counted);
    for (unsigned skipped = 0; skipped < 20; skipped += 3) {
        allot_pool_options options = ALLOT_POOL_OPTIONS_INIT;
        const uintptr_t at = (uintptr_t)(memory + skipped);
        const uint64_t first = (0 - at) % 32;
        allot_pool* pool = NULL;
        options.memory = memory + skipped;
        options.size = 5000;
        options.slot_size = 70;
        options.slot_align = 32;
        options.callbacks = &callbacks;
        CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_OK);
        pool_calls(pool, (5000 - first) / 96, 96, memory + skipped, first);
        allot_pool_destroy(pool);
        options.memory = NULL;
        options.size = (uint64_t)1 << 40;
        options.slot_size = (uint64_t)1 << 30;
        options.slot_align = 0;
        CHECK_EQ(allot_pool_create(&options, &pool), ALLOT_OK);
        pool_calls(pool, 1024, (uint64_t)1 << 30, NULL, 0);
        allot_pool_destroy(pool);
        CHECK_EQ(counted.live, 0);
    }
}

/* ── plans ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

#define BUFFERS 24

static int overlap(const allot_buffer* a, uint64_t at_a, const allot_buffer* b, uint64_t at_b) {
    return a->from < b->until && b->from < a->until && at_a < at_b + b->size && at_b < at_a + a->size;
}

static size_t random_buffers(allot_buffer* buffers) {
    const size_t count = index_below(BUFFERS) + 1;
    for (size_t i = 0; i != count; ++i) {
        buffers[i].size = below(5) == 0 ? below(3) : below(300) + 1;
        buffers[i].from = (int64_t)below(20) - 10;
        buffers[i].until = buffers[i].from + 1 + (int64_t)below(8);
        buffers[i].align = (uint64_t)1 << below(7);
    }
    return count;
}

static int stop_at_once(void* user, uint64_t best, uint64_t bound) {
    CHECK(best >= bound);
    ++*(unsigned*)user;
    return 1;
}

static void one_plan(const allot_plan_options* options) {
    allot_buffer buffers[BUFFERS];
    allot_place places[BUFFERS];
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_plan_summary summary = ALLOT_PLAN_SUMMARY_INIT;
    const size_t count = random_buffers(buffers);
    uint64_t peak = 0, which[2], live = 0;
    problem.buffers = buffers;
    problem.buffer_count = count;
    CHECK_EQ(allot_plan(&problem, options, places, &summary), ALLOT_OK);
    for (size_t i = 0; i != count; ++i) {
        CHECK(places[i].memory == 0 && places[i].offset % buffers[i].align == 0);
        CHECK(summary.align % buffers[i].align == 0);
        if (buffers[i].size != 0 && places[i].offset + buffers[i].size > peak)
            peak = places[i].offset + buffers[i].size;
        for (size_t j = 0; j != i; ++j) CHECK(!overlap(&buffers[i], places[i].offset, &buffers[j], places[j].offset));
        if (buffers[i].from <= summary.step && summary.step < buffers[i].until) live += buffers[i].size;
    }
    CHECK_EQ(summary.peak, peak);
    CHECK(live <= summary.bound && summary.bound <= peak);
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, which), ALLOT_OK);
    if (options != NULL && options->capacity != 0 && peak > options->capacity) {
        CHECK(summary.quality == ALLOT_INFEASIBLE || summary.quality == ALLOT_OUT_OF_BUDGET);
        CHECK_EQ(allot_plan_validate(&problem, options, places, which), ALLOT_VIOLATION_OVER_CAPACITY);
    } else {
        CHECK(summary.quality == ALLOT_OPTIMAL || summary.quality == ALLOT_FEASIBLE);
    }
}

static void one_plan_of_memories(const allot_plan_options* options) {
    allot_buffer buffers[BUFFERS];
    allot_place places[BUFFERS];
    uint64_t uses[BUFFERS], allowed[BUFFERS], cost = 0, spilled = 0, unplaced = 0;
    const allot_memory memory_of[2] = {{below(600) + 1, 1, 0}, {UINT64_MAX, 8, 3}};
    allot_need needs[2];
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_memories memories = ALLOT_MEMORIES_INIT;
    allot_memories_summary summary = ALLOT_MEMORIES_SUMMARY_INIT;
    problem.buffers = buffers;
    problem.buffer_count = random_buffers(buffers);
    memories.memories = memory_of;
    memories.memory_count = 2;
    for (size_t i = 0; i != problem.buffer_count; ++i) {
        uses[i] = below(4) + 1;
        allowed[i] = below(6) == 0 ? 1 : 3; /* some may use the first memory only, and may stay without a place */
    }
    memories.uses = uses;
    memories.allowed = allowed;
    CHECK_EQ(allot_plan_memories(&problem, &memories, options, places, needs, &summary), ALLOT_OK);
    for (size_t i = 0; i != problem.buffer_count; ++i) {
        if (places[i].memory == ALLOT_NOWHERE) {
            ++unplaced;
            continue;
        }
        CHECK(places[i].memory < 2 && (allowed[i] >> places[i].memory & 1) != 0);
        CHECK(places[i].offset + buffers[i].size <= memory_of[places[i].memory].capacity);
        CHECK(buffers[i].size == 0 || places[i].offset + buffers[i].size <= needs[places[i].memory].peak);
        CHECK(places[i].offset % buffers[i].align == 0 && places[i].offset % memory_of[places[i].memory].align == 0);
        cost += buffers[i].size * uses[i] * memory_of[places[i].memory].cost;
        spilled += places[i].memory != 0 ? buffers[i].size : 0;
        for (size_t j = 0; j != i; ++j)
            CHECK(places[i].memory != places[j].memory ||
                  !overlap(&buffers[i], places[i].offset, &buffers[j], places[j].offset));
    }
    CHECK_EQ(summary.cost, cost);
    CHECK_EQ(summary.spilled, spilled);
    CHECK_EQ(summary.unplaced, unplaced);
    CHECK(unplaced != 0 || summary.bound <= cost);
    CHECK((unplaced == 0) == (summary.quality == ALLOT_OPTIMAL || summary.quality == ALLOT_FEASIBLE));
}

static void constraints(void) { /* each kind of constraint, with a plan that it changes */
    const allot_buffer buffers[3] = {{64, 0, 2, 1}, {64, 1, 4, 1}, {32, 4, 5, 1}};
    const allot_revival revivals[1] = {{0, 6, 8}};
    const allot_fixed fixed[1] = {{2, 10}};
    const allot_pair together[1] = {{0, 1}}, apart[1] = {{1, 2}};
    const allot_reserved reserved[1] = {{0, 5}};
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_plan_summary summary = ALLOT_PLAN_SUMMARY_INIT;
    allot_place places[3];
    problem.buffers = buffers;
    problem.buffer_count = 3;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_OK);
    CHECK_EQ(summary.peak, 128);
    problem.together = together;
    problem.together_count = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_OK);
    CHECK(summary.peak == 64 && places[0].offset == places[1].offset);
    problem.apart = apart;
    problem.apart_count = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_OK);
    CHECK_EQ(summary.peak, 96);
    problem.fixed = fixed;
    problem.fixed_count = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_OK);
    CHECK(summary.peak == 106 && places[2].offset == 10);
    problem.reserved = reserved;
    problem.reserved_count = 1;
    problem.revivals = revivals;
    problem.revival_count = 1;
    CHECK_EQ(allot_plan(&problem, NULL, places, &summary), ALLOT_OK);
    CHECK(summary.peak == 106 && places[0].offset >= 42);
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, NULL), ALLOT_OK);
    problem.apart_count = 0;
    places[0].offset = places[1].offset = 0;
    CHECK_EQ(allot_plan_validate(&problem, NULL, places, NULL), ALLOT_VIOLATION_RESERVED);
}

static void banks(void) { /* operands of two multiplications: a caller that does not know pairs gets one bank */
    const allot_buffer buffers[3] = {{64, 0, 2, 1}, {32, 0, 4, 1}, {64, 2, 4, 1}};
    const allot_memory two[3] = {{128, 1, 0}, {128, 1, 0}, {UINT64_MAX, 1, 1}};
    const allot_pair operands[2] = {{0, 1}, {1, 2}};
    spread of = spread_of(buffers, 3, two, 3);
    const allot_place* places = of.places;
    of.memories.separate = operands;
    of.memories.separate_count = 2;
    CHECK_EQ(plan_memories_of(&of), ALLOT_OK);
    CHECK(of.summary.quality == ALLOT_OPTIMAL && of.summary.cost == 0 && of.summary.unplaced == 0);
    CHECK(places[0].memory == places[2].memory && places[0].memory + places[1].memory == 1);
    of.memories.struct_size = offsetof(allot_memories, separate);
    CHECK_EQ(plan_memories_of(&of), ALLOT_OK);
    CHECK(places[0].memory == 0 && places[1].memory == 0 && places[2].memory == 0);
    of.memories.struct_size = sizeof of.memories;
    of.memories.memory_count = 1;
    CHECK_EQ(plan_memories_of(&of), ALLOT_OK);
    CHECK(of.summary.quality == ALLOT_INFEASIBLE && of.summary.unplaced == 1 && places[1].memory == ALLOT_NOWHERE);
}

static void rows_in_two_memories(void) { /* the rest of the fast memory, and a buffer that exceeds each memory */
    const allot_buffer buffers[2] = {{640, 0, 4, 1}, {768, 1, 2, 1}}, large[1] = {{100, 0, 1, 1}};
    const allot_memory fast_and_slow[2] = {{1024, 1, 0}, {UINT64_MAX, 1, 1}}, two[2] = {{64, 1, 0}, {64, 1, 2}};
    const uint64_t rows[2] = {10, 12}, ten[1] = {10}, two_rows[1] = {1};
    spread of = spread_of(buffers, 2, fast_and_slow, 2);
    CHECK_EQ(plan_rows_of(&of, rows), ALLOT_OK);
    CHECK(of.rows_summary.quality == ALLOT_OPTIMAL && of.rows_summary.cost == 384 && of.rows_summary.bound == 384);
    CHECK(of.rows_summary.whole_cost == 640 && of.rows_summary.whole_unplaced == 0 && of.rows_summary.spilled == 384);
    CHECK(of.rows_summary.divided == 1 && of.splits[0].rest.memory == 1 && of.places[of.splits[0].buffer].memory == 0);
    CHECK_EQ(of.splits[0].rows + 6, rows[of.splits[0].buffer]);
    CHECK(of.needs[0].peak == 1024 && of.needs[1].peak == 384);
    of = spread_of(large, 1, two, 2);
    CHECK_EQ(plan_rows_of(&of, ten), ALLOT_OK);
    CHECK(of.rows_summary.cost == 80 && of.splits[0].rows == 6 && of.rows_summary.whole_unplaced == 1);
    CHECK_EQ(plan_rows_of(&of, two_rows), ALLOT_OK);
    CHECK(of.rows_summary.quality == ALLOT_INFEASIBLE && of.rows_summary.unplaced == 1 && of.rows_summary.bound == 0);
    CHECK(of.places[0].memory == ALLOT_NOWHERE && of.rows_summary.which == 0 && of.rows_summary.divided == 0);
}

/* Plans random buffers with rows, and checks each part as a buffer of one memory. */
static void one_plan_of_rows(const allot_plan_options* options) {
    allot_buffer buffers[BUFFERS], parts[2 * BUFFERS];
    allot_place places[BUFFERS], at[2 * BUFFERS];
    allot_split splits[BUFFERS];
    uint64_t rows[BUFFERS], cost = 0, which[2];
    const allot_memory memory_of[2] = {{below(600) + 1, 1, 0}, {UINT64_MAX, 8, 3}};
    allot_need needs[2];
    allot_memories memories = ALLOT_MEMORIES_INIT;
    allot_problem problem = ALLOT_PROBLEM_INIT;
    allot_rows_summary summary = ALLOT_ROWS_SUMMARY_INIT;
    size_t next = 0, divided = 0;
    problem.buffers = buffers;
    problem.buffer_count = random_buffers(buffers);
    memories.memories = memory_of;
    memories.memory_count = 2;
    for (size_t i = 0; i != problem.buffer_count; ++i) {
        rows[i] = below(8);
        buffers[i].size *= rows[i] < 2 ? 1 : rows[i];
    }
    CHECK_EQ(allot_plan_rows(&problem, &memories, rows, options, places, needs, splits, &summary), ALLOT_OK);
    CHECK(summary.unplaced == 0 && summary.bound <= summary.cost && summary.cost <= summary.whole_cost);
    for (uint64_t m = 0; m != 2; ++m) { /* the parts in each memory */
        allot_plan_options capacity = ALLOT_PLAN_OPTIONS_INIT;
        allot_problem here = ALLOT_PROBLEM_INIT;
        const allot_place none = {0, 0};
        size_t count = 0;
        capacity.capacity = needs[m].peak == 0 ? 1 : needs[m].peak;
        next = 0;
        for (size_t i = 0; i != problem.buffer_count; ++i) {
            const int is_divided = next != summary.divided && splits[next].buffer == i;
            const uint64_t row = rows[i] < 2 ? buffers[i].size : buffers[i].size / rows[i];
            const uint64_t first = is_divided ? splits[next].rows * row : buffers[i].size;
            const allot_place place[2] = {places[i], is_divided ? splits[next].rest : none};
            const uint64_t size[2] = {first, buffers[i].size - first};
            for (size_t k = 0; k != 1 + (size_t)is_divided; ++k) {
                if (place[k].memory != m) continue;
                parts[count] = buffers[i];
                parts[count].size = size[k];
                if (parts[count].align < memory_of[m].align) parts[count].align = memory_of[m].align;
                at[count] = place[k];
                at[count++].memory = 0;
                cost += size[k] * memory_of[m].cost;
            }
            if (is_divided) {
                CHECK(place[0].memory == 0 && place[1].memory == 1 && splits[next].rows > 0 &&
                      splits[next].rows < rows[i]);
                ++next;
            }
        }
        here.buffers = parts;
        here.buffer_count = count;
        divided = next;
        CHECK_EQ(allot_plan_validate(&here, &capacity, at, which), ALLOT_OK);
        CHECK(needs[m].peak <= memory_of[m].capacity);
    }
    CHECK_EQ(divided, summary.divided);
    CHECK_EQ(summary.cost, cost);
}

void test_plan(void) {
    allot_plan_options options = ALLOT_PLAN_OPTIONS_INIT;
    counted_memory counted = {0, 0, 0, 0};
    const allot_callbacks callbacks = callbacks_of(&counted);
    unsigned seen = 0;
    options.callbacks = &callbacks;
    constraints();
    banks();
    rows_in_two_memories();
    for (unsigned round = 0; round != 10; ++round) {
        one_plan(NULL);
        options.effort = round % 2 == 0 ? ALLOT_NO_SEARCH : 5000;
        options.capacity = below(2000);
        one_plan(&options);
        one_plan_of_memories(NULL);
        one_plan_of_memories(&options);
        one_plan_of_rows(&options);
        options.effort = options.capacity = 0;
        options.watch = stop_at_once;
        options.user = &seen;
        one_plan(&options);
        one_plan_of_memories(&options);
        one_plan_of_rows(&options);
        options.watch = NULL;
        CHECK_EQ(counted.live, 0);
    }
    CHECK(counted.requests > 100 && seen > 0);
}

/* ── page caches ─────────────────────────────────────────────────────────────────────────────────────────────────── */

#define PAGES 23
#define PAGE_TOKENS 3
#define LONGEST 40

typedef struct sequence {
    allot_sequence number;
    uint32_t tokens[LONGEST], count, named; /* named pages */
} sequence;

static uint32_t page_memory[PAGES * PAGE_TOKENS]; /* the token that each place in a page is about */

static int copy_page(void* user, const allot_page_place* from, const allot_page_place* to) {
    ++*(unsigned*)user;
    CHECK(from->page < PAGES && to->page < PAGES && from->page != to->page);
    CHECK(from->offset == from->page * 12 && to->offset == to->page * 12 && from->bytes == 12 && to->bytes == 12);
    memcpy(page_memory + to->page * PAGE_TOKENS, page_memory + from->page * PAGE_TOKENS, 12);
    return 0;
}

/* A number for all tokens up to a position, because the values of a token depend on those before it. */
static uint32_t value_of(const sequence* of, uint32_t at) {
    uint32_t made = 17;
    for (uint32_t i = 0; i <= at; ++i) made = made * 31 + of->tokens[i] + 1;
    return made;
}

static void contents_of(const sequence* of, allot_page_content* pages) {
    for (uint32_t page = 0; page != of->count / PAGE_TOKENS; ++page) {
        pages[page].hash_high = 0;
        pages[page].hash_low = 1;
        pages[page].tokens = NULL;
        pages[page].token_count = 0;
        for (uint32_t i = 0; i != PAGE_TOKENS; ++i)
            pages[page].hash_low = pages[page].hash_low * 131 + of->tokens[page * PAGE_TOKENS + i] + 1;
    }
}

static void add_tokens(allot_page_cache* cache, sequence* of, uint32_t more) {
    uint32_t pages[LONGEST], added = 0;
    size_t count = 0;
    const uint32_t before = of->count;
    const allot_status status = allot_page_cache_append(cache, of->number, more, &added);
    CHECK(status == ALLOT_OK || status == ALLOT_PAGE_OUT_OF_PAGES);
    if (status != ALLOT_OK) return;
    for (uint32_t i = 0; i != more; ++i) of->tokens[of->count++] = (uint32_t)below(2);
    CHECK_EQ(added, (of->count + PAGE_TOKENS - 1) / PAGE_TOKENS - (before + PAGE_TOKENS - 1) / PAGE_TOKENS);
    CHECK_EQ(allot_page_cache_read_pages(cache, of->number, 0, pages, LONGEST, &count), ALLOT_OK);
    for (uint32_t at = before; at != of->count; ++at)
        page_memory[pages[at / PAGE_TOKENS] * PAGE_TOKENS + at % PAGE_TOKENS] = value_of(of, at);
}

static void check_sequence(const allot_page_cache* cache, const sequence* of) {
    uint32_t pages[LONGEST];
    size_t count = 0;
    CHECK_EQ(allot_page_cache_read_pages(cache, of->number, 0, pages, LONGEST, &count), ALLOT_OK);
    CHECK_EQ(count, (of->count + PAGE_TOKENS - 1) / PAGE_TOKENS);
    for (uint32_t at = 0; at != of->count; ++at) {
        const uint32_t page = pages[at / PAGE_TOKENS];
        CHECK(page < PAGES && page_memory[page * PAGE_TOKENS + at % PAGE_TOKENS] == value_of(of, at));
    }
}

static void start_sequence(allot_page_cache* cache, sequence* of) {
    allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
    allot_page_content pages[LONGEST];
    uint32_t cached = 0;
    of->count = (uint32_t)below(LONGEST);
    for (uint32_t i = 0; i != of->count; ++i) of->tokens[i] = (uint32_t)below(2);
    contents_of(of, pages);
    request.contents = pages;
    request.content_count = of->count / PAGE_TOKENS;
    request.priority = (uint32_t)below(16);
    CHECK_EQ(allot_page_cache_start(cache, &request, &of->number, &cached), ALLOT_OK);
    CHECK(cached <= of->count && cached % PAGE_TOKENS == 0);
    of->count = cached;
    of->named = cached / PAGE_TOKENS;
}

static void page_cache_call(allot_page_cache* cache, sequence* sequences, size_t* count) {
    sequence* of = &sequences[*count == 0 ? 0 : index_below(*count)];
    allot_page_content pages[LONGEST];
    switch (*count == 0 ? 0 : below(7)) {
        case 0:
            if (*count != 6) start_sequence(cache, &sequences[(*count)++]);
            break;
        case 1:
        case 2:
            if (of->count + 6 < LONGEST) add_tokens(cache, of, (uint32_t)below(6));
            break;
        case 3:
            contents_of(of, pages);
            CHECK_EQ(
                allot_page_cache_name(cache, of->number, pages + of->named, of->count / PAGE_TOKENS - of->named, NULL),
                ALLOT_OK);
            of->named = of->count / PAGE_TOKENS;
            break;
        case 4:
            if (*count == 6) break;
            sequences[*count] = *of;
            CHECK_EQ(allot_page_cache_fork(cache, of->number, &sequences[(*count)++].number), ALLOT_OK);
            break;
        case 5: {
            const uint32_t left = (uint32_t)below(of->count + 1);
            CHECK_EQ(allot_page_cache_truncate(cache, of->number, left), ALLOT_OK);
            of->count = left;
            if (of->named > left / PAGE_TOKENS) of->named = left / PAGE_TOKENS;
            break;
        }
        default: CHECK_EQ(allot_page_cache_release(cache, of->number), ALLOT_OK); *of = sequences[--*count];
    }
}

static void page_cache_calls(uint32_t eviction) {
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    const allot_page_group groups[1] = {{12, PAGE_TOKENS, 0, 0, 0}};
    allot_page_cache* cache = NULL;
    counted_memory counted = {0, 0, 0, 0};
    const allot_callbacks callbacks = callbacks_of(&counted);
    allot_page_counts counts = ALLOT_PAGE_COUNTS_INIT;
    sequence sequences[6];
    size_t count = 0;
    unsigned copies = 0;
    options.bytes = PAGES * 12 + 5;
    options.groups = groups;
    options.group_count = 1;
    options.sequences = 6;
    options.sequence_pages = 20;
    options.eviction = eviction;
    options.callbacks = &callbacks;
    options.copy = copy_page;
    options.user = &copies;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
    for (unsigned calls = 0; calls != 500; ++calls) {
        page_cache_call(cache, sequences, &count);
        for (size_t i = 0; i != count; ++i) check_sequence(cache, &sequences[i]);
        CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
        CHECK_EQ(counts.free + counts.cached + counts.used, PAGES);
    }
    CHECK(copies > 0 && counts.evictions > 0);
    while (count-- != 0) CHECK_EQ(allot_page_cache_release(cache, sequences[count].number), ALLOT_OK);
    CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
    CHECK(counts.used == 0 && counts.cached > 0);
    allot_page_cache_destroy(cache);
    CHECK_EQ(counted.live, 0);
}

static void pins(void) { /* a pinned page survives requests for all pages */
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
    const allot_page_content content = {5, 6, NULL, 0};
    allot_page_counts counts = ALLOT_PAGE_COUNTS_INIT;
    allot_page_cache* cache = NULL;
    allot_sequence first = 0, second = 0;
    uint32_t tokens = 0;
    options.bytes = 4; /* the default: pages are counted, and have 16 tokens */
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
    request.contents = &content;
    request.content_count = 1;
    CHECK_EQ(allot_page_cache_start(cache, &request, &first, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, first, 16, NULL), ALLOT_OK);
    CHECK_EQ(allot_page_cache_name(cache, first, &content, 1, NULL), ALLOT_OK);
    CHECK_EQ(allot_page_cache_pin(cache, first, 1), ALLOT_OK);
    CHECK_EQ(allot_page_cache_release(cache, first), ALLOT_OK);
    request.content_count = 0;
    CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, second, 64, NULL), ALLOT_PAGE_OUT_OF_PAGES);
    CHECK_EQ(allot_page_cache_append(cache, second, 48, NULL), ALLOT_OK);
    request.content_count = 1;
    CHECK_EQ(allot_page_cache_start(cache, &request, &first, &tokens), ALLOT_OK);
    CHECK_EQ(tokens, 16);
    CHECK_EQ(allot_page_cache_pin(cache, first, 0), ALLOT_OK);
    CHECK_EQ(allot_page_cache_release(cache, first), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, second, 16, NULL), ALLOT_OK); /* evicts the page */
    CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
    CHECK(counts.used == 4 && counts.cached == 0 && counts.evictions == 1);
    allot_page_cache_destroy(cache);
}

static void groups_of_pages(void) { /* two groups share the memory in large pages of 12 bytes */
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    const allot_page_group groups[2] = {{4, 2, 0, 0, 0}, {6, 2, 3, 0, 0}};
    allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
    allot_page_counts counts = ALLOT_PAGE_COUNTS_INIT;
    allot_page_cache* cache = NULL;
    allot_sequence one = 0;
    uint32_t tokens = 0, pages[8];
    size_t count = 0;
    options.bytes = 24;
    options.groups = groups;
    options.group_count = 2;
    CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
    CHECK_EQ(allot_page_cache_start(cache, &request, &one, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, one, 2, &tokens), ALLOT_OK);
    CHECK_EQ(tokens, 2); /* one page of each group */
    CHECK_EQ(allot_page_cache_counts(cache, 0, &counts), ALLOT_OK);
    CHECK(counts.used == 1 && counts.free == 2);
    CHECK_EQ(allot_page_cache_counts(cache, 1, &counts), ALLOT_OK);
    CHECK(counts.used == 1 && counts.free == 1);
    CHECK_EQ(allot_page_cache_append(cache, one, 2, &tokens), ALLOT_OK);
    CHECK_EQ(allot_page_cache_append(cache, one, 2, &tokens), ALLOT_OK); /* the window has passed a page of group 1 */
    CHECK_EQ(allot_page_cache_read_pages(cache, one, 1, pages, 8, &count), ALLOT_OK);
    CHECK(count == 3 && pages[0] == UINT32_MAX && pages[1] < 4 && pages[2] < 4 && pages[1] != pages[2]);
    CHECK_EQ(allot_page_cache_counts(cache, 2, &counts), ALLOT_NO_SUCH_GROUP);
    allot_page_cache_destroy(cache);
}

static void compared_tokens(void) { /* two models: the contents have 3 tokens in one, 2 in the other */
    const allot_page_group groups[3] = {{4, 3, 0, 0, 0}, {8, 3, 6, 0, 0}, {4, 2, 0, 1, 0}};
    static const uint32_t ids[4] = {5, 6, 7, 8}, others[3] = {5, 6, 9};
    allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
    options.bytes = 80;
    options.groups = groups;
    options.group_count = 3;
    options.compare_tokens = 1;
    for (uint32_t eviction = ALLOT_EVICT_LRU; eviction <= ALLOT_EVICT_S3_FIFO; ++eviction) {
        for (uint32_t model = 0; model != 2; ++model) {
            const uint32_t each = 3 - model;
            allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
            allot_page_content content = {5, 6, ids, 0};
            allot_page_cache* cache = NULL;
            allot_sequence first = 0, second = 0;
            uint32_t tokens = 0, pages[4], replaced = 0;
            size_t count = 0;
            options.eviction = eviction;
            CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
            request.model = model;
            CHECK_EQ(allot_page_cache_start(cache, &request, &first, &tokens), ALLOT_OK);
            CHECK_EQ(allot_page_cache_append(cache, first, each, NULL), ALLOT_OK);
            request.contents = &content;
            request.content_count = 1;
            for (size_t given = 0; given != 5; ++given) {
                if (given == each) continue;
                content.token_count = given;
                replaced = 7;
                CHECK_EQ(allot_page_cache_name(cache, first, &content, 1, &replaced), ALLOT_NOT_ONE_PAGE);
                CHECK_EQ(replaced, 0);
                second = tokens = 7;
                CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_NOT_ONE_PAGE);
                CHECK(second == 0 && tokens == 0);
            }
            content.token_count = each;
            CHECK_EQ(allot_page_cache_name(cache, first, &content, 1, NULL), ALLOT_OK);
            CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_OK);
            CHECK_EQ(tokens, each);
            CHECK_EQ(allot_page_cache_read_pages(cache, second, model == 0 ? 1 : 2, pages, 4, &count), ALLOT_OK);
            CHECK_EQ(count, 1);
            CHECK_EQ(allot_page_cache_read_pages(cache, second, model == 0 ? 2 : 0, pages, 4, &count),
                     ALLOT_NO_SUCH_GROUP); /* a group of the other model */
            CHECK_EQ(count, 0);
            content.tokens = model == 0 ? others : others + 1;
            CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_OK);
            CHECK_EQ(tokens, 0); /* the hash is equal, the tokens are not */
            request.model = 2;
            CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_PAGE_NOT_A_MODEL);
            allot_page_cache_destroy(cache);
        }
    }
}

static void tokens_in_both_or_in_neither(void) { /* the tokens of contents are a part of the key of a page */
    static const uint32_t ids[16] = {1, 2, 3};
    for (unsigned round = 0; round != 4; ++round) {
        allot_page_cache_options options = ALLOT_PAGE_CACHE_OPTIONS_INIT;
        allot_page_request request = ALLOT_PAGE_REQUEST_INIT;
        const allot_page_content with = {5, 6, ids, 16}, without = {5, 6, NULL, 0};
        allot_page_cache* cache = NULL;
        allot_sequence first = 0, second = 0;
        uint32_t tokens = 0;
        options.bytes = 4;
        CHECK_EQ(allot_page_cache_create(&options, &cache), ALLOT_OK);
        CHECK_EQ(allot_page_cache_start(cache, &request, &first, &tokens), ALLOT_OK);
        CHECK_EQ(allot_page_cache_append(cache, first, 16, NULL), ALLOT_OK);
        CHECK_EQ(allot_page_cache_name(cache, first, round % 2 == 0 ? &with : &without, 1, NULL), ALLOT_OK);
        request.contents = round / 2 == 0 ? &with : &without;
        request.content_count = 1;
        CHECK_EQ(allot_page_cache_start(cache, &request, &second, &tokens), ALLOT_OK);
        CHECK_EQ(tokens, round % 2 == round / 2 ? 16 : 0);
        allot_page_cache_destroy(cache);
    }
}

void test_page_cache(void) {
    for (uint32_t eviction = ALLOT_EVICT_LRU; eviction <= ALLOT_EVICT_S3_FIFO; ++eviction) page_cache_calls(eviction);
    pins();
    groups_of_pages();
    compared_tokens();
    tokens_in_both_or_in_neither();
}
