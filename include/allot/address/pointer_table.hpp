// SPDX-License-Identifier: BSL-1.0
// pointer_table: the address model of bytes in rows, where a table names the rows of one tensor.
//
//     table   │ entry 0 │ entry 1 │ entry 2 │
//                 │         └────────────────────┐
//                 └────────┐         …           │
//     rows        ┌────────▼───────┐   ┌─────────▼──────┐
//                 │   RowBytes     │   │    RowBytes    │
//                 └────────────────┘   └────────────────┘
//
// An entry is a pointer, an offset in bytes from an origin, a number of rows from an origin, or the address of the row
// in any address model, such as a handle with an offset. On a GPU, a table of offsets or numbers is called a block
// table. `row_table` is a view of a table. `write_table` checks all rows and then writes a table. `paged`
// (compose/paged.hpp) allocates rows and table together. The size of a row is a constant, or a member of each table if
// it is `std::dynamic_extent`.
//
// When to use: for tensors whose rows are allocated separately, such as the pages of a key-value cache.
// When not to use: for contiguous tensors. A linear model needs no table.
//
// Complexity: `locate` is one division and one load. The divisor is a constant unless the row size is dynamic.
// Memory: one entry for each row.
// Thread safety: views read the table. Concurrent reads are safe; a write needs external synchronization.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/detail/compiler.hpp>
#include <allot/core/result.hpp>

#include <span>
#include <type_traits>

