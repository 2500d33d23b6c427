// SPDX-License-Identifier: BSL-1.0
// block_table_nodes: a node store that keeps its records in a side table, one for every block and extent.
//
//     extent ◄──────► record ◄─► record ◄──────► extent       before ◄─► after: neighbors in offset space
//       hole           block      block hole                  next ◄─► prev: the list of a hole's bin
//
// A record describes a block and the hole after it. A hole is named by the record before it, which has its offset and
// size. The offset of a block is the end of the hole before it. The records of an extent form a ring, which the record
// of the extent closes. That record describes the hole at the start of the extent and has no block. No hole joins
// across it, even if two extents are adjacent.
//
// The managed memory is not accessed, and all functions work in constant expressions. Records count in granules. A
// block's metadata is the index of its record.
//
// Memory: 24 bytes for every record with 32-bit units, 32 bytes with 64-bit units, and 8 bytes less in a fixed table of
// less than 32,767 records, whose links have 16 bits. One record is reserved.
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

/// Node store with one record for every block, in a side table. A `Unit` counts the granules of an offset.
template <std::unsigned_integral Offset, std::size_t Capacity, Offset Granule, std::unsigned_integral Unit = Offset>
class block_table_nodes : public granule_sizes<Offset, Granule> {
public:
    using node = record_index;
    using metadata_type = record_metadata;
    using memory_type = no_memory;
    static constexpr node none = 0;  // the first record, whose links have no meaning, so that no list has a last link
    static constexpr unsigned extent_records = 1;  // records that a new extent takes
    static constexpr unsigned block_records = 1;   // records that a block takes in addition to that of its hole
    static constexpr unsigned hole_records = 0;    // records that a hole takes

    /// Returns true if a table can have the records of one extent with so many blocks, and with any holes.
    [[nodiscard]] static constexpr bool can_record(std::uint64_t blocks, std::uint64_t) noexcept {
        constexpr bool is_fixed = Capacity != 0 && Capacity != given_records;
        // Without the record of the extent, and the reserved one, which a fixed table has in addition.
        return blocks <= most_records_of<Capacity> - (is_fixed ? 1 : 2);
    }

    /// Makes one hole of `where`, which is a result of `usable`. Precondition: `room(extent_records)`.
    [[nodiscard]] constexpr node insert(basic_extent<Offset> where, no_memory) noexcept {
        if (records_.ever_taken() == 0) static_cast<void>(records_.take());
        const bool first = records_.taken() == 1;
        const node extent = records_.take();
        const auto self = static_cast<link>(extent);
        records_[extent] = {.low = units(where.offset), .before = self, .after = self};
        end_ = first ? extent : none;
        return extent;
    }
    /// Removes an extent. Precondition: the hole fills the extent.
    constexpr void remove(node extent) noexcept {
        if (extent == end_) end_ = none;
        records_[extent].before = none;
        records_.give(extent);
    }

    /// Returns true if the end of the extent is known: one extent was inserted since the store was empty.
    [[nodiscard]] constexpr bool knows_end() const noexcept { return end_ != none; }
    /// Returns the hole at the end of the extent; `none` if the extent ends with a block or if its end is not known.
    [[nodiscard]] constexpr node last_hole(basic_extent<Offset>) const noexcept {
        return end_ == none ? none : if_hole(records_[end_].before);
    }
    /// Returns the hole at the end of the extent, which grows. The caller then links it with its new size.
    [[nodiscard]] constexpr node extend(basic_extent<Offset>, Offset) noexcept { return records_[end_].before; }
    /// Shortens the extent by `less` bytes. Returns the rest of the hole at its end, or `none`. Precondition: that hole
    /// has at least `less` bytes and does not fill the extent.
    [[nodiscard]] constexpr node shorten(basic_extent<Offset>, Offset less) noexcept {
        const node hole = records_[end_].before;
        subtract(records_[hole].hole, units(less));
        return if_hole(hole);
    }

    [[nodiscard]] constexpr bool room(record_index count) noexcept { return records_.room(with_none(count)); }
    /// Returns the table, for `given_records`.
    [[nodiscard]] constexpr auto& table() noexcept { return records_; }
    [[nodiscard]] static constexpr std::size_t record_size() noexcept { return sizeof(record); }
    [[nodiscard]] constexpr bool has_room(record_index count) const noexcept {
        return Capacity == 0 || records_.spare() >= with_none(count);
    }

