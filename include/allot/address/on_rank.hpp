// SPDX-License-Identifier: BSL-1.0
// on_rank: names bytes of any rank, in memory of which every rank has a part of the same size.
//
//     memory ──► rank 0 │     │ rank 1 │     │ rank 2 │ ▓▓▓ │        a byte is the memory, a rank, and an offset
//                                            └─ offset ─►            from the start of that rank's part
//
// MPI windows and the symmetric heap of OpenSHMEM are such memories. `remote_offset<Handle>` is the address model. It
// is `handle_offset` with a handle that includes the rank. `ranked_row` is an entry of a pointer table with a rank and
// a row, so the rows of one tensor can be on several ranks:
//
//     using pages = allot::pointer_table<4096, allot::ranked_row<>, allot::remote_offset<shmem::object>>;
//     table   │ rank 2, row 7 │ rank 0, row 1 │ …
//
// An entry has the same meaning on every rank.
//
// When to use: to name bytes of other ranks, for example those that `symmetric` returns.
// When not to use: for memory of this rank only. Use the address model of the device.
//
// Complexity: O(1), as for `handle_offset` and `row_index`.
// Memory: a handle, a rank and an offset for each address; a rank and a row for each entry.
// Thread safety: pure functions.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>

namespace allot {
inline namespace v1 {

/// One rank's part of a memory.
template <class Handle>
struct on_rank {
    Handle memory{};  ///< The memory.
    int rank = 0;     ///< The rank.
    /// Compares both members.
    friend constexpr bool operator==(const on_rank&, const on_rank&) = default;
};

/// The address model of memory that has a part on every rank.
template <class Handle>
using remote_offset = handle_offset<on_rank<Handle>>;

/// A table entry with a rank and a number of rows. The rows are counted from the origin's offset to the row's offset,
/// as if both were on the same rank.
template <std::unsigned_integral Row = std::uint32_t, std::unsigned_integral Rank = Row>
struct ranked_row {
    /// The entry for rows of an address model.
    template <class Model>
    struct in {
        static_assert(
            requires(typename Model::address address) { address.handle.rank; },
            "allot: ranked_row needs rows that are named by remote_offset");
        using rows = detail::counted_entry<Model, Row, true>;  ///< The entry without the rank.
        using address = typename Model::address;               ///< The name of a row's first byte.
        /// The stored entry.
        struct value {
            Rank rank = 0;  ///< The rank that holds the row.
            Row row = 0;    ///< The number of rows from the origin.
            /// Compares both members.
            friend constexpr bool operator==(const value&, const value&) = default;
        };
        /// Stores the entry of a row and returns true. Returns false if the row is in another memory, if its rank does
        /// not fit in the entry, or if `row_index` cannot name it.
        [[nodiscard]] static constexpr bool encode(address origin, address row, std::size_t row_bytes,
                                                   value& entry) noexcept {
            const int rank = row.handle.rank;
            if (rank < 0 || static_cast<unsigned>(rank) > std::numeric_limits<Rank>::max()) return false;
            row.handle.rank = origin.handle.rank;
            value fresh{static_cast<Rank>(rank), 0};
            if (!rows::encode(origin, row, row_bytes, fresh.row)) return false;
            entry = fresh;
            return true;
        }
        /// Returns the first byte of the row that an entry names.
        [[nodiscard]] static constexpr address decode(address origin, value entry, std::size_t row_bytes) noexcept {
            origin.handle.rank = static_cast<int>(entry.rank);
            return rows::decode(origin, entry.row, row_bytes);
        }
    };
};

static_assert(linear_address_model<remote_offset<int>>);

}  // namespace v1
}  // namespace allot
