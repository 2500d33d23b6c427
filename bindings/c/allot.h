/* SPDX-License-Identifier: BSL-1.0 */
/*
 * allot.h: the C interface of allot: arenas over memory that the caller has, arenas of offsets, pools, the planner of
 * buffers with known lifetimes, and the cache of pages with shared prefixes. docs/c.md is the guide.
 *
 *     allot_arena_options options = ALLOT_ARENA_OPTIONS_INIT;
 *     options.memory = bytes;
 *     options.size = sizeof bytes;
 *     allot_arena* arena;
 *     void* block;
 *     if (allot_arena_create(&options, &arena) != ALLOT_OK) return 1;
 *     if (allot_arena_allocate(arena, 300, 64, &block) == ALLOT_OK) allot_arena_free(arena, block);
 *     allot_arena_destroy(arena);
 *
 * Errors. Each function except allot_version, allot_status_text and the destroy functions returns an allot_status. It
 * is ALLOT_OK, which is 0, or the reason for which the call failed. A call that fails has changed nothing, except the
 * counters `requests` and `refusals`, and where its comment says otherwise. A result of a failed call is 0 or NULL,
 * except `which`, and `count` with ALLOT_TOO_SMALL. A structure whose `struct_size` is too small and the arrays `places`
 * and `needs` are unchanged. No function throws an exception or ends the program.
 *
 * Structures. The first member of a structure that may get more members is `struct_size`, the size that the caller
 * knows. The macros ALLOT_..._INIT set it. The library reads and writes only so many bytes, and members that the
 * caller does not know are 0. If the caller knows more members than the library, they must be 0, otherwise the call
 * fails with ALLOT_BAD_STRUCT_SIZE. In options, 0 always selects the default.
 *
 * Memory. The library takes its own memory, for handles and records, by the callbacks of the options, or by malloc
 * and free. It has no global variables. A function of the caller must not throw an exception, and must not call
 * functions for the handle that calls it.
 *
 * Threads. Calls with different handles may overlap. Calls with one handle must not, except
 * allot_page_cache_read_pages. The planner has no handle.
 */
#ifndef ALLOT_H
#define ALLOT_H

#include <stddef.h>
#include <stdint.h>

#if defined _WIN32 && defined ALLOT_C_BUILD
#define ALLOT_API __declspec(dllexport)
#elif defined _WIN32
#define ALLOT_API __declspec(dllimport)
#else
#define ALLOT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the binary interface. Libraries of one version are compatible: later ones only add functions,
 * members at the ends of structures, and codes. */
#define ALLOT_C_ABI 1

/* Returns the version of the library: 10000 * major + 100 * minor + patch. */
ALLOT_API uint32_t allot_version(void);

/* ── codes ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

/* A code below. Codes keep their numbers. */
typedef int32_t allot_status;

enum {
    ALLOT_OK = 0,

    /* A request for a block: the codes of allot::refusal. */
    ALLOT_EMPTY_LAYOUT = 1,   /* the size is 0 */
    ALLOT_BAD_ALIGNMENT = 2,  /* the alignment is 0 or not a power of two */
    ALLOT_MISALIGNED = 3,     /* the base of the memory does not satisfy the alignment */
    ALLOT_EXHAUSTED = 4,      /* fewer bytes are free than the request needs */
    ALLOT_FRAGMENTED = 5,     /* enough bytes are free, but no hole fits */
    ALLOT_NOT_FREE = 6,       /* the given bytes are in use or outside of the arena */
    ALLOT_OUT_OF_RECORDS = 7, /* the largest number of blocks is reached */
    ALLOT_OVER_LIMIT = 8,     /* the request exceeds a limit, such as the size of a slot */
    ALLOT_DEVICE_REFUSED = 9, /* no function of this version returns this code */
    ALLOT_PENDING = 10,       /* no function of this version returns this code */

