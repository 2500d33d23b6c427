// SPDX-License-Identifier: BSL-1.0
// The standard library's memory resources over an array.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace of_pmr {

inline constexpr std::size_t capacity = 1024;

struct monotonic {
    alignas(std::max_align_t) std::byte bytes[capacity];
    std::pmr::monotonic_buffer_resource resource{bytes, capacity, std::pmr::null_memory_resource()};

    void* allocate(std::size_t size, std::size_t align) { return resource.allocate(size, align); }
    void deallocate(void*, std::size_t) { resource.release(); }
};

struct pool : monotonic {
    std::pmr::unsynchronized_pool_resource slots{&resource};

    void* allocate(std::size_t size, std::size_t align) { return slots.allocate(size, align); }
    void deallocate(void* block, std::size_t size) { slots.deallocate(block, size, alignof(std::max_align_t)); }
};

}  // namespace of_pmr
