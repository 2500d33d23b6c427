// SPDX-License-Identifier: BSL-1.0
// storage_piece: the record of the bytes that one tensor, or one row of a tensor, occupies in a storage.
//
//     placement     each tensor has a separate block    all tensors share one block
//     a strategy    allocation, block                   allocation
//     as_given      block                               nothing
//     own_blocks    block                               (never)
//
// Internal. Memory: only the members of the table.
#pragma once

#include <allot/core/strategy.hpp>
#include <allot/tensor/policies.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The part of a storage that one tensor, or one row of a tensor, occupies: the placement's allocation, and the
/// separate block where each tensor has one. The specializations leave out absent members.
template <class Placement, class Block>
struct storage_piece {
    allocation_of<Placement> allocation{};
    Block own{};  // the separate block
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(allocation); }
};
template <class Placement>
struct storage_piece<Placement, void> {
    allocation_of<Placement> allocation{};
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(allocation); }
};
template <class Block>
struct storage_piece<as_given, Block> {
    Block own{};
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(own); }
};
template <>
struct storage_piece<as_given, void> {};
template <class Block>
struct storage_piece<own_blocks, Block> {
    Block own{};
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(own); }
};

/// Whether a placement finds an allocation by its metadata. No allocation has the metadata `{}`.
template <class Placement>
concept finds_allocations = requires(const Placement placement, typename Placement::metadata_type metadata) {
    placement.allocation_with(metadata);
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
