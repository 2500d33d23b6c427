// SPDX-License-Identifier: BSL-1.0
// beside_holes: the cuts and the faster paths of best_fit for a table with one record for each block.
//
//     bins of one size:  take the first hole; with two candidates and a granule, the lower one of the first two
//     other bins:        compare the first few holes of the request's own bin, then those of the next bin
//
// Internal. The general path and the faster paths choose the same holes (holes.hpp). With a granule, sizes follow no
// pattern that a processor predicts. Then the hole is chosen and the lists change without branches.
//
// Complexity: O(1) if a bin whose holes all fit is not empty.
#pragma once

#include <allot/strategy/detail/block_table.hpp>
#include <allot/strategy/detail/holes.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Holes in bins by size, with a block_table_nodes.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
class beside_holes : public holes<Options, Nodes, Offset> {
    using base = holes<Options, Nodes, Offset>;
    using sizes = node_sizes<Options, Nodes, Offset>;
    using places = placement<Nodes, Offset>;
    using layout_type = basic_layout<Offset>;
    using allocation_type = basic_allocation<Offset, typename Nodes::metadata_type>;
    using node = typename Nodes::node;
    static constexpr node none = Nodes::none;

    using base::pairs;
    using base::select;
    using base::unlink_numbered;

    /// A record and an offset, which a function returns in registers: those of a hole, or of a block that was made.
    struct position {
        node of = none;
        Offset at = places::nowhere;
    };

public:
    using base::bin_of;
    using base::bins;
    using base::nodes;
    using typename base::bin;
    using typename base::bin_lists;
    using typename base::place;

    [[nodiscard]] constexpr bool has_room(place, Offset) const noexcept { return nodes.has_room(1); }

    // ── allocating ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Allocates a block of `need` bytes, of which the caller requested `wanted.size`.
    ALLOT_INLINE constexpr allocation_type allocate(layout_type wanted, Offset need) noexcept {
        const position made = sizes::is_anywhere(wanted) ? allocate_anywhere(wanted.size, need)
                                                         : allocate_placed(wanted.size, wanted.align, need);
        return allocation_of(made, wanted.size);
    }
    /// Does the same. Precondition: the front of any hole that is large enough satisfies the request.
    ALLOT_NOINLINE constexpr position allocate_anywhere(Offset size, Offset need) noexcept {
        const bin own = bin_of(need);
        node hole = bins.head(own);
        if (bin_lists::is_exact(own)) {
            if (hole != none) return take_exact(hole, own, need);
            const bin from = bins.next(own);
            if (from == bin_lists::count) [[unlikely]]
                return {};
            hole = pairs || bin_lists::is_exact(from) ? bins.head(from) : this->lowest_of(from, need);
            return cut_front(hole, need);
        }
        const bin other = bins.after(own);
        if (other == bin_lists::count) [[unlikely]]
            return allocate_placed(size, 1, need);
        if constexpr (pairs) {
            const unsigned fits = unsigned{nodes.size(hole) >= need} | unsigned{nodes.size(nodes.next(hole)) >= need};
            hole = select(fits != 0, hole, bins.head(other));
        } else if constexpr (Options.candidates == 1) {
            const node larger = bins.head(other);
            hole = select(nodes.size(hole) >= need, hole, larger);  // the record of `none` has no hole
        } else {
            if (hole != none) hole = this->lowest_of(own, need);
            if (hole == none) hole = this->lowest_of(other, need);
        }
        return cut_front(hole, need);
    }
    /// Does the same for any alignment.
    ALLOT_NOINLINE constexpr position allocate_placed(Offset size, Offset align, Offset need) noexcept {
        const bin first = bins.next(bin_of(need));
        Offset enough = 0;
        if (!checked_add<Offset>(need, align, enough) || sizes::is_large(size) || first == bin_lists::count)
            [[unlikely]]
            return allocate_searched({size, align}, need);
        const auto mask = static_cast<Offset>(align - 1);
        position found = lowest_in(first, need, mask);
        if (found.of == none) {
            const bin sure = base::first_all_fit(enough);
            const bin b = sure < bin_lists::count ? bins.next(sure) : bin_lists::count;
            if (b == bin_lists::count) return allocate_searched({size, align}, need);
            found = lowest_in_sure(b, mask);
        }
        return cut(found.of, found.at, need);
    }
    /// Slow path of `allocate_placed`, which visits all holes that may fit.
    ALLOT_NOINLINE constexpr position allocate_searched(layout_type wanted, Offset need) noexcept {
        const place found = this->find(wanted, need);
        return found.hole == none ? position{} : cut(found.hole, found.at, need);
    }
    /// Cuts a block out of a hole. The rest on either side remains a hole. Returns an empty allocation if there is no
    /// hole or no record.
    constexpr allocation_type give(place found, Offset need, Offset size) noexcept {
        if (found.hole == none || !nodes.room_for_one()) return {};
        return {{found.at, size}, nodes.metadata(block_at(found.hole, found.at, need))};
    }
    /// Does the same. Precondition: there is a hole.
    ALLOT_INLINE constexpr position cut(node hole, Offset at, Offset need) noexcept {
        if (!nodes.room_for_one()) [[unlikely]]
            return {};
        return {block_at(hole, at, need), at};
    }
    /// Does the same. Precondition: there is a record.
    ALLOT_INLINE constexpr node block_at(node hole, Offset at, Offset need) noexcept {
        const node fresh = nodes.take();
        unlink_numbered(hole);
        const auto left = nodes.cut(hole, at, need, fresh);
        put(hole, left.below);
        put(fresh, left.above);
        return fresh;
    }

