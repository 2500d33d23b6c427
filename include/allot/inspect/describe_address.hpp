// SPDX-License-Identifier: BSL-1.0
// describe_address: the block or the hole of an allocator that contains an address, as one line of text.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     void* pointer = memory.allocate({.size = 100}).address;
//     std::puts(allot::describe_address(memory, pointer).what());
//
//     the address is 4 bytes after the end of a block of 104 bytes at 0x631000014820 of an allot memory
//     the address is 12 bytes inside a hole of 4000 bytes at 0x631000014890 of an allot memory
//
// A program can add the line to each report of AddressSanitizer: docs/sanitizers.md has an example. A debugger can call
// the function.
//
// When to use: to find the block next to a wrong access that a sanitizer or a debugger shows (docs/sanitizers.md).
// When not to use: to validate pointers in a program. A hardened arena checks blocks in less time
// (arena/hardening.hpp).
//
// Complexity: O(holes + blocks). Memory: 160 bytes, the result.
//
// Thread safety: that of the allocator's `for_each_hole` and `for_each_block`.
#pragma once

#include <allot/core/allocator.hpp>

#include <cstdint>
#include <cstdio>

namespace allot {
inline namespace v1 {

/// One line about an address.
struct address_description {
    char text[160] = "the address is in no block and no hole of this allot memory";  ///< The line.
    /// Returns the line.
    [[nodiscard]] const char* what() const noexcept { return text; }
};

/// Describes the block or the hole that contains an address. In a hole, also describes the block that ends below it. An
/// allocator whose strategy cannot list its blocks or its holes describes the others.
template <class Allocator>
    requires(hole_walkable_allocator<Allocator> || block_walkable_allocator<Allocator>)
[[nodiscard]] address_description describe_address(const Allocator& memory, const void* address) noexcept {
    struct range {
        std::uintptr_t start = 0;
        std::size_t size = 0;
    } block, below, hole;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto holds_at = [at](range each) { return at - each.start < each.size; };  // wraps below the start
    if constexpr (block_walkable_allocator<Allocator>)
        memory.for_each_block([&](const void* start, std::size_t size) {
            const range each{reinterpret_cast<std::uintptr_t>(start), size};
            if (holds_at(each)) block = each;
            else if (each.start <= at && each.start >= below.start) below = each;
        });
    if constexpr (hole_walkable_allocator<Allocator>)
        memory.for_each_hole([&](const void* start, std::size_t size) {
            const range each{reinterpret_cast<std::uintptr_t>(start), size};
            if (holds_at(each)) hole = each;
        });
    address_description answer;
    const auto set = [&answer](std::size_t distance, const char* where, range in) {
        std::snprintf(answer.text, sizeof answer.text,
                      "the address is %zu bytes %s of %zu bytes at 0x%zx of an allot memory", distance, where, in.size,
                      static_cast<std::size_t>(in.start));
    };
    if (block.size != 0) set(at - block.start, "inside a block", block);
    else if (hole.size != 0 && hole.start > below.start + below.size) set(at - hole.start, "inside a hole", hole);
    else if (below.size != 0) set(at - below.start - below.size, "after the end of a block", below);
    else if (hole.size != 0) set(at - hole.start, "inside a hole", hole);
    return answer;
}

}  // namespace v1
}  // namespace allot