    /* The interface itself. */
    ALLOT_NULL_ARGUMENT = 64,   /* a pointer is NULL that must not be */
    ALLOT_BAD_STRUCT_SIZE = 65, /* struct_size is too small, or a member that the library does not know is not 0 */
    ALLOT_BAD_OPTION = 66,      /* an option has a value that this version does not know */
    ALLOT_OUT_OF_MEMORY = 67,   /* the allocation callback returned NULL, or malloc did */
    ALLOT_BAD_RANGE = 68,       /* the memory is too small for one block, or its end exceeds the address space */
    ALLOT_STOPPED = 69,         /* the function that receives bytes did not accept them */
    ALLOT_NO_PLACE = 70,        /* a buffer has no place in the plan: its memory is ALLOT_NOWHERE */
    ALLOT_NO_SUCH_MEMORY = 71,  /* a place is in a memory that the plan does not have */
    ALLOT_NO_SUCH_GROUP = 72,   /* the cache, or the model of the sequence, has no group of pages with this index */
    ALLOT_TOO_SMALL = 73,       /* the array of the caller is too small for the result */
    ALLOT_PAST_END = 74,        /* the sequence has fewer tokens */
    ALLOT_NOT_ONE_PAGE = 75,    /* the contents of a page do not have the tokens of one page */

    /* The planner: 100 + allot::plan_refusal. */
    ALLOT_PLAN_TOO_MANY = 101,
    ALLOT_PLAN_WORKSPACE_TOO_SMALL = 102,
    ALLOT_PLAN_EMPTY_LIFETIME = 103,
    ALLOT_PLAN_OVERLAPPING_LIFETIMES = 104,
    ALLOT_PLAN_NOT_AN_ALIGNMENT = 105,
    ALLOT_PLAN_NO_SUCH_BUFFER = 106,
    ALLOT_PLAN_FIXED_MISALIGNED = 107,
    ALLOT_PLAN_WRAPS = 108,
    ALLOT_PLAN_CONTRADICTION = 109,
    ALLOT_PLAN_TOGETHER_NOT_MERGED = 110,
    ALLOT_PLAN_TOO_LARGE = 111,
    ALLOT_PLAN_UNSUPPORTED = 112,
    ALLOT_PLAN_NOT_A_MEMORY = 113,
    ALLOT_PLAN_NOT_FOR_EACH_BUFFER = 114,
    ALLOT_PLAN_FIXED_IN_NO_ONE_MEMORY = 115,
    ALLOT_PLAN_TOO_FEW_MOVES = 116,
    ALLOT_PLAN_OUTSIDE_LIFETIME = 117,
    ALLOT_PLAN_ABOVE_BOUND = 118,
    ALLOT_PLAN_INDIVISIBLE = 119, /* the number of rows of a buffer does not divide its size */

    /* The page cache: 200 + allot::page_refusal. */
    ALLOT_PAGE_BAD_LIMITS = 201,
    ALLOT_PAGE_NOT_A_SEQUENCE = 202,
    ALLOT_PAGE_NOT_A_MODEL = 203,
    ALLOT_PAGE_OUT_OF_SEQUENCES = 204,
    ALLOT_PAGE_OUT_OF_PAGES = 205,
    ALLOT_PAGE_TOO_LONG = 206,
    ALLOT_PAGE_NOT_FULL = 207,
    ALLOT_PAGE_OTHER_CONTENTS = 208,
    ALLOT_PAGE_BEHIND_WINDOW = 209,
    ALLOT_PAGE_NOT_COPIED = 210,
    ALLOT_PAGE_PINNED_TOO_OFTEN = 211,
    ALLOT_PAGE_NOT_PINNED = 212,
    ALLOT_PAGE_CHANGING = 213,

    /* A block that is not one: 300 + allot::misuse. */
    ALLOT_FOREIGN_BLOCK = 300,      /* the block is not in the memory of this handle */
    ALLOT_NOT_LIVE = 301,           /* no such block is live: it was freed before, or its address was changed */
    ALLOT_WRONG_SIZE = 302,         /* a block is live there, with another size */
    ALLOT_LEAKED = 303,             /* no function of this version returns this code */
    ALLOT_KILLED_BEFORE = 304,      /* no function of this version returns this code */
    ALLOT_OUT_OF_ORDER = 305,       /* no function of this version returns this code */
    ALLOT_OVERWRITTEN = 306,        /* the record next to the block is damaged: a write past the end of a block */
    ALLOT_WRITTEN_AFTER_FREE = 307, /* no function of this version returns this code */
    ALLOT_WRITTEN_BEFORE = 308,     /* no function of this version returns this code */
    ALLOT_WRITTEN_PAST = 309,       /* no function of this version returns this code */
    ALLOT_STALE_MARK = 310,         /* no function of this version returns this code */

