/* Runs the tests of allot.h, which are C programs. */
#include "check.h"

unsigned checks, failures;

void check(int holds, const char* text, const char* file, int line) {
    ++checks;
    if (holds) return;
    ++failures;
    printf("%s:%d: %s does not hold\n", file, line, text);
}

void check_equal(uint64_t left, uint64_t right, const char* text, const char* file, int line) {
    ++checks;
    if (left == right) return;
    ++failures;
    printf("%s:%d: %s does not hold: %llu and %llu\n", file, line, text, (unsigned long long)left,
           (unsigned long long)right);
}

uint64_t below(uint64_t limit) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 16) % limit;
}

size_t index_below(size_t limit) { return (size_t)below(limit); }

/* A block has its size and its alignment in front of it, so that `release` can compare them. */
typedef union header {
    struct {
        size_t size, align;
    } of;
    max_align_t aligned;
} header;

static void* allocate(void* user, size_t size, size_t align) {
    counted_memory* memory = user;
    header* made;
    CHECK(size != 0 && align != 0 && align <= 16 && (align & (align - 1)) == 0);
    if (++memory->requests == memory->fail_at) return NULL;
    made = malloc(sizeof(header) + size);
    if (made == NULL) return NULL;
    made->of.size = size;
    made->of.align = align;
    memset(made + 1, 0xA5, size);
    ++memory->live;
    memory->bytes += size;
    return made + 1;
}

static void release(void* user, void* bytes, size_t size, size_t align) {
    counted_memory* memory = user;
    header* made = (header*)bytes - 1;
    CHECK_EQ(made->of.size, size);
    CHECK_EQ(made->of.align, align);
    --memory->live;
    memory->bytes -= size;
    free(made);
}

allot_callbacks callbacks_of(counted_memory* memory) {
    allot_callbacks made;
    made.allocate = allocate;
    made.release = release;
    made.user = memory;
    return made;
}

int append(void* to, const void* bytes, size_t size) {
    written* into = to;
    if (size > sizeof into->bytes - into->size) return 1;
    memcpy(into->bytes + into->size, bytes, size);
    into->size += size;
    return 0;
}

spread spread_of(const allot_buffer* buffers, size_t buffer_count, const allot_memory* memories, size_t memory_count) {
    spread made;
    memset(&made, 0, sizeof made);
    made.problem.struct_size = sizeof made.problem;
    made.memories.struct_size = sizeof made.memories;
    made.summary.struct_size = sizeof made.summary;
    made.rows_summary.struct_size = sizeof made.rows_summary;
    made.problem.buffers = buffers;
    made.problem.buffer_count = buffer_count;
    made.memories.memories = memories;
    made.memories.memory_count = memory_count;
    return made;
}
allot_status plan_memories_of(spread* of) {
    return allot_plan_memories(&of->problem, &of->memories, NULL, of->places, of->needs, &of->summary);
}
allot_status plan_rows_of(spread* of, const uint64_t* rows) {
    return allot_plan_rows(&of->problem, &of->memories, rows, NULL, of->places, of->needs, of->splits,
                           &of->rows_summary);
}

int main(void) {
    test_arguments();
    test_structs();
    test_layout();
    test_arena();
    test_offsets();
    test_pool();
    test_plan();
    test_page_cache();
    test_snapshots();
    test_failing_memory();
    printf("%u checks, %u failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