    [[nodiscard]] constexpr node find(basic_allocation<Offset, metadata_type> allocation) const noexcept {
        return allocation.metadata.record;
    }
    [[nodiscard]] constexpr metadata_type metadata(node of) const noexcept { return {of}; }

    // ── holes ────────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] constexpr Offset offset(node hole) const noexcept { return bytes(records_[hole].low); }
    [[nodiscard]] constexpr Offset size(node hole) const noexcept { return bytes(records_[hole].hole); }
    [[nodiscard]] constexpr node next(node of) const noexcept { return records_[of].next; }
    [[nodiscard]] constexpr node prev(node of) const noexcept { return records_[of].prev; }
    constexpr void set_next(node of, node to) noexcept { records_[of].next = static_cast<link>(to); }
    constexpr void set_prev(node of, node to) noexcept { records_[of].prev = static_cast<link>(to); }
    /// Returns the lowest position in a hole for `need` bytes with an alignment of `mask + 1` bytes, at least a
    /// granule; the largest offset if no position is valid. Precondition: `need + mask` does not wrap.
    [[nodiscard]] ALLOT_INLINE constexpr Offset lowest(node hole, Offset need, Offset mask) const noexcept {
        const record& of = records_[hole];
        const auto gap = static_cast<Unit>((Unit{0} - of.low) & units(mask));
        if (of.hole < static_cast<Offset>(need / Granule + gap)) return std::numeric_limits<Offset>::max();
        return bytes(static_cast<Unit>(of.low + gap));
    }
    /// Returns the size in granules; 0 if there is no hole.
    [[nodiscard]] constexpr Unit granules(node hole) const noexcept { return records_[hole].hole; }
    constexpr void mark_hole(node of, Offset size) noexcept { records_[of].hole = units(size); }

    /// The first hole of a list has the number of the list instead of a previous hole.
    [[nodiscard]] static constexpr node number_of_list(unsigned list) noexcept { return list_bit | list; }
    [[nodiscard]] static constexpr bool is_number_of_list(node prev) noexcept { return (prev & list_bit) != 0; }
    [[nodiscard]] static constexpr unsigned list_of(node number) noexcept { return number ^ list_bit; }

    // ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] constexpr Offset block_offset(node of) const noexcept {
        const record& below = records_[records_[of].before];
        return bytes(static_cast<Unit>(below.low + below.hole));
    }
    /// Returns the extent of a block with its header.
    [[nodiscard]] constexpr basic_extent<Offset> block_extent(node of) const noexcept {
        const Offset start = block_offset(of);
        return {start, static_cast<Offset>(bytes(records_[of].low) - start)};
    }
    /// Moves the end of a block of `had` bytes, so that it has `need` bytes. The hole after it is in no list, and the
    /// bytes above are free.
    constexpr void move_end(node of, Offset had, Offset need) noexcept {
        const auto more = static_cast<Unit>(units(need) - units(had));
        add(records_[of].low, more);
        subtract(records_[of].hole, more);
    }
    /// Returns true if a hole follows.
    [[nodiscard]] constexpr bool has_hole(node of) const noexcept { return records_[of].hole != 0; }
    /// Returns the hole that follows, or `none`.
    [[nodiscard]] constexpr node hole_after(node of) const noexcept { return if_hole(of); }
    /// Returns the record before a block.
    [[nodiscard]] constexpr node before(node of) const noexcept { return records_[of].before; }

    /// Returns true if `take` has a record.
    [[nodiscard]] ALLOT_INLINE constexpr bool room_for_one() noexcept { return records_.room_for_one(); }
    [[nodiscard]] ALLOT_INLINE constexpr node take() noexcept { return records_.take(); }
    /// The offset of a block that was cut from a hole, and the granules of the hole after it.
    struct part {
        Offset offset;
        Unit rest;
    };
    /// Makes a block of `size` bytes at the start of a hole, which is in no list. The rest follows the block.
    ALLOT_INLINE constexpr part cut_front(node hole, Offset size, node fresh) noexcept {
        record &from = records_[hole], &block = records_[fresh];
        record& after = records_[from.after];
        const Unit offset = from.low, rest = static_cast<Unit>(from.hole - units(size));
        block.low = static_cast<Unit>(offset + units(size));
        block.hole = rest;
        block.before = static_cast<link>(hole);
        block.after = from.after;
        from.hole = 0;
        from.after = static_cast<link>(fresh);
        after.before = static_cast<link>(fresh);
        return {bytes(offset), rest};
    }
    /// The granules of the holes on both sides of a block that was cut from a hole.
    struct sides {
        Unit below, above;
    };
    /// Makes a block of `size` bytes at `at` in a hole, which is in no list. The rest on either side remains a hole.
    ALLOT_INLINE constexpr sides cut(node hole, Offset at, Offset size, node fresh) noexcept {
        record &from = records_[hole], &block = records_[fresh];
        const auto below = static_cast<Unit>(units(at) - from.low),
                   above = static_cast<Unit>(from.hole - below - units(size));
        block.low = static_cast<Unit>(units(at) + units(size));
        block.before = static_cast<link>(hole);
        block.after = from.after;
        block.hole = above;
        records_[from.after].before = static_cast<link>(fresh);
        from.after = static_cast<link>(fresh);
        from.hole = below;
        return {below, above};
    }
    /// Makes a hole of a block and the hole after it, and joins it to the hole of `below`, the record before the block.
    /// These holes are in no list. Returns the granules of the joined hole.
    ALLOT_INLINE constexpr Unit join(node below, node freed) noexcept {
        record &of = records_[freed], &to = records_[below];
        const auto joined = static_cast<Unit>(of.low + of.hole - to.low);
        to.hole = joined;
        to.after = of.after;
        records_[of.after].before = static_cast<link>(below);
        records_.give(freed);
        return joined;
    }
    /// Calls `f(node, is_used)` for each node of an extent in ascending order. `where` is a result of `usable`.
    /// O(records).
    template <class Function>
    constexpr void for_each(basic_extent<Offset> where, Function f) const noexcept {
        for (node extent = 0; extent != records_.ever_taken(); ++extent) {
            if (!is_extent(extent, where)) continue;
            node n = extent;
            do {
                if (n != extent) f(n, true);
                if (has_hole(n)) f(n, false);
                n = records_[n].after;
            } while (n != extent);
            return;
        }
    }

