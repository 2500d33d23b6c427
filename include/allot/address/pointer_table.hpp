// SPDX-License-Identifier: BSL-1.0
// pointer_table: memory in pieces. The rows of one tensor lie anywhere in one storage; a table in another names them.
//
//     table   │ entry 0 │ entry 1 │ entry 2 │
//                 │         └────────────────────┐
//                 └────────┐         …           │
//     rows        ┌────────▼───────┐   ┌─────────▼──────┐
//                 │   RowBytes     │   │    RowBytes    │
//                 └────────────────┘   └────────────────┘
//
// An entry is a pointer, an integer offset in bytes from an origin, or the index of a row from an origin: the last two
// are what a GPU calls a block table. `row_table` is a view of a written table, `write_table` checks everything first
// and writes one, and `paged` (compose/paged.hpp) allocates rows and table together. A row's size is a constant, or,
// with `std::dynamic_extent`, known to each table at run time.
//
// Complexity: naming a byte is one division by a constant and one load. Memory: one entry a row. A view is as safe to
// share as the table that it reads.
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/result.hpp>

#include <span>
#include <type_traits>

namespace allot {
inline namespace v1 {

/// An entry that is the row's address.
struct row_pointer {
    template <class Model>
    struct in {
        static_assert(std::same_as<Model, raw_pointer>,
                      "allot: rows without addresses are named by row_offset or row_index, not by row_pointer");
        using value = void*;
        [[nodiscard]] static bool encode(void*, void* row, std::size_t, value& entry) noexcept {
            return entry = row, true;
        }
        [[nodiscard]] static void* decode(void*, value entry, std::size_t) noexcept { return entry; }
    };
};

namespace detail {
template <class Model, std::unsigned_integral Integer, bool CountsRows>
struct counted_entry {
    using value = Integer;
    using address = typename Model::address;
    /// False when the row is not behind the origin, not at a whole unit, or too far for the entry.
    [[nodiscard]] static constexpr bool encode(address origin, address row, std::size_t row_bytes,
                                               value& entry) noexcept {
        const std::size_t unit = CountsRows ? row_bytes : 1;
        const std::size_t distance = Model::position(row) - Model::position(origin);
        if (Model::position(row) < Model::position(origin) || Model::locate(origin, distance) != row) return false;
        if (distance % unit != 0 || distance / unit > std::numeric_limits<value>::max()) return false;
        entry = static_cast<value>(distance / unit);
        return true;
    }
    [[nodiscard]] static constexpr address decode(address origin, value entry, std::size_t row_bytes) noexcept {
        return Model::locate(origin, static_cast<std::size_t>(entry) * (CountsRows ? row_bytes : 1));
    }
};

/// The size of a row: a constant that takes no space, or a number.
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

/// An entry that counts bytes from the origin to the row.
template <std::unsigned_integral Integer = std::uint32_t>
struct row_offset {
    template <class Model>
    struct in : detail::counted_entry<Model, Integer, false> {};
};

/// An entry that counts rows from the origin to the row.
template <std::unsigned_integral Integer = std::uint32_t>
struct row_index {
    template <class Model>
    struct in : detail::counted_entry<Model, Integer, true> {};
};

/// A written table: `count` entries, the origin that they count from (nothing for pointers), and the size of a row.
template <class Table>
struct row_table {
    using row_address = typename Table::row_address;

    const typename Table::value* entries = nullptr;
    std::size_t count = 0;
    row_address origin{};
    [[no_unique_address]] detail::row_size<Table::row_bytes> row{};

    /// The first byte of row `i`. Precondition: `i < count`.
    [[nodiscard]] constexpr row_address operator[](std::size_t i) const noexcept {
        return Table::entry::decode(origin, entries[i], row.bytes());
    }
    [[nodiscard]] constexpr std::size_t size() const noexcept { return count; }
    friend constexpr bool operator==(const row_table&, const row_table&) = default;
};

/// The address model of bytes that lie in rows, of `RowBytes` each or, with `std::dynamic_extent`, of what each table
/// says.
template <std::size_t RowBytes, class Entry = row_pointer, linear_address_model Rows = raw_pointer>
struct pointer_table {
    static_assert(RowBytes > 0, "allot: a row has at least one byte");
    using row_model = Rows;
    using row_address = typename Rows::address;
    using entry = typename Entry::template in<Rows>;
    using value = typename entry::value;
    using base = row_table<pointer_table>;
    using address = row_address;
    static constexpr std::size_t row_bytes = RowBytes;

    /// The byte `n` of the tensor. Precondition: `n < count * row_bytes`.
    [[nodiscard]] static constexpr address locate(base table, std::size_t n) noexcept {
        return Rows::locate(table[n / table.row.bytes()], n % table.row.bytes());
    }
    /// How many rows hold `size` bytes.
    [[nodiscard]] static constexpr std::size_t rows_for(std::size_t size) noexcept
        requires(RowBytes != std::dynamic_extent)
    {
        return size / RowBytes + (size % RowBytes != 0);
    }
};

static_assert(address_model<pointer_table<64>> && !linear_address_model<pointer_table<64>>);
static_assert(address_model<pointer_table<std::dynamic_extent>>);

enum class table_refusal : unsigned char {
    none,
    wrong_row_count,   // the table does not have exactly one entry for each offset
    negative_offset,
    out_of_bounds,     // the row ends behind the storage
    misaligned,        // the row's first byte is not aligned as asked, or the alignment is no power of two
    overlapping,       // the row shares bytes with an earlier one
    entry_too_narrow,  // the entry's type cannot name the row
};

/// Why a table was not written, and for which row.
struct table_error {
    table_refusal reason = table_refusal::none;
    std::size_t row = 0;
    friend constexpr bool operator==(const table_error&, const table_error&) = default;
};

/// Writes a table of rows at given offsets, in bytes from the base of `rows`. Checks everything before it writes:
/// one entry for each offset, every row inside the storage, aligned to `align`, apart from every other, and within
/// reach of the entry's type. On refusal nothing is written. O(rows) when the offsets ascend, O(rows²) otherwise.
/// `row_bytes` is for tables that know the size of a row at run time. Precondition: it is not 0.
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
