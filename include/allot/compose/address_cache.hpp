// SPDX-License-Identifier: BSL-1.0
// address_cache: the freed small blocks of one thread, for an address_heap.
//
//     thread_local constinit allot::address_cache<> mine;          // needs no construction and no heap
//     void* block = mine.take(100);                               // null: heap.allocate(mine, {.size = 100})
//     if (!mine.keep(block, heap.capacity(block)))                // false: heap.deallocate(mine, block)
//         heap.deallocate(mine, block);
//     heap.flush(mine);                                           // before the thread ends
//
//     capacities    24   40   56   72 …  largest                  one list for each size of a record in band
//                   │         │
//                   ▼         ▼
//                 block     block ─► block                         linked through the blocks' first words
//
// With `medium`, larger blocks are also kept, in lists of several capacities. All of them have at most `medium_bytes`.
//
// With `slabs`, the capacities are 16, 32, 48 …, because blocks of slabs have no records.
//
// With `checks`, a block that is freed twice, and an address that no block can have, are not kept. The heap then
// reports the misuse. The marks are inside the blocks, and take four instructions.
//
// A list has a limit, which starts at zero. The heap raises it when the list is empty or full, up to `bytes` of blocks.
//
// When to use: with address_heap.
// When not to use: for memory that the host cannot write, or for blocks with metadata. Use thread_cache.
// Complexity: O(1). About ten instructions to take or keep a block.
// Memory: 16 bytes for each list, 1 KiB with the default options, and at most `bytes` of blocks for each list; 8 bytes
// for each list of medium blocks, 200 bytes for those of up to 8 KiB, and at most `medium_bytes` of blocks. With 32-bit
// pointers, a list takes 12 bytes, and twice as many lists take 1.5 KiB.
// Thread safety: belongs to one thread. A block may come from another thread.
#pragma once

