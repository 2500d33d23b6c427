// SPDX-License-Identifier: BSL-1.0
// side_table_nodes: a node store that keeps its records in a side table, one for every block, hole and extent.
//
//     end ◄─► record ◄─► record ◄─► record ◄─► end       before ◄─► after: neighbors in offset space
//              block      hole       block                next ◄─► prev: the list of a hole's bin
//
// The records of an extent form a ring, which the record of the extent's end closes. That record counts as in use, so
// that no hole joins across it, even if two extents are adjacent. The size of a node is the distance to the next
// record's offset.
//
// The managed memory is not accessed, and all functions work in constant expressions. Offsets and sizes are multiples
// of the granule. A block's metadata is the index of its record.
//
// Memory: 20 bytes for every record with 32-bit offsets, 24 bytes with 64-bit offsets.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/extent.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/detail/granule_sizes.hpp>
#include <allot/strategy/detail/record_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Node store with records in a side table. A record carries a `Note`; the note of a new record is value-initialized.
template <std::unsigned_integral Offset, std::size_t Capacity, Offset Granule, class Note>
class side_table_nodes : public granule_sizes<Offset, Granule> {
public:
    using node = record_index;
    using metadata_type = record_metadata;
    using memory_type = no_memory;
    struct cut {
        node block, hole;
    };
    static constexpr node none = no_record;
    static constexpr unsigned extent_records = 2;  // records that a new extent takes: its end and one hole
    static constexpr unsigned block_records = 0;   // records that a block takes in addition to that of its hole
    static constexpr unsigned hole_records = 1;    // records that a hole takes

    /// Returns true if a table can have the records of one extent with so many blocks and holes.
    [[nodiscard]] static constexpr bool can_record(std::uint64_t blocks, std::uint64_t holes) noexcept {
        constexpr record_index most = most_records_of<Capacity> - 1;  // without the record of the end
        return blocks <= most && holes <= most - blocks;
    }

    /// Makes one hole of `where`, which is a result of `usable`. Precondition: `room(extent_records)`.
    [[nodiscard]] constexpr node insert(basic_extent<Offset> where, no_memory) noexcept {
        const bool first = records_.taken() == 0;
        const node hole = records_.take(), end = records_.take();
        records_[hole] = {.offset = where.offset, .before = end, .after = end};
        records_[end] = {.offset = where.end(), .before = hole, .after = hole, .prev = in_use};
        end_ = first ? end : none;
        return hole;
    }
    /// Removes an extent. Precondition: the hole fills the extent.
    constexpr void remove(node hole) noexcept {
        if (records_[hole].after == end_) end_ = none;
        records_.give(records_[hole].after);
        records_.give(hole);
    }

    /// Returns true if the end of the extent is known: one extent was inserted since the store was empty.
    [[nodiscard]] constexpr bool knows_end() const noexcept { return end_ != none; }
    /// Returns the hole at the end of the extent; `none` if the extent ends with a block or if its end is not known.
    [[nodiscard]] constexpr node last_hole(basic_extent<Offset>) const noexcept {
        return end_ == none ? none : if_hole(records_[end_].before);
    }
    /// Extends the extent by `more` bytes. Returns the hole at its end. Precondition: `room(1)` if `last_hole` is
    /// `none`.
    [[nodiscard]] constexpr node extend(basic_extent<Offset> where, Offset more) noexcept {
        node hole = last_hole(where);
        if (hole == none) hole = insert_before(end_, where.end());
        records_[end_].offset = static_cast<Offset>(records_[end_].offset + more);
        return hole;
    }
    /// Shortens the extent by `less` bytes. Returns the rest of the hole at its end, or `none`. Precondition: that hole
    /// has at least `less` bytes and does not fill the extent.
    [[nodiscard]] constexpr node shorten(basic_extent<Offset> where, Offset less) noexcept {
        const node hole = last_hole(where);
        records_[end_].offset = static_cast<Offset>(records_[end_].offset - less);
        if (size(hole) != 0) return hole;
        join(records_[hole].before, hole);
        return none;
    }

    [[nodiscard]] constexpr bool room(record_index count) noexcept { return records_.room(count); }
    /// Returns the table, for `given_records`.
    [[nodiscard]] constexpr auto& table() noexcept { return records_; }
    [[nodiscard]] static constexpr std::size_t record_size() noexcept { return sizeof(record); }
    [[nodiscard]] constexpr bool has_room(record_index count) const noexcept {
        return Capacity == 0 || records_.spare() >= count;
    }

