// SPDX-License-Identifier: BSL-1.0
// dlpack_rows: exports discontiguous tensors and their views to other libraries.
//
//     auto shared = allot::to_dlpack(rows);                                // adjacent rows: the same bytes
//     if (!shared) log(shared.error().what());                             // not_compact
//     auto always = allot::to_dlpack_or_copy(rows, data);                  // otherwise a copy in `data`
//
// DLPack describes one piece of memory and has no tables. Rows that are adjacent in memory and in order are such a
// piece. For other rows the caller chooses: `to_dlpack` fails, and `to_dlpack_or_copy` copies the elements to a tensor
// in a storage, anywhere in it, and exports that tensor with the flag `is_copied`. Rows of `shared_rows` are exported
// read-only. A `write` of the discontiguous tensor leaves the exported bytes unchanged.
//
// When to use: where most tensors happen to be adjacent, or where a library reads a tensor rarely.
// When not to use: for kernels that read the table; they need no copy.
//
// Complexity: O(rows), or that of the copy. Memory: as in dlpack.hpp, and the copy. Thread safety: as in dlpack.hpp.
#pragma once

#include <allot/tensor/copy.hpp>
#include <allot/tensor/dlpack.hpp>

namespace allot {
inline namespace v1 {

/// Exports adjacent rows to another library, which shares the bytes until it calls the deleter. Fails with
/// `not_compact` if the rows are not adjacent, and as for a contiguous tensor.
template <tensor_in_rows Tensor>
[[nodiscard]] tensor_result<dlpack_pointer> to_dlpack(const Tensor& of, dlpack_options options = {}) noexcept {
    const auto adjacent = as_tensor(of);
    return adjacent ? to_dlpack(*adjacent, options) : tensor_result<dlpack_pointer>::failure(adjacent.error());
}

/// Exports adjacent rows as `to_dlpack`, and other rows as a copy anywhere in a storage, made by the first of the given
/// methods that can, or by the host. Also fails as `alloc_tensor` and `copy_tensor`. The device ordinal in the options
/// is that of the rows and that of the storage.
template <tensor_in_rows Tensor, class Allocator, class Policies, class... Ways>
[[nodiscard]] tensor_result<dlpack_pointer> to_dlpack_or_copy(const Tensor& of,
                                                              const storage<Allocator, Policies>& copies,
                                                              dlpack_options options = {}, Ways&&... ways) noexcept {
    using answer = tensor_result<dlpack_pointer>;
    if constexpr (!requires { requires !Tensor::data_lease::storage_type::is_one_kind; }) {
        auto adjacent = to_dlpack(of, options);
        if (adjacent || adjacent.error().reason != tensor_refusal::not_compact) return adjacent;
    }
    const auto copy = alloc_tensor(copies, anywhere, of.shape(), of.dtype());
    if (!copy) return answer::failure(copy.error());
    if (const auto done = copy_tensor(of, *copy, ways...); !done) return answer::failure(done.error());
    auto exported = to_dlpack(*copy, options);
    if (exported) (*exported)->flags |= dlpack_flag::is_copied;
    return exported;
}

}  // namespace v1
}  // namespace allot