    // ── freeing and resizing ─────────────────────────────────────────────────────────────────────────────────────

    /// Frees a block and joins the hole with its neighbors.
    constexpr void free_block(node freed) noexcept {
        const node below = nodes.before(freed);
        if (nodes.has_hole(freed)) unlink_numbered(freed);
        if (nodes.has_hole(below)) unlink_numbered(below);
        this->enter(below, bin_lists::of(nodes.join(below, freed)));
    }
    /// Gives a block of `had` bytes `need` bytes. Precondition: the bytes above are free.
    constexpr void resize_block(node held, Offset had, Offset need) noexcept {
        if (nodes.has_hole(held)) unlink_numbered(held);
        nodes.move_end(held, had, need);
        put(held, nodes.granules(held));
    }

private:
    /// Returns the block that was made, or an empty allocation.
    [[nodiscard]] ALLOT_INLINE constexpr allocation_type allocation_of(position made, Offset size) const noexcept {
        if (made.of == none) return {};
        return {{made.at, size}, nodes.metadata(made.of)};
    }
    /// Returns the lowest place in the first few holes of a bin that is not empty.
    [[nodiscard]] ALLOT_INLINE constexpr position lowest_in(bin b, Offset need, Offset mask) const noexcept {
        position best;
        node hole = bins.head(b);
        for (unsigned left = Options.candidates;;) {
            if (const Offset at = nodes.lowest(hole, need, mask); at < best.at) [[unlikely]] {
                best.of = hole;
                best.at = at;
            }
            if (--left == 0 || (hole = nodes.next(hole)) == none) return best;
        }
    }
    /// Returns the same for a bin whose holes all fit.
    [[nodiscard]] ALLOT_INLINE constexpr position lowest_in_sure(bin b, Offset mask) const noexcept {
        node best = bins.head(b), hole = best;
        Offset low = nodes.offset(best);
        for (unsigned left = Options.candidates; --left != 0 && (hole = nodes.next(hole)) != none;)
            if (const Offset other = nodes.offset(hole); other < low) {
                best = hole;
                low = other;
            }
        return {best, static_cast<Offset>((low + mask) & ~mask)};
    }
    /// Removes the lower one of the first two holes of a list that are large enough, without a branch. Returns it.
    /// Precondition: one of them is large enough.
    [[nodiscard]] ALLOT_INLINE constexpr node take_lower(node first, Offset need) noexcept {
        const node second = nodes.next(first);
        const unsigned is_better =
            unsigned{nodes.offset(second) < nodes.offset(first)} | unsigned{nodes.size(first) < need};
        const bool takes_second = (unsigned{nodes.size(second) >= need} & is_better) != 0;  // `none` has no hole
        return take_either(takes_second, first, second, Nodes::list_of(nodes.prev(first)));
    }
    /// Removes the first or the second hole of a list, without a branch. Returns it.
    [[nodiscard]] ALLOT_INLINE constexpr node take_either(bool takes_second, node first, node second,
                                                          bin list) noexcept {
        const node after = nodes.next(second), left = select(takes_second, first, second);
        nodes.set_next(left, after);  // after `none`: `none`
        nodes.set_prev(after, left);
        nodes.set_prev(left, Nodes::number_of_list(list));
        bins.replace(list, left);
        return select(takes_second, second, first);
    }
    /// Makes a block of the first hole of a bin of its size.
    ALLOT_INLINE constexpr position take_exact(node hole, bin own, Offset need) noexcept {
        if (!nodes.room_for_one()) [[unlikely]]
            return {};
        const node fresh = nodes.take();
        if constexpr (pairs) {
            const node second = nodes.next(hole);
            const bool is_lower = nodes.offset(second) < nodes.offset(hole);
            hole = take_either(is_lower && second != none, hole, second, own);
        } else {
            this->pop(own, hole);
        }
        return {fresh, nodes.cut_front(hole, need, fresh).offset};
    }
    /// Cuts a block from the front of a hole. With pairs, from one of the first two holes of the list of `hole`.
    ALLOT_INLINE constexpr position cut_front(node hole, Offset need) noexcept {
        if (!nodes.room_for_one()) [[unlikely]]
            return {};
        const node fresh = nodes.take();
        if constexpr (pairs) hole = take_lower(hole, need);
        else if constexpr (Options.candidates == 1) this->pop(Nodes::list_of(nodes.prev(hole)), hole);
        else unlink_numbered(hole);
        const auto made = nodes.cut_front(hole, need, fresh);
        put(fresh, made.rest);
        return {fresh, made.offset};
    }
    /// Adds a hole of so many granules to its bin, unless it has none.
    ALLOT_INLINE constexpr void put(node hole, Offset granules) noexcept {
        if (granules != 0) this->enter(hole, bin_lists::of(granules));
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
