// SPDX-License-Identifier: BSL-1.0
// tensor_error: why a call of the tensor layer refused. It checked everything before it changed anything, so that a
// refused call has changed nothing.
//
//     auto t = allot::alloc_tensor(storage, 100, {4, 64}, allot::int32);
//     if (!t) log(t.error().what());                       // "the offset is not aligned as the storage asks"
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/result.hpp>

namespace allot {
inline namespace v1 {

enum class tensor_refusal : unsigned char {
    none,
    bad_dtype,          // no bits, no lanes, or no such name
    bad_shape,          // a negative dimension, or more than `max_rank` of them
    bad_strides,        // of another rank than the shape, or not what the call can take
    bad_separators,     // axis separators that are not ascending, or not inside the shape
    bad_texture,        // fewer than three axes, or a last one that is not 4 channels
    shape_mismatch,     // two shapes that should hold the same elements do not
    dtype_mismatch,     // two dtypes that should be the same are not
    too_large,          // bytes or elements that cannot be counted
    bad_alignment,      // no power of two
    negative_size,
    negative_offset,
    out_of_bounds,      // behind the end of the storage, the tensor or the table's storage
    misaligned,         // the offset is not aligned as the storage asks, or the storage's base is not aligned enough
    overlapping,        // the bytes belong to a live tensor, to another row, or to the other side of a copy
    wrong_row_count,    // not one offset for each row
    too_many_rows,      // more than `references::none<Rows>` keeps claims for
    entry_too_narrow,   // the entry's type cannot name the row
    partial_bytes,      // it would begin or end inside a byte
    not_divisible,      // a byte offset that is no multiple of factor times element size, or a factor of 0
    no_offsets,         // it would begin behind its buffer's first byte, and consumers of this memory take no offset
    not_compact,        // its elements do not lie side by side in row-major order
    no_memory,          // the storage or the allocator refuses; `memory` says why
    no_host_memory,     // the host heap gives no record
    unknown_scope,      // no memory has that scope
    unknown_device,     // no memory of that scope has that device ordinal
    in_use,             // the body holds memory already
    killed,             // the tensor or storage was killed before, or never allocated
    wrong_device,       // it lives in another kind of memory
    wrong_version,      // of another major version of DLPack
    read_only,          // nobody may write to it, or the other side could not be told so
    copy_failed,        // the device's copy failed; `memory` has its code
    no_way,             // none of the ways of copying that were given can reach both memories
};

/// One sentence for a person.
[[nodiscard]] constexpr const char* to_string(tensor_refusal reason) noexcept {
    switch (reason) {
        case tensor_refusal::none: return "nothing was refused";
        case tensor_refusal::bad_dtype: return "there is no such dtype";
        case tensor_refusal::bad_shape: return "the shape has a negative dimension, or more dimensions than max_rank";
        case tensor_refusal::bad_strides: return "the strides do not go with the shape";
        case tensor_refusal::bad_separators: return "the axis separators do not ascend inside the shape";
        case tensor_refusal::bad_texture: return "a texture has at least three axes, the last of four channels";
        case tensor_refusal::shape_mismatch: return "the shapes do not go together";
        case tensor_refusal::dtype_mismatch: return "the dtypes are not the same";
        case tensor_refusal::too_large: return "the size cannot be counted in this machine's integers";
        case tensor_refusal::bad_alignment: return "the alignment is not a power of two";
        case tensor_refusal::negative_size: return "the size is negative";
        case tensor_refusal::negative_offset: return "the offset is negative";
        case tensor_refusal::out_of_bounds: return "the bytes end behind the storage";
        case tensor_refusal::misaligned: return "the offset is not aligned as the storage asks";
        case tensor_refusal::overlapping: return "the bytes overlap others that are in use";
        case tensor_refusal::wrong_row_count: return "there is not one offset for each row";
        case tensor_refusal::too_many_rows: return "there are more rows than references::none keeps claims for";
        case tensor_refusal::entry_too_narrow: return "the table's entries cannot name the row";
        case tensor_refusal::partial_bytes: return "it would begin or end inside a byte";
        case tensor_refusal::not_divisible: return "the byte offset is no multiple of offset_factor times element size";
        case tensor_refusal::no_offsets: return "consumers of this memory take no offset";
        case tensor_refusal::not_compact: return "the elements do not lie side by side";
        case tensor_refusal::no_memory: return "there is no memory for it";
        case tensor_refusal::no_host_memory: return "the host heap gives no record for it";
        case tensor_refusal::unknown_scope: return "no memory has this scope";
        case tensor_refusal::unknown_device: return "no memory of this scope has this device ordinal";
        case tensor_refusal::in_use: return "it holds memory already";
        case tensor_refusal::killed: return "it was killed before, or never allocated";
        case tensor_refusal::wrong_device: return "it lives in another kind of memory";
        case tensor_refusal::wrong_version: return "it comes from another major version of DLPack";
        case tensor_refusal::read_only: return "it is read-only";
        case tensor_refusal::copy_failed: return "the device's copy failed";
        case tensor_refusal::no_way: return "none of the ways of copying that were given reaches both memories";
    }
    return "unknown";
}

/// No single row, and no single tensor of several, is at fault.
inline constexpr std::size_t no_row = std::numeric_limits<std::size_t>::max();

struct tensor_error {
    tensor_refusal reason = tensor_refusal::none;
    std::size_t row = no_row;  // which row, or which of several tensors, is at fault
    diagnosis memory{};        // of the storage or allocator, when `reason` is no_memory or copy_failed

    /// The reason; where memory was refused, the allocator's own.
    [[nodiscard]] constexpr const char* what() const noexcept {
        return reason == tensor_refusal::no_memory && memory.reason != refusal::none ? memory.what() : to_string(reason);
    }
    friend constexpr bool operator==(const tensor_error&, const tensor_error&) = default;
};

template <class Value>
using tensor_result = result<Value, tensor_error>;

}  // namespace v1
}  // namespace allot
