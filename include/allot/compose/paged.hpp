// SPDX-License-Identifier: BSL-1.0
// paged: an allocator of blocks in rows, with rows of one size from one allocator and the table from another.
//
//     allot::paged<row_arena&, table_arena&, allot::pointer_table<2048>> tensors{rows, tables};
//     auto tensor = tensors.allocate({.size = 10'000, .align = 128});      // five rows, not adjacent
//     auto byte = allot::pointer_table<2048>::locate(tensor.address, 4711);
//
// If an allocator's type is a reference, the allocator must outlive this object. Otherwise this object owns it. The
// host need not be able to access the rows, but it writes the table. If rows have metadata, it is stored after the
// entries.
//
// An allocation succeeds as a whole or has no effect. A failure midway deallocates its rows and releases the regions
// that an arena acquired for them. Afterwards, a best_fit can choose a different one of several equal holes.
// `deallocate` returns the rows in the order in which their allocator reclaims. The allocators of rows and tables must
// not be the same ring, which their types ensure. If a hardened allocator reports a row and does not free it, the table
// stays, and the next `deallocate` of the block frees the rest. A row that was freed before is then reported as not
// live.
//
// `owns` checks the table and every row. `capacity` counts whole rows. `size` and `statistics` add up both allocators;
// `reset`, `mark` and `rollback` apply to both. These functions exist if both allocators have them; `trim` exists if
// one of them has it. `for_each_hole` and `for_each_block` are missing: `for_each_part` passes the allocators, which
// list rows and tables. `resize` is missing, because a table has a fixed number of entries, and `allocate_at`, because
// rows are not adjacent.
//
// When to use: for many tensors that grow or end independently, such as a key-value cache, where contiguous blocks
// would fragment the memory.
// When not to use: for consumers that need contiguous bytes.
//
// Complexity: one allocation for each row and one for the table. `owns` is O(rows).
// Memory: an entry, and the metadata of a block if it is not empty, for each row.
// Thread safety: requires external synchronization. Synchronize the paged allocator, not its parts.
#pragma once

