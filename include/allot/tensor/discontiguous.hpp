// SPDX-License-Identifier: BSL-1.0
// discontiguous_tensor: a tensor whose rows are at any offsets of one storage, with a table of the rows in another.
//
//     auto a = allot::alloc_discontiguous_tensor(
//         table, data, {.offsets = {768, 256, 2304, 3072}, .shape = {4, 64}, .dtype = allot::int32}).value();
//     auto b = allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 64, data, allot::anywhere, {4, 64},
//                                                                 allot::int32).value();  // as graph compilers call it
//
//     table storage   │768│256│2304│3072│                 one entry for each row
//     data storage    │    │ row 1 │    │ row 0 │    …    │ row 2 │   │ row 3 │
//
// The shape is the physical shape: (rows, elements of a row). With more than two physical axes, the last one is a row
// and the others number the rows in row-major order: (2, 3, 64) has six rows, and row (1, 2) is entry 5 of the table. A
// tensor can also have a logical shape, and axis separators that convert it to the physical shape. Offsets are bytes
// from the start of each storage. Table entries are pointers, or offsets or indexes from the start of the data storage.
// Everything is checked before the table is written, and a failed call frees its allocations. The tensor holds a
// reference to both storages.
//
// When to use: for kernels that find rows through a pointer table or a block table, such as paged caches, and where no
// hole fits the whole tensor.
// When not to use: where the whole tensor fits in one hole; `alloc_tensor` needs no table and gives views.
//
// Complexity: one allocation for each row. With `as_given` and offsets that do not ascend, O(rows²) comparisons.
// Memory: the table and the leases on table and rows. Thread safety: that of the reference policy.
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/tensor/tensor.hpp>

