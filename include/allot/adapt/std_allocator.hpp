// SPDX-License-Identifier: BSL-1.0
// std_allocator: an arena, or any allocator of pointers, as the allocator of a container, of the standard's or Boost's.
//
//     using memory_type = allot::arena<allot::host::heap, allot::best_fit<>>;
//     memory_type memory{{}, 1_MiB};
//     std::vector<int, allot::std_allocator<int, memory_type>> values{memory};       // refers to it
//     auto shared = std::allocate_shared<widget>(allot::std_allocator{memory});
//
// The call is the arena's own, by name and not virtual; what distinguishes this from memory_resource.hpp is that the arena
// is part of the container's type. What is said there of metadata, of bump, stack and ring, and of refusals holds here.
//
// Two are equal when they refer to the same allocator, whatever their value types. A container stays in the memory that
// it was made with: an assignment, also by move, brings it values and not bytes of another arena, which may end sooner.
// A copy of a container lies where the original does. A swap exchanges the memories too: without that, the swap of
// containers in two arenas would be undefined.
//
// Complexity: the allocator's. Memory: a pointer in every container. Thread safety: the allocator's.
#pragma once

#include <allot/adapt/detail/block_as_pointer.hpp>

#include <memory>

namespace allot {
inline namespace v1 {

template <class T, class Allocator>
class std_allocator {
    static_assert(detail::pointer_requirements<Allocator>());
    using pointers = detail::block_as_pointer<Allocator>;

public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    /// Not explicit, so that a container is made with the arena itself.
    std_allocator(Allocator& allocator) noexcept : allocator_{std::addressof(allocator)} {}
    /// For the sentence: containers make their allocator when they are given none.
    template <class A = Allocator>
    std_allocator() noexcept {
        static_assert(!sizeof(A), "allot: this container needs its arena: std::vector<T, std_allocator<T, Arena>> v{arena}");
    }
    template <class U>
    std_allocator(const std_allocator<U, Allocator>& other) noexcept : std_allocator{other.allocator()} {}

    /// Bytes for `count` objects. Throws allot::bad_alloc.
    [[nodiscard]] T* allocate(std::size_t count) {
        layout wanted{0, alignof(T)};
        if (!checked_multiply(count, sizeof(T), wanted.size)) detail::throw_refusal({refusal::over_limit});
        return static_cast<T*>(pointers::allocate(*allocator_, wanted));
    }
    /// Takes bytes back, with the count that was asked for.
    void deallocate(T* address, std::size_t count) noexcept {
        pointers::deallocate(*allocator_, address, {count * sizeof(T), alignof(T)});
    }

    [[nodiscard]] Allocator& allocator() const noexcept { return *allocator_; }

    template <class U>
    [[nodiscard]] bool operator==(const std_allocator<U, Allocator>& other) const noexcept {
        return allocator_ == std::addressof(other.allocator());
    }

private:
    Allocator* allocator_;
};

/// Where the value type does not matter, because it is rebound.
template <class Allocator>
std_allocator(Allocator&) -> std_allocator<std::byte, Allocator>;

}  // namespace v1
}  // namespace allot