    /* allot_plan_validate: 400 + allot::plan_violation_kind. */
    ALLOT_VIOLATION_BAD_PROBLEM = 401,
    ALLOT_VIOLATION_OFFSETS_MISSING = 402,
    ALLOT_VIOLATION_WORKSPACE_TOO_SMALL = 403,
    ALLOT_VIOLATION_MISALIGNED = 404,
    ALLOT_VIOLATION_WRAPS = 405,
    ALLOT_VIOLATION_OVER_CAPACITY = 406,
    ALLOT_VIOLATION_NOT_WHERE_FIXED = 407,
    ALLOT_VIOLATION_NOT_TOGETHER = 408,
    ALLOT_VIOLATION_NOT_APART = 409,
    ALLOT_VIOLATION_RESERVED = 410,
    ALLOT_VIOLATION_OVERLAP = 411
};

/* Returns a constant English text for a code, "unknown" for other numbers. */
ALLOT_API const char* allot_status_text(allot_status status);

/* ── what all handles have in common ─────────────────────────────────────────────────────────────────────────────── */

/* The source of the library's own memory. Both functions get `user`. `allocate` returns NULL if it has no memory.
 * `align` is a power of two and at most 16, and `size` is not 0. If both functions are NULL, the source is malloc and
 * free. If only one is NULL, the call fails with ALLOT_NULL_ARGUMENT. */
typedef struct allot_callbacks {
    void* (*allocate)(void* user, size_t size, size_t align);
    void (*release)(void* user, void* memory, size_t size, size_t align);
    void* user;
} allot_callbacks;

/* Receives the bytes of a file in their order. Returns 0, or another number if it cannot accept them. */
typedef int (*allot_write)(void* user, const void* bytes, size_t size);

/* Counters. Sizes are in bytes. */
typedef struct allot_statistics {
    size_t struct_size;
    uint64_t size;     /* all bytes that the handle manages */
    uint64_t used;     /* the usable sizes of all live blocks */
    uint64_t blocks;   /* the number of live blocks */
    uint64_t peak;     /* the maximum of `used` */
    uint64_t requests; /* requests for a block, with the refused ones */
    uint64_t refusals; /* requests that failed */
    uint64_t free;     /* the size of all holes */
    uint64_t
        largest_hole; /* the size of the largest hole: the largest request that can succeed with an alignment of 1 */
    uint64_t holes;   /* the number of holes */
} allot_statistics;
#define ALLOT_STATISTICS_INIT {sizeof(allot_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* The functions allot_..._snapshot write the state of a handle in the format ALSN1, which ./dev view draws: blocks,
 * holes and counters. `name` is the name of the allocator in the file, or NULL. */

/* ── arenas: blocks of any size in memory that the processor can write ───────────────────────────────────────────── */

/* An arena over bytes of the caller, with the strategy best_fit. The records of the arena are in these bytes: one
 * word in front of each block. Beside them it has one bit for each two words of the memory, by which it recognizes
 * its blocks. */
typedef struct allot_arena allot_arena;

typedef struct allot_arena_options {
    size_t struct_size;
    void* memory;                     /* the bytes, which must outlive the arena */
    size_t size;                      /* their number */
    const allot_callbacks* callbacks; /* or NULL */
} allot_arena_options;
#define ALLOT_ARENA_OPTIONS_INIT {sizeof(allot_arena_options), NULL, 0, NULL}

/* Creates an arena. Fails with ALLOT_BAD_RANGE if no block fits in the memory. */
ALLOT_API allot_status allot_arena_create(const allot_arena_options* options, allot_arena** made);
/* Destroys an arena, and all of its blocks. NULL has no effect. */
ALLOT_API void allot_arena_destroy(allot_arena* arena);
/* Allocates a block. `align` is a power of two. */
ALLOT_API allot_status allot_arena_allocate(allot_arena* arena, size_t size, size_t align, void** block);
/* Frees a block. NULL has no effect. A pointer that is not a live block of this arena is refused. */
ALLOT_API allot_status allot_arena_free(allot_arena* arena, void* block);
/* Changes the size of a block in place. Fails with ALLOT_NOT_FREE if the bytes behind it are not free. */
ALLOT_API allot_status allot_arena_resize(allot_arena* arena, void* block, size_t size);
/* Frees all blocks. */
ALLOT_API allot_status allot_arena_reset(allot_arena* arena);
/* Computes the counters. The time grows with the number of holes and blocks. */
ALLOT_API allot_status allot_arena_statistics(const allot_arena* arena, allot_statistics* statistics);
ALLOT_API allot_status allot_arena_snapshot(const allot_arena* arena, const char* name, allot_write write, void* user);

