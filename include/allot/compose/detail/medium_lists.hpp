// SPDX-License-Identifier: BSL-1.0
// medium_lists: the freed medium blocks of an address_cache: those above its exact lists.
//
//     capacities from   1024   1152   1280 …   2048   2304 …   Largest      eight lists for each power of two
//                        │             │
//                        ▼             ▼
//                       1032          1400 ─► 1288              │ next │ capacity │ mark │ … in the block
//
// Internal. A list has blocks of several capacities. A request takes the newest block of the list of its size if the
// block has room, or that of the next list, whose blocks all have. Blocks are not rounded up when an arena allocates
// them, so that many blocks of one size waste nothing.
//
// All lists together keep at most `Bytes`. To make room, the owner frees one list after another.
//
// A block has the mark while a cache keeps it, so that a second free finds it in any thread.
//
// Complexity: O(1); `cut` is O(blocks of a list). Memory: a word for each list.
// Thread safety: not synchronized.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/detail/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allot {
inline namespace v1 {
namespace detail {

/// Lists for capacities above `Smallest` and up to `Largest`. `Checks`: whether freed blocks are marked.
template <std::size_t Smallest, std::size_t Largest, std::size_t Bytes, bool Checks>
class medium_lists {
    static constexpr std::size_t word = sizeof(void*), steps = 8;
    static constexpr unsigned first_power = highest_one(Smallest);
    static_assert(Smallest >= 8 * word && Largest > Smallest && Bytes >= Largest,
                  "allot: address_cache_options::medium is larger than largest, and medium_bytes are at least as many");

public:
    constexpr medium_lists() noexcept = default;

    /// Returns true if blocks of this capacity are kept.
    [[nodiscard]] ALLOT_INLINE static constexpr bool accepts(std::size_t capacity) noexcept {
        return capacity - Smallest - 1 < Largest - Smallest;
    }
    /// Takes a block of at least `size` bytes. Returns null if no block is suitable. Precondition: `accepts(size)`.
    [[nodiscard]] void* take(std::size_t size) noexcept {
        std::size_t from = list_of(size);
        if (first_[from] == nullptr || contents_of(first_[from]).capacity < size)
            if (++from == count || first_[from] == nullptr) return nullptr;
        void* const taken = first_[from];
        const contents found = contents_of(taken);
        first_[from] = found.next;
        kept_ -= found.capacity;
        write(taken, {found.next, found.capacity, 0});
        return taken;
    }
    /// Returns true if a block can be kept now.
    [[nodiscard]] bool has_room(std::size_t capacity) const noexcept { return kept_ + capacity <= Bytes; }
    /// Keeps a block. Precondition: `accepts(capacity)` and `has_room(capacity)`.
    void keep(void* block, std::size_t capacity) noexcept {
        void*& first = first_[list_of(capacity)];
        write(block, {first, capacity, mark_of(block)});
        first = block;
        kept_ += capacity;
    }
    /// Removes the blocks of one list. Returns the first of them, or null if there is no block.
    [[nodiscard]] void* cut() noexcept {
        if (kept_ == 0) return nullptr;
        while (first_[hand_] == nullptr) hand_ = (hand_ + 1) % count;
        void* const first = first_[hand_];
        first_[hand_] = nullptr;
        hand_ = (hand_ + 1) % count;
        for (void* each = first; each != nullptr;) {
            const contents found = contents_of(each);
            kept_ -= found.capacity;
            write(each, {found.next, found.capacity, 0});
            each = found.next;
        }
        return first;
    }
    /// Returns true if a cache keeps the block.
    [[nodiscard]] static bool is_marked([[maybe_unused]] const void* block) noexcept {
        if constexpr (Checks) return contents_of(block).mark == mark_of(block);
        else return false;
    }
    /// Returns the number of kept bytes.
    [[nodiscard]] std::size_t kept() const noexcept { return kept_; }

private:
    /// The first words of a kept block. The first one is the link of `waiting_block`.
    struct contents {
        void* next;
        std::size_t capacity;
        std::uintptr_t mark;
    };
    [[nodiscard]] static contents contents_of(const void* block) noexcept {
        contents found;
        std::memcpy(&found, block, sizeof found);
        return found;
    }
    ALLOT_INLINE static void write(void* block, const contents& to) noexcept {
        std::memcpy(block, &to, Checks ? sizeof to : 2 * word);
    }
    /// Returns the mark of a freed block. No address is equal to it.
    [[nodiscard]] static std::uintptr_t mark_of(const void* block) noexcept {
        return reinterpret_cast<std::uintptr_t>(block) * 9;
    }
    /// Returns the list of a capacity.
    [[nodiscard]] ALLOT_INLINE static constexpr std::size_t list_of(std::size_t capacity) noexcept {
        const unsigned power = highest_one(capacity);
        return (power - first_power) * steps + (capacity >> (power - 3)) % steps;
    }
    static constexpr std::size_t count = list_of(Largest) + 1;

    void* first_[count]{};
    std::size_t kept_ = 0, hand_ = 0;
};

/// The lists of a cache that keeps no medium blocks.
template <std::size_t Smallest, std::size_t Bytes, bool Checks>
class medium_lists<Smallest, 0, Bytes, Checks> {
public:
    [[nodiscard]] static constexpr bool accepts(std::size_t) noexcept { return false; }
    [[nodiscard]] static constexpr void* take(std::size_t) noexcept { return nullptr; }
    [[nodiscard]] static constexpr bool has_room(std::size_t) noexcept { return true; }
    static constexpr void keep(void*, std::size_t) noexcept {}
    [[nodiscard]] static constexpr void* cut() noexcept { return nullptr; }
    [[nodiscard]] static constexpr bool is_marked(const void*) noexcept { return false; }
    [[nodiscard]] static constexpr std::size_t kept() noexcept { return 0; }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
