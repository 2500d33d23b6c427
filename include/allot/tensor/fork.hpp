// SPDX-License-Identifier: BSL-1.0
// fork, fork_prefix, write: tensors with common rows, which are copied when one of the tensors writes.
//
//     auto rows = allot::share_rows(data, tables, 1000).value();                   // shared_rows.hpp
//     auto a = allot::alloc_discontiguous_tensor(tables, allot::anywhere, rows, allot::anywhere, {4, 64},
//                                                allot::int32).value();
//     auto b = allot::fork(a).value();                                             // names the rows of `a`
//     auto longer = allot::fork_prefix(a, 6).value();                              // and has two rows more
//     void* row = allot::write(b, 3).value();                                      // row 3 of `b` is a copy now
//
// `write` prepares one row of a tensor for writing: if another tensor names the row, the tensor gets a copy of it, and
// the entry of its table changes. The copy uses the given methods, like `copy_tensor`. Call `write` before the host, a
// kernel or a copy writes a row. `copy_tensor` fails with `shared_row` instead of writing to a row that other tensors
// name. Copies of a handle, slices and views are the same tensor: they see its writes.
//
// When to use: for tensors that differ in a few rows, or in the rows after a common prefix.
// When not to use: for a tensor with rows of its own from the start; allocate it and use `copy_tensor`.
//
// Complexity: `fork` is O(rows) and copies no row. `write` is O(1), plus the copy of the row. Memory: a table for each
// tensor, and the lease on its rows. Thread safety: that of the reference policy; one thread at a time uses one tensor.
#pragma once

#include <allot/tensor/copy.hpp>
#include <allot/tensor/shared_rows.hpp>