private:
    using link = std::conditional_t < Capacity != 0 && Capacity<0x7FFF, std::uint16_t, std::uint32_t>;
    static constexpr node list_bit = node{1} << (std::numeric_limits<link>::digits - 1);

    struct record {
        Unit low = 0;  // end of the block, where the hole after it starts
        link next = none, before = none;
        link prev = none, after = none;
        Unit hole = 0;  // size of the hole after the block; 0 without a hole
    };

    /// Adds the record of `none`, if it is not yet taken.
    [[nodiscard]] constexpr record_index with_none(record_index count) const noexcept {
        return records_.ever_taken() == 0 ? count + 1 : count;
    }

    [[nodiscard]] static constexpr Unit units(Offset bytes) noexcept { return static_cast<Unit>(bytes / Granule); }
    [[nodiscard]] static constexpr Offset bytes(Unit units) noexcept {
        return static_cast<Offset>(static_cast<Offset>(units) * Granule);
    }
    static constexpr void add(Unit& to, Unit more) noexcept { to = static_cast<Unit>(to + more); }
    static constexpr void subtract(Unit& from, Unit less) noexcept { from = static_cast<Unit>(from - less); }

    [[nodiscard]] constexpr node if_hole(node of) const noexcept { return has_hole(of) ? of : none; }
    /// Returns true if this is the live record of this extent. The neighbors of a freed record do not refer to it. The
    /// record before that of a block ends below `low`.
    [[nodiscard]] constexpr bool is_extent(node of, basic_extent<Offset> where) const noexcept {
        const record& one = records_[of];
        return one.before != none && one.low == units(where.offset) && records_[one.after].before == of &&
               records_[one.before].after == of && block_offset(of) == where.end();
    }

    record_table<record, Capacity == 0 || Capacity == given_records ? Capacity : Capacity + 1> records_;
    node end_ = none;  // the record of the extent, unless a second extent was inserted
};

/// Whether a node store is a block_table_nodes.
template <class Nodes>
inline constexpr bool is_block_table = false;
template <std::unsigned_integral Offset, std::size_t Capacity, Offset Granule, std::unsigned_integral Unit>
inline constexpr bool is_block_table<block_table_nodes<Offset, Capacity, Granule, Unit>> = true;

}  // namespace detail
}  // namespace v1
}  // namespace allot
