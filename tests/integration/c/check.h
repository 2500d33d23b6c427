/* Checks, random numbers, and callbacks that count and that fail on request, for the tests of allot.h. */
#ifndef CHECK_H
#define CHECK_H

#include <allot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints each condition that does not hold. */
#define CHECK(condition) check((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQ(left, right) check_equal((uint64_t)(left), (uint64_t)(right), #left " == " #right, __FILE__, __LINE__)

extern unsigned checks, failures;
void check(int holds, const char* text, const char* file, int line);
void check_equal(uint64_t left, uint64_t right, const char* text, const char* file, int line);

/* Returns a number below `limit`. The numbers are the same on every machine. */
uint64_t below(uint64_t limit);
size_t index_below(size_t limit);

/* Memory whose blocks are counted. The request with the number `fail_at` fails, counted from 1. 0: none fails. */
typedef struct counted_memory {
    unsigned requests, fail_at, live;
    size_t bytes;
} counted_memory;
allot_callbacks callbacks_of(counted_memory* memory);

/* A problem of buffers in memories, and the results of its plans. */
typedef struct spread {
    allot_problem problem;
    allot_memories memories;
    allot_memories_summary summary;
    allot_rows_summary rows_summary;
    allot_place places[8];
    allot_need needs[8];
    allot_split splits[8];
} spread;
spread spread_of(const allot_buffer* buffers, size_t buffer_count, const allot_memory* memories, size_t memory_count);
/* Plans it, and returns the code. */
allot_status plan_memories_of(spread* of);
allot_status plan_rows_of(spread* of, const uint64_t* rows);

/* The bytes of a snapshot. */
typedef struct written {
    unsigned char bytes[1 << 16];
    size_t size;
} written;
int append(void* to, const void* bytes, size_t size);

void test_arguments(void);
void test_structs(void);
void test_layout(void);
void test_arena(void);
void test_offsets(void);
void test_pool(void);
void test_plan(void);
void test_page_cache(void);
void test_snapshots(void);
void test_failing_memory(void);

#endif
