// SPDX-License-Identifier: BSL-1.0
// Handwritten allocators for comparison. "checked": fails as allot does for sizes of 0, alignments that are not powers
// of two, and requests that are too large or too aligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace by_hand {

inline constexpr std::size_t capacity = 1024, slot = 32, align = alignof(std::max_align_t);

constexpr bool is_layout(std::size_t size, std::size_t alignment) {
    return size != 0 && alignment != 0 && (alignment & (alignment - 1)) == 0;
}

/// Allocates downward from the end. The object contains the memory, as an arena does.
struct bump {
    std::uintptr_t from, at;
    alignas(align) std::byte bytes[capacity];

    bump() : from{reinterpret_cast<std::uintptr_t>(bytes)}, at{from + capacity} {}
    void* allocate(std::size_t size, std::size_t alignment) {
        if (!is_layout(size, alignment) || size > at - from) return nullptr;
        const std::uintptr_t next = (at - size) & ~(alignment - 1);
        if (next < from) return nullptr;
        at = next;
        return reinterpret_cast<void*>(next);
    }
    void deallocate(void*, std::size_t) { at = from + capacity; }
};

/// The same with the number of bytes in use, which is initially 0: no code runs at startup.
struct bump_zero {
    std::size_t used;
    alignas(align) std::byte bytes[capacity];

    void* allocate(std::size_t size, std::size_t alignment) {
        if (!is_layout(size, alignment)) return nullptr;
        const auto from = reinterpret_cast<std::uintptr_t>(bytes);
        const std::size_t at = ((from + used + alignment - 1) & ~(alignment - 1)) - from;
        if (at > capacity || size > capacity - at) return nullptr;
        used = at + size;
        return bytes + at;
    }
    void deallocate(void*, std::size_t) { used = 0; }
};

/// Free slots contain the link to the next free slot.
struct free_list {
    struct node {
        node* next;
    };
    node* free = nullptr;
    alignas(align) std::byte bytes[capacity];

    free_list() {
        for (std::size_t at = capacity; at != 0; at -= slot) deallocate(bytes + at - slot, slot);
    }
    void* allocate(std::size_t, std::size_t) {
        node* const taken = free;
        if (taken != nullptr) free = taken->next;
        return taken;
    }
    void deallocate(void* block, std::size_t) {
        auto* const given = static_cast<node*>(block);
        given->next = free;
        free = given;
    }
};
struct free_list_checked : free_list {
    void* allocate(std::size_t size, std::size_t alignment) {
        if (!is_layout(size, alignment) || size > slot || alignment > align) return nullptr;
        return free_list::allocate(size, alignment);
    }
    void deallocate(void* block, std::size_t size) {
        if (block != nullptr) free_list::deallocate(block, size);
    }
};

/// A heap written from the description of FreeRTOS's heap_4: a list of free blocks by address, first fit, adjacent free
/// blocks are merged. The only alignment is 8.
struct first_fit_list {
    struct node {
        node* next;
        std::size_t size;  // including this header
    };
    static constexpr std::size_t header = 8, least = 2 * header;
    alignas(align) std::byte bytes[capacity];
    node start;  // before the first free block

    first_fit_list() {
        auto* const all = reinterpret_cast<node*>(bytes);
        all->next = nullptr;
        all->size = capacity;
        start.next = all;
    }
    void* allocate(std::size_t size, std::size_t alignment) {
        if (!is_layout(size, alignment) || alignment > align || size > capacity) return nullptr;
        const std::size_t need = (size + header + 7) & ~std::size_t{7};
        node* before = &start;
        node* found = start.next;
        while (found != nullptr && found->size < need) {
            before = found;
            found = found->next;
        }
        if (found == nullptr) return nullptr;
        before->next = found->next;
        if (found->size - need >= least) {
            auto* const rest = reinterpret_cast<node*>(reinterpret_cast<std::byte*>(found) + need);
            rest->size = found->size - need;
            found->size = need;
            rest->next = before->next;
            before->next = rest;
        }
        found->next = nullptr;
        return reinterpret_cast<std::byte*>(found) + header;
    }
    void deallocate(void* block, std::size_t) {
        if (block == nullptr) return;
        auto* freed = reinterpret_cast<node*>(static_cast<std::byte*>(block) - header);
        node* before = &start;
        while (before->next != nullptr && before->next < freed) before = before->next;
        node* const after = before->next;
        if (before != &start && end_of(before) == freed) {
            before->size += freed->size;
            freed = before;
        } else {
            freed->next = after;
            before->next = freed;
        }
        if (end_of(freed) == after) {
            freed->size += after->size;
            freed->next = after->next;
        }
    }

private:
    static node* end_of(node* n) { return reinterpret_cast<node*>(reinterpret_cast<std::byte*>(n) + n->size); }
};

/// Buffers at constant offsets: arrays, as in `planned`.
struct arrays {
    alignas(align) std::byte bytes[capacity];
    void* allocate(std::size_t, std::size_t) { return bytes + 256; }
    void deallocate(void*, std::size_t) {}
};

}  // namespace by_hand
