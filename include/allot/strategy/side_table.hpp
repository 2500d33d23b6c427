// side_table_nodes: the node store that keeps its records beside the memory, one for every block and every hole.
//
//     record ─► offset, size, before ◄─► after (neighbours in offset space), prev ◄─► next (ring of its bin)
//
// Nothing is read from or written to the managed memory, sizes are kept to the unit, and all of it runs in constant
// expressions. A block's ticket is the index of its record. Neighbours are links: extents that were inserted apart
// never join, even when their offsets touch. Memory: 24 bytes a record for 32-bit offsets, 32 for 64-bit ones; at most
// one record per block and one per hole.
#pragma once

#include <allot/core/extent.hpp>
#include <allot/core/strategy.hpp>
#include <allot/strategy/record_table.hpp>

namespace allot::inline v1 {

/// The ticket of a strategy with a side table: which record is the block's.
struct record_ticket {
    record_index record = no_record;
    friend constexpr bool operator==(record_ticket, record_ticket) = default;
};

template <std::unsigned_integral Offset, std::size_t Capacity>
class side_table_nodes {
public:
    using node = record_index;
    using ticket_type = record_ticket;
    using memory_type = no_memory;
    static constexpr node none = no_record;
    static constexpr Offset header = 0;    // bytes of a block before what its holder uses
    static constexpr Offset granule = 1;   // sizes are multiples of it
    static constexpr Offset min_hole = 1;  // the smallest hole that can be kept
    static constexpr Offset tail = 0;      // bytes lost at the end of an extent

    /// The size of the node that serves `size`; 0 when there is none.
    [[nodiscard]] static constexpr Offset node_size(Offset size) noexcept { return size; }
    /// The part of an extent that can be cut; empty when it is too small.
    [[nodiscard]] static constexpr basic_extent<Offset> usable(basic_extent<Offset> where) noexcept { return where; }

    /// A hole over all of `where`, which `usable` gave. Precondition: `room(1)`.
    [[nodiscard]] constexpr node insert(basic_extent<Offset> where, no_memory) noexcept {
        const node fresh = records_.take();
        records_[fresh] = {.offset = where.offset, .size = where.size};
        last_ = fresh;
        return fresh;
    }
    constexpr void remove(node gone) noexcept { records_.give(gone); }

    /// The hole that ends with the one extent; `none` when a block does.
    [[nodiscard]] constexpr node last_hole(basic_extent<Offset>) const noexcept { return if_hole(last_); }
    /// The extent is `more` longer: the hole at its end. Precondition: `room(1)` when `last_hole` is none.
    [[nodiscard]] constexpr node extend(basic_extent<Offset> where, Offset more) noexcept {
        if (const node hole = last_hole(where); hole != none) {
            records_[hole].size = static_cast<Offset>(records_[hole].size + more);
            return hole;
        }
        const node fresh = records_.take();
        records_[fresh] = {.offset = where.end(), .size = more, .before = last_};
        records_[last_].after = fresh;
        last_ = fresh;
        return fresh;
    }
    /// The extent is `less` shorter: what is left of the hole at its end, or `none`. Precondition: the hole has as much,
    /// and is not all of the extent.
    [[nodiscard]] constexpr node shorten(basic_extent<Offset>, Offset less) noexcept {
        const node hole = last_;
        if (records_[hole].size != less) {
            records_[hole].size = static_cast<Offset>(records_[hole].size - less);
            return hole;
        }
        last_ = records_[hole].before;
        records_[last_].after = none;
        records_.give(hole);
        return none;
    }

    [[nodiscard]] constexpr bool room(record_index count) noexcept { return records_.room(count); }
    [[nodiscard]] constexpr bool has_room(record_index count) const noexcept {
        return Capacity == 0 || records_.spare() >= count;
    }

    [[nodiscard]] constexpr node find(basic_grant<Offset, ticket_type> grant) const noexcept {
        return grant.ticket.record;
    }
    [[nodiscard]] constexpr ticket_type ticket(node of) const noexcept { return {of}; }

    [[nodiscard]] constexpr Offset offset(node of) const noexcept { return records_[of].offset; }
    [[nodiscard]] constexpr Offset size(node of) const noexcept { return records_[of].size; }
    [[nodiscard]] constexpr node next(node of) const noexcept { return records_[of].next; }
    [[nodiscard]] constexpr node prev(node of) const noexcept { return records_[of].prev; }
    constexpr void set_next(node of, node to) noexcept { records_[of].next = to; }
    constexpr void set_prev(node of, node to) noexcept { records_[of].prev = to; }

    /// The neighbour, when it is a hole; otherwise `none`.
    [[nodiscard]] constexpr node hole_before(node of) const noexcept { return if_hole(records_[of].before); }
    [[nodiscard]] constexpr node hole_after(node of) const noexcept { return if_hole(records_[of].after); }

    constexpr void mark_used(node of) noexcept { records_[of].prev = in_use; }
    constexpr void mark_hole(node of) noexcept { records_[of].prev = none; }

    /// Cuts `of` after `size`; the rest is a node of its own. Precondition: `room(1)`.
    [[nodiscard]] constexpr node split(node of, Offset size) noexcept {
        const node rest = records_.take();
        record& first = records_[of];
        records_[rest] = {.offset = static_cast<Offset>(first.offset + size),
                          .size = static_cast<Offset>(first.size - size),
                          .before = of,
                          .after = first.after};
        if (first.after != none) records_[first.after].before = rest;
        else last_ = rest;
        first.after = rest;
        first.size = size;
        return rest;
    }
    /// `first` takes in `second`, which follows it.
    constexpr void join(node first, node second) noexcept {
        record& kept = records_[first];
        kept.size = static_cast<Offset>(kept.size + records_[second].size);
        kept.after = records_[second].after;
        if (kept.after != none) records_[kept.after].before = first;
        else last_ = first;
        records_.give(second);
    }

private:
    static constexpr node in_use = no_record - 1;

    struct record {
        Offset offset = 0, size = 0;
        node before = none, after = none;
        node next = none, prev = none;
    };

    [[nodiscard]] constexpr node if_hole(node of) const noexcept {
        return of != none && records_[of].prev != in_use ? of : none;
    }

    record_table<record, Capacity> records_;
    node last_ = none;  // where there is one extent, the node at its end
};

}  // namespace allot::inline v1