/* ── offsets: blocks of any size in memory that the library never touches ────────────────────────────────────────── */

/* An arena of the offsets from 0 to `size`, with the strategy best_fit and a table of records. The bytes may be of
 * any memory, such as a buffer of a GPU or a file. */
typedef struct allot_offsets allot_offsets;

typedef struct allot_offsets_options {
    size_t struct_size;
    uint64_t size;                    /* the number of bytes */
    uint64_t blocks;                  /* records for so many blocks are allocated at once, and others when needed */
    const allot_callbacks* callbacks; /* or NULL */
} allot_offsets_options;
#define ALLOT_OFFSETS_OPTIONS_INIT {sizeof(allot_offsets_options), 0, 0, NULL}

/* A block of an arena of offsets. Give it back unchanged. A block of size 0 is no block. */
typedef struct allot_block {
    uint64_t offset;
    uint64_t size;
    uint32_t record; /* the index of its record */
    uint32_t number; /* tells blocks apart that had the same record one after the other */
} allot_block;

/* Creates an arena of offsets. Fails with ALLOT_BAD_RANGE if the size is 0, and with ALLOT_OUT_OF_RECORDS if `blocks`
 * exceeds 2^31 - 256, the largest number of blocks. */
ALLOT_API allot_status allot_offsets_create(const allot_offsets_options* options, allot_offsets** made);
/* Destroys an arena of offsets. NULL has no effect. */
ALLOT_API void allot_offsets_destroy(allot_offsets* arena);
/* Allocates a block whose offset is a multiple of `align`, a power of two. */
ALLOT_API allot_status allot_offsets_allocate(allot_offsets* arena, uint64_t size, uint64_t align, allot_block* block);
/* Allocates exactly the bytes from `offset` to `offset + size`. */
ALLOT_API allot_status allot_offsets_allocate_at(allot_offsets* arena, uint64_t offset, uint64_t size,
                                                 allot_block* block);
/* Frees a block. A block of size 0 has no effect. A block that is not live in this arena is refused. */
ALLOT_API allot_status allot_offsets_free(allot_offsets* arena, const allot_block* block);
/* Changes the size of a block in place, and updates it. Fails with ALLOT_NOT_FREE if the bytes behind it are not free,
 * and with ALLOT_NOT_LIVE or ALLOT_WRONG_SIZE for a block that is not live, such as one of size 0. */
ALLOT_API allot_status allot_offsets_resize(allot_offsets* arena, allot_block* block, uint64_t size);
/* Frees all blocks. */
ALLOT_API allot_status allot_offsets_reset(allot_offsets* arena);
/* Computes the counters. The time grows with the number of holes and blocks. */
ALLOT_API allot_status allot_offsets_statistics(const allot_offsets* arena, allot_statistics* statistics);
ALLOT_API allot_status allot_offsets_snapshot(const allot_offsets* arena, const char* name, allot_write write,
                                              void* user);

/* ── pools: slots of one size ────────────────────────────────────────────────────────────────────────────────────── */

/* Slots of one size, over bytes or over offsets. The library never touches them. The list of free slots has 4 bytes
 * for each slot. */
typedef struct allot_pool allot_pool;

typedef struct allot_pool_options {
    size_t struct_size;
    void* memory;                     /* the bytes, which must outlive the pool, or NULL for offsets from 0 */
    uint64_t size;                    /* their number */
    uint64_t slot_size;               /* the size of a slot, which is rounded up to a multiple of slot_align */
    uint64_t slot_align;              /* the alignment of each slot, a power of two; 0: 16 */
    const allot_callbacks* callbacks; /* or NULL */
} allot_pool_options;
#define ALLOT_POOL_OPTIONS_INIT {sizeof(allot_pool_options), NULL, 0, 0, 0, NULL}

