// SPDX-License-Identifier: BSL-1.0
// std_allocator: adapts an arena or any other allocator of pointers to the allocator of a standard or Boost container.
//
//     using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
//     memory_type memory{{}, 1_MiB};
//     std::vector<int, allot::std_allocator<int, memory_type>> values{memory};       // refers to memory
//     auto shared = std::allocate_shared<widget>(allot::std_allocator{memory});
//
// Calls are not virtual, because the type of the arena is part of the container's type. memory_resource.hpp documents
// metadata, failures, and the use of bump, stack and ring, which are the same here.
//
// Two adapters are equal if they refer to the same allocator, for any value types. A container keeps the memory that
// it was constructed with: copy and move assignment transfer values and not the memory of another arena, which could
// be destroyed first. A copy of a container uses the memory of the original. A swap also exchanges the memories,
// because otherwise the swap of containers in two arenas would be undefined.
//
// When to use: for containers in an arena, without the cost of virtual calls.
// When not to use: where containers with different allocators need the same type. Use `memory_resource`.
//
// Complexity: that of the allocator.
// Memory: a pointer in each container, and the metadata of each block.
// Thread safety: that of the allocator.
#pragma once

#include <allot/adapt/detail/block_as_pointer.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

/// A standard allocator of objects of type `T` that refers to an allocator.
template <class T, class Allocator>
class std_allocator {
    static_assert(allocator<Allocator> || !allocator<T>,  // in this order: T may be incomplete
                  "allot: the type of objects comes before the allocator: std_allocator<T, Arena>");
    static_assert(detail::pointer_requirements<Allocator>());
    using pointers = detail::block_as_pointer<Allocator>;

public:
    using value_type = T;                                            ///< The type of objects.
    using propagate_on_container_copy_assignment = std::false_type;  ///< Assignment keeps the memory of the target.
    using propagate_on_container_move_assignment = std::false_type;  ///< Assignment keeps the memory of the target.
    using propagate_on_container_swap = std::true_type;              ///< A swap exchanges the memories.
    using is_always_equal = std::false_type;                         ///< Adaptors can refer to different allocators.

    /// Constructs an adapter that refers to an allocator. Not explicit, so that a container can be constructed with an
    /// arena.
    std_allocator(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}
    /// Does not compile. It exists for its message, because a container without an argument constructs its allocator.
    template <class A = Allocator>
    std_allocator() noexcept {
        static_assert(!sizeof(A),
                      "allot: this container needs an arena: "
                      "std::vector<T, std_allocator<T, Arena>> v{arena}");
    }
    /// Constructs an adapter for another value type that refers to the same allocator.
    template <class U>
    std_allocator(const std_allocator<U, Allocator>& other) noexcept : std_allocator{other.allocator()} {}

    /// Returns memory for `count` objects. Throws allot::bad_alloc.
    [[nodiscard]] T* allocate(std::size_t count) {
        layout wanted{0, alignof(T)};
        if (!checked_multiply(count, sizeof(T), wanted.size)) detail::throw_refusal({refusal::over_limit});
        return static_cast<T*>(pointers::allocate(*allocator_, wanted));
    }
    /// Deallocates memory, given the requested count.
    void deallocate(T* address, std::size_t count) noexcept {
        pointers::deallocate(*allocator_, address, {count * sizeof(T), alignof(T)});
    }

    /// Returns the allocator.
    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

    /// Returns true if both refer to the same allocator.
    template <class U>
    [[nodiscard]] bool operator==(const std_allocator<U, Allocator>& other) const noexcept {
        return allocator_ == std::addressof(other.allocator());
    }

private:
    Allocator* allocator_;
};

/// Deduces `std::byte` as the value type, for uses that rebind the adapter.
template <class Allocator>
std_allocator(Allocator&) -> std_allocator<std::byte, Allocator>;

}  // namespace v1
}  // namespace allot
