// SPDX-License-Identifier: BSL-1.0
// any_options: the options of any_allocator, the metadata of its blocks, and the names of abilities.
//
//     constexpr allot::any_allocator_options hardened{.metadata = 32};
//     using any_memory = allot::any_allocator<allot::raw_pointer, hardened>;
//
// When to use: to state the properties of the memories among which a program selects at run time.
// When not to use: for memories with the properties of one type. Use any_options_of<Allocator>.
//
// Complexity: none. Memory: the metadata has the stated number of bytes.
// Thread safety: values.
#pragma once

#include <allot/core/allocator.hpp>

#include <array>

namespace allot {
inline namespace v1 {

/// The properties that all allocators of an `any_allocator` have.
struct any_allocator_options {
    bool host_accessible = true;                     ///< Whether the host can access the memory.
    offset_use offsets = offset_use::arithmetic;     ///< How consumers use offsets.
    dl_device_type dl_device = dl_device_type::cpu;  ///< The device type in DLPack.
    reclaim reclaims = reclaim::any;                 ///< The order in which blocks become free.
    std::size_t metadata = 16;                       ///< The number of bytes for the metadata of a block.
};

/// An ability that an allocator may have.
enum class allocator_ability : unsigned {
    size = 1,              ///< `size()`.
    owns = 2,              ///< `owns(block)`.
    capacity = 4,          ///< `capacity(block)`.
    resize = 8,            ///< `resize(block, size)`.
    trim = 16,             ///< `trim()`.
    reset = 32,            ///< `reset()`.
    allocate_at = 64,      ///< `allocate_at(extent)` and `diagnose_at(extent)`.
    for_each_hole = 128,   ///< `for_each_hole(f)`.
    for_each_block = 256,  ///< `for_each_block(f)`.
    statistics = 512,      ///< `statistics()`.
};

/// The metadata of a block of any allocator.
template <std::size_t Size>
struct any_metadata {
    std::array<std::byte, Size> bytes{};  ///< The bytes of the metadata. Do not change them.
    /// Compares all bytes.
    friend constexpr bool operator==(const any_metadata&, const any_metadata&) = default;
};
/// The metadata of a block where no allocator has metadata.
template <>
struct any_metadata<0> {
    /// Returns true.
    friend constexpr bool operator==(any_metadata, any_metadata) = default;
};

}  // namespace v1
}  // namespace allot
