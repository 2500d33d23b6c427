// SPDX-License-Identifier: BSL-1.0
// reallocate: changes the size of a block, in place if the allocator can, otherwise by a copy.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto text = memory.allocate({.size = 100});
//     if (!allot::reallocate(memory, text, {.size = 200})) return 1;               // text is unchanged on failure
//     memory.deallocate(text);
//
//     in place   │ block │ free │      ─►  │   block   │
//     by copy    │ block │ other │ …  ─►  │ free │ other │ … │   block   │
//
// The first min(old size, new size) bytes keep their values. On failure, the block and its bytes are unchanged and the
// result is false: an invalid layout (size 0, for example), no memory, or a copy that failed. An empty block is
// allocated. A second version takes a copy function for memory that the host cannot access:
//
//     queue_copy(from, to, bytes) -> long        called with two addresses; returns 0 for success
//
// When to use: for buffers that grow seldom. best_fit resizes in place if the bytes behind the block are free.
// When not to use: with objects that are not trivially copyable, and for blocks that other owners refer to.
// Complexity: that of `resize`; or that of `allocate` and `deallocate`, and O(size) for the copy.
// Memory: by copy, both blocks exist until the copy is done. A bump frees the old block at its next reset only.
// Thread safety: that of the allocator.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>
#include <allot/core/detail/aligned_in_place.hpp>
#include <allot/object/unique_block.hpp>

#include <cstring>
#include <utility>

namespace allot {
inline namespace v1 {

/// Changes the size and alignment of a block; copies by `copy(from address, to address, bytes) -> long`, which returns
/// 0 for success. On failure returns false, and nothing has changed.
template <class Allocator, class Copy>
[[nodiscard]] bool reallocate(Allocator& allocator, block_of<Allocator>& held, layout wanted, Copy&& copy) {
    static_assert(allocator_requirements<Allocator>());
    static_assert(
        Allocator::reclaims == reclaim::any || Allocator::reclaims == reclaim::never,
        "allot: reallocate frees the old block after the new one exists, an order that a stack or a ring does not "
        "support: use best_fit or pool");
    if (!wanted.is_valid()) return false;
    if constexpr (requires {
                      { allocator.resize(held, wanted.size) } -> std::same_as<bool>;
                  }) {
        if (held && detail::is_aligned_in_place(allocator, held, wanted.align) && allocator.resize(held, wanted.size))
            return true;
    }
    unique_block<Allocator> fresh = allocate_unique(allocator, wanted);
    if (!fresh) return false;
    const std::size_t kept = held.size < wanted.size ? held.size : wanted.size;
    if (held && copy(held.address, fresh.address(), kept) != 0) return false;
    allocator.deallocate(std::exchange(held, fresh.release()));
    return true;
}

/// Changes the size and alignment of a block of host memory. On failure returns false, and nothing has changed.
template <class Allocator>
[[nodiscard]] bool reallocate(Allocator& allocator, block_of<Allocator>& held, layout wanted) noexcept {
    static_assert(allocator_requirements<Allocator>());
    static_assert(
        std::same_as<typename Allocator::address_model, raw_pointer> && Allocator::host_accessible,
        "allot: the host cannot copy the bytes of this block: pass reallocate a function that copies, with the "
        "signature (from, to, bytes) -> long, 0 for success");
    return reallocate(allocator, held, wanted, [](const void* from, void* to, std::size_t bytes) noexcept {
        std::memcpy(to, from, bytes);
        return 0L;
    });
}

}  // namespace v1
}  // namespace allot
