// SPDX-License-Identifier: BSL-1.0
// in_band_holes: the faster paths of best_fit for records in band: blocks from the front of holes, and their return.
//
//     bins of the first word:  one size each ── take the first hole, or cut it
//     later bins:              sizes differ  ── cut the lowest of the first few holes
//
// Internal. Both classes choose the same holes (holes.hpp). The calls of other functions are the last statements of
// these, so that the common paths save no registers.
//
// Complexity: O(1) if a bin whose holes all fit is not empty.
#pragma once

#include <allot/strategy/detail/holes.hpp>

#include <algorithm>

namespace allot {
inline namespace v1 {
namespace detail {

/// Holes in bins by size, with records in band.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
class in_band_holes : public holes<Options, Nodes, Offset> {
    using base = holes<Options, Nodes, Offset>;
    using sizes = node_sizes<Options, Nodes, Offset>;
    using layout_type = basic_layout<Offset>;
    using allocation_type = basic_allocation<Offset, typename Nodes::metadata_type>;
    using node = typename Nodes::node;
    static constexpr node none = Nodes::none;

    using base::before_first;
    using base::move_first;
    using base::replace_first;
    using base::unlink_any;
    using base::unlink_numbered;

public:
    using base::bin_of;
    using base::bins;
    using base::nodes;
    using typename base::bin;
    using typename base::bin_lists;

    /// Returns true if the node of a block has a bin in the first word of the bitmap and may be in front of any hole.
    [[nodiscard]] ALLOT_INLINE static constexpr bool is_short(layout_type wanted) noexcept {
        return wanted.size != 0 && wanted.size <= most_short && Nodes::is_any_alignment(wanted.align);
    }

    // ── allocating ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Makes a block of all of the first hole of a bin in the first word of the bitmap.
    ALLOT_INLINE allocation_type take_first(bin own, Offset need, Offset size) noexcept {
        const node hole = bins.head(own);
        pop_in_first_word(own, nodes.next(hole));
        nodes.mark_whole_used(hole, need);
        return this->allocation_of_node(hole, size);
    }
    /// Cuts a block of `need` bytes, a hole of the bin `own`, from the front of the first hole that has `more` granules
    /// more. Both bins are in the first word of the bitmap.
    ALLOT_NOINLINE allocation_type cut_first(Offset size, bin more, Offset need, bin own) noexcept {
        const bin from = own + more;
        const node hole = bins.head(from);
        pop_in_first_word(from, nodes.next(hole));
        const auto left = static_cast<Offset>(more * Nodes::granule);
        if (left < Nodes::min_hole) {
            nodes.mark_whole_used(hole, static_cast<Offset>(need + left));
            return this->allocation_of_node(hole, size);
        }
        const auto [block, rest] = nodes.cut_front(hole, need, left);
        put_in_first_word(rest, more);
        return this->allocation_of_node(block, size);
    }
    /// Allocates from the bins after the first word of the bitmap, whose holes are all large enough.
    ALLOT_NOINLINE allocation_type allocate_after_first_word(Offset size, Offset need) noexcept {
        const bin from = bins.next_word(0);
        if (from == bin_lists::count) return {};
        return cut(bin_lists::is_exact(from) ? bins.head(from) : this->lowest_of(from, 0), need, size);
    }
    /// Allocates a block of any layout. It has no struct as a parameter, so that `allocate` passes its arguments in
    /// their registers. Precondition: the layout is not short, or no hole is large enough.
    ALLOT_NOINLINE allocation_type allocate_any(Offset size, Offset align) noexcept {
        if (!Nodes::is_any_alignment(align) || sizes::is_large(size)) [[unlikely]] {
            const Offset need = sizes::of_node(size);
            return need == 0 || !is_alignment(align) ? allocation_type{} : this->allocate_placed({size, align}, need);
        }
        // The size is above `most_short` if it can be served, so that its node needs no test of the smallest hole.
        if (static_cast<Offset>(size - most_short - 1) >= sizes::largest_node - Nodes::header - most_short) return {};
        const Offset need = align_up<Offset>(size + Nodes::header, Nodes::granule);
        const bin own = bin_of(need), first = bins.next(own);
        if (first == bin_lists::count) return {};
        // Compilers know that `own` is not exact if all exact bins are in the first word.
        const bool exact = bin_lists::is_exact(own) && bin_lists::is_exact(first);
        node hole = exact ? bins.head(first) : this->lowest_of(first, need);
        if (hole == none) {
            const bin later = bins.after(own);
            if (later == bin_lists::count) return this->allocate_placed({size, 1}, need);
            hole = this->lowest_of(later, need);
        }
        return cut(hole, need, size);
    }

    /// Returns the lowest of the first holes in the lowest bin that has holes of at least `need` bytes, as `find` does;
    /// `none` if these are too small, or if there is no such bin.
    [[nodiscard]] node lowest_in_first_bin(Offset need) const noexcept {
        const bin first = bins.next(bin_of(need));
        return first == bin_lists::count ? none : this->lowest_of(first, need);
    }
    /// Cuts a block from the front of any hole that is large enough.
    ALLOT_NOINLINE allocation_type cut(node hole, Offset need, Offset size) noexcept {
        const auto left = static_cast<Offset>(nodes.size(hole) - need);
        if (left < Nodes::min_hole) return take_any(hole, size);
        const bin to = bin_of(left);
        const node rest = nodes.cut_front(hole, need, left).hole;
        if (nodes.prev(hole) == before_first(to)) {
            move_first(hole, rest, to);
        } else {
            unlink_numbered(hole);
            this->put(rest, to);
        }
        return this->allocation_of_node(hole, size);
    }

    // ── freeing ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Makes a hole of a block between two blocks.
    ALLOT_INLINE void free_between_blocks(node freed, Offset record) noexcept {
        nodes.mark_block_free(freed, record);
        const bin to = bin_of(Nodes::size_in(record));
        if (to < bin_lists::first_word) put_in_first_word(freed, to);
        else put_in_any(freed, to);
    }
    /// Makes a hole of a block and joins it with its neighbors.
    ALLOT_INLINE void free_block(node freed) noexcept {
        const Offset record = nodes.record(freed), size = Nodes::size_in(record);
        const auto above = static_cast<node>(freed + size);
        const Offset record_above = nodes.record(above);
        if (!Nodes::is_hole(record_above)) {
            if (Nodes::is_above_hole(record)) return join_below(freed, size);
            return free_between_blocks(freed, record);
        }
        const auto joined = static_cast<Offset>(size + Nodes::size_in(record_above));
        if (Nodes::is_above_hole(record)) {
            const Offset less = nodes.size_below(freed);
            return join_three(static_cast<node>(freed - less), above, static_cast<Offset>(joined + less));
        }
        nodes.grow_hole(freed, joined);
        replace(above, freed, bin_of(joined));
    }

private:
    // The largest block whose node has a bin in the first word of the bitmap, and which is placed from below.
    static constexpr Offset most_short = static_cast<Offset>(
        std::min<std::uint64_t>({(bin_lists::first_word - 1) * std::uint64_t{Nodes::granule} - Nodes::header,
                                 std::uint64_t{sizes::largest_node} - Nodes::header,
                                 Options.large == 0 ? std::uint64_t{no_bound} : Options.large - 1}));

    /// Makes a block of all of a hole.
    ALLOT_NOINLINE allocation_type take_any(node hole, Offset size) noexcept {
        unlink_numbered(hole);
        nodes.mark_whole_used(hole, nodes.size(hole));
        return this->allocation_of_node(hole, size);
    }

    // ── bins ─────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Removes `old` from its list and adds `hole`, which is `old` or overlaps it, to the bin `to`.
    ALLOT_INLINE void replace(node old, node hole, bin to) noexcept {
        const node next = nodes.next(old), prev = nodes.prev(old);
        if (prev == before_first(to)) return replace_first(old, hole, to);
        if (to >= bin_lists::first_word) return replace_in_any(old, hole, to);
        if (next != none) {
            nodes.set_prev(next, prev);
            if (Nodes::is_number_of_list(prev)) bins.set_head(Nodes::list_of(prev), next);
            else nodes.set_next(prev, next);
        } else if (!Nodes::is_number_of_list(prev)) {
            nodes.set_next(prev, none);
        } else {
            if (prev >= before_first(bin_lists::first_word)) return replace_in_any(old, hole, to);
            bins.clear_in_first_word(Nodes::list_of(prev));
        }
        put_in_first_word(hole, to);
    }
    /// Does the same for any bins.
    ALLOT_NOINLINE void replace_in_any(node old, node hole, bin to) noexcept {
        unlink_numbered(old);
        this->put(hole, to);
    }
    /// Makes one hole of the hole `below`, the block above it and the hole `above`.
    ALLOT_NOINLINE void join_three(node below, node above, Offset size) noexcept {
        unlink_any(above);
        nodes.grow_hole(below, size);
        replace(below, below, bin_of(size));
    }
    /// Makes a hole of a block of `size` bytes and of the hole below it.
    ALLOT_INLINE void join_below(node freed, Offset size) noexcept {
        const Offset less = nodes.size_below(freed);
        const auto below = static_cast<node>(freed - less);
        size = static_cast<Offset>(size + less);
        nodes.mark_hole(below, size);
        replace(below, below, bin_of(size));
    }
    /// Does the same as `put`, as a call.
    ALLOT_NOINLINE void put_in_any(node hole, bin to) noexcept { this->put(hole, to); }
    /// Adds a hole to a bin in the first word of the bitmap.
    ALLOT_INLINE void put_in_first_word(node hole, bin to) noexcept {
        const node second = bins.head(to);
        nodes.set_next(hole, second);
        nodes.set_prev(hole, before_first(to));
        if (second == none) return bins.push_in_first_word(to, hole);
        nodes.set_prev(second, hole);
        bins.set_head(to, hole);
    }
    /// Removes the first hole of a bin in the first word of the bitmap, which precedes `next`.
    ALLOT_INLINE void pop_in_first_word(bin from, node next) noexcept {
        if (next == none) return bins.clear_in_first_word(from);
        bins.set_head(from, next);
        nodes.set_prev(next, before_first(from));
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