#include <allot/compose/detail/medium_lists.hpp>
#include <allot/core/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot {
inline namespace v1 {

/// The options of `address_cache`.
struct address_cache_options {
    /// The largest capacity of a kept block in bytes.
    std::size_t largest = 1032;
    /// The largest number of bytes that each list keeps. A list of larger blocks keeps two.
    std::size_t bytes = std::size_t{1} << 14U;
    /// The largest number of blocks that a list keeps, at least 1.
    std::size_t blocks = 256;
    /// The largest capacity of a medium block in bytes. Medium blocks are larger than `largest`, and wait in lists of
    /// several capacities. 0: no medium blocks are kept.
    std::size_t medium = 0;
    /// The largest number of bytes of all medium blocks that the cache keeps.
    std::size_t medium_bytes = std::size_t{1} << 17U;
    /// Whether a block that the cache keeps is detected when it is freed again. A freed block then has a mark in its
    /// second word. With `slabs`, blocks that other caches or the slabs keep are detected, too, and the value must be
    /// that of `address_heap_options::checks`.
    bool checks = false;
    /// Whether the heap has slabs, whose blocks have no records: each list then has a multiple of two words.
    bool slabs = false;
};

namespace detail {

/// Reads and writes the link in the first word of a freed block that waits in a list.
struct waiting_block {
    [[nodiscard]] ALLOT_INLINE static void* next(const void* block) noexcept {
        void* found;
        std::memcpy(&found, block, sizeof found);
        return found;
    }
    ALLOT_INLINE static void set_next(void* block, const void* to) noexcept { std::memcpy(block, &to, sizeof to); }
};

}  // namespace detail

/// The freed blocks of a thread. Capacities are those of best_fit with offsets of one word, or of slabs.
template <address_cache_options Options = address_cache_options{}>
class address_cache {
    static constexpr std::size_t word = sizeof(void*), granule = 2 * word, smallest = 3 * word;
    static constexpr std::size_t record = Options.slabs ? 0 : word;
    static_assert(Options.largest >= smallest, "allot: address_cache_options::largest is at least three words");
    static_assert(Options.blocks > 0, "allot: address_cache_options::blocks is at least 1");

public:
    /// The largest capacity of a kept block in bytes.
    static constexpr std::size_t largest = (Options.largest + record) / granule * granule - record;
    /// Whether the cache belongs to a heap with slabs.
    static constexpr bool has_slabs = Options.slabs;
    /// Whether the cache detects blocks that are freed again.
    static constexpr bool checks = Options.checks;

    /// Constructs a cache without blocks, for a thread that starts with the arena of a number.
    constexpr explicit address_cache(std::uint32_t arena = 0) noexcept : home_{arena} {}
    address_cache(const address_cache&) = delete;
    address_cache& operator=(const address_cache&) = delete;

    /// Takes a kept block of at least `size` bytes. Returns null if the list is empty.
    [[nodiscard]] ALLOT_INLINE void* take(std::size_t size) noexcept {
        if (size > largest) [[unlikely]]
            return nullptr;
        list& from = lists_[list_for(size)];
        void* const taken = from.first;
        if (taken == nullptr) [[unlikely]]
            return nullptr;
        from.first = detail::waiting_block::next(taken);
        ++from.room;
        clear_mark(taken);
        return taken;
    }
    /// Keeps a block. Returns false if it is too large or its list is full, or if the cache suspects a misuse.
    /// Precondition: `capacity` is that of the block.
    [[nodiscard]] ALLOT_INLINE bool keep(void* block, std::size_t capacity) noexcept {
        if (capacity > largest) [[unlikely]]
            return false;
        list& to = lists_[list_of(capacity)];
        if (to.room == 0 || is_suspicious(block)) [[unlikely]]
            return false;
        add(to, block);
        return true;
    }
    /// Returns the number of kept bytes. O(kept blocks).
    [[nodiscard]] std::size_t kept() const noexcept {
        std::size_t bytes = medium_.kept();
        for (std::size_t i = 0; i != count; ++i)
            bytes += static_cast<std::size_t>(lists_[i].limit - lists_[i].room) * capacity_of(i);
        return bytes;
    }

private:
    template <class, class, auto, class>
    friend class address_heap;
    static constexpr std::size_t count = (largest + record) / granule + 1;

    using medium_lists = detail::medium_lists<largest, Options.medium, Options.medium_bytes, Options.checks>;

    struct list {
        void* first = nullptr;
        std::uint32_t room = 0, limit = 0;  // room: blocks that can be added
    };
    ALLOT_INLINE void add(list& to, void* block) noexcept {
        --to.room;
        detail::waiting_block::set_next(block, to.first);
        if constexpr (Options.checks) set_mark(block, mark_of(block));
        to.first = block;
    }
    /// Returns the mark of a freed block. No address is equal to it, and a copy of another freed block has other bytes.
    [[nodiscard]] ALLOT_INLINE static std::uintptr_t mark_of(const void* block) noexcept {
        return reinterpret_cast<std::uintptr_t>(block) * 9;
    }
    ALLOT_INLINE static void set_mark(void* block, std::uintptr_t to) noexcept {
        std::memcpy(static_cast<std::byte*>(block) + word, &to, sizeof to);
    }
    ALLOT_INLINE static void clear_mark([[maybe_unused]] void* block) noexcept {
        if constexpr (Options.checks) set_mark(block, 0);
    }
    /// Returns true for an address that no block has, and for a block with the mark of freed ones.
    [[nodiscard]] ALLOT_INLINE static bool is_suspicious([[maybe_unused]] const void* block) noexcept {
        if constexpr (Options.checks) {
            std::uintptr_t found;
            std::memcpy(&found, static_cast<const std::byte*>(block) + word, sizeof found);
            return found == mark_of(block) || reinterpret_cast<std::uintptr_t>(block) % granule != 0;
        } else {
            return false;
        }
    }
    /// Returns true if a list has the block. O(blocks of the list).
    [[nodiscard]] bool has(const void* block, std::size_t index) const noexcept {
        const void* each = lists_[index].first;
        while (each != nullptr && each != block) each = detail::waiting_block::next(each);
        return each == block;
    }
    /// Returns the list whose blocks all have at least `size` bytes.
    [[nodiscard]] ALLOT_INLINE static std::size_t list_for(std::size_t size) noexcept {
        if constexpr (Options.slabs) return (size + granule - 1) / granule;
        else return ((size < smallest ? smallest : size) + record + granule - 1) / granule;
    }
    /// Returns the list that keeps the blocks of a capacity.
    [[nodiscard]] ALLOT_INLINE static std::size_t list_of(std::size_t capacity) noexcept {
        return (capacity + record) / granule;
    }
    /// Returns the bytes that all blocks of a list have.
    [[nodiscard]] static constexpr std::size_t capacity_of(std::size_t list) noexcept {
        return list * granule - record;
    }
    /// Returns the highest limit of a list.
    [[nodiscard]] static constexpr std::uint32_t depth_of(std::size_t list) noexcept {
        const std::size_t fit = Options.bytes / (capacity_of(list) + word), some = fit < 2 ? 2 : fit;
        return static_cast<std::uint32_t>(some < Options.blocks ? some : Options.blocks);
    }
    /// Raises the limit of a list. Returns false if it is the highest one.
    bool raise(std::size_t index) noexcept {
        list& of = lists_[index];
        const std::uint32_t depth = depth_of(index);
        std::uint32_t to = of.limit == 0 ? 8 : of.limit * 2;
        if (to > depth) to = depth;
        const bool raised = to != of.limit;
        of.room += to - of.limit;
        of.limit = to;
        return raised;
    }
    /// Removes the blocks of a list after the first `stay` ones. Returns the first of them.
    [[nodiscard]] void* cut(std::size_t index, std::uint32_t stay) noexcept {
        list& of = lists_[index];
        void* rest = of.first;
        if (stay == 0) {
            of.first = nullptr;
        } else {
            void* last = rest;
            for (std::uint32_t i = 1; i < stay && last != nullptr; ++i) last = detail::waiting_block::next(last);
            if (last == nullptr) return nullptr;
            rest = detail::waiting_block::next(last);
            detail::waiting_block::set_next(last, nullptr);
        }
        of.room = of.limit - stay;
        return rest;
    }

    list lists_[count]{};
    ALLOT_NO_UNIQUE_ADDRESS medium_lists medium_{};
    std::uint32_t home_;        // the number of the thread's arena
    std::uint32_t waited_ = 0;  // how often it was locked
};

}  // namespace v1
}  // namespace allot