namespace allot {
inline namespace v1 {

/// A tensor in a storage of shared rows.
template <class Tensor>
concept tensor_with_shared_rows = requires { requires Tensor::data_lease::storage_type::body_type::counts_rows; };

/// Returns the number of references to a row: one for each tensor that names it. Precondition: `row < of.rows()`.
template <tensor_with_shared_rows Tensor>
[[nodiscard]] std::size_t row_references(const Tensor& of, std::size_t row) noexcept {
    return of.lease().body()->count(of.lease().piece(row));
}

namespace detail {

/// Returns a tensor of another shape that names the first rows of `of`, and has new rows after them. Precondition: both
/// have the same elements in a row.
template <class Tensor, storage_offset TableOffset>
[[nodiscard]] tensor_result<Tensor> fork_as(const Tensor& of, const shape& physical, const shape& logical,
                                            TableOffset table_offset) noexcept {
    using answer = tensor_result<Tensor>;
    using model = typename Tensor::table_model;
    using value = typename model::value;
    const auto form = rows_of(physical, of.dtype());
    if (!form) return answer::failure(form.error());
    std::size_t table_bytes = 0;
    if (!checked_multiply(form->rows, sizeof(value), table_bytes)) return answer::failure({tensor_refusal::too_large});
    typename Tensor::table_lease table;
    const auto& in_table = of.of_table().storage();
    if (const auto reason = table.start(in_table, 1); reason != tensor_refusal::none) return answer::failure({reason});
    typename Tensor::table_lease::storage_type::body_type::piece table_piece{};
    const auto at = in_table.body()->take(table_offset, {table_bytes, alignof(value)}, table_piece);
    if (!at) return answer::failure(at.error());
    if (form->rows != 0) table.keep(table_piece);

    typename Tensor::data_lease data;
    auto& body = *of.lease().body();
    if (const auto reason = data.start(of.lease().storage(), form->rows); reason != tensor_refusal::none)
        return answer::failure({reason});
    row_table<model> written = of.table();
    auto* const entries = static_cast<value*>(*at);
    for (std::size_t row = 0; row != form->rows; ++row) {
        value* const entry = ::new (static_cast<void*>(entries + row)) value{};
        if (row < of.rows()) {
            body.share(of.lease().piece(row));
            data.keep(of.lease().piece(row));
            *entry = written.entries[row];
            continue;
        }
        row_number fresh{};
        const auto first = body.take(anywhere, {form->row_bytes, body.align()}, fresh);
        if (!first) return answer::failure({first.error().reason, row, first.error().memory});
        data.keep(fresh);
        if (!model::entry::encode(body.origin(), *first, form->row_bytes, *entry))
            return answer::failure({tensor_refusal::entry_too_narrow, row});
    }
    written = {entries, form->rows, body.origin(), form->row_bytes};
    return Tensor{std::move(table), std::move(data), written, of.dtype(), physical, logical};
}

}  // namespace detail

/// Returns a tensor with the same rows and a table of its own, at an offset of the storage of the first table, or
/// anywhere in it. Copies no row. Fails with `killed` or `no_host_memory`, or where the table fails: `out_of_bounds`,
/// `misaligned`, `overlapping` or `no_memory`.
template <tensor_with_shared_rows Tensor, storage_offset TableOffset = anywhere_t>
[[nodiscard]] tensor_result<Tensor> fork(const Tensor& of, TableOffset table_offset = {}) noexcept {
    if (!of) return tensor_result<Tensor>::failure({tensor_refusal::killed});
    return detail::fork_as(of, of.shape(), of.logical_shape(), table_offset);
}
/// Returns a tensor with `count` in place of the first number of the shape: it names the first rows of `of`, and has
/// new rows, anywhere in the storage, after the last one. Also fails with `bad_shape`, with `shape_mismatch` if the
/// logical shape does not contain `count`, and like an allocation of the new rows.
template <tensor_with_shared_rows Tensor, storage_offset TableOffset = anywhere_t>
[[nodiscard]] tensor_result<Tensor> fork_prefix(const Tensor& of, std::int64_t count,
                                                TableOffset table_offset = {}) noexcept {
    using answer = tensor_result<Tensor>;
    if (!of) return answer::failure({tensor_refusal::killed});
    shape physical = of.shape(), logical = of.logical_shape();
    if (logical == physical) {
        logical[0] = count;
    } else {
        // The first physical axis is a product of logical axes, of which the first one changes.
        const std::int64_t others = logical[0] == 0 ? 0 : physical[0] / logical[0];
        if (others == 0 || count % others != 0) return answer::failure({tensor_refusal::shape_mismatch});
        logical[0] = count / others;
    }
    physical[0] = count;
    return detail::fork_as(of, physical, logical, table_offset);
}

namespace detail {
/// One row as the source or target of a copy.
template <class Tensor>
struct one_row {
    using address_model = typename Tensor::address_model;
    static constexpr bool host_accessible = Tensor::host_accessible;
    static constexpr dl_device_type dl_device = Tensor::dl_device;
    run<typename Tensor::address_type> bytes;

    /// Returns the bytes at the first call, and an empty run afterwards.
    [[nodiscard]] auto next() noexcept { return std::exchange(bytes, {}); }
};
template <class Tensor>
[[nodiscard]] one_row<Tensor> runs_of(const one_row<Tensor>& of) noexcept {
    return of;
}
}  // namespace detail

/// Prepares a row for writing and returns its address. If other tensors name the row, allocates a row anywhere in the
/// storage, copies the bytes by the first of the given methods that can, or by the host, and changes the entry of the
/// table. On failure nothing is changed: `killed`, `out_of_bounds`, `too_many_rows`, `no_memory`, `entry_too_narrow`,
/// `copy_failed` or `no_way`. Publish the table afterwards if a device has a copy of it.
template <tensor_with_shared_rows Tensor, class... Ways>
[[nodiscard]] tensor_result<typename Tensor::address_type> write(Tensor& to, std::size_t row, Ways&&... ways) noexcept {
    using answer = tensor_result<typename Tensor::address_type>;
    using model = typename Tensor::table_model;
    static_assert((detail::way_between<Ways, Tensor, Tensor> || ...) || host_memory<Tensor>,
                  "allot: the host cannot access this memory: give write a method that copies inside it, such as "
                  "opencl::queue_copy or a function of (from, to, bytes); core/copy_path.hpp lists them");
    const auto refuse = [row](tensor_error error) {
        error.row = row;
        return answer::failure(error);
    };
    if (!to) return answer::failure({tensor_refusal::killed});
    if (row >= to.rows()) return refuse({tensor_refusal::out_of_bounds});
    auto& body = *to.lease().body();
    const auto old = to.lease().piece(row);
    if (body.count(old) == 1) return to.row(row);

    detail::row_number fresh{};
    const auto at = body.take(anywhere, {to.row_bytes(), body.align()}, fresh);
    if (!at) return refuse(at.error());
    typename model::value entry{};
    if (!model::entry::encode(to.table().origin, *at, to.row_bytes(), entry)) {
        body.give_back(fresh);
        return refuse({tensor_refusal::entry_too_narrow});
    }
    detail::host_copy host;
    const auto moved = detail::copy_runs(
        detail::one_row<Tensor>{{to.row(row), to.row_bytes()}}, detail::one_row<Tensor>{{*at, to.row_bytes()}},
        detail::way_taken<std::remove_reference_t<Ways>>{ways}..., detail::way_taken<detail::host_copy>{host});
    if (!moved) {
        body.give_back(fresh);
        return refuse(moved.error());
    }
    to.replace(row, fresh, entry);
    body.give_back(old);
    return *at;
}

}  // namespace v1
}  // namespace allot
