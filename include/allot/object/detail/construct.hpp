// SPDX-License-Identifier: BSL-1.0
// Requirements on allocators that hold objects, and construction of an object in a block.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/allocator.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// True if the host reads and writes the blocks of this allocator through pointers. Otherwise it does not compile, and
/// one sentence describes the change to make.
template <class Allocator>
consteval bool host_block_requirements() {
    if constexpr (std::is_const_v<Allocator>) {
        static_assert(!sizeof(Allocator), "allot: this allocator is const: pass one that may change");
    } else if constexpr (!allocator<Allocator>) {
        return allocator_requirements<Allocator>();
    } else if constexpr (!std::same_as<typename Allocator::address_model, raw_pointer>) {
        static_assert(!sizeof(Allocator),
                      "allot: the blocks of this allocator have no pointers: use an allocator of "
                      "memory that has addresses, or allocate_unique for blocks");
    } else if constexpr (!Allocator::host_accessible) {
        static_assert(!sizeof(Allocator),
                      "allot: the host cannot access this memory: use an allocator of host memory, or "
                      "allocate_unique for blocks");
    }
    return true;
}

/// True if `T` can be a single object in a block of this allocator.
template <class T, class Allocator>
consteval bool object_requirements() {
    static_assert(
        std::is_object_v<T> && !std::is_array_v<T>,
        "allot: make an object of a type that is neither an array nor a reference; for an array use make_array");
    return host_block_requirements<Allocator>();
}

/// True if `construct` can make a `T` from these arguments.
template <class T, class... Arguments>
consteval bool is_constructible() {
    if constexpr (std::is_aggregate_v<T>) return requires(Arguments&&... from) { T{std::forward<Arguments>(from)...}; };
    else return std::is_constructible_v<T, Arguments...>;
}

/// Constructs a `T` at `address`; an aggregate by braces, from the values of its first members.
template <class T, class... Arguments>
[[nodiscard]] T* construct(void* address, Arguments&&... arguments) {
    static_assert(
        is_constructible<T, Arguments...>(),
        "allot: no constructor of this type accepts these arguments; an aggregate is initialized by braces, which "
        "allow no narrowing conversion");
    if constexpr (!is_constructible<T, Arguments...>()) {
        return nullptr;
    } else if constexpr (std::is_aggregate_v<T>) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
        return ::new (address) T{std::forward<Arguments>(arguments)...};
#pragma GCC diagnostic pop
    } else {
        return ::new (address) T(std::forward<Arguments>(arguments)...);
    }
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
