// SPDX-License-Identifier: BSL-1.0
// tensor_error: the reason that a call of the tensor layer failed.
//
//     auto t = allot::alloc_tensor(storage, 100, {4, 64}, allot::int32);
//     if (!t) log(t.error().what());                       // "the offset or address is not aligned as required"
//
// Each call checks all of its arguments before it changes anything. A call that fails has changed nothing. A copy is
// the exception: after `copy_failed` or `no_way`, part of the target may be written.
//
// When to use: to handle a failure of `alloc_storage`, `alloc_tensor`, `view`, `slice`, `copy_tensor`, `to_dlpack`,
// `from_dlpack` and their siblings. `what()` is the text for a log; code uses `reason` and `row`.
// When not to use: for failures of arenas and strategies, which report a `diagnosis` (core/diagnosis.hpp). A
// `tensor_error` contains that diagnosis in `memory`.
//
// Complexity: O(1). Memory: the error is a value and allocates nothing. Thread safety: errors are values.
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/result.hpp>

namespace allot {
inline namespace v1 {

/// The reasons of a `tensor_error`.
enum class tensor_refusal : unsigned char {
    none,              ///< No error.
    bad_dtype,         ///< The dtype has no bits or no lanes, or its name is unknown.
    bad_shape,         ///< A dimension is negative, or the rank is unsuitable or above `max_rank`.
    bad_strides,       ///< The strides have another rank than the shape, or the call does not support them.
    bad_separators,    ///< The axis separators do not ascend, or one is outside the shape.
    bad_texture,       ///< The shape has fewer than three axes, or its last axis is not 4 channels.
    shape_mismatch,    ///< Two shapes differ that must have the same rank or the same elements.
    dtype_mismatch,    ///< Two dtypes differ that must be the same.
    too_large,         ///< The number of bytes or elements overflows, or exceeds half the address space.
    bad_alignment,     ///< The alignment is not a power of two.
    negative_size,     ///< The size is negative.
    negative_offset,   ///< The offset is negative.
    out_of_bounds,     ///< The bytes extend beyond the storage, the tensor, or the table's storage.
    misaligned,        ///< The offset or the base has less alignment than required.
    overlapping,       ///< The bytes belong to a live tensor, to another row, or to the other side of a copy.
    wrong_row_count,   ///< The number of offsets differs from the number of rows.
    too_many_rows,     ///< There are more rows than `references::basic_none<Rows>` or `share_rows` reserves space for.
    entry_too_narrow,  ///< The type of the table's entries cannot represent the row's position.
    partial_bytes,     ///< The elements would begin or end inside a byte.
    not_divisible,     ///< The byte offset is not a multiple of factor times element size, or the factor is 0.
    no_offsets,        ///< The tensor would begin after its buffer's first byte, and consumers take no offset.
    not_compact,       ///< The elements are not contiguous in row-major order.
    no_memory,         ///< The storage or the allocator failed; `memory` has the reason.
    no_host_memory,    ///< The host heap is exhausted, or the placement has no free record.
    unknown_scope,     ///< No memory has that scope.
    unknown_device,    ///< No memory of that scope has that device ordinal.
    in_use,            ///< The storage body already holds memory.
    killed,            ///< The tensor or storage was killed before, or never allocated.
    wrong_device,      ///< The tensor is in another kind of memory.
    wrong_version,     ///< The tensor uses another major version of DLPack.
    read_only,         ///< The tensor is read-only, or the consumer's format cannot express that.
    copy_failed,       ///< The device's copy failed; `memory` has its code.
    no_way,            ///< No given copy method can reach both memories.
    shared_row,        ///< A row that would be written is shared with another tensor.
};

/// Returns a human-readable description.
[[nodiscard]] constexpr const char* to_string(tensor_refusal reason) noexcept {
    switch (reason) {
        case tensor_refusal::none: return "no error";
        case tensor_refusal::bad_dtype: return "the dtype is invalid or unsupported";
        case tensor_refusal::bad_shape: return "the shape has a negative dimension, or more dimensions than max_rank";
        case tensor_refusal::bad_strides: return "the strides do not match the shape";
        case tensor_refusal::bad_separators: return "the axis separators do not ascend inside the shape";
        case tensor_refusal::bad_texture: return "a texture needs at least three axes, the last with four channels";
        case tensor_refusal::shape_mismatch: return "the shapes do not match";
        case tensor_refusal::dtype_mismatch: return "the dtypes differ";
        case tensor_refusal::too_large: return "the size is too large for this machine's integers";
        case tensor_refusal::bad_alignment: return "the alignment is not a power of two";
        case tensor_refusal::negative_size: return "the size is negative";
        case tensor_refusal::negative_offset: return "the offset is negative";
        case tensor_refusal::out_of_bounds: return "the bytes extend beyond the end of the storage";
        case tensor_refusal::misaligned: return "the offset or address is not aligned as required";
        case tensor_refusal::overlapping: return "the bytes overlap bytes that are in use";
        case tensor_refusal::wrong_row_count: return "the number of offsets differs from the number of rows";
        case tensor_refusal::too_many_rows: return "there are more rows than the space reserved for them";
        case tensor_refusal::entry_too_narrow: return "the table's entries are too narrow for the row's position";
        case tensor_refusal::partial_bytes: return "the elements would begin or end inside a byte";
        case tensor_refusal::not_divisible:
            return "the byte offset is not a multiple of offset_factor times element size";
        case tensor_refusal::no_offsets: return "consumers of this memory take no offset";
        case tensor_refusal::not_compact: return "the elements are not contiguous";
        case tensor_refusal::no_memory: return "there is not enough memory";
        case tensor_refusal::no_host_memory: return "the host heap is exhausted";
        case tensor_refusal::unknown_scope: return "no memory has this scope";
        case tensor_refusal::unknown_device: return "no memory of this scope has this device ordinal";
        case tensor_refusal::in_use: return "the storage body already holds memory";
        case tensor_refusal::killed: return "the tensor or storage was killed before, or never allocated";
        case tensor_refusal::wrong_device: return "the tensor is in another kind of memory";
        case tensor_refusal::wrong_version: return "the tensor uses another major version of DLPack";
        case tensor_refusal::read_only: return "the tensor is read-only";
        case tensor_refusal::copy_failed: return "the device's copy failed";
        case tensor_refusal::no_way: return "none of the given copy methods reaches both memories";
        case tensor_refusal::shared_row: return "a row is shared with another tensor";
    }
    return "unknown";
}

/// The `row` of an error that concerns no single row and no single request.
inline constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

/// The error of the tensor layer: a reason, the row it concerns, and the allocator's own diagnosis.
struct tensor_error {
    tensor_refusal reason = tensor_refusal::none;  ///< The reason.
    std::size_t row = no_row;  ///< Index of the row or request that failed. `no_row`: the tensor or its table failed.
    diagnosis memory{};  ///< Of the storage, allocator or device, for `no_memory`, `overlapping` and `copy_failed`.

    /// Returns a human-readable description: the allocator's own text for `no_memory` where `memory` has a reason.
    [[nodiscard]] constexpr const char* what() const noexcept {
        return reason == tensor_refusal::no_memory && memory.reason != refusal::none ? memory.what()
                                                                                     : to_string(reason);
    }
    /// Compares reason, row and diagnosis.
    friend constexpr bool operator==(const tensor_error&, const tensor_error&) = default;
};

/// A value or a `tensor_error`.
template <class Value>
using tensor_result = result<Value, tensor_error>;

}  // namespace v1
}  // namespace allot