typedef struct allot_slot {
    void* address;   /* NULL for a pool of offsets */
    uint64_t offset; /* the distance from the start of the memory */
    uint64_t index;  /* 0 for the first slot */
} allot_slot;

/* Creates a pool. Fails with ALLOT_BAD_RANGE if no slot fits, and with ALLOT_OVER_LIMIT if more than 2^32 - 3 fit. */
ALLOT_API allot_status allot_pool_create(const allot_pool_options* options, allot_pool** made);
/* Destroys a pool. NULL has no effect. */
ALLOT_API void allot_pool_destroy(allot_pool* pool);
/* Allocates a slot. */
ALLOT_API allot_status allot_pool_allocate(allot_pool* pool, allot_slot* slot);
/* Frees the slot with this index. An index whose slot is free is refused. */
ALLOT_API allot_status allot_pool_free(allot_pool* pool, uint64_t index);
/* Frees all slots. */
ALLOT_API allot_status allot_pool_reset(allot_pool* pool);
/* Computes the counters. A hole is a free slot. */
ALLOT_API allot_status allot_pool_statistics(const allot_pool* pool, allot_statistics* statistics);
ALLOT_API allot_status allot_pool_snapshot(const allot_pool* pool, const char* name, allot_write write, void* user);

/* ── the planner: offsets for buffers with known lifetimes ───────────────────────────────────────────────────────── */

/* Elements of a problem. A buffer is named by its index. A lifetime contains the steps from `from` to `until - 1`. */
typedef struct allot_buffer {
    uint64_t size;
    int64_t from, until;
    uint64_t align; /* a power of two */
} allot_buffer;
/* One more lifetime of a buffer. */
typedef struct allot_revival {
    uint64_t buffer;
    int64_t from, until;
} allot_revival;
/* A buffer with a given offset. */
typedef struct allot_fixed {
    uint64_t buffer, offset;
} allot_fixed;
typedef struct allot_pair {
    uint64_t first, second;
} allot_pair;
/* Bytes that no buffer may use. */
typedef struct allot_reserved {
    uint64_t offset, size;
} allot_reserved;

typedef struct allot_problem {
    size_t struct_size;
    const allot_buffer* buffers;
    size_t buffer_count;
    const allot_revival* revivals;
    size_t revival_count;
    const allot_fixed* fixed;
    size_t fixed_count;
    const allot_pair* together; /* pairs that share one offset */
    size_t together_count;
    const allot_pair* apart; /* pairs that share no byte, even if they never live at the same time */
    size_t apart_count;
    const allot_reserved* reserved;
    size_t reserved_count;
} allot_problem;
#define ALLOT_PROBLEM_INIT {sizeof(allot_problem), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0}

/* The place of a buffer in a plan. */
typedef struct allot_place {
    uint64_t offset;
    uint64_t memory; /* the index of the memory: 0 for allot_plan, ALLOT_NOWHERE for a buffer without a place */
} allot_place;
#define ALLOT_NOWHERE UINT64_MAX

/* A value of allot_plan_options::effort: no search, one simple plan. */
#define ALLOT_NO_SEARCH UINT64_MAX

typedef struct allot_plan_options {
    size_t struct_size;
    uint64_t capacity;                /* of one memory: the number of its bytes; 0: no limit */
    uint64_t effort;                  /* the number of placements in all attempts; 0: the default, up to some seconds */
    const allot_callbacks* callbacks; /* or NULL */
    /* NULL, or a function that the planner calls from time to time, with the peak of the best plan so far and the lower
     * bound of all peaks. With several memories these are costs, and UINT64_MAX while a buffer has no place. If the
     * function does not return 0, the planner stops and returns its best plan. */
    int (*watch)(void* user, uint64_t best, uint64_t bound);
    void* user;
} allot_plan_options;
#define ALLOT_PLAN_OPTIONS_INIT {sizeof(allot_plan_options), 0, 0, NULL, NULL, NULL}

/* The quality of a plan. */
enum {
    ALLOT_OPTIMAL = 0,      /* the plan fits, and no plan is better */
    ALLOT_FEASIBLE = 1,     /* the plan fits; a better one may exist */
    ALLOT_INFEASIBLE = 2,   /* the plan does not fit, and no plan fits */
    ALLOT_OUT_OF_BUDGET = 3 /* the plan does not fit; another one may fit */
};

