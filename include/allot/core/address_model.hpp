// SPDX-License-Identifier: BSL-1.0
// address_model: defines how allot names a byte of memory.
//
//     model            base                 name of byte n
//     raw_pointer      void*                the pointer plus n
//     handle_offset    handle, offset       the same handle, offset + n
//     pointer_table    table of rows        row n / RowBytes, byte n % RowBytes of that row
//
// The first two models are *linear*: a byte has a position, and a distance is a difference of positions. An arena cuts
// blocks from a region, so it needs a linear model. A pointer table is not linear: it names the bytes of one tensor
// whose rows come from another allocator and need not be adjacent.
//
// When to use: to write a device for memory that the models of allot do not describe, or to constrain a template.
// When not to use: to name bytes in ordinary code. Use the addresses in blocks, or the tensor layer.
//
// Complexity: `locate` and `position` are O(1) in the models of allot.
// Memory: none; a model has only static functions.
// Thread safety: the functions are pure, except that `pointer_table::locate` reads the table.
#pragma once

#include <allot/core/block.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// A model with the types `base` and `address`, in which `locate(base, n)` returns the address of byte `n` after
/// `base`.
template <class Model>
concept address_model = requires(typename Model::base base, std::size_t n) {
    typename Model::address;
    { Model::locate(base, n) } noexcept -> std::same_as<typename Model::address>;
};

/// An address model in which a base is an address and `position(locate(base, n)) == position(base) + n`. `absolute` is
/// true when a position that is a multiple of `n` means that the byte is aligned to `n`, as for a pointer. It is false
/// when positions count from a base whose alignment only the device can report, as for a handle and an offset.
template <class Model>
concept linear_address_model = address_model<Model> && std::same_as<typename Model::base, typename Model::address> &&
                               requires(typename Model::address address) {
                                   requires std::same_as<decltype(Model::absolute), const bool>;
                                   { Model::position(address) } noexcept -> std::same_as<std::size_t>;
                               };

}  // namespace v1
}  // namespace allot
