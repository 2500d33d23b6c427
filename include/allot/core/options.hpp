// SPDX-License-Identifier: BSL-1.0
// Everything that an allocator can be configured by: one structural value for each part, with a default for every member.
//
//     inline constexpr allot::pool_options packets{.slot = 128, .count = 64, .store = allot::pool_store::atomic_bitmap};
//     inline constexpr allot::best_fit_options tensors{.records = 64, .largest_extent = 256_KiB};
//     using packet_pool = allot::arena<allot::host::static_storage<8_KiB>, allot::pool<packets>>;
//
// A member that is misspelt does not compile, and members that contradict each other are refused in one sentence by the
// template that takes them. Values are part of the type: two translation units that choose differently have two types.
#pragma once

#include <allot/core/literals.hpp>

#include <cstddef>

namespace allot {
inline namespace v1 {

// ── which bytes ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// Which end a bump begins at. Downward takes fewer instructions; upward, the end of its memory can move.
enum class direction : unsigned char { up, down };

struct bump_options {
    allot::direction direction = allot::direction::down;
    std::size_t limit_align = 1;  // what the limit is a multiple of: downward the first offset, upward the end; an arena
                                  // knows its device's
};

struct stack_options {
    std::size_t large = 0;  // sizes from this on are stacked down from the top; 0 for none
};

enum class pool_store : unsigned char {
    automatic,      // in band where the host has pointers, an index stack otherwise; used on its own: an index stack
    in_band,        // a free list in the free slots
    bitmap,         // a bit for each slot: the least memory beside, the lowest slot first, `allocate_at`
    index_stack,    // where each slot lies, in 1 to 8 bytes: the fewest instructions beside the memory
    atomic_bitmap,  // a bit for each slot, for threads and interrupts at once, without a lock
};

struct pool_options {
    std::size_t slot = 0;                           // bytes of a slot; rounded up to a multiple of `align`
    std::size_t count = 0;                          // slots of one extent at most; 0, in band only, for no limit
    std::size_t align = alignof(std::max_align_t);  // what every slot is aligned to
    pool_store store = pool_store::automatic;
};

/// Where a strategy keeps its records.
enum class node_store : unsigned char {
    automatic,   // in band where the host can reach the memory by pointer, beside it otherwise
    in_band,     // inside the free memory
    side_table,  // beside it
};

/// Every hole is looked at before a request is refused.
inline constexpr std::size_t all_holes = std::numeric_limits<std::size_t>::max();

/// An extent may be as large as offsets can tell.
inline constexpr std::size_t no_bound = std::numeric_limits<std::size_t>::max();

struct best_fit_options {
    node_store store = node_store::automatic;  // used on its own: beside the memory unless in_band is asked for
    std::size_t records = 0;                   // of a side table: 0 grows on the heap, otherwise as many and no heap
    std::size_t granule = 1;                   // of a side table: offsets and sizes are multiples of it, a power of two
    unsigned candidates = 4;                   // holes of a bin compared for the lowest offset: fewer is faster, more is tighter
    std::size_t probes = all_holes;            // holes that are looked at before a request is refused, as fragmented
    std::size_t large = 0;                     // sizes from this on are placed from the top end; 0 for none, or for 128 KiB
                                               // in host memory that grows in place, where no_bound is for none
    std::size_t largest_extent = no_bound;     // bytes: bounds the bins, larger extents are refused; an arena knows its device's
};

struct deferred_options {
    std::size_t largest = 1024;  // blocks of more bytes never wait
};

// ── where they come from ─────────────────────────────────────────────────────────────────────────────────────────────

struct growth_options {
    std::size_t step = 1_MiB;         // bytes
    std::size_t limit = no_bound;     // bytes held in all, over every region
    std::size_t regions = 64;         // a power of two
};

struct cached_options {
    std::size_t regions = 64;  // how many are kept at most
    std::size_t waste = 2;     // a region serves a request of at least its size divided by this
};

// ── the arena ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// How far a wrong deallocation is caught (hardening.hpp). Beyond `none` every live block takes a record of the heap.
enum class hardening : unsigned char { none, checked, debug };

struct arena_options {
    allot::hardening hardening = allot::hardening::none;
    std::size_t align = 1;  // what every region's base is asked to be aligned to, at least
};

}  // namespace v1
}  // namespace allot
