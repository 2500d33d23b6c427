// SPDX-License-Identifier: BSL-1.0
// The address model: how a byte of memory is named.
//
//     model            base                 the byte n after it
//     raw_pointer      void*                void* moved by n
//     handle_offset    handle, offset       the same handle, offset + n
//     pointer_table    table of rows        row n / RowBytes, then n % RowBytes: rows lie anywhere
//
// The first two are *linear*: a byte has a position, distances are differences of positions, and an arena can hand out
// blocks inside one region. A pointer table is not: it names the bytes of one tensor whose rows another allocator gave.
#pragma once

#include <allot/core/block.hpp>

#include <type_traits>

namespace allot {
inline namespace v1 {

/// `locate(base, n)` names the byte `n` after `base`.
template <class Model>
concept address_model = requires(typename Model::base base, std::size_t n) {
    typename Model::address;
    { Model::locate(base, n) } noexcept -> std::same_as<typename Model::address>;
};

/// A byte's name tells where it stands: `position(locate(base, n)) == position(base) + n`, and a base is an address.
/// `absolute` says what a position is worth: true when its divisibility is the alignment of the byte (a pointer),
/// false when it counts from a base whose own alignment only the device knows (an offset beside a handle).
template <class Model>
concept linear_address_model =
    address_model<Model> && std::same_as<typename Model::base, typename Model::address> &&
    requires(typename Model::address address) {
        requires std::same_as<decltype(Model::absolute), const bool>;
        { Model::position(address) } noexcept -> std::same_as<std::size_t>;
    };

}  // namespace v1
}  // namespace allot