namespace allot {
inline namespace v1 {

/// A table entry that is the address of the row.
struct row_pointer {
    /// The entry for rows of an address model, which must be `raw_pointer`.
    template <class Model>
    struct in {
        static_assert(std::same_as<Model, raw_pointer>,
                      "allot: row_pointer needs rows with pointers: use row_offset or row_index");
        using value = void*;  ///< The stored entry.
        /// Stores the entry of a row and returns true.
        [[nodiscard]] static bool encode(void*, void* row, std::size_t, value& entry) noexcept {
            return entry = row, true;
        }
        /// Returns the first byte of the row that an entry names.
        [[nodiscard]] static void* decode(void*, value entry, std::size_t) noexcept { return entry; }
    };
};

namespace detail {
// An entry that counts bytes or rows from the origin.
template <class Model, std::unsigned_integral Integer, bool CountsRows>
struct counted_entry {
    using value = Integer;                    ///< The stored entry.
    using address = typename Model::address;  ///< The name of a row's first byte.
    /// Stores the entry of a row and returns true. Returns false if the row is before the origin, if its distance is
    /// not a multiple of the unit, or if the distance does not fit in the entry.
    [[nodiscard]] static constexpr bool encode(address origin, address row, std::size_t row_bytes,
                                               value& entry) noexcept {
        const std::size_t unit = CountsRows ? row_bytes : 1;
        const std::size_t distance = Model::position(row) - Model::position(origin);
        if (Model::position(row) < Model::position(origin) || Model::locate(origin, distance) != row) return false;
        if (distance % unit != 0 || distance / unit > std::numeric_limits<value>::max()) return false;
        entry = static_cast<value>(distance / unit);
        return true;
    }
    /// Returns the first byte of the row that an entry names.
    [[nodiscard]] static constexpr address decode(address origin, value entry, std::size_t row_bytes) noexcept {
        return Model::locate(origin, static_cast<std::size_t>(entry) * (CountsRows ? row_bytes : 1));
    }
};

/// The size of a row: a constant that takes no space, or a member.
template <std::size_t RowBytes>
struct row_size {
    constexpr row_size(std::size_t = RowBytes) noexcept {}
    [[nodiscard]] static constexpr std::size_t bytes() noexcept { return RowBytes; }
    friend constexpr bool operator==(row_size, row_size) = default;
};
template <>
struct row_size<std::dynamic_extent> {
    constexpr row_size(std::size_t bytes = 0) noexcept : bytes_{bytes} {}
    [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }
    friend constexpr bool operator==(row_size, row_size) = default;

private:
    std::size_t bytes_;
};
}  // namespace detail

/// A table entry that counts bytes from the origin to the row.
template <std::unsigned_integral Integer = std::uint32_t>
struct row_offset {
    /// The entry for rows of an address model.
    template <class Model>
    struct in : detail::counted_entry<Model, Integer, false> {};
};

/// A table entry that counts rows from the origin to the row.
template <std::unsigned_integral Integer = std::uint32_t>
struct row_index {
    /// The entry for rows of an address model.
    template <class Model>
    struct in : detail::counted_entry<Model, Integer, true> {};
};

/// A table entry that is the address of the row in any address model: a handle and an offset where rows are in several
/// buffers of a driver. The host reads such a table.
struct row_address {
    /// The entry for rows of an address model.
    template <class Model>
    struct in {
        using value = typename Model::address;  ///< The stored entry.
        /// Stores the entry of a row and returns true.
        [[nodiscard]] static constexpr bool encode(value, value row, std::size_t, value& entry) noexcept {
            return entry = row, true;
        }
        /// Returns the first byte of the row that an entry names.
        [[nodiscard]] static constexpr value decode(value, value entry, std::size_t) noexcept { return entry; }
    };
};

/// A view of a table.
template <class Table>
struct row_table {
    using row_address = typename Table::row_address;  ///< The name of a row's first byte.

    const typename Table::value* entries = nullptr;  ///< The entries.
    std::size_t count = 0;                           ///< The number of entries.
    row_address origin{};                            ///< The address from which entries count; unused for pointers.
    ALLOT_NO_UNIQUE_ADDRESS detail::row_size<Table::row_bytes> row{};  ///< The size of a row.

    /// Returns the first byte of row `i`. Precondition: `i < count`.
    [[nodiscard]] constexpr row_address operator[](std::size_t i) const noexcept {
        return Table::entry::decode(origin, entries[i], row.bytes());
    }
    /// Returns the number of rows.
    [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }
    /// Compares all members.
    friend constexpr bool operator==(const row_table&, const row_table&) = default;
};

/// Names bytes by a table of rows. A row has `RowBytes` bytes, or the size that each table states if `RowBytes` is
/// `std::dynamic_extent`.
template <std::size_t RowBytes, class Entry = row_pointer, linear_address_model Rows = raw_pointer>
struct pointer_table {
    static_assert(RowBytes > 0, "allot: a row has at least one byte");
    using row_model = Rows;                             ///< The address model of the rows.
    using row_address = typename Rows::address;         ///< The name of a byte in a row.
    using entry = typename Entry::template in<Rows>;    ///< The functions that encode and decode entries.
    using value = typename entry::value;                ///< The stored entry.
    using base = row_table<pointer_table>;              ///< The table.
    using address = row_address;                        ///< The name of a byte.
    static constexpr std::size_t row_bytes = RowBytes;  ///< The size of a row in bytes, or `std::dynamic_extent`.

    /// Returns byte `n` of the tensor. Precondition: `n < count * row_bytes`.
    [[nodiscard]] static constexpr address locate(base table, std::size_t n) noexcept {
        return Rows::locate(table[n / table.row.bytes()], n % table.row.bytes());
    }
    /// Returns the number of rows that hold `size` bytes.
    [[nodiscard]] static constexpr std::size_t rows_for(std::size_t size) noexcept
        requires(RowBytes != std::dynamic_extent)
    {
        return size / RowBytes + (size % RowBytes != 0);
    }
};

static_assert(address_model<pointer_table<64>> && !linear_address_model<pointer_table<64>>);
static_assert(address_model<pointer_table<std::dynamic_extent>>);

/// The reason for which `write_table` fails.
enum class table_refusal : unsigned char {
    none,              ///< No error.
    wrong_row_count,   ///< The table does not have exactly one entry for each offset.
    negative_offset,   ///< The offset of the row is negative.
    out_of_bounds,     ///< The row ends after the end of the storage.
    misaligned,        ///< The row does not have the requested alignment, or the alignment is not a power of two.
    overlapping,       ///< The row shares bytes with an earlier row.
    entry_too_narrow,  ///< The entry type cannot represent the row.
};

/// Returns a human-readable description of the reason.
[[nodiscard]] constexpr const char* to_string(table_refusal reason) noexcept {
    switch (reason) {
        case table_refusal::none: return "no error";
        case table_refusal::wrong_row_count: return "the number of entries differs from the number of offsets";
        case table_refusal::negative_offset: return "the offset of the row is negative";
        case table_refusal::out_of_bounds: return "the row extends beyond the end of the storage";
        case table_refusal::misaligned:
            return "the row is not aligned as required, or the alignment is not a power of two";
        case table_refusal::overlapping: return "the row overlaps an earlier row";
        case table_refusal::entry_too_narrow: return "the table's entries are too narrow for the row's position";
    }
    return "unknown";
}

/// The error of `write_table`.
struct table_error {
    table_refusal reason = table_refusal::none;  ///< The reason.
    std::size_t row = 0;                         ///< The first row with this error; 0 if the error concerns the table.

    /// Returns a human-readable description of the reason.
    [[nodiscard]] constexpr const char* what() const noexcept { return to_string(reason); }
    /// Compares both members.
    friend constexpr bool operator==(const table_error&, const table_error&) = default;
};

/// Writes a table of rows at the given offsets, in bytes from the base of `rows`. Before it writes, it checks that the
/// table has one entry for each offset, and that each row is inside the storage, is aligned to `align`, overlaps no
/// other row, and can be represented by the entry type. On failure nothing is written. O(rows) if the offsets ascend,
/// otherwise O(rows²). `row_size` is the size of a row for tables with a dynamic row size. Precondition: it is not 0.
template <class Table>
[[nodiscard]] constexpr result<row_table<Table>, table_error> write_table(
    std::span<typename Table::value> table, region<typename Table::row_address> rows,
    std::span<const std::int64_t> offsets, std::size_t align = 1,
    detail::row_size<Table::row_bytes> row_size = {}) noexcept {
    using model = typename Table::row_model;
    using answer = result<row_table<Table>, table_error>;
    const std::size_t row_bytes = row_size.bytes();
    const auto offset_of = [&](std::size_t row) { return static_cast<std::size_t>(offsets[row]); };
    const auto refuse = [](table_refusal reason, std::size_t row) { return answer::failure({reason, row}); };

    if (table.size() != offsets.size()) return refuse(table_refusal::wrong_row_count, 0);
    if (!is_alignment(align)) return refuse(table_refusal::misaligned, 0);
    bool ascending = true;
    for (std::size_t row = 0; row != offsets.size(); ++row) {
        if (offsets[row] < 0) return refuse(table_refusal::negative_offset, row);
        if (static_cast<std::uint64_t>(offsets[row]) > rows.size || rows.size - offset_of(row) < row_bytes)
            return refuse(table_refusal::out_of_bounds, row);
        const std::size_t known = model::absolute ? model::position(rows.base) : 0;
        if ((known + offset_of(row)) % align != 0 || (!model::absolute && rows.align < align))
            return refuse(table_refusal::misaligned, row);
        ascending = ascending && (row == 0 || offset_of(row) >= offset_of(row - 1) + row_bytes);
        if (!ascending) {
            for (std::size_t earlier = 0; earlier != row; ++earlier) {
                const std::size_t a = offset_of(earlier), b = offset_of(row);
                if ((a < b ? b - a : a - b) < row_bytes) return refuse(table_refusal::overlapping, row);
            }
        }
        typename Table::value unused{};
        if (!Table::entry::encode(rows.base, model::locate(rows.base, offset_of(row)), row_bytes, unused))
            return refuse(table_refusal::entry_too_narrow, row);
    }
    for (std::size_t row = 0; row != offsets.size(); ++row)
        static_cast<void>(
            Table::entry::encode(rows.base, model::locate(rows.base, offset_of(row)), row_bytes, table[row]));
    return row_table<Table>{table.data(), table.size(), rows.base, row_size};
}

}  // namespace v1
}  // namespace allot