typedef struct allot_plan_summary {
    size_t struct_size;
    uint64_t quality; /* ALLOT_OPTIMAL, ... */
    uint64_t peak;    /* the bytes that the memory needs */
    uint64_t align;   /* the alignment of its base */
    uint64_t bound;   /* no plan has a lower peak */
    int64_t step;     /* the step with the most live bytes */
    uint64_t which;   /* of a failed call: the index of the element that the code is about */
} allot_plan_summary;
#define ALLOT_PLAN_SUMMARY_INIT {sizeof(allot_plan_summary), 0, 0, 0, 0, 0, 0}

/* Plans buffers in one memory. Writes a place for each buffer. `options` may be NULL. A plan that does not fit in the
 * capacity is no error: read `quality`. A failed call writes `which`. */
ALLOT_API allot_status allot_plan(const allot_problem* problem, const allot_plan_options* options, allot_place* places,
                                  allot_plan_summary* summary);

typedef struct allot_memory {
    uint64_t capacity; /* its size in bytes; UINT64_MAX: no limit */
    uint64_t align;    /* each offset is a multiple of this power of two */
    uint64_t cost;     /* of one use of one byte */
} allot_memory;
typedef struct allot_need {
    uint64_t peak, align;
} allot_need;

typedef struct allot_memories {
    size_t struct_size;
    const allot_memory* memories; /* in ascending order of cost */
    size_t memory_count;          /* 1 to 64 */
    const uint64_t* uses;         /* the number of uses of each buffer, or NULL: one use each */
    const uint64_t* allowed;      /* the memories that each buffer may use: bit m is memory m; NULL: all */
    const allot_pair* separate;   /* buffers in different memories, such as operands in banks with one port each */
    size_t separate_count;
} allot_memories;
#define ALLOT_MEMORIES_INIT {sizeof(allot_memories), NULL, 0, NULL, NULL, NULL, 0}

typedef struct allot_memories_summary {
    size_t struct_size;
    uint64_t quality;  /* ALLOT_OPTIMAL, ... */
    uint64_t cost;     /* the sum of the costs of all buffers with a place */
    uint64_t bound;    /* no plan of all buffers costs less; if infeasible, of the placed buffers */
    uint64_t spilled;  /* the bytes of buffers outside the first memory */
    uint64_t unplaced; /* the number of buffers without a place */
    int64_t step;      /* the step with the most live bytes */
    uint64_t which; /* the first buffer that fits in no memory; of a failed call: the element that the code is about */
} allot_memories_summary;
#define ALLOT_MEMORIES_SUMMARY_INIT {sizeof(allot_memories_summary), 0, 0, 0, 0, 0, 0, 0}

/* Plans buffers in several memories. Writes a place for each buffer and a need for each memory. `options` may be
 * NULL, and its `capacity` is not used. A failed call writes `which`. */
ALLOT_API allot_status allot_plan_memories(const allot_problem* problem, const allot_memories* memories,
                                           const allot_plan_options* options, allot_place* places, allot_need* needs,
                                           allot_memories_summary* summary);

/* A buffer whose rows lie in two memories. */
typedef struct allot_split {
    uint64_t buffer;
    uint64_t rows;    /* the number of its first rows, which lie at the place of the buffer */
    allot_place rest; /* the place of the other rows, in a later memory */
} allot_split;

typedef struct allot_rows_summary {
    size_t struct_size;
    uint64_t quality;        /* ALLOT_OPTIMAL, ... */
    uint64_t cost;           /* the sum of the costs of all parts with a place */
    uint64_t bound;          /* no plan of all buffers costs less; if infeasible, of the placed buffers */
    uint64_t spilled;        /* bytes outside the first memory */
    uint64_t unplaced;       /* the number of buffers without a place */
    int64_t step;            /* the step with the most live bytes */
    uint64_t which;          /* as in allot_memories_summary */
    uint64_t divided;        /* the number of divided buffers */
    uint64_t whole_cost;     /* the cost of the placed buffers in the plan in which no buffer is divided */
    uint64_t whole_unplaced; /* the number of buffers that have no place in that plan */
} allot_rows_summary;
#define ALLOT_ROWS_SUMMARY_INIT {sizeof(allot_rows_summary), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Plans buffers in several memories, and divides buffers by rows: the first ones lie in one memory, the others in a
 * later one. `rows` has the number of rows of each buffer, which divides its size, or is NULL: a buffer with 0 or 1 rows
 * stays whole, and so does one that is fixed or in a pair. Writes a place for each buffer, a need for each memory, and
 * the divided buffers to `splits`, an array with room for all buffers, in their order. The other arguments are those of
 * allot_plan_memories. A failed call writes `which`. */
