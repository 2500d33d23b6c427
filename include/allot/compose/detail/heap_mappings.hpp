// SPDX-License-Identifier: BSL-1.0
// heap_mappings: large blocks of an address_heap in mappings of their own. The system moves their pages without a copy.
//
//     page                              page
//     │ mark │ bytes │ … │ record │ the caller's bytes …………………… │ mapping of another block, anywhere
//                                 └ 64 bytes behind the start
//
// Internal. Only `reallocate` makes such a mapping: for a block that grows, is large, and has no room behind it. It
// then probably grows again. Its record is that of a block in an arena, so that `capacity` reads both in the same way.
// The mark distinguishes the block from an address that no block has.
//
// As in glibc, a freed mapping raises the size from which blocks get one, because a program that frees such a block
// often grows the next one, and a copy to used pages takes less time than new pages. The size rises to at most 1 MiB.
//
// Complexity: O(1) and one call of the system. Memory: 72 bytes and the rest of a page for each block.
// Thread safety: all functions can be called concurrently for different blocks. There is no lock to hold during a fork.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/arithmetic.hpp>

#include <atomic>
#include <cstring>

namespace allot {
inline namespace v1 {
namespace detail {

/// The blocks with mappings. `Space` maps, moves and unmaps pages, as host::address_space does. `Nodes` writes records.
template <class Space, class Nodes>
class mapped_blocks {
    static constexpr std::size_t word = sizeof(void*), before = 64, after = word;
    static constexpr std::size_t highest_threshold = std::size_t{1} << 20U;
    struct head {
        std::size_t mark, bytes;
    };

public:
    static constexpr bool exist = true;
    /// The smallest block with a mapping, in bytes.
    static constexpr std::size_t least = std::size_t{1} << 17U;

    constexpr mapped_blocks() noexcept = default;

    /// Returns true if a block of these bytes that must move gets a mapping.
    [[nodiscard]] bool accepts(std::size_t bytes) const noexcept {
        return bytes >= threshold_.load(std::memory_order_relaxed);
    }
    /// Returns true for a block with a mapping. Precondition: the bytes of its page before the address are readable if
    /// it is 64 bytes behind the start of a page.
    [[nodiscard]] bool contains(const void* address) const noexcept {
        return raw_pointer::position(address) % Space::min_align == before && head_of(address).mark == mark_of(address);
    }
    /// Allocates a block. Returns null on failure.
    [[nodiscard]] void* allocate(std::size_t size) noexcept {
        const std::size_t bytes = mapping_of(size);
        void* const start = bytes != 0 ? Space::map(bytes) : nullptr;
        if (start == nullptr) return nullptr;
        count_.fetch_add(1, std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
        return begin(start, bytes);
    }
    /// Resizes a block, which may move. Returns null and changes nothing on failure.
    [[nodiscard]] void* resize(void* block, std::size_t size) noexcept {
        const std::size_t bytes = mapping_of(size), old = head_of(block).bytes;
        if (bytes == old) return block;
        void* const start = bytes != 0 ? Space::remap(start_of(block), old, bytes) : nullptr;
        if (start == nullptr) return nullptr;
        bytes_.fetch_add(bytes - old, std::memory_order_relaxed);
        return begin(start, bytes);
    }
    void deallocate(void* block) noexcept {
        const std::size_t bytes = head_of(block).bytes;
        if (bytes <= highest_threshold && accepts(bytes)) threshold_.store(bytes, std::memory_order_relaxed);
        count_.fetch_sub(1, std::memory_order_relaxed);
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        Space::release(start_of(block), bytes);
    }
    /// Returns the number of blocks.
    [[nodiscard]] std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
    /// Returns the bytes of all mappings.
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

private:
    /// Returns the bytes of the mapping of a block, or 0 if they are too many.
    [[nodiscard]] static std::size_t mapping_of(std::size_t size) noexcept {
        std::size_t bytes = 0;
        return checked_add(size, before + after, bytes) && checked_align_up(bytes, Space::largest_align(), bytes)
                   ? bytes
                   : 0;
    }
    [[nodiscard]] static void* start_of(void* block) noexcept { return static_cast<std::byte*>(block) - before; }
    [[nodiscard]] static head head_of(const void* block) noexcept {
        head found;
        std::memcpy(&found, static_cast<const std::byte*>(block) - before, sizeof found);
        return found;
    }
    [[nodiscard]] static std::size_t mark_of(const void* block) noexcept { return raw_pointer::position(block) * 9; }
    /// Writes the head and the record of a block. Returns the block.
    [[nodiscard]] static void* begin(void* start, std::size_t bytes) noexcept {
        void* const block = raw_pointer::locate(start, before);
        const head written{mark_of(block), bytes};
        std::memcpy(start, &written, sizeof written);
        Nodes nodes;
        const auto node = raw_pointer::position(block) - word;
        static_cast<void>(nodes.split(node - word, word));  // a block below and this one
        nodes.shrink(node, bytes - before);
        return block;
    }

    std::atomic<std::size_t> threshold_{least}, count_{0}, bytes_{0};
};

/// The mappings of a heap whose maker has no `mapping_space`.
struct no_mapped_blocks {
    static constexpr bool exist = false;
};
template <class Make, class Nodes>
struct mapped_blocks_of {
    using type = no_mapped_blocks;
};
template <class Make, class Nodes>
    requires requires { typename Make::mapping_space; }
struct mapped_blocks_of<Make, Nodes> {
    using type = mapped_blocks<typename Make::mapping_space, Nodes>;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