namespace allot {
inline namespace v1 {

namespace detail {
/// The number of rows that a lease contains. A counted lease is allocated for the actual number and ignores it.
template <class Storage>
inline constexpr std::size_t most_rows = 0;
template <class Storage>
    requires(!Storage::policies::references::counted)
inline constexpr std::size_t most_rows<Storage> = Storage::policies::references::rows;

[[nodiscard]] constexpr tensor_error as_tensor_error(table_error error) noexcept {
    switch (error.reason) {
        case table_refusal::none: return {};
        case table_refusal::wrong_row_count: return {tensor_refusal::wrong_row_count};
        case table_refusal::negative_offset: return {tensor_refusal::negative_offset, error.row};
        case table_refusal::out_of_bounds: return {tensor_refusal::out_of_bounds, error.row};
        case table_refusal::misaligned: return {tensor_refusal::misaligned, error.row};
        case table_refusal::overlapping: return {tensor_refusal::overlapping, error.row};
        case table_refusal::entry_too_narrow: return {tensor_refusal::entry_too_narrow, error.row};
    }
    return {};
}
}  // namespace detail

/// A reference to a table and to the rows that it describes, with dtype and shape. `alloc_discontiguous_tensor` creates
/// it.
template <class TableStorage, class DataStorage, class Entry = row_pointer>
class discontiguous_tensor {
public:
    /// The type of the lease on the table.
    using table_lease = detail::lease_on<TableStorage, 1>;
    /// The type of the lease on the rows.
    using data_lease = detail::lease_on<DataStorage, detail::most_rows<DataStorage>>;
    /// The policies of the data storage.
    using policies = typename DataStorage::policies;
    /// The address model of the rows.
    using address_model = typename DataStorage::address_model;
    /// The address of a byte of a row.
    using address_type = typename address_model::address;
    /// The address model of the table.
    using table_model = pointer_table<std::dynamic_extent, Entry, address_model>;
    /// Whether the host may read and write the rows.
    static constexpr bool host_accessible = DataStorage::host_accessible;
    /// How consumers of the data storage's memory use offsets.
    static constexpr offset_use offsets = DataStorage::offsets;
    /// The kind of the data storage's memory in DLPack's terms.
    static constexpr dl_device_type dl_device = DataStorage::dl_device;

    /// Creates an empty handle.
    discontiguous_tensor() noexcept = default;
    /// Creates a handle from its parts. `alloc_discontiguous_tensor` calls it.
    discontiguous_tensor(table_lease table, data_lease data, row_table<table_model> rows, allot::dtype type,
                         const allot::shape& physical, const allot::shape& logical) noexcept
        : table_lease_{std::move(table)},
          data_lease_{std::move(data)},
          rows_{rows},
          dtype_{type},
          physical_{physical},
          logical_{logical} {}

    /// Returns false for a handle that was killed or never allocated.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(data_lease_); }

    /// Returns the table for a kernel: the entries, and the address from which they count.
    [[nodiscard]] row_table<table_model> table() const noexcept {
        check();
        return rows_;
    }
    /// Returns the address of the first byte of a row. Precondition: `row < rows()`.
    [[nodiscard]] address_type row(std::size_t row) const noexcept { return table()[row]; }
    /// Returns the address of the first byte of the row at a position along the physical axes but the last: `row({1,
    /// 2})`. Precondition: the position is inside the shape.
    [[nodiscard]] address_type row(const allot::shape& position) const noexcept {
        std::size_t number = 0;
        for (std::size_t axis = 0; axis != position.rank(); ++axis)
            number = number * static_cast<std::size_t>(physical_[axis]) + static_cast<std::size_t>(position[axis]);
        return row(number);
    }
    /// Returns the number of rows in memory: 0 for a tensor without elements.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
    /// Returns the number of bytes of a row.
    [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row.bytes(); }
    /// Returns the dtype.
    [[nodiscard]] allot::dtype dtype() const noexcept { return dtype_; }
    /// Returns the physical shape. The last axis is a row.
    [[nodiscard]] const allot::shape& shape() const noexcept { return physical_; }
    /// Returns the shape before the axis separators merged its axes; the physical shape when none was given.
    [[nodiscard]] const allot::shape& logical_shape() const noexcept { return logical_; }
    /// Returns the number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return *element_count(physical_); }
    /// Returns the number of bytes of the elements.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *byte_count(physical_, dtype_); }

    /// Drops the references to table and rows. A second call has no effect; in hardened builds it is a misuse.
    void kill() noexcept {
        check();
        data_lease_ = {};
        table_lease_ = {};
        rows_ = {};
        physical_ = logical_ = allot::shape{0, 0};
    }

    /// Returns the lease on the rows.
    [[nodiscard]] const data_lease& lease() const noexcept { return data_lease_; }
    /// Returns the lease on the table.
    [[nodiscard]] const table_lease& of_table() const noexcept { return table_lease_; }

    /// Replaces a row in the table and in the lease. `write` (fork.hpp) calls it. The caller owns the old row.
    template <class Piece>
    void replace(std::size_t row, const Piece& taken, const typename table_model::value& entry) noexcept {
        data_lease_.replace(row, taken);
        // The table is in memory that the host writes.
        const_cast<typename table_model::value*>(rows_.entries)[row] = entry;
    }

private:
    void check() const noexcept { detail::check_alive<policies>(static_cast<bool>(*this)); }

    table_lease table_lease_;
    data_lease data_lease_;
    row_table<table_model> rows_{};
    allot::dtype dtype_{};
    allot::shape physical_{0, 0}, logical_{0, 0};
};

namespace detail {

/// The rows of a physical shape.
struct row_form {
    std::size_t stated = 0;  // by the axes but the last
    std::size_t rows = 0;    // in memory: 0 for a tensor without elements
    std::size_t row_bytes = 0;
    bool ends_inside_a_byte = false;
};

/// Returns the rows of a shape. Fails with `bad_shape` for fewer than two axes, `bad_dtype` or `too_large`.
[[nodiscard]] constexpr tensor_result<row_form> rows_of(const shape& physical, dtype type) noexcept {
    using answer = tensor_result<row_form>;
    if (physical.rank() < 2) return answer::failure({tensor_refusal::bad_shape});
    const auto whole = byte_count(physical, type);
    if (!whole) return answer::failure(whole.error());
    const std::int64_t elements = physical[physical.rank() - 1];
    const auto stated = element_count(shape{std::span{physical.begin(), physical.rank() - 1}});
    if (!stated) return answer::failure(stated.error());
    const auto row_bytes = byte_count(shape{elements}, type);
    if (!row_bytes) return answer::failure(row_bytes.error());
    const bool ends_inside = *whole != 0 && static_cast<std::size_t>(elements) % 8 * type.element_bits() % 8 != 0;
    return row_form{*stated, *whole == 0 ? 0 : *stated, *row_bytes, ends_inside};
}

/// Allocates table and rows, and writes the table. `offsets` is a range of offsets, or `anywhere`.
template <class Entry, class TableStorage, class DataStorage, storage_offset TableOffset, class OffsetOf>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> make_discontiguous(
    const TableStorage& in_table, TableOffset table_offset, const DataStorage& in_data, const OffsetOf& offsets,
    const shape& physical, dtype type, const shape& logical) noexcept {
    using fresh = discontiguous_tensor<TableStorage, DataStorage, Entry>;
    using answer = tensor_result<fresh>;
    using model = typename fresh::table_model;
    using value = typename model::value;
    constexpr bool is_search = std::same_as<OffsetOf, anywhere_t>;
    static_assert(TableStorage::host_accessible && std::same_as<typename TableStorage::address_model, raw_pointer>,
                  "allot: the host writes the table: give alloc_discontiguous_tensor a table storage that the host can "
                  "access");
    const auto refuse = [](tensor_refusal reason, std::size_t row = no_row) { return answer::failure({reason, row}); };

    if (!in_table || !in_data) return refuse(tensor_refusal::killed);
    const auto form = rows_of(physical, type);
    if (!form) return answer::failure(form.error());
    if constexpr (!is_search) {
        if (form->stated != offsets.size()) return refuse(tensor_refusal::wrong_row_count);
    }
    if (form->ends_inside_a_byte) return refuse(tensor_refusal::partial_bytes);
    const std::size_t rows = form->rows, row_bytes = form->row_bytes;
    if (rows > std::numeric_limits<std::size_t>::max() / sizeof(value)) return refuse(tensor_refusal::too_large);

    typename fresh::table_lease table;
    if (const tensor_refusal reason = table.start(in_table, 1); reason != tensor_refusal::none) return refuse(reason);
    typename TableStorage::body_type::piece table_piece{};
    const auto table_at = in_table.body()->take(table_offset, {rows * sizeof(value), alignof(value)}, table_piece);
    if (!table_at) return answer::failure(table_at.error());
    if (rows != 0) table.keep(table_piece);

    typename fresh::data_lease data;
    if (const tensor_refusal reason = data.start(in_data, rows); reason != tensor_refusal::none) return refuse(reason);
    const auto origin = in_data.body()->origin();
    const auto in_row = [&](std::size_t row) {
        if constexpr (is_search) return anywhere;
        else return offsets[row];
    };
    const std::span<value> entries{static_cast<value*>(*table_at), rows};
    for (std::size_t row = 0; row != rows; ++row) {
        typename DataStorage::body_type::piece taken{};
        const auto at = in_data.body()->take(in_row(row), {row_bytes, in_data.align()}, taken);
        if (!at) {
            tensor_error error = at.error();
            error.row = row;
            return answer::failure(error);
        }
        data.keep(taken);
        value unused{};
        if (!model::entry::encode(origin, *at, row_bytes, unused)) return refuse(tensor_refusal::entry_too_narrow, row);
    }
    // Without recorded pieces, write_table also checks that the rows do not overlap.
    row_table<model> written{entries.data(), rows, origin, row_bytes};
    if constexpr (std::same_as<typename fresh::data_lease, detail::storage_only_lease<DataStorage>>) {
        const auto checked = write_table<model>(entries, {origin, in_data.size(), in_data.align()}, offsets.first(rows),
                                                in_data.align(), row_bytes);
        if (!checked) return answer::failure(as_tensor_error(checked.error()));
    } else {
        for (std::size_t row = 0; row != rows; ++row) {
            value* const entry = ::new (static_cast<void*>(entries.data() + row)) value{};
            static_cast<void>(
                model::entry::encode(origin, in_data.body()->address_of(data.piece(row)), row_bytes, *entry));
        }
    }
    return fresh{std::move(table), std::move(data), written, type, physical, logical};
}

/// Returns an error unless the separators convert the logical shape to the physical shape.
[[nodiscard]] constexpr tensor_error check_logical(const shape& physical, const shape& logical,
                                                   const axis_separators& separators) noexcept {
    const auto made = physical_shape(logical, separators);
    if (!made) return made.error();
    return *made == physical ? tensor_error{} : tensor_error{tensor_refusal::shape_mismatch};
}

}  // namespace detail

/// The offsets of rows, one for each row: `{768, 256}`, or any contiguous range of std::int64_t.
struct row_offsets : std::span<const std::int64_t> {
    using std::span<const std::int64_t>::span;
    /// Refers to a list, which must outlive this object.
    constexpr row_offsets(std::initializer_list<std::int64_t> offsets) noexcept
        : std::span<const std::int64_t>{offsets.begin(), offsets.size()} {}
};

/// The request for one discontiguous tensor. `RowOffsets` is `row_offsets`, or `anywhere_t` for a separate search for
/// each row. `TableOffset` is an integer, or `anywhere_t` for a search.
template <class RowOffsets = row_offsets, storage_offset TableOffset = std::int64_t>
    requires(std::same_as<RowOffsets, row_offsets> || std::same_as<RowOffsets, anywhere_t>)
struct discontiguous_tensor_request {
    TableOffset table_offset{};    ///< The offset of the table in its storage in bytes, or `anywhere`.
    RowOffsets offsets{};          ///< The offset of each row, or `anywhere`. A list ends with the call that it is in.
    allot::shape shape{};          ///< The physical shape; omitted, the logical shape and the separators give it.
    allot::dtype dtype{};          ///< The dtype.
    allot::shape logical_shape{};  ///< The shape with more axes; omitted, it is the physical shape.
    axis_separators separators{};  ///< The separators that convert the logical shape to the physical shape.
};

/// Allocates a tensor of a physical shape with at least two axes, the last of which is a row, with its table at
/// `table_offset` of one storage, or `anywhere` in it, and its rows at `data_offsets` of another. The checks of
/// `alloc_tensor` apply to the table and to each row: bounds, alignment (rows have the alignment of the data storage)
/// and overlap. Rows must be whole bytes (`partial_bytes`). Also fails with `wrong_row_count`, `too_many_rows` or
/// `entry_too_narrow`. `row` of the error is the index of the row that failed.
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, row_offsets data_offsets,
    const shape& physical, dtype type) noexcept {
    return detail::make_discontiguous<Entry>(table, table_offset, data, data_offsets, physical, type, physical);
}
/// Allocates a tensor as above, with a separate search in the data storage for each row.
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, anywhere_t, const shape& physical,
    dtype type) noexcept {
    return detail::make_discontiguous<Entry>(table, table_offset, data, anywhere, physical, type, physical);
}
/// Allocates a tensor as above, with a logical shape and the axis separators that convert it to the physical shape.
/// Also fails with `bad_separators`, or with `shape_mismatch` when the conversion gives another physical shape.
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, row_offsets data_offsets,
    const shape& physical, dtype type, const shape& logical, const axis_separators& separators) noexcept {
    using answer = tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>>;
    const tensor_error error = detail::check_logical(physical, logical, separators);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    return detail::make_discontiguous<Entry>(table, table_offset, data, data_offsets, physical, type, logical);
}
/// Allocates a tensor with a logical shape, and with a separate search in the data storage for each row.
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, anywhere_t, const shape& physical,
    dtype type, const shape& logical, const axis_separators& separators) noexcept {
    using answer = tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>>;
    const tensor_error error = detail::check_logical(physical, logical, separators);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    return detail::make_discontiguous<Entry>(table, table_offset, data, anywhere, physical, type, logical);
}
/// Allocates a tensor from a request, with its table in one storage and its rows in another. The checks are those of
/// the other overloads.
template <class Entry = row_pointer, class TableStorage, class DataStorage, class RowOffsets,
          storage_offset TableOffset>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, const DataStorage& data,
    const discontiguous_tensor_request<RowOffsets, TableOffset>& wanted) noexcept {
    const bool is_physical = wanted.logical_shape.rank() == 0 && wanted.separators.rank() == 0;
    if (is_physical)
        return alloc_discontiguous_tensor<Entry>(table, wanted.table_offset, data, wanted.offsets, wanted.shape,
                                                 wanted.dtype);
    if (wanted.shape.rank() == 0) {
        using answer = tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>>;
        const auto physical = physical_shape(wanted.logical_shape, wanted.separators);
        if (!physical) return answer::failure(physical.error());
        return alloc_discontiguous_tensor<Entry>(table, wanted.table_offset, data, wanted.offsets, *physical,
                                                 wanted.dtype, wanted.logical_shape, wanted.separators);
    }
    return alloc_discontiguous_tensor<Entry>(table, wanted.table_offset, data, wanted.offsets, wanted.shape,
                                             wanted.dtype, wanted.logical_shape, wanted.separators);
}
/// Allocates a tensor from a request with given offsets, which can be a list of fields:
/// `alloc_discontiguous_tensor(table, data, {.offsets = {0, 256}, .shape = {2, 64}, .dtype = int32})`.
template <class Entry = row_pointer, class TableStorage, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, const DataStorage& data, const discontiguous_tensor_request<>& wanted) noexcept {
    return alloc_discontiguous_tensor<Entry, TableStorage, DataStorage, row_offsets, std::int64_t>(table, data, wanted);
}

}  // namespace v1
}  // namespace allot