ALLOT_API allot_status allot_plan_rows(const allot_problem* problem, const allot_memories* memories,
                                       const uint64_t* rows, const allot_plan_options* options, allot_place* places,
                                       allot_need* needs, allot_split* splits, allot_rows_summary* summary);

/* Checks a plan of one memory, from any source, with code that no planner shares. `options` may be NULL. Returns
 * ALLOT_OK if the plan is valid, and otherwise a code and in `which`, unless it is NULL, the two elements that the
 * code is about. The memory of each place must be 0: ALLOT_NOWHERE fails with ALLOT_NO_PLACE, another one with
 * ALLOT_NO_SUCH_MEMORY, and `which[0]` is the buffer. To check a plan of several memories, check each memory with its
 * buffers alone, and with 0 as their memory. The parts of a divided buffer are buffers then. */
ALLOT_API allot_status allot_plan_validate(const allot_problem* problem, const allot_plan_options* options,
                                           const allot_place* places, uint64_t which[2]);

/* ── the page cache: pages that sequences of tokens share by their prefixes ──────────────────────────────────────── */

/* Counts the pages of a key/value cache. It never touches them. docs/page-cache.md describes the calls. */
typedef struct allot_page_cache allot_page_cache;

/* Layers whose pages have one size. */
typedef struct allot_page_group {
    uint64_t page_bytes;  /* the size of a page in bytes; with 1, allot_page_cache_options::bytes counts pages */
    uint32_t page_tokens; /* tokens in a page, equal in all groups of a model */
    uint32_t window;      /* the number of last tokens that the layers read; 0: all */
    uint32_t model;       /* the models count from 0, and the groups of one model follow each other */
    uint32_t reserved;    /* 0 */
} allot_page_group;

/* The policy by which cached pages are evicted. */
enum {
    ALLOT_EVICT_LRU = 0,
    ALLOT_EVICT_LEAF_FIRST = 1,
    ALLOT_EVICT_PRIORITY = 2,
    ALLOT_EVICT_REUSE = 3,
    ALLOT_EVICT_S3_FIFO = 4
};

typedef struct allot_page_place {
    uint32_t group;
    uint32_t page;   /* the index of the page in its group */
    uint64_t offset; /* in the memory, in bytes */
    uint64_t bytes;
} allot_page_place;

typedef struct allot_page_cache_options {
    size_t struct_size;
    uint64_t bytes; /* the size of the memory */
    const allot_page_group* groups;
    size_t group_count;               /* 1 to 8; 0: one group, whose pages have the size 1 and 16 tokens */
    uint32_t sequences;               /* the largest number of sequences; 0: 256 */
    uint32_t sequence_pages;          /* the largest number of pages of a sequence in a group; 0: 1024 */
    uint32_t eviction;                /* ALLOT_EVICT_LRU, ... */
    uint32_t compare_tokens;          /* 1: keep and compare the tokens of pages, which all contents must have then */
    const allot_callbacks* callbacks; /* or NULL */
    /* NULL, or a function that copies a page after allot_page_cache_fork. It returns 0 if it copied or queued it. */
    int (*copy)(void* user, const allot_page_place* from, const allot_page_place* to);
    void* user;
} allot_page_cache_options;
#define ALLOT_PAGE_CACHE_OPTIONS_INIT {sizeof(allot_page_cache_options), 0, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL}

/* The contents of one full page: a hash of 128 bits, and the tokens or none. The tokens become part of the key of the
 * page: a page that is named with tokens is found only by a start with the same tokens, and a page that is named
 * without tokens only by a start without them. So give them in both functions, or in neither. With `compare_tokens`,
 * `token_count` must be the number of tokens in a page, otherwise both functions fail with ALLOT_NOT_ONE_PAGE. */
typedef struct allot_page_content {
    uint64_t hash_high, hash_low;
    const uint32_t* tokens;
    size_t token_count;
} allot_page_content;

