// SPDX-License-Identifier: BSL-1.0
// options: the configuration of strategies and arenas, as one structural type each with a default for each member.
//
//     inline constexpr allot::pool_options packets{.slot = 128, .count = 64, .store = allot::pool_store::bitmap};
//     inline constexpr allot::best_fit_options tensors{.records = 64, .largest_extent = 256_KiB};
//     using packet_pool = allot::arena<allot::host::static_storage<8_KiB>, allot::pool<packets>>;
//
// A misspelled member does not compile. The template that takes the options rejects contradictory members with a
// `static_assert`. The values are part of the type, so translation units with different options use different types.
//
// When to use: as template arguments of strategies and arenas. Growth policies and devices declare their options beside
// themselves: arena/growth.hpp, compose/cached.hpp.
// When not to use: for settings that are known only at run time, such as sizes. Those are constructor arguments.
//
// Complexity: evaluated at compile time.
// Memory: none at run time, except where an option says so.
// Thread safety: constants.
#pragma once

#include <allot/core/detail/sanitizer.hpp>
#include <allot/core/literals.hpp>
#include <allot/core/target.hpp>

#include <cstddef>

namespace allot {
inline namespace v1 {

// ── strategies ───────────────────────────────────────────────────────────────────────────────────────────────────────

/// The direction in which a bump allocates. Downward takes fewer instructions. Upward, the end of the extent can move.
enum class direction : unsigned char {
    up,    ///< From the first offset to the end.
    down,  ///< From the end to the first offset.
};

/// The options of `bump`.
struct bump_options {
    /// The direction of allocation.
    allot::direction direction = allot::direction::down;
    /// Advanced. The alignment of the limit, a power of two: of the first offset when allocating downward, of the end
    /// when allocating upward. An arena raises it to the alignment that its device guarantees.
    std::size_t limit_align = 1;
    /// Whether to compile only the general path, which is smaller, without the faster path for common alignments. Both
    /// return the same offsets.
    bool prefer_size = is_microcontroller;
};

/// The options of `stack`.
struct stack_options {
    /// The smallest size in bytes that is stacked downward from the top. 0 stacks every block upward.
    std::size_t large = 0;
};

/// The options of `ring`: none. All strategies have the template parameters `<Options, Offset>`.
struct ring_options {};

/// The bookkeeping of a pool.
enum class pool_store : unsigned char {
    automatic,      ///< In band in an arena over host memory if a slot can hold a pointer, otherwise an index stack.
    in_band,        ///< A free list inside the free slots.
    bitmap,         ///< One bit for each slot. Smallest side table, lowest slot first, supports `allocate_at`.
    index_stack,    ///< A stack of free slots, 1 to 8 bytes for each. Fewest instructions of the side tables.
    atomic_bitmap,  ///< One bit for each slot. Lock-free, for concurrent threads and interrupts.
};

/// The options of `pool`.
struct pool_options {
    /// The size of a slot in bytes, rounded up to a multiple of `align`.
    std::size_t slot = 0;
    /// The maximum number of slots of one extent. 0, which only the in-band store supports, sets no limit.
    std::size_t count = 0;
    /// The alignment of every slot in bytes.
    std::size_t align = alignof(std::max_align_t);
    /// The bookkeeping of the pool.
    pool_store store = pool_store::automatic;
    /// Advanced. For a bitmap. The pool takes one of this many lowest free slots. 1 takes the lowest. With 8, bursts of
    /// up to 8 deallocations and as many allocations take less than half of the instructions if there are more than 64
    /// slots.
    std::size_t recent = 1;
};

/// The options of `page_tree`.
struct page_tree_options {
    /// The size of a page in bytes, a power of two.
    std::size_t page = 4096;
    /// The maximum number of pages.
    std::size_t count = 0;
    /// The order of the largest block, which has 2^largest_order pages. At most 12 with 64-bit words, and 10 with
    /// 32-bit words.
    unsigned largest_order = 0;
    /// The number of processors that allocate in separate subtrees. An odd number larger than the number of threads
    /// suits `processor_by_stack`.
    std::size_t processors = is_microcontroller ? 1 : 31;
};

/// The location of a strategy's records.
enum class node_store : unsigned char {
    automatic,   ///< In band in an arena over host memory if no side-table option is set, otherwise a side table.
    in_band,     ///< Inside the free memory.
    side_table,  ///< In a table outside the managed memory.
};

/// The value of `probes` with which a strategy examines every hole before a request fails.
inline constexpr std::size_t all_holes = std::numeric_limits<std::size_t>::max();
/// The value of `joins` with which a strategy joins every waiting block before a request fails.
inline constexpr std::size_t all_blocks = std::numeric_limits<std::size_t>::max();

/// The value of a bound that limits nothing: an extent can be as large as its offset type permits.
inline constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

/// The value of `records` with which a side table is in memory that the caller provides at run time, by
/// `best_fit::give_records`.
inline constexpr std::size_t given_records = std::numeric_limits<std::size_t>::max();

/// The options of `best_fit`.
struct best_fit_options {
    /// The location of the records. Without an arena, `automatic` selects the side table.
    node_store store = node_store::automatic;
    /// The number of records of a side table. Every block and every extent takes one, and with `offset_index` every
    /// hole. 0 lets the table grow on the heap, by `std::realloc`, or by `operator new` in a freestanding program. Any
    /// other number is fixed and needs no heap. `given_records`: the caller provides the memory at run time.
    std::size_t records = 0;
    /// The granule of a side table: offsets and sizes are multiples of it. A power of two.
    std::size_t granule = 1;
    /// Advanced. The number of holes of a bin that are compared for the lowest offset. Fewer is faster; more packs
    /// tighter. With a granule, 2 packs about as tight as more, because holes of one size are compared as well.
    unsigned candidates = 4;
    /// Advanced. The number of holes that are examined before a request fails as fragmented.
    std::size_t probes = all_holes;
    /// The smallest size in bytes that is placed from the top end. 0 places none there, except in host memory that
    /// grows in place: there 0 means 128 KiB, and `no_bound` places none there.
    std::size_t large = 0;
    /// Advanced. The size of the largest extent in bytes. It bounds the number of bins, and larger extents are
    /// rejected. An arena reduces it to the limit of its device, so only a strategy without an arena needs it.
    std::size_t largest_extent = no_bound;
    /// Advanced. The largest end of an extent of a side table, without an arena. Extents that end above are rejected.
    /// It bounds `largest_extent`, too. With less than 2^32 granules, a record for 64-bit offsets takes 24 bytes
    /// instead of 32.
    std::size_t largest_offset = no_bound;
    /// Whether a side table also keeps its holes in a tree by offset. Then `allocate_at`, `diagnose_at` and `remove`
    /// take O(log holes) instead of O(holes). `allocate` and `deallocate` also do, and a record has 8 more bytes.
    bool offset_index = false;
    /// Whether to compile only the general path, which is smaller, without the faster paths for common requests. Both
    /// choose the same holes.
    bool prefer_size = is_microcontroller;
    /// Advanced. Whether the owner of a block can call `capacity` while another thread uses the arena under a lock that
    /// the owner does not have. Only for records in band. `address_heap` needs it. Two calls take 5 instructions more.
    bool unlocked_capacity = false;
};

/// The options of `deferred`.
struct deferred_options {
    /// The size in bytes of the largest block whose deallocation is deferred.
    std::size_t largest = is_microcontroller ? 256 : 512;
    /// The part of the allocated bytes that may wait, as a divisor: 40 is a 40th part. In addition, bytes of small
    /// blocks that were freed since their peak may wait. While more bytes wait, each request that finds no waiting
    /// block joins a few. A larger number needs less memory and more time. 0: no bound.
    std::size_t share = is_microcontroller ? 32 : 40;
    /// The part of the allocated bytes that may wait in addition while memory is ample, as a divisor: 4 is a quarter.
    /// Only as many bytes may wait as are free beyond three quarters of the allocated bytes: none in an extent whose
    /// free part is below three sevenths. A larger number uses less of the free memory and takes more time. 0: none.
    /// Unless it is 0, blocks may also wait up to five quarters of a peak that has passed, if the extents have one and
    /// a half times its bytes.
    std::size_t spare = is_microcontroller ? 0 : 4;
    /// Advanced. The number of waiting blocks that a request joins before it fails. With a bound, a request takes a
    /// bounded time, and can fail although the free bytes would suffice if all of them were joined.
    std::size_t joins = all_blocks;
};

/// How `ordered` handles bytes that another queue may still use.
enum class wait_policy : unsigned char {
    insert,    ///< The requesting queue waits for the other queue. `ordered` inserts the wait.
    hand_out,  ///< The caller receives the points and makes the queue wait for them.
    never,     ///< The bytes are not allocated before the other queue's work is done.
};

/// The options of `ordered`.
struct ordered_options {
    /// The maximum number of queues, at most 30.
    unsigned queues = 8;
    /// The handling of bytes that another queue may still use.
    wait_policy waits = wait_policy::insert;
    /// Whether a request waits for another queue if it finds no other hole, or only one that is more than half as large
    /// again. By default, it takes a larger hole without a wait.
    bool less_memory = false;
    /// Whether the arena grows before a request waits for another queue.
    bool grow_first = false;
    /// Advanced. The number of recorded points that are kept for each queue. More points wait for less work.
    unsigned points = 4;
    /// The maximum number of external points that are pending. The same number of uses by the host can be pending.
    unsigned external = 16;
};

// ── arenas ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/// The extent to which an arena detects misuse. `checked` takes 8 bytes for each live block with records in band, 8
/// bytes for each slot of a pool in one region, and otherwise a slot of 16 or 24 bytes in a table on the heap. `debug`
/// takes a record of about 100 bytes on the heap for each live block.
enum class hardening : unsigned char {
    none,     ///< No checks.
    checked,  ///< Detects uses of blocks that are not live, and damaged in-band records.
    debug,    ///< As `checked`; also detects writes to freed bytes, and leaks. Needs <allot/arena/hardening.hpp>.
};

/// The options of `arena`.
struct arena_options {
    /// The extent to which misuse is detected.
    allot::hardening hardening = allot::hardening::none;
    /// The minimum alignment of every region's base in bytes, a power of two.
    std::size_t align = 1;
    /// Whether a memory checker learns which bytes are free, in memory with host pointers (docs/sanitizers.md). The
    /// default is true in a build with a checker, so that such an arena is another type.
    bool annotate = detail::sanitizer::is_on;
};

}  // namespace v1
}  // namespace allot
