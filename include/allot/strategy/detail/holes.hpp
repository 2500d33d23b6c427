// SPDX-License-Identifier: BSL-1.0
// holes: the holes of best_fit: the search for the best one, and the cuts that make blocks of them. hole_lists.hpp has
// their lists.
//
//     │ block │  hole  │ block │ block │      hole       │
//                 └──────── bins ─────────────┘
//
// Internal. `Nodes` is a node store (in_band.hpp, side_table.hpp), which keeps the records of blocks and holes.
//
// With `best_fit_options::prefer_size`, only the general path is compiled, without the faster paths for common
// requests. Both variants choose the same holes. holes_in_band.hpp has the faster paths for records in band.
//
// Complexity: O(1) for the cuts. `find` visits the holes that may be too small or misaligned, at most `probes`.
// `around` and `hole_of` visit the holes, or O(log holes) of them with best_fit_options::offset_index. Then the cuts
// also take O(log holes).
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/extent.hpp>
#include <allot/strategy/detail/block_table.hpp>
#include <allot/strategy/detail/hole_lists.hpp>
#include <allot/strategy/detail/node_sizes.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The choice and the cuts of holes.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
class holes : public hole_lists<Options, Nodes, Offset> {
    using base = hole_lists<Options, Nodes, Offset>;
    using sizes = node_sizes<Options, Nodes, Offset>;
    using places = placement<Nodes, Offset>;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using allocation_type = basic_allocation<Offset, typename Nodes::metadata_type>;
    using node = typename Nodes::node;
    static constexpr node none = Nodes::none;
    static constexpr Offset header = Nodes::header, nowhere = places::nowhere;
    static constexpr bool small = Options.prefer_size, in_band = Options.store == node_store::in_band;
    static constexpr bool indexed = Options.offset_index && !in_band;

protected:
    // Whether the lower one of the first two holes is taken from each list, also from that of a bin of one size.
    static constexpr bool pairs = is_block_table<Nodes> && Options.granule > 1 && Options.candidates == 2;

    using base::before_first;
    using base::move_first;
    using base::unlink_numbered;

public:
    using base::bin_of;
    using base::bins;
    using base::enter;
    using base::index;
    using base::leave;
    using base::link;
    using base::nodes;
    using base::pop;
    using base::put;
    using base::unlink;
    using typename base::bin;
    using typename base::bin_lists;

    /// Position of a node in a hole.
    struct place {
        node hole = none;
        bin from = 0;  // the hole's bin
        Offset at = nowhere;
    };

    // ── searching ────────────────────────────────────────────────────────────────────────────────────────────────

    /// Returns the best place for a node, or a place without a hole.
    [[nodiscard]] constexpr place find(layout_type wanted, Offset need) const noexcept {
        const bin first = bins.next(bin_of(need));
        if (!small && first == bin_lists::count) return {};  // if `small`, `search` returns the same
        const auto place_in = [&](node hole, auto choose) {
            const Offset size = nodes.size(hole), low = nodes.offset(hole);
            if (size < need) return nowhere;
            const auto high = static_cast<Offset>(low + (size - need));
            const Offset at = choose(low, high);
            return at > high ? nowhere : at;
        };
        const bool anywhere = small && sizes::is_anywhere(wanted);
        const Offset enough = anywhere ? need : places::enough(need, wanted.align);
        const auto candidates = [&](bin b) {
            return anywhere && bin_lists::is_exact(b) && !pairs ? 1 : Options.candidates;
        };
        if (sizes::is_large(wanted.size))
            return search<true>(first, enough, candidates, [&](node hole) {
                return place_in(hole,
                                [&](Offset low, Offset high) { return places::highest(low, high, wanted.align); });
            });
        return search<false>(first, enough, candidates, [&](node hole) {
            return place_in(hole, [&](Offset low, Offset) { return places::lowest(low, wanted.align); });
        });
    }