typedef struct allot_page_request {
    size_t struct_size;
    const allot_page_content* contents; /* of the first full pages */
    size_t content_count;
    uint32_t model;
    uint32_t priority;            /* 0 to 15; a higher one stays longer, with ALLOT_EVICT_PRIORITY */
    uint64_t salt_high, salt_low; /* a hash of all that changes pages apart from the tokens, such as a user */
} allot_page_request;
#define ALLOT_PAGE_REQUEST_INIT {sizeof(allot_page_request), NULL, 0, 0, 0, 0, 0}

/* A sequence of one cache. The number of a released sequence is not used again before 2^31 other sequences. */
typedef uint64_t allot_sequence;

typedef struct allot_page_counts {
    size_t struct_size;
    uint64_t free;      /* pages without contents */
    uint64_t cached;    /* pages with contents that no sequence uses */
    uint64_t used;      /* pages that sequences use */
    uint64_t evictions; /* evicted pages of all groups since the start */
} allot_page_counts;
#define ALLOT_PAGE_COUNTS_INIT {sizeof(allot_page_counts), 0, 0, 0, 0}

/* Creates a cache. */
ALLOT_API allot_status allot_page_cache_create(const allot_page_cache_options* options, allot_page_cache** made);
/* Destroys a cache. NULL has no effect. */
ALLOT_API void allot_page_cache_destroy(allot_page_cache* cache);
/* Starts a sequence with the longest cached prefix of a request, and returns the number of its tokens. */
ALLOT_API allot_status allot_page_cache_start(allot_page_cache* cache, const allot_page_request* request,
                                              allot_sequence* made, uint32_t* tokens);
/* Adds pages for `tokens` more tokens. Pages behind windows are released first, also if the call fails. Returns the
 * number of added pages, unless `added` is NULL. */
ALLOT_API allot_status allot_page_cache_append(allot_page_cache* cache, allot_sequence sequence, uint32_t tokens,
                                               uint32_t* added);
/* Gives the contents of the next full pages, so that other sequences find them. Returns the number of entries of the
 * table that changed, unless `replaced` is NULL. */
ALLOT_API allot_status allot_page_cache_name(allot_page_cache* cache, allot_sequence sequence,
                                             const allot_page_content* contents, size_t count, uint32_t* replaced);
/* Starts a sequence with all tokens and pages of another one. */
ALLOT_API allot_status allot_page_cache_fork(allot_page_cache* cache, allot_sequence sequence, allot_sequence* made);
/* Keeps the first `tokens` tokens of a sequence. Fails with ALLOT_PAST_END if it has fewer. */
ALLOT_API allot_status allot_page_cache_truncate(allot_page_cache* cache, allot_sequence sequence, uint32_t tokens);
/* Ends a sequence. Its named pages stay cached. */
ALLOT_API allot_status allot_page_cache_release(allot_page_cache* cache, allot_sequence sequence);
/* Excludes the named pages of a sequence from eviction (`pinned` is not 0), or removes one such pin. */
ALLOT_API allot_status allot_page_cache_pin(allot_page_cache* cache, allot_sequence sequence, int pinned);
/* Copies the table of a sequence in one group: the index of each page, or UINT32_MAX for a page behind a window. Any
 * thread may call it at any time. Writes the number of entries to `count`. Fails with ALLOT_TOO_SMALL if `capacity` is
 * too small, and writes the capacity that suffices for all sequences to `count`: it is
 * allot_page_cache_options::sequence_pages. Fails with ALLOT_NO_SUCH_GROUP if the group does not exist or is of another
 * model, and with ALLOT_PAGE_CHANGING if another thread changes the sequence during the call. A failed call may have
 * written to `pages`. */
ALLOT_API allot_status allot_page_cache_read_pages(const allot_page_cache* cache, allot_sequence sequence,
                                                   uint32_t group, uint32_t* pages, size_t capacity, size_t* count);
/* Returns the numbers of pages of a group. Fails with ALLOT_NO_SUCH_GROUP if it does not exist. */
ALLOT_API allot_status allot_page_cache_counts(const allot_page_cache* cache, uint32_t group,
                                               allot_page_counts* counts);

#ifdef __cplusplus
}
#endif

#endif
