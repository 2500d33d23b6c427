// SPDX-License-Identifier: BSL-1.0
// memory_resource: adapts an arena or any other allocator of pointers to a std::pmr::memory_resource.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     allot::memory_resource resource{memory};                       // refers to memory
//     std::pmr::vector<std::pmr::string> names{&resource};           // both in the arena
//
// The metadata of a block is stored before its bytes (block_as_pointer.hpp). bump, pool and best_fit in band have
// none. Over a bump, deallocation does nothing, as in std::pmr::monotonic_buffer_resource: reset the arena after all
// containers are destroyed. A stack or a ring does not compile, because containers deallocate in any order.
//
// A failure throws allot::bad_alloc, a std::bad_alloc with the text of `diagnose`. If exceptions are disabled, the
// program is aborted. A size of 0 is treated as 1. Two resources are equal if they refer to the same allocator;
// without RTTI, if they are the same object. The allocator must outlive the resource, at the same address, and the
// resource must outlive all containers that use it.
//
// When to use: for std::pmr containers, and where containers with different allocators need the same type.
// When not to use: where a virtual call is too expensive. Use `std_allocator`.
//
// Complexity: that of the allocator, and a virtual call.
// Memory: two pointers, and the metadata of each block.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/detail/basic_memory_resource.hpp>

#include <memory_resource>

namespace allot {
inline namespace v1 {

/// A polymorphic memory resource that refers to an allocator.
template <class Allocator>
class memory_resource final : public detail::basic_memory_resource<std::pmr::memory_resource, Allocator> {
public:
    /// Constructs a resource that refers to an allocator.
    explicit memory_resource(Allocator& allocator) noexcept
        : detail::basic_memory_resource<std::pmr::memory_resource, Allocator>{allocator} {}

    /// Returns the allocator.
    [[nodiscard]] Allocator& allocator() const noexcept { return this->referred(); }
};

}  // namespace v1
}  // namespace allot