    /// Returns the hole at the lowest offset among the first `candidates` holes of a bin that are large enough; `none`
    /// if these are all too small.
    [[nodiscard]] ALLOT_INLINE constexpr node lowest_of(bin b, Offset need) const noexcept {
        node best = none;
        Offset lowest = nowhere;
        node hole = bins.head(b);
        for (unsigned left = Options.candidates;;) {
            if (nodes.size(hole) >= need && nodes.offset(hole) < lowest) {
                best = hole;
                lowest = nodes.offset(hole);
            }
            if (--left == 0 || (hole = nodes.next(hole)) == none) return best;
        }
    }

    /// Returns the place of exactly this extent and the header before it.
    [[nodiscard]] constexpr place around(extent_type wanted) const noexcept {
        const Offset need = sizes::of_node(wanted.size);
        if (need == 0 || wanted.offset < header || wanted.offset % Nodes::granule != 0) return {};
        const extent_type cut{static_cast<Offset>(wanted.offset - header), need};
        const auto fits = [&](node n) {
            return extent_type{nodes.offset(n), nodes.size(n)}.contains(cut) &&
                   places::is_hole_or_nothing(static_cast<Offset>(cut.offset - nodes.offset(n)));
        };
        if constexpr (indexed) {
            const node hole = index.at_or_below(nodes, cut.offset);
            if (hole == none || !fits(hole)) return {};
            return {hole, bin_of(nodes.size(hole)), cut.offset};
        }
        for (bin b = bins.next(bin_of(need)); b != bin_lists::count; b = bins.after(b))
            if (const node hole = first_hole(b, fits); hole != none) return {hole, b, cut.offset};
        return {};
    }

    /// Returns the hole that is exactly this extent, or `none`.
    [[nodiscard]] constexpr node hole_of(extent_type wanted) const noexcept {
        const auto is_it = [&](node n) { return nodes.offset(n) == wanted.offset && nodes.size(n) == wanted.size; };
        if constexpr (indexed) {
            const node hole = index.at_or_below(nodes, wanted.offset);
            return hole != none && is_it(hole) ? hole : none;
        }
        return first_hole(bin_of(wanted.size), is_it);
    }

    /// Returns true if records are available for the holes that would remain before and after the node.
    [[nodiscard]] constexpr bool has_room(place found, Offset need) const noexcept {
        const Offset low = nodes.offset(found.hole), end = static_cast<Offset>(low + nodes.size(found.hole));
        return nodes.has_room((found.at != low ? 1U : 0U) + (end - found.at - need >= Nodes::min_hole ? 1U : 0U));
    }

    // ── cutting ──────────────────────────────────────────────────────────────────────────────────────────────────