    [[nodiscard]] constexpr node find(basic_allocation<Offset, metadata_type> allocation) const noexcept {
        return allocation.metadata.record;
    }
    [[nodiscard]] constexpr metadata_type metadata(node of) const noexcept { return {of}; }

    [[nodiscard]] constexpr Offset offset(node of) const noexcept { return records_[of].offset; }
    [[nodiscard]] constexpr Offset size(node of) const noexcept {
        return static_cast<Offset>(records_[records_[of].after].offset - records_[of].offset);
    }
    /// Returns the extent of a block.
    [[nodiscard]] constexpr basic_extent<Offset> block_extent(node of) const noexcept { return {offset(of), size(of)}; }
    [[nodiscard]] constexpr node next(node of) const noexcept { return records_[of].next; }
    [[nodiscard]] constexpr node prev(node of) const noexcept { return records_[of].prev; }
    constexpr void set_next(node of, node to) noexcept { records_[of].next = to; }
    constexpr void set_prev(node of, node to) noexcept { records_[of].prev = to; }

    /// Returns the neighbor below if it is a hole, otherwise `none`.
    [[nodiscard]] constexpr node hole_before(node of) const noexcept { return if_hole(records_[of].before); }
    /// Returns the neighbor above if it is a hole, otherwise `none`.
    [[nodiscard]] constexpr node hole_after(node of) const noexcept { return if_hole(records_[of].after); }

    constexpr void mark_used(node of, Offset) noexcept { records_[of].prev = in_use; }
    constexpr void mark_hole(node of, Offset) noexcept { records_[of].prev = none; }

    /// Splits `of` after `size` bytes and returns the second part. The caller then marks both parts. Precondition:
    /// `room(1)`.
    [[nodiscard]] ALLOT_INLINE constexpr node split(node of, Offset size) noexcept {
        return insert_before(records_[of].after, static_cast<Offset>(records_[of].offset + size));
    }
    /// Cuts a block of `size` bytes from the front of a hole. The hole keeps its record. Precondition: `room(1)`.
    [[nodiscard]] ALLOT_INLINE constexpr cut cut_front(node hole, Offset size, Offset) noexcept {
        const node block = insert_before(hole, records_[hole].offset);
        records_[hole].offset = static_cast<Offset>(records_[hole].offset + size);
        mark_used(block, size);
        return {block, hole};
    }
    /// Joins `second` to `first`, which precedes it. The caller then marks `first`.
    ALLOT_INLINE constexpr void join(node first, node second) noexcept {
        const node after = records_[second].after;
        records_[first].after = after;
        records_[after].before = first;
        records_.give(second);
    }

    /// Calls `f(node, is_used)` for each node of an extent in ascending order. `where` is a result of `usable`.
    /// O(records).
    template <class Function>
    constexpr void for_each(basic_extent<Offset> where, Function f) const noexcept {
        for (node end = 0; end != records_.ever_taken(); ++end) {
            if (!is_end_of(end, where)) continue;
            for (node n = records_[end].after; n != end; n = records_[n].after) f(n, records_[n].prev == in_use);
            return;
        }
    }

    [[nodiscard]] constexpr Note& note(node of) noexcept { return records_[of].note; }
    [[nodiscard]] constexpr const Note& note(node of) const noexcept { return records_[of].note; }
    [[nodiscard]] constexpr bool is_used(node of) const noexcept { return records_[of].prev == in_use; }

private:
    static constexpr node in_use = no_record - 1;

    struct record {
        Offset offset = 0;
        node before = none, after = none;
        node next = none, prev = none;
        Note note{};
    };

    [[nodiscard]] ALLOT_INLINE constexpr node insert_before(node after, Offset offset) noexcept {
        const node fresh = records_.take(), before = records_[after].before;
        records_[fresh] = {.offset = offset, .before = before, .after = after};
        records_[before].after = fresh;
        records_[after].before = fresh;
        return fresh;
    }
    /// Returns true if `end` is the live record of the end of this extent. A freed record is recognized by its
    /// neighbors, which do not refer to it; after `remove`, by the free list, which links the hole to the end.
    [[nodiscard]] constexpr bool is_end_of(node end, basic_extent<Offset> where) const noexcept {
        const record& one = records_[end];
        const record &first = records_[one.after], &last = records_[one.before];
        const bool removed = one.after == one.before && first.prev != in_use && first.next == end;
        return one.offset == where.end() && one.prev == in_use && first.offset == where.offset && first.before == end &&
               last.after == end && !removed;
    }
    [[nodiscard]] constexpr node if_hole(node of) const noexcept { return records_[of].prev != in_use ? of : none; }

    record_table<record, Capacity> records_;
    node end_ = none;  // the record of the extent's end, unless a second extent was inserted
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
