// SPDX-License-Identifier: BSL-1.0
// on_rank: bytes of another rank, in memory of which every rank has a part of the same size (MPI windows, OpenSHMEM).
//
//     memory ──► rank 0 │     │ rank 1 │     │ rank 2 │ ▓▓▓ │        a byte is the memory, a rank, and an offset that
//                              └────── offset ───────►  block        counts from the start of that rank's part
//
// `remote_offset<Handle>` is the address model: handle_offset, with the rank beside the handle. `ranked_row` is an entry
// of a pointer table that names rank and row, so that the rows of one tensor lie on several ranks:
//
//     using pages = allot::pointer_table<4096, allot::ranked_row<>, allot::remote_offset<shmem::object>>;
//     table   │ rank 2, row 7 │ rank 0, row 1 │ …
//
// An entry means the same on every rank. Complexity and memory: as handle_offset and row_index.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>

namespace allot {
inline namespace v1 {

/// One rank's part of a memory.
template <class Handle>
struct on_rank {
    Handle memory{};
    int rank = 0;
    friend constexpr bool operator==(const on_rank&, const on_rank&) = default;
};

template <class Handle>
using remote_offset = handle_offset<on_rank<Handle>>;

/// An entry that names a rank, and counts rows from the origin to the row as if both were on one rank.
template <std::unsigned_integral Row = std::uint32_t, std::unsigned_integral Rank = Row>
struct ranked_row {
    template <class Model>
    struct in {
        static_assert(requires(typename Model::address address) { address.handle.rank; },
                      "allot: ranked_row names rows of a remote_offset");
        using rows = detail::counted_entry<Model, Row, true>;
        using address = typename Model::address;
        struct value {
            Rank rank = 0;
            Row row = 0;
            friend constexpr bool operator==(const value&, const value&) = default;
        };
        /// False when the row is in another memory, on a rank too far for the entry, or as row_index refuses it.
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
        [[nodiscard]] static constexpr address decode(address origin, value entry, std::size_t row_bytes) noexcept {
            origin.handle.rank = static_cast<int>(entry.rank);
            return rows::decode(origin, entry.row, row_bytes);
        }
    };
};

static_assert(linear_address_model<remote_offset<int>>);

}  // namespace v1
}  // namespace allot