    [[nodiscard]] constexpr allocation_type allocation_of_node(node n, Offset size) const noexcept {
        return {{static_cast<Offset>(nodes.offset(n) + header), size}, nodes.metadata(n)};
    }
    /// Allocates a block of `need` bytes, of which the caller requested `wanted.size`.
    constexpr allocation_type allocate(layout_type wanted, Offset need) noexcept {
        if (!sizes::is_anywhere(wanted)) [[unlikely]]
            return allocate_placed(wanted, need);
        // Fast path for common requests, without `find`: a hole of exactly this size, or the front of a larger hole.
        const bin own = bin_of(need);
        if (bin_lists::is_exact(own) && bins.head(own) != none) {
            const node hole = bins.head(own);
            pop(own, hole);
            nodes.mark_used(hole, need);
            return allocation_of_node(hole, wanted.size);
        }
        bin from = bins.next(own);
        if (from == bin_lists::count) [[unlikely]]
            return {};
        node hole = bin_lists::is_exact(from) ? bins.head(from) : lowest_of(from, need);
        if (hole == none) {
            if (from = bins.after(own); from == bin_lists::count) [[unlikely]]
                return allocate_placed(wanted, need);
            hole = lowest_of(from, need);
        }
        return cut_front(hole, from, nodes.size(hole), need, wanted.size);
    }
    /// Frees a block and joins the hole with its neighbors.
    constexpr void free_block(node freed) noexcept {
        Offset size = nodes.size(freed);
        const node below = nodes.hole_before(freed);
        size = static_cast<Offset>(size + absorb_above(freed));
        if (below != none) {
            const Offset more = nodes.size(below);
            unlink(below, [&] { return bin_of(more); });
            nodes.join(below, freed);
            size = static_cast<Offset>(size + more);
            freed = below;
        }
        link(freed, size);
    }
    /// Slow path of `allocate`. A separate function, so that `allocate` saves no registers for it.
    ALLOT_NOINLINE constexpr allocation_type allocate_placed(layout_type wanted, Offset need) noexcept {
        return give(find(wanted, need), need, wanted.size);
    }
    /// Cuts a block out of a hole. The rest on either side remains a hole. Returns an empty allocation if no records
    /// are available for these holes.
    constexpr allocation_type give(place found, Offset need, Offset size) noexcept {
        const node hole = found.hole;
        if (hole == none) return {};
        const Offset had = nodes.size(hole);
        const auto front = static_cast<Offset>(found.at - nodes.offset(hole)),
                   behind = static_cast<Offset>(had - front - need);
        // In band, both paths make the rest after the block the newest hole of its bin.
        if constexpr (!small || !in_band)
            if (front == 0) return cut_front(hole, found.from, had, need, size);
        if (!nodes.room(behind >= Nodes::min_hole ? 2 : 1)) return {};
        unlink(hole, [&] { return found.from; });
        node block = hole;
        if (front != 0) {
            block = nodes.split(hole, front);
            link(hole, front);
        }
        keep_front(block, static_cast<Offset>(need + behind), need);
        return allocation_of_node(block, size);
    }
    /// Cuts a block from the front of a hole of `had` bytes.
    ALLOT_INLINE constexpr allocation_type cut_front(node hole, bin from, Offset had, Offset need,
                                                     Offset size) noexcept {
        const auto behind = static_cast<Offset>(had - need);
        if (behind < Nodes::min_hole) {
            unlink(hole, [&] { return from; });
            nodes.mark_used(hole, had);
            return allocation_of_node(hole, size);
        }
        if (!nodes.room(1)) return {};
        const bin to = bin_of(behind);
        const auto [block, rest] = nodes.cut_front(hole, need, behind);
        if constexpr (in_band && !small) {
            if (nodes.prev(hole) == before_first(to)) {
                move_first(hole, rest, to);
            } else {
                unlink_numbered(hole);
                put(rest, to);
            }
            return allocation_of_node(block, size);
        }
        leave(hole, [&] { return from; });
        enter(rest, to);  // the rest keeps the place of the hole in the index
        return allocation_of_node(block, size);
    }
    /// Marks a node that is in no bin as used and makes a hole of the bytes after the first `need`.
    constexpr void keep_front(node n, Offset size, Offset need) noexcept {
        const auto left = static_cast<Offset>(size - need);
        if (left < Nodes::min_hole) return nodes.mark_used(n, size);
        const node rest = nodes.split(n, need);
        nodes.mark_used(n, need);
        link(rest, left);
    }
    /// Gives a block of `had` bytes `need` bytes. Precondition: the bytes above are free, and a record is available.
    constexpr void resize_block(node held, Offset had, Offset need) noexcept {
        keep_front(held, static_cast<Offset>(had + absorb_above(held)), need);
    }
    /// Moves the end of an extent. Returns false and changes nothing if a block is in the way, if the rest of a hole
    /// would be too small, or if no record is available. Precondition: the end of the extent is known.
    constexpr bool move_end(extent_type had, extent_type now) noexcept {
        const node hole = nodes.last_hole(had);
        const Offset size = hole == none ? 0 : nodes.size(hole);
        if (now.size > had.size) {
            const auto more = static_cast<Offset>(now.size - had.size);
            if (hole == none && (more < Nodes::min_hole || !nodes.room(Nodes::hole_records))) return false;
            if (hole != none) unlink(hole, [&] { return bin_of(size); });
            link(nodes.extend(had, more), static_cast<Offset>(size + more));
        } else if (now.size < had.size) {
            const auto less = static_cast<Offset>(had.size - now.size);
            if (size < less || !places::is_hole_or_nothing(static_cast<Offset>(size - less))) return false;
            unlink(hole, [&] { return bin_of(size); });
            if (const node left = nodes.shorten(had, less); left != none) link(left, static_cast<Offset>(size - less));
        }
        return true;
    }
    /// Joins the hole above, if any, to `n`. Returns the size of that hole, or 0.
    ALLOT_INLINE constexpr Offset absorb_above(node n) noexcept {
        const node above = nodes.hole_after(n);
        if (above == none) return 0;
        const Offset size = nodes.size(above);
        unlink(above, [&] { return bin_of(size); });
        nodes.join(n, above);
        return size;
    }

protected:
    /// Returns the first bin whose holes all have at least this size. The result may be `>= bin_lists::count`.
    [[nodiscard]] static constexpr bin first_all_fit(Offset size) noexcept {
        return bin_of(size) + (bin_lists::is_exact(bin_of(size)) ? 0 : 1);
    }

private:
    /// Searches from the bin `first`, which is not empty or is `bin_lists::count`. `place_in` returns the position of
    /// the node in a hole, or `nowhere`. Every hole of at least `enough` bytes has a position. `candidates` returns the
    /// number of holes of a bin to compare.
    template <bool FromTop, class Candidates, class PlaceIn>
    [[nodiscard]] constexpr place search(bin first, Offset enough, Candidates candidates,
                                         PlaceIn place_in) const noexcept {
        if constexpr (small) {
            const bin sure = first_all_fit(enough);
            for (bin b = first; b != bin_lists::count; b = bins.next(sure)) {
                if (const place found = best_of<FromTop>(b, candidates(b), place_in); found.hole != none) return found;
                if (b >= sure || sure >= bin_lists::count) break;
            }
        } else {
            if (const place found = best_of<FromTop>(first, candidates(first), place_in); found.hole != none)
                return found;
            const bin sure = first_all_fit(enough);
            if (const bin b = sure < bin_lists::count ? bins.next(sure) : bin_lists::count; b != bin_lists::count)
                return best_of<FromTop>(b, candidates(b), place_in);
        }
        std::size_t left = Options.probes;
        for (bin b = first; b != bin_lists::count; b = bins.after(b))
            for (node hole = bins.head(b); hole != none; hole = nodes.next(hole)) {
                if (left-- == 0) return {};
                if (const Offset at = place_in(hole); at != nowhere) return {hole, b, at};
            }
        return {};
    }
    /// Returns the lowest place, or the highest if `FromTop`, in the first `left` holes of a bin that is not empty.
    template <bool FromTop, class PlaceIn>
    [[nodiscard]] constexpr place best_of(bin b, unsigned left, PlaceIn place_in) const noexcept {
        place best;
        for (node hole = bins.head(b);;) {
            const Offset at = place_in(hole);
            if (FromTop ? at != nowhere && (best.at == nowhere || at > best.at) : at < best.at) best = {hole, b, at};
            if (--left == 0 || (hole = nodes.next(hole)) == none) return best;
        }
    }

    /// Returns the first hole of a bin that satisfies `wanted`; `none` if no hole does.
    template <class Predicate>
    [[nodiscard]] constexpr node first_hole(bin b, Predicate wanted) const noexcept {
        node hole = bins.head(b);
        while (hole != none && !wanted(hole)) hole = nodes.next(hole);
        return hole;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
