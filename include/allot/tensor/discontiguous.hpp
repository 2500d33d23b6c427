// SPDX-License-Identifier: BSL-1.0
// discontiguous_tensor: a 2-D tensor whose rows lie anywhere in one storage, and the table that names them in another.
//
//     auto a = *allot::alloc_discontiguous_tensor(table, 0, data, {768, 256, 2304, 3072}, {4, 64}, allot::int32);
//     auto b = *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 64, data, allot::anywhere, {4, 64},
//                                                                       allot::int32);
//
//     table storage   │768│256│2304│3072│                 one entry for each row: shape[0] of them
//     data storage    │    │ row 1 │    │ row 0 │    …    │ row 2 │   │ row 3 │
//
// The shape is the physical one, (rows, elements of a row). A tensor of more axes says so with its logical shape and the
// axis separators that make the physical shape of it. Offsets are bytes from the start of each storage; entries are
// pointers, or count from the start of the data storage. Everything is checked before anything is claimed for good, and
// the table is written last. The tensor holds both storages.
//
// Complexity: O(rows) claims; where nothing is recorded and the offsets do not ascend, O(rows²) comparisons. Memory: the
// claims on table and rows. Thread safety: that of the references.
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/tensor/tensor.hpp>

namespace allot {
inline namespace v1 {

namespace detail {
template <class Storage>
inline constexpr std::size_t most_rows = 0;  // a counted claim has as many as it is started with
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

template <class TableStorage, class DataStorage, class Entry = row_pointer>
class discontiguous_tensor {
public:
    using table_lease = detail::lease_on<TableStorage, 1>;
    using data_lease = detail::lease_on<DataStorage, detail::most_rows<DataStorage>>;
    using policies = typename DataStorage::policies;
    using address_model = typename DataStorage::address_model;
    using address_type = typename address_model::address;
    using table_model = pointer_table<std::dynamic_extent, Entry, address_model>;
    static constexpr bool host_accessible = DataStorage::host_accessible;
    static constexpr offset_use offsets = DataStorage::offsets;
    static constexpr dl_device_type dl_device = DataStorage::dl_device;

    discontiguous_tensor() noexcept = default;
    discontiguous_tensor(table_lease table, data_lease data, row_table<table_model> rows, allot::dtype type,
                         const allot::shape& physical, const allot::shape& logical) noexcept
        : table_lease_{std::move(table)},
          data_lease_{std::move(data)},
          rows_{rows},
          dtype_{type},
          physical_{physical},
          logical_{logical} {}

    /// False for one that was killed, or never was.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(data_lease_); }

    /// The table, as a kernel takes it: its entries, and the address that they count from.
    [[nodiscard]] row_table<table_model> table() const noexcept {
        check();
        return rows_;
    }
    /// The first byte of a row. Precondition: `row < rows()`.
    [[nodiscard]] address_type row(std::size_t row) const noexcept { return table()[row]; }
    /// Rows in memory: 0 when the tensor has no elements.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
    [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row.bytes(); }
    [[nodiscard]] allot::dtype dtype() const noexcept { return dtype_; }
    /// (rows, elements of a row).
    [[nodiscard]] const allot::shape& shape() const noexcept { return physical_; }
    /// The shape before axis separators made two axes of it; the physical one when none was given.
    [[nodiscard]] const allot::shape& logical_shape() const noexcept { return logical_; }
    [[nodiscard]] std::size_t size() const noexcept { return *element_count(physical_); }
    [[nodiscard]] std::size_t size_bytes() const noexcept { return *byte_count(physical_, dtype_); }

    /// Drops the references to table and rows. In hardened builds a second time is a misuse; otherwise it changes
    /// nothing.
    void kill() noexcept {
        check();
        data_lease_ = {};
        table_lease_ = {};
        rows_ = {};
        physical_ = logical_ = allot::shape{0, 0};
    }

    [[nodiscard]] const data_lease& lease() const noexcept { return data_lease_; }

private:
    void check() const noexcept { detail::check_alive<policies>(static_cast<bool>(*this)); }

    table_lease table_lease_;
    data_lease data_lease_;
    row_table<table_model> rows_{};
    allot::dtype dtype_{};
    allot::shape physical_{0, 0}, logical_{0, 0};
};

namespace detail {

/// Claims and writes one; `offset_of(row)` is a row's offset, or `anywhere`.
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
                  "touch");
    const auto refuse = [](tensor_refusal reason, std::size_t row = no_row) { return answer::failure({reason, row}); };

    if (!in_table || !in_data) return refuse(tensor_refusal::killed);
    if (physical.rank() != 2) return refuse(tensor_refusal::bad_shape);
    const auto whole = byte_count(physical, type);
    if (!whole) return answer::failure(whole.error());
    const auto row_bytes = byte_count(shape{physical[1]}, type);
    if (!row_bytes) return answer::failure(row_bytes.error());
    if constexpr (!is_search) {
        if (static_cast<std::uint64_t>(physical[0]) != offsets.size()) return refuse(tensor_refusal::wrong_row_count);
    }
    // Of elements that can be counted, so can the rows be.
    const std::size_t rows = *whole == 0 ? 0 : static_cast<std::size_t>(physical[0]);
    if (rows > std::numeric_limits<std::size_t>::max() / sizeof(value)) return refuse(tensor_refusal::too_large);
    if (rows != 0 && static_cast<std::size_t>(physical[1]) % 8 * type.element_bits() % 8 != 0)
        return refuse(tensor_refusal::partial_bytes);

    typename fresh::table_lease table;
    if (const tensor_refusal reason = table.start(in_table, 1); reason != tensor_refusal::none) return refuse(reason);
    typename TableStorage::body_type::piece table_piece{};
    const auto table_at = in_table.body()->take(table_offset, {rows * sizeof(value), alignof(value)}, table_piece);
    if (!table_at) return answer::failure(table_at.error());
    if (rows != 0) table.keep(table_piece);

    typename fresh::data_lease data;
    if (const tensor_refusal reason = data.start(in_data, rows); reason != tensor_refusal::none) return refuse(reason);
    const auto origin = in_data.base();
    const auto in_row = [&](std::size_t row) {
        if constexpr (is_search) return anywhere;
        else return offsets[row];
    };
    const std::span<value> entries{static_cast<value*>(*table_at), rows};
    for (std::size_t row = 0; row != rows; ++row) {
        typename DataStorage::body_type::piece taken{};
        const auto at = in_data.body()->take(in_row(row), {*row_bytes, in_data.align()}, taken);
        if (!at) {
            tensor_error error = at.error();
            error.row = row;
            return answer::failure(error);
        }
        data.keep(taken);
        value unused{};
        if (!model::entry::encode(origin, *at, *row_bytes, unused)) return refuse(tensor_refusal::entry_too_narrow, row);
    }
    // Nothing but the writing is left, and rows that no record keeps apart, which write_table looks at.
    row_table<model> written{entries.data(), rows, origin, *row_bytes};
    if constexpr (std::same_as<typename fresh::data_lease, detail::storage_only_lease<DataStorage>>) {
        const auto checked = write_table<model>(entries, {origin, in_data.size(), in_data.align()},
                                                offsets.first(rows), in_data.align(), *row_bytes);
        if (!checked) return answer::failure(as_tensor_error(checked.error()));
    } else {
        for (std::size_t row = 0; row != rows; ++row) {
            value* const entry = ::new (static_cast<void*>(entries.data() + row)) value{};
            static_cast<void>(
                model::entry::encode(origin, in_data.body()->address_of(data.piece(row)), *row_bytes, *entry));
        }
    }
    return fresh{std::move(table), std::move(data), written, type, physical, logical};
}

/// Refused unless the separators make the physical shape of the logical one.
[[nodiscard]] constexpr tensor_error check_logical(const shape& physical, const shape& logical,
                                                   const axis_separators& separators) noexcept {
    const auto made = physical_shape(logical, separators);
    if (!made) return made.error();
    return *made == physical ? tensor_error{} : tensor_error{tensor_refusal::shape_mismatch};
}

}  // namespace detail

/// Offsets of rows, one for each: `{768, 256}`, or any contiguous range of std::int64_t.
struct row_offsets : std::span<const std::int64_t> {
    using std::span<const std::int64_t>::span;
    constexpr row_offsets(std::initializer_list<std::int64_t> offsets) noexcept
        : std::span<const std::int64_t>{offsets.begin(), offsets.size()} {}
};

/// A tensor of the physical shape (rows, elements), its table at `table_offset` of one storage or `anywhere` in it, its
/// rows at `data_offsets` of another or `anywhere` in that, where each is searched by itself. Table and rows take bytes
/// like every tensor: they are bounded, aligned (rows as the data storage asks) and overlap nothing live, nor each
/// other. Rows are whole bytes. A logical shape comes with the axis separators that make the physical one of it.
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, row_offsets data_offsets,
    const shape& physical, dtype type) noexcept {
    return detail::make_discontiguous<Entry>(table, table_offset, data, data_offsets, physical, type, physical);
}
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, anywhere_t, const shape& physical,
    dtype type) noexcept {
    return detail::make_discontiguous<Entry>(table, table_offset, data, anywhere, physical, type, physical);
}
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, row_offsets data_offsets,
    const shape& physical, dtype type, const shape& logical, const axis_separators& separators) noexcept {
    using answer = tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>>;
    const tensor_error error = detail::check_logical(physical, logical, separators);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    return detail::make_discontiguous<Entry>(table, table_offset, data, data_offsets, physical, type, logical);
}
template <class Entry = row_pointer, class TableStorage, storage_offset TableOffset, class DataStorage>
[[nodiscard]] tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>> alloc_discontiguous_tensor(
    const TableStorage& table, TableOffset table_offset, const DataStorage& data, anywhere_t, const shape& physical,
    dtype type, const shape& logical, const axis_separators& separators) noexcept {
    using answer = tensor_result<discontiguous_tensor<TableStorage, DataStorage, Entry>>;
    const tensor_error error = detail::check_logical(physical, logical, separators);
    if (error.reason != tensor_refusal::none) return answer::failure(error);
    return detail::make_discontiguous<Entry>(table, table_offset, data, anywhere, physical, type, logical);
}

}  // namespace v1
}  // namespace allot
