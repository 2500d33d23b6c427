// SPDX-License-Identifier: BSL-1.0
// block_at: the block of an address, for interfaces that know only addresses, such as `free`.
//
//     using memory = allot::arena<allot::host::heap, allot::best_fit<>>;
//     memory arena{{}, 1_MiB};
//     void* at = arena.allocate({.size = 100}).address;           // keeps no size
//     allot::block_at(arena, at).size;                            // the capacity: 104
//     arena.deallocate(allot::block_at(arena, at));
//
//     │ size │ the caller's bytes ………… │                          a record in band is in front of each block
//            └ at
//
// The size of the block is its capacity, which the record contains. Such a block can be passed to `deallocate`,
// `capacity` and `resize` of the arena.
//
// When to use: to free, measure or resize by address, as malloc, C libraries and containers of other languages do.
// When not to use: where the block is at hand. Over an arena with a side table or with hardening, whose blocks have
// metadata. Over wrappers that keep blocks by size: they need the size of the request.
//
// Complexity: O(1); reads one word.
// Memory: none.
// Thread safety: that of `capacity` of the arena.
#pragma once

#include <allot/core/allocator.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// An arena that finds a block by its address: records in band, blocks without metadata.
template <class Arena>
concept finds_blocks_by_address =
    Arena::strategy_type::in_band && Arena::host_accessible && std::is_empty_v<decltype(block_of<Arena>::metadata)> &&
    std::is_pointer_v<decltype(block_of<Arena>::address)>;

/// Returns the live block at an address, with its capacity as the size; an empty block for a null pointer.
/// Precondition: `address` is that of a live block of the arena.
template <class Arena>
[[nodiscard]] auto block_at(const Arena& arena, decltype(block_of<Arena>::address) address) noexcept {
    static_assert(finds_blocks_by_address<Arena>,
                  "allot: block_at needs records in band and blocks without metadata: use best_fit in memory that the "
                  "host can access, without hardening");
    block_of<Arena> found{};
    if (address == nullptr) return found;
    found.address = address;
    found.size = 1;  // not empty; records in band have the size
    found.size = arena.capacity(found);
    return found;
}

}  // namespace v1
}  // namespace allot