#include <allot/address/pointer_table.hpp>
#include <allot/compose/detail/undo.hpp>
#include <allot/compose/detail/wrapper.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace allot {
inline namespace v1 {

/// The mark of a paged allocator: the marks of both allocators.
template <class Rows, class Tables>
struct paged_mark {
    Rows rows;      ///< The mark of the allocator of rows.
    Tables tables;  ///< The mark of the allocator of tables.
};

/// An allocator of blocks whose address is a table of rows.
template <class Rows, class Tables, class Table>
class paged {
    static_assert(allocator_requirements<Rows>() && allocator_requirements<Tables>());
    static_assert(
        requires { typename Table::row_model; },
        "allot: the third parameter of paged is a pointer_table: allot::pointer_table<bytes of a row>");
    using rows_type = std::remove_reference_t<Rows>;
    using tables_type = std::remove_reference_t<Tables>;
    using row_block = block_of<Rows>;
    using row_metadata = decltype(row_block::metadata);
    using value = typename Table::value;
    static constexpr bool keeps_metadata = !std::is_empty_v<row_metadata>;

    static_assert(std::same_as<typename rows_type::address_model, typename Table::row_model>,
                  "allot: the row model of the table differs from the address model of the row allocator: state that "
                  "model as the third parameter of pointer_table");
    static_assert(tables_type::host_accessible && std::same_as<typename tables_type::address_model, raw_pointer>,
                  "allot: the host writes the table: use a table allocator of memory that the host can access");
    static_assert(rows_type::reclaims != reclaim::fifo || !std::is_reference_v<Rows> || !std::same_as<Rows, Tables>,
                  "allot: rows and tables from one ring block each other: use a table allocator of another type");
    static_assert(Table::row_bytes != std::dynamic_extent,
                  "allot: paged needs a constant row size: state it as the first parameter of pointer_table");
    static_assert(std::is_trivially_copyable_v<row_metadata>);
    static_assert(detail::undo_point<rows_type>::possible && detail::undo_point<tables_type>::possible,
                  "allot: paged undoes partial allocations: use row and table allocators that reclaim any block or "
                  "have mark and rollback, and synchronize the paged allocator, not its parts");

public:
    using address_model = Table;                                         ///< The address model of blocks: the table.
    using metadata_type = block_of<Tables>;                              ///< The block that holds the table.
    using block_type = block<row_table<Table>, metadata_type>;           ///< The type of blocks.
    static constexpr bool host_accessible = rows_type::host_accessible;  ///< Whether the host can access the rows.
    static constexpr offset_use offsets = rows_type::offsets;            ///< How consumers use offsets.
    static constexpr dl_device_type dl_device = rows_type::dl_device;    ///< The device type of the rows in DLPack.
    /// The order in which blocks become free. A block is reclaimable only if its rows and its table are, so the
    /// stricter order applies. A stack and a ring together reclaim nothing.
    static constexpr reclaim reclaims = detail::reclaim_of_both(rows_type::reclaims, tables_type::reclaims);

    /// Constructs the allocator. Entries count from `origin`, which entries that are addresses do not use.
    paged(Rows&& rows, Tables&& tables, typename Table::row_address origin) noexcept
        : rows_{std::forward<Rows>(rows)}, tables_{std::forward<Tables>(tables)}, origin_{origin} {}
    /// Constructs the allocator. Entries that are offsets or indexes count from a value-initialized address, such as
    /// that of buffer 0. They need an origin in memory with pointers.
    paged(Rows&& rows, Tables&& tables) noexcept
        : paged{std::forward<Rows>(rows), std::forward<Tables>(tables), typename Table::row_address{}} {
        static_assert(!std::is_pointer_v<typename Table::row_address> || std::is_pointer_v<value>,
                      "allot: the offsets or indexes of these rows count from an origin: pass it as the third argument "
                      "of paged, such as rows.regions()[0].base");
    }

    /// Allocates the rows for `wanted.size` bytes, each aligned to `wanted.align`. Returns an empty block on failure.
    [[nodiscard]] block_type allocate(layout wanted) noexcept { return try_allocate(wanted, nullptr); }

    /// Deallocates an unchanged block. Does nothing for an empty block.
    void deallocate(block_type held) noexcept {
        if (!held) return;
        if constexpr (requires { tables_.check(held.metadata); }) {
            if (!tables_.check(held.metadata)) return;  // the table of such a block must not be read
        }
        const std::size_t count = held.address.count;
        bool all = true;
        for (std::size_t i = 0; i != count; ++i) {
            const std::size_t row = rows_type::reclaims == reclaim::fifo ? i : count - 1 - i;
            all &= detail::give_back(rows_, row_at(held.metadata, row, count));
        }
        if (all) tables_.deallocate(held.metadata);  // otherwise a later call frees the rows that are left
    }
    /// Returns whether the table of this block is live. Misuse is reported. Only for a hardened allocator of tables.
    [[nodiscard]] bool check(const block_type& held) const noexcept
        requires requires(const tables_type& of) { of.check(held.metadata); }
    {
        return tables_.check(held.metadata);
    }
    /// Returns true if the table of exactly this block is live. Reports nothing. Only for a hardened allocator of
    /// tables.
    [[nodiscard]] bool is_live(const block_type& held) const noexcept
        requires requires(const tables_type& of) { of.is_live(held.metadata); }
    {
        return tables_.is_live(held.metadata);
    }

    /// Returns the reason for which `allocate` would fail. The function tries the allocation and undoes it, so the
    /// reason is that of the allocator that fails. If the row strategy defers deallocation (`deferred`), rows are at
    /// other places afterwards, and a large block that fits in the trial can fail when little more than its rows is
    /// free. With a bound of `deferred_options::joins`, a block that fails in the trial can also fit afterwards,
    /// because the trial joins waiting rows.
    [[nodiscard]] diagnosis diagnose(layout wanted) noexcept {
        diagnosis error;
        const undo before{rows_, tables_};
        if (const block_type trial = try_allocate(wanted, &error))
            before.all(*this, trial.metadata, trial.address.count, trial.address.count);
        return error;
    }

    /// Returns the bytes of all rows of a block, or 0 for an empty block.
    [[nodiscard]] static constexpr std::size_t capacity(const block_type& held) noexcept {
        return held.address.count * Table::row_bytes;
    }

    /// Returns true if the block's table and all of its rows are in the memory of their allocators, live or not.
    [[nodiscard]] bool owns(const block_type& held) const noexcept
        requires(owning<rows_type> && owning<tables_type>)
    {
        if (!held || !tables_.owns(held.metadata)) return false;
        const std::size_t count = held.address.count;
        for (std::size_t row = 0; row != count; ++row)
            if (!rows_.owns(row_at(held.metadata, row, count))) return false;
        return true;
    }

    /// Calls `f(allocator)` for the allocator of the rows and for that of the tables, and once if both are one object.
    template <class Function>
    void for_each_part(Function f) const {
        f(static_cast<const rows_type&>(rows_));
        if constexpr (std::same_as<rows_type, tables_type>) {
            if (&rows_ == &tables_) return;
        }
        f(static_cast<const tables_type&>(tables_));
    }
    /// Returns the counters of both allocators, added up: the blocks are rows and tables. An allocator of both counts
    /// once.
    [[nodiscard]] allocator_statistics statistics() const noexcept
        requires(counting_allocator<rows_type> && counting_allocator<tables_type>)
    {
        allocator_statistics both = rows_.statistics();
        if constexpr (std::same_as<rows_type, tables_type>) {
            if (&rows_ == &tables_) return both;
        }
        return both += tables_.statistics();
    }
    /// Returns the number of bytes in all regions of both allocators. An allocator of both rows and tables counts once.
    [[nodiscard]] std::size_t size() const noexcept
        requires(sized_allocator<rows_type> && sized_allocator<tables_type>)
    {
        if constexpr (std::same_as<rows_type, tables_type>) {
            if (&rows_ == &tables_) return rows_.size();
        }
        return rows_.size() + tables_.size();
    }

    /// Releases memory without live blocks, in each allocator that can. Returns the number of released bytes.
    std::size_t trim() noexcept
        requires(trimmable_allocator<rows_type> || trimmable_allocator<tables_type>)
    {
        std::size_t released = 0;
        if constexpr (trimmable_allocator<rows_type>) released += rows_.trim();
        if constexpr (trimmable_allocator<tables_type>) released += tables_.trim();
        return released;
    }

    /// Frees every block of both allocators.
    void reset() noexcept
        requires(resettable_allocator<rows_type> && resettable_allocator<tables_type>)
    {
        rows_.reset();
        tables_.reset();
    }

    /// Returns a mark for `rollback`.
    [[nodiscard]] auto mark() noexcept
        requires(markable_allocator<rows_type> && markable_allocator<tables_type>)
    {
        return paged_mark<decltype(rows_.mark()), decltype(tables_.mark())>{rows_.mark(), tables_.mark()};
    }
    /// Frees every block of both allocators that was allocated since the mark. Precondition: the mark is from this
    /// allocator and is valid for both allocators. Returns false if a hardened allocator reports its mark and frees
    /// nothing.
    template <class RowsMark, class TablesMark>
        requires(markable_allocator<rows_type> && markable_allocator<tables_type>)
    bool rollback(paged_mark<RowsMark, TablesMark> mark) noexcept {
        const bool rows = detail::roll_back(rows_, mark.rows);
        return detail::roll_back(tables_, mark.tables) && rows;
    }

private:
    // The state of both allocators before an allocation.
    class undo {
    public:
        undo(rows_type& rows, tables_type& tables) noexcept : rows_{rows}, tables_{tables} {}
        // Reverts the allocation of a block with `written` rows.
        void all(paged& of, const metadata_type& table, std::size_t written, std::size_t count) const noexcept {
            for (std::size_t row = written; row-- != 0;) rows_.take_back(of.rows_, of.row_at(table, row, count));
            tables_.take_back(of.tables_, table);
            rows_.finish(of.rows_);
            tables_.finish(of.tables_);
        }
        void row(paged& of, row_block held) const noexcept { rows_.take_back(of.rows_, held); }

    private:
        detail::undo_point<rows_type> rows_;
        detail::undo_point<tables_type> tables_;
    };

    [[nodiscard]] static layout table_layout(std::size_t rows) noexcept {
        layout whole{0, alignof(value)};
        if (!checked_multiply(rows, sizeof(value), whole.size)) return {};
        if constexpr (keeps_metadata) {
            std::size_t metadata = 0;
            if (!checked_multiply(rows, sizeof(row_metadata), metadata) ||
                !checked_align_up(whole.size, alignof(row_metadata), whole.size) ||
                !checked_add(whole.size, metadata, whole.size))
                return {};
            if (whole.align < alignof(row_metadata)) whole.align = alignof(row_metadata);
        }
        return whole;
    }
    [[nodiscard]] static value* entries(const metadata_type& table) noexcept {
        return static_cast<value*>(table.address);
    }
    [[nodiscard]] static row_metadata* metadata(const metadata_type& table, std::size_t rows) noexcept {
        const std::size_t behind = align_up(rows * sizeof(value), alignof(row_metadata));
        return reinterpret_cast<row_metadata*>(static_cast<std::byte*>(table.address) + behind);
    }

    [[nodiscard]] block_type try_allocate(layout wanted, diagnosis* reason) noexcept {
        const auto refuse = [reason](diagnosis answer) {
            if (reason != nullptr) *reason = answer;
            return block_type{};
        };
        if (const refusal bad = invalidity(wanted); bad != refusal::none) return refuse({bad});
        const std::size_t count = Table::rows_for(wanted.size);
        const layout for_table = table_layout(count), for_row{Table::row_bytes, wanted.align};
        if (for_table.size == 0) return refuse({refusal::over_limit});
        const undo before{rows_, tables_};
        const metadata_type table = tables_.allocate(for_table);
        if (!table) return refuse(reason == nullptr ? diagnosis{} : tables_.diagnose(for_table));

        for (std::size_t row = 0; row != count; ++row) {
            row_block given = rows_.allocate(for_row);
            value entry{};
            if (given && Table::entry::encode(origin_, given.address, Table::row_bytes, entry)) {
                ::new (static_cast<void*>(entries(table) + row)) value{entry};
                if constexpr (keeps_metadata)
                    ::new (static_cast<void*>(metadata(table, count) + row)) row_metadata{given.metadata};
                continue;
            }
            diagnosis answer{refusal::over_limit};  // the entry cannot represent the row
            if (given) {
                before.row(*this, given);
            } else if (reason != nullptr) {
                answer = rows_.diagnose(for_row);
            }
            before.all(*this, table, row, count);
            return refuse(answer);
        }
        return {{entries(table), count, origin_}, wanted.size, table};
    }

    [[nodiscard]] row_block row_at(const metadata_type& table, std::size_t row, std::size_t count) const noexcept {
        row_block held{Table::entry::decode(origin_, entries(table)[row], Table::row_bytes), Table::row_bytes, {}};
        if constexpr (keeps_metadata) held.metadata = metadata(table, count)[row];
        return held;
    }

    Rows rows_;
    Tables tables_;
    typename Table::row_address origin_;
};

}  // namespace v1
}  // namespace allot
