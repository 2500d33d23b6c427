// SPDX-License-Identifier: BSL-1.0
// best_fit: blocks of any size and alignment, given back in any order; neighbouring holes always join.
//
// Holes lie in bins by size (size_bins): small sizes have one each, larger ones share eight to every power of two. A request
// takes the hole at the lowest offset among the first few of the lowest bin that has one for it; a bin of one size gives its
// newest. What is left over on either side stays a hole.
// This text is the whole engine: where its records live is the node store's business (side_table, in_band).
//
//     │ block │  hole  │ block │ block │      hole       │
//                 └──────── bins ─────────────┘
//
// Complexity: allocate and deallocate are O(1) as long as there is a hole in a bin where all fit. When there is none, those
// that may be too small or too badly aligned are looked through, at most `probes`, so that by default a request is refused
// only when no hole fits. Alignments up to the granule's (two words in band) never fail for alignment. `allocate_at`, `remove` and
// `diagnose` look through the holes. Measured on a Cortex-M4, -Os, in an arena of 1 KiB: at most 281 instructions to allocate
// and 158 to deallocate in band, 360 and 245 with a side table; 971 to look in vain for an alignment of 64 (./dev size).
// Memory: 4.1 KiB of bins in band, 2.2 KiB with a side table, 1.1 KiB for 32-bit offsets, and less where the largest extent
// is known: 320 bytes for 4 KiB on a Cortex-M; beside what the node store says. Not synchronised.
#pragma once

#include <allot/core/detail/inlining.hpp>
#include <allot/core/options.hpp>
#include <allot/strategy/detail/in_band.hpp>
#include <allot/strategy/detail/placement.hpp>
#include <allot/strategy/detail/side_table.hpp>
#include <allot/strategy/detail/size_bins.hpp>

#include <utility>

namespace allot {
inline namespace v1 {

namespace detail {
/// The options that best_fit refuses. Outside the class: after a static_assert fails inside it, clang++ knows none of its
/// members and adds errors of its own.
template <best_fit_options Options, class Offset>
struct best_fit_refusals {
    static constexpr bool said = true;
    static_assert(Options.candidates > 0, "allot: best_fit compares at least one candidate");
    static_assert(Options.store != node_store::in_band || Options.records == 0,
                  "allot: records counts the side table's records; an in-band best_fit keeps none");
    static_assert(is_alignment(Options.granule) && Options.granule <= std::numeric_limits<Offset>::max(),
                  "allot: best_fit_options::granule is a power of two that the offsets can tell");
    static_assert(Options.store != node_store::in_band || Options.granule == 1,
                  "allot: the granule of an in-band best_fit is two words");
    static_assert(Options.large <= Options.largest_extent,
                  "allot: best_fit_options::large is beyond the largest extent: no size would be placed from the top");
    static_assert(std::in_range<Offset>(Options.large) || Options.large == no_bound,
                  "allot: best_fit_options::large does not fit the offset type: no size would be placed from the top");
    static_assert(Options.store != node_store::in_band || sizeof(Offset) > 1,
                  "allot: records in band need offsets of 16 bits or more: with 8 bits use node_store::side_table");
};
template <bool BlockFits>
struct best_fit_refuses_all {
    static constexpr bool said = true;
    static_assert(BlockFits,
                  "allot: no block fits in best_fit_options::largest_extent, or in the device's capacity or the growth's "
                  "limit if less: with records beside, a block needs a granule, in band five words");
};
}  // namespace detail

template <best_fit_options Options = best_fit_options{}, std::unsigned_integral Offset = std::size_t,
          class Memory = addressed_memory>
class best_fit {
    // Small functions on the way of every call are marked as always inlined: in a large source file compilers stop to.
    static_assert(detail::best_fit_refusals<Options, Offset>::said);

public:
    static constexpr bool in_band = Options.store == node_store::in_band;

private:
    using nodes_type = std::conditional_t<in_band, detail::in_band_nodes<Offset, Memory>,
                                          detail::side_table_nodes<Offset, Options.records, static_cast<Offset>(Options.granule)>>;
    using node = typename nodes_type::node;
    static constexpr node none = nodes_type::none;
    static constexpr Offset header = nodes_type::header;
    static constexpr Offset last_offset = std::numeric_limits<Offset>::max();
    static constexpr Offset largest_extent =
        Options.largest_extent < last_offset ? static_cast<Offset>(Options.largest_extent) : last_offset;
    static constexpr Offset largest_node = nodes_type::largest_node(largest_extent);
    static_assert(detail::best_fit_refuses_all<largest_node >= nodes_type::min_hole>::said);

public:
    using offset_type = Offset;
    using metadata_type = typename nodes_type::metadata_type;
    using memory_type = typename nodes_type::memory_type;
    using layout_type = basic_layout<Offset>;
    using extent_type = basic_extent<Offset>;
    using allocation_type = basic_allocation<Offset, metadata_type>;
    static constexpr reclaim reclaims = reclaim::any;
    static constexpr bool exact = Options.probes == all_holes;
    static constexpr bool several_extents = true;
    static constexpr std::size_t extent_align = in_band ? alignof(std::max_align_t) : Options.granule;

    constexpr best_fit() noexcept = default;
    constexpr best_fit(best_fit&& other) noexcept
        : nodes_{std::move(other.nodes_)}, bins_{std::exchange(other.bins_, {})} {}
    constexpr best_fit& operator=(best_fit&& other) noexcept {
        nodes_ = std::move(other.nodes_);
        bins_ = std::exchange(other.bins_, {});
        return *this;
    }

    /// Adds offsets to manage. False when the extent wraps, is too small for one hole or larger than `largest_extent`, or no
    /// record is to be had. Precondition: it overlaps none inserted before.
    constexpr bool insert(extent_type where, memory_type memory = {}) noexcept {
        const extent_type usable = usable_of(where);
        if (!usable || !nodes_.room(nodes_type::extent_records)) return false;
        link(nodes_.insert(usable, memory), usable.size);
        return true;
    }

    /// Whether there are records for one more extent and for the holes beside a block in it.
    [[nodiscard]] constexpr bool can_insert() const noexcept { return nodes_.has_room(nodes_type::extent_records + 2); }

    /// Gives an inserted extent up again; false, and nothing changed, unless all of it is free. O(holes of its size).
    constexpr bool remove(extent_type inserted) noexcept {
        const extent_type usable = usable_of(inserted);
        if (!usable) return false;
        const node hole = first_hole(bin_of(usable.size), [&](node n) {
            return nodes_.offset(n) == usable.offset && nodes_.size(n) == usable.size;
        });
        if (hole == none) return false;
        unlink(hole, [&] { return bin_of(usable.size); });
        nodes_.remove(hole);
        return true;
    }

    /// Moves the end of the one extent that was inserted. False, and nothing changed, when a block lies there, the rest of
    /// a hole could not be kept, no record is left, or, with a side table, others were inserted since it was empty.
    constexpr bool resize_extent(extent_type inserted, Offset size) noexcept {
        const extent_type had = usable_of(inserted), now = usable_of({inserted.offset, size});
        if (!had || !now || !nodes_.knows_end()) return false;
        const node hole = nodes_.last_hole(had);
        const Offset size_of_hole = hole == none ? 0 : nodes_.size(hole);
        if (now.size > had.size) {
            const auto more = static_cast<Offset>(now.size - had.size);
            if (hole == none && (more < nodes_type::min_hole || !nodes_.room(1))) return false;
            if (hole != none) unlink(hole, [&] { return bin_of(size_of_hole); });
            link(nodes_.extend(had, more), static_cast<Offset>(size_of_hole + more));
        } else if (now.size < had.size) {
            const auto less = static_cast<Offset>(had.size - now.size);
            if (size_of_hole < less || !places::is_hole_or_nothing(static_cast<Offset>(size_of_hole - less))) return false;
            unlink(hole, [&] { return bin_of(size_of_hole); });
            if (const node left = nodes_.shorten(had, less); left != none)
                link(left, static_cast<Offset>(size_of_hole - less));
        }
        return true;
    }
    /// The least size that `resize_extent` takes: the extent ends with its last block. 0 when nothing lives in the extent,
    /// which can be removed.
    [[nodiscard]] constexpr Offset least_size(extent_type inserted) const noexcept {
        const extent_type had = usable_of(inserted);
        if (!had) return inserted.size;
        const node hole = nodes_.last_hole(had);
        if (hole != none && nodes_.size(hole) == had.size) return 0;
        const Offset end = hole != none ? nodes_.offset(hole) : had.end();
        return static_cast<Offset>(end + nodes_type::tail - inserted.offset);
    }

    /// The least size of the one extent with which a request fits at its end; 0 when no size is large enough.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset need = size_of_node(wanted.size);
        if (!had || need == 0 || !is_alignment(wanted.align) || !nodes_.knows_end()) return 0;
        const Offset low = end_of_blocks(had);
        if constexpr (exact) return size_up_to(inserted, places::lowest(low, wanted.align), need);
        // Where not every hole is probed, one that all of a bin's are as large as is found.
        const Offset enough = places::enough(need, wanted.align);
        Offset sure = 0;
        if (!checked_add<Offset>(enough, enough / 8 + nodes_type::granule, sure)) return 0;
        return size_up_to(inserted, low, sure);
    }
    /// Whether there are records for that: for the hole at the end, and for those that stay in front and behind.
    [[nodiscard]] constexpr bool can_extend(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset low = end_of_blocks(had);
        return nodes_.has_room((low == had.end() ? 1U : 0U) + (places::lowest(low, wanted.align) != low ? 1U : 0U) + 1U);
    }
    /// The same for a `resize` of the last block.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, allocation_type allocation, Offset size) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset need = size_of_node(size);
        const node held = nodes_.find(allocation), above = nodes_.hole_after(held);
        const auto end = static_cast<Offset>(nodes_.offset(held) + nodes_.size(held));
        if (need == 0) return 0;
        if (above == none ? end != had.end() || !nodes_.has_room(1) : above != nodes_.last_hole(had)) return 0;
        return size_up_to(inserted, nodes_.offset(held), need);
    }

    template <bool Small = detail::small_code>
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        const Offset need = size_of_node(wanted.size);
        if (need == 0 || !is_alignment(wanted.align)) return {};
        if constexpr (Small) return give<Small>(find<Small>(wanted, need), need, wanted.size);  // which finds the same
        if (!is_anywhere(wanted)) [[unlikely]] return allocate_placed<Small>(wanted, need);
        // What is asked for most, without the detours of `find`: a hole of just this size, or the front of a larger one.
        const bin own = bin_of(need);
        if (bins::is_exact(own) && bins_.head(own) != none) {
            const node hole = bins_.head(own);
            pop(own, hole);
            nodes_.mark_used(hole, need);
            return allocation_of_node(hole, wanted.size);
        }
        bin from = bins_.next(own);
        if (from == bins::count) [[unlikely]] return {};
        node hole = bins::is_exact(from) ? bins_.head(from) : lowest_of(from, need);
        if (hole == none) {
            if (from = bins_.after(own); from == bins::count) [[unlikely]] return allocate_placed<Small>(wanted, need);
            hole = lowest_of(from, need);
        }
        return cut_front(hole, from, nodes_.size(hole), need, wanted.size);
    }

    constexpr void deallocate(allocation_type allocation) noexcept {
        node freed = nodes_.find(allocation);
        Offset size = nodes_.size(freed);
        const node below = nodes_.hole_before(freed);
        size = static_cast<Offset>(size + absorb_above(freed));
        if (below != none) {
            const Offset more = nodes_.size(below);
            unlink(below, [&] { return bin_of(more); });
            nodes_.join(below, freed);
            size = static_cast<Offset>(size + more);
            freed = below;
        }
        link(freed, size);
    }

    /// Gives exactly this extent, if it is free. Its offset is a multiple of the granule. In band, the offset is a multiple
    /// of two words, the word before it is free too, for the header, and what is free in front of that is nothing or at
    /// least four words: less is no hole. O(holes).
    constexpr allocation_type allocate_at(extent_type wanted) noexcept {
        return give(around(wanted), size_of_node(wanted.size), wanted.size);
    }

    /// Why `allocate_at` would refuse. O(holes).
    [[nodiscard]] constexpr diagnosis diagnose_at(extent_type wanted) const noexcept {
        if (wanted.size == 0) return {refusal::empty_layout};
        const place found = around(wanted);
        if (found.hole == none) return {refusal::not_free};
        return {has_room(found, size_of_node(wanted.size)) ? refusal::none : refusal::out_of_records};
    }

    /// Grows or shrinks an allocation where it stands; afterwards its holder gives it back with the new size.
    /// False, and nothing changed, when the space above is taken, `size` is 0 or no record is left.
    constexpr bool resize(allocation_type allocation, Offset size) noexcept {
        const Offset need = size_of_node(size);
        const node held = nodes_.find(allocation);
        const Offset had = nodes_.size(held);
        if (need == 0) return false;
        const node above = nodes_.hole_after(held);
        if (need > had) {
            if (above == none || nodes_.size(above) < need - had) return false;
        } else if (above == none) {  // a hole above gives its record to the rest
            if (had - need < nodes_type::min_hole) return true;
            if (!nodes_.room(1)) return false;
        }
        keep_front(held, static_cast<Offset>(had + absorb_above(held)), need);
        return true;
    }

    // For `deferred`: a block in use may be marked as waiting, where a record in band has a bit for it.
    static constexpr bool can_wait = in_band && sizeof(Offset) > 2;
    ALLOT_INLINE void set_waiting(allocation_type allocation) noexcept
        requires can_wait
    {
        nodes_.set_waiting(nodes_.find(allocation));
    }
    ALLOT_INLINE void clear_waiting(allocation_type allocation) noexcept
        requires can_wait
    {
        nodes_.clear_waiting(nodes_.find(allocation));
    }
    /// The first block above, with all of its bytes, when it waits. A hole may lie between.
    [[nodiscard]] allocation_type waiting_above(allocation_type allocation) const noexcept
        requires can_wait
    {
        const node held = nodes_.find(allocation), hole = nodes_.hole_after(held);
        const node above = nodes_.waiting_after(hole == none ? held : hole);
        return above == none ? allocation_type{} : allocation_of_node(above, static_cast<Offset>(nodes_.size(above) - header));
    }

    /// What the holder of an allocation may use: at least the size asked for.
    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept {
        return nodes_.size(nodes_.find(allocation)) - header;
    }

    /// Whether the records in band around an allocation are as they were written. `inside`: the extent in which it lies.
    [[nodiscard]] bool is_sound(allocation_type allocation, extent_type inside) const noexcept
        requires in_band
    {
        return nodes_.is_sound(nodes_.find(allocation), inside);
    }

    /// Why `allocate` would refuse. O(holes).
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        Offset free = 0, largest = 0;
        for (bin b = bins_.next(0); b != bins::count; b = bins_.after(b)) {
            for (node n = bins_.head(b); n != none; n = nodes_.next(n)) {
                const Offset usable = nodes_.size(n) - header;
                free = static_cast<Offset>(free + usable);
                if (usable > largest) largest = usable;
            }
        }
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (const Offset need = size_of_node(wanted.size); need != 0)
            if (const place found = find(wanted, need); found.hole != none)
                return {has_room(found, need) ? refusal::none : refusal::out_of_records, largest};
        return {free < wanted.size ? refusal::exhausted : refusal::fragmented, largest};
    }

    /// The size of the smallest extent that holds `count` such allocations at once, when it starts at a multiple of
    /// the layout's alignment and of two words; 0 when no extent does.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        if (!each.is_valid() || count == 0) return 0;
        const Offset need = size_of_node(each.size);
        const Offset first = places::lowest(align_up<Offset>(header, nodes_type::granule) - header, each.align);
        Offset second = 0, total = 0;
        if (need == 0 || first == nowhere || !checked_add<Offset>(first, need, second)) return 0;
        if (count > 1) {
            // From the top, a block takes in what is too small for a hole behind it; from below, it keeps off further.
            if (!is_large(each.size)) {
                second = places::lowest(second, each.align);
            } else if (!checked_align_up<Offset>(need, each.align, second) || !checked_add<Offset>(first, second, second)) {
                return 0;
            }
            if (second == nowhere || !checked_multiply<Offset>(second - first, count - 1, total)) return 0;
        }
        if (!checked_add<Offset>(total, first, total) || !checked_add<Offset>(total, need, total) ||
            !checked_add<Offset>(total, nodes_type::tail, total))
            return 0;
        return total > largest_extent ? 0 : total;
    }

private:
    /// Bytes that a node takes for a block of `size`; 0 when no extent has them.
    [[nodiscard]] static constexpr Offset size_of_node(Offset size) noexcept {
        return nodes_type::template node_size<largest_node>(size);
    }
    /// The part of an extent that can be cut; empty for one that wraps, is too small for a hole or larger than allowed.
    [[nodiscard]] static constexpr extent_type usable_of(extent_type where) noexcept {
        if (where.size > last_offset - where.offset || where.size > largest_extent) return {};
        return nodes_type::usable(where);
    }

    using bins = detail::size_bins<Offset, node, none, largest_node / nodes_type::granule>;
    using bin = typename bins::bin;
    using places = detail::placement<nodes_type, Offset>;
    static constexpr Offset nowhere = places::nowhere;

    /// Where the hole at the end of an extent begins; its end, when there is none.
    [[nodiscard]] constexpr Offset end_of_blocks(extent_type usable) const noexcept {
        const node hole = nodes_.last_hole(usable);
        return hole == none ? usable.end() : nodes_.offset(hole);
    }
    /// The size of an extent that has a node of `need` bytes at `at`; 0 when that wraps, or is too large.
    [[nodiscard]] static constexpr Offset size_up_to(extent_type where, Offset at, Offset need) noexcept {
        Offset end = 0;
        if (!checked_add<Offset>(at, need, end) || !checked_add<Offset>(end, nodes_type::tail, end)) return 0;
        // A block cannot reach an end that is no multiple of the granule.
        if (!checked_align_up<Offset>(end, nodes_type::granule, end) || end - where.offset > largest_extent) return 0;
        return static_cast<Offset>(end - where.offset);
    }

    /// Where a node is to be cut out of a hole.
    struct place {
        node hole = none;
        bin from = 0;       // the hole's bin
        Offset at = nowhere;
    };

    [[nodiscard]] static constexpr bin bin_of(Offset size) noexcept { return bins::of(size / nodes_type::granule); }

    [[nodiscard]] static constexpr bool is_large(Offset size) noexcept {
        return Options.large != 0 && size >= Options.large;
    }
    /// Whether any hole that is large enough serves it, at its front.
    [[nodiscard]] static constexpr bool is_anywhere(layout_type wanted) noexcept {
        return wanted.align <= nodes_type::granule && !is_large(wanted.size);
    }

    /// The lowest of the first few holes of a bin that are large enough; `none` when none of them is.
    [[nodiscard]] ALLOT_INLINE constexpr node lowest_of(bin b, Offset need) const noexcept {
        node best = none;
        Offset lowest = nowhere;
        node hole = bins_.head(b);
        for (unsigned left = Options.candidates;;) {
            if (nodes_.size(hole) >= need && nodes_.offset(hole) < lowest) {
                best = hole;
                lowest = nodes_.offset(hole);
            }
            if (--left == 0 || (hole = nodes_.next(hole)) == none) return best;
        }
    }

    /// Where a node is best cut out.
    template <bool Small = detail::small_code>
    [[nodiscard]] constexpr place find(layout_type wanted, Offset need) const noexcept {
        const bin first = bins_.next(bin_of(need));
        if (!Small && first == bins::count) return {};  // otherwise `search` says so
        const auto place_in = [&](node hole, auto choose) {
            const Offset size = nodes_.size(hole), low = nodes_.offset(hole);
            if (size < need) return nowhere;
            const auto high = static_cast<Offset>(low + (size - need));
            const Offset at = choose(low, high);
            return at > high ? nowhere : at;
        };
        const bool anywhere = Small && is_anywhere(wanted);
        const Offset enough = anywhere ? need : places::enough(need, wanted.align);
        const auto candidates = [&](bin b) { return anywhere && bins::is_exact(b) ? 1 : Options.candidates; };
        if (is_large(wanted.size))
            return search<Small, true>(first, enough, candidates, [&](node hole) {
                return place_in(hole, [&](Offset low, Offset high) { return places::highest(low, high, wanted.align); });
            });
        return search<Small, false>(first, enough, candidates, [&](node hole) {
            return place_in(hole, [&](Offset low, Offset) { return places::lowest(low, wanted.align); });
        });
    }

    /// The first bin all of whose holes are of this size or more; perhaps none that is there.
    [[nodiscard]] static constexpr bin first_all_fit(Offset size) noexcept {
        return bin_of(size) + (bins::is_exact(bin_of(size)) ? 0 : 1);
    }

    /// Looks from the bin `first` on, which holds something, or is `count`. `place_in` says where in a hole the node would
    /// begin, or nowhere; a hole of the size `enough` has a place. `candidates`: how many holes of a bin are compared.
    template <bool Small, bool FromTop, class Candidates, class PlaceIn>
    [[nodiscard]] constexpr place search(bin first, Offset enough, Candidates candidates, PlaceIn place_in) const noexcept {
        if constexpr (Small) {
            const bin sure = first_all_fit(enough);
            for (bin b = first; b != bins::count; b = bins_.next(sure)) {
                if (const place found = best_of<FromTop>(b, candidates(b), place_in); found.hole != none) return found;
                if (b >= sure || sure >= bins::count) break;
            }
        } else {
            if (const place found = best_of<FromTop>(first, candidates(first), place_in); found.hole != none) return found;
            const bin sure = first_all_fit(enough);
            if (const bin b = sure < bins::count ? bins_.next(sure) : bins::count; b != bins::count)
                return best_of<FromTop>(b, candidates(b), place_in);
        }
        std::size_t left = Options.probes;
        for (bin b = first; b != bins::count; b = bins_.after(b))
            for (node hole = bins_.head(b); hole != none; hole = nodes_.next(hole)) {
                if (left-- == 0) return {};
                if (const Offset at = place_in(hole); at != nowhere) return {hole, b, at};
            }
        return {};
    }
    /// The lowest, or the highest, place in the first `left` holes of a bin that holds some.
    template <bool FromTop, class PlaceIn>
    [[nodiscard]] constexpr place best_of(bin b, unsigned left, PlaceIn place_in) const noexcept {
        place best;
        for (node hole = bins_.head(b);;) {
            const Offset at = place_in(hole);
            if (FromTop ? at != nowhere && (best.at == nowhere || at > best.at) : at < best.at) best = {hole, b, at};
            if (--left == 0 || (hole = nodes_.next(hole)) == none) return best;
        }
    }

    /// The place of exactly this extent, with the header in front of it.
    [[nodiscard]] constexpr place around(extent_type wanted) const noexcept {
        const Offset need = size_of_node(wanted.size);
        if (need == 0 || wanted.offset < header || wanted.offset % nodes_type::granule != 0) return {};
        const extent_type cut{static_cast<Offset>(wanted.offset - header), need};
        for (bin b = bins_.next(bin_of(need)); b != bins::count; b = bins_.after(b)) {
            const node hole = first_hole(b, [&](node n) {
                return extent_type{nodes_.offset(n), nodes_.size(n)}.contains(cut) &&
                       places::is_hole_or_nothing(static_cast<Offset>(cut.offset - nodes_.offset(n)));
            });
            if (hole != none) return {hole, b, cut.offset};
        }
        return {};
    }

    /// The first hole of a bin for which `wanted` is true; `none` when it is true for none.
    template <class Predicate>
    [[nodiscard]] constexpr node first_hole(bin b, Predicate wanted) const noexcept {
        node hole = bins_.head(b);
        while (hole != none && !wanted(hole)) hole = nodes_.next(hole);
        return hole;
    }

    /// Whether there are records for the holes that would be left in front and behind.
    [[nodiscard]] constexpr bool has_room(place found, Offset need) const noexcept {
        const Offset low = nodes_.offset(found.hole), end = static_cast<Offset>(low + nodes_.size(found.hole));
        return nodes_.has_room((found.at != low ? 1U : 0U) + (end - found.at - need >= nodes_type::min_hole ? 1U : 0U));
    }

    [[nodiscard]] constexpr allocation_type allocation_of_node(node n, Offset size) const noexcept {
        return {{static_cast<Offset>(nodes_.offset(n) + header), size}, nodes_.metadata(n)};
    }
    /// Apart, so that `allocate` needs no registers for it.
    template <bool Small>
    [[gnu::noinline]] constexpr allocation_type allocate_placed(layout_type wanted, Offset need) noexcept {
        return give<Small>(find<Small>(wanted, need), need, wanted.size);
    }
    /// Cuts a used node out of a hole; what is left on either side stays a hole. Nothing without records for these.
    template <bool Small = detail::small_code>
    constexpr allocation_type give(place found, Offset need, Offset size) noexcept {
        const node hole = found.hole;
        if (hole == none) return {};
        const Offset had = nodes_.size(hole);
        const auto front = static_cast<Offset>(found.at - nodes_.offset(hole)), behind = static_cast<Offset>(had - front - need);
        // In band, what is left behind becomes the newest hole of its bin either way.
        if constexpr (!Small || !in_band)
            if (front == 0) return cut_front(hole, found.from, had, need, size);
        if (!nodes_.room(behind >= nodes_type::min_hole ? 2 : 1)) return {};
        unlink(hole, [&] { return found.from; });
        node block = hole;
        if (front != 0) {
            block = nodes_.split(hole, front);
            link(hole, front);
        }
        keep_front(block, static_cast<Offset>(need + behind), need);
        return allocation_of_node(block, size);
    }
    /// The same from the front of a hole of the size `had`.
    ALLOT_INLINE constexpr allocation_type cut_front(node hole, bin from, Offset had, Offset need, Offset size) noexcept {
        const auto behind = static_cast<Offset>(had - need);
        if (behind < nodes_type::min_hole) {
            unlink(hole, [&] { return from; });
            nodes_.mark_used(hole, had);
            return allocation_of_node(hole, size);
        }
        if (!nodes_.room(1)) return {};
        const bin to = bin_of(behind);
        const auto [block, rest] = nodes_.cut_front(hole, need, behind);
        if (rest != hole || to != from) {
            unlink(hole, [&] { return from; });
            put(rest, to);
        }
        return allocation_of_node(block, size);
    }
    /// Marks a node that is no hole as used, and makes a hole of what is over `need`.
    constexpr void keep_front(node n, Offset size, Offset need) noexcept {
        const auto left = static_cast<Offset>(size - need);
        if (left < nodes_type::min_hole) return nodes_.mark_used(n, size);
        const node rest = nodes_.split(n, need);
        nodes_.mark_used(n, need);
        link(rest, left);
    }
    /// Takes in the hole above, and says how large that was.
    ALLOT_INLINE constexpr Offset absorb_above(node n) noexcept {
        const node above = nodes_.hole_after(n);
        if (above == none) return 0;
        const Offset size = nodes_.size(above);
        unlink(above, [&] { return bin_of(size); });
        nodes_.join(n, above);
        return size;
    }

    ALLOT_INLINE constexpr void link(node hole, Offset size) noexcept {
        nodes_.mark_hole(hole, size);
        put(hole, bin_of(size));
    }
    // The holes of a bin are a list, newest first.
    ALLOT_INLINE constexpr void put(node hole, bin to) noexcept {
        const node second = bins_.head(to);
        nodes_.set_next(hole, second);
        nodes_.set_prev(hole, none);
        bins_.push(to, hole, second);
        if (second != none) nodes_.set_prev(second, hole);
    }
    /// Precondition: the hole is the head of this bin.
    ALLOT_INLINE constexpr void pop(bin from, node hole) noexcept {
        const node next = nodes_.next(hole);
        bins_.pop(from, next);
        if (next != none) nodes_.set_prev(next, none);
    }
    /// `its_bin` is asked when the hole is the head.
    template <bool Small = detail::small_code, class Bin>
    ALLOT_INLINE constexpr void unlink(node hole, Bin its_bin) noexcept {
        if constexpr (Small && in_band) return unlink(hole);
        const node next = nodes_.next(hole), prev = nodes_.prev(hole);
        if (next != none) nodes_.set_prev(next, prev);
        if (prev != none) nodes_.set_next(prev, next);
        else bins_.pop(its_bin(), next);
    }
    /// The same for all who ask, by the size that the hole's record tells.
    constexpr void unlink(node hole) noexcept {
        const node next = nodes_.next(hole), prev = nodes_.prev(hole);
        if (next != none) nodes_.set_prev(next, prev);
        if (prev != none) nodes_.set_next(prev, next);
        else bins_.pop(bin_of(nodes_.size(hole)), next);
    }

    nodes_type nodes_;
    bins bins_;
};

/// In band where the host has pointers and neither a count of records nor a granule is asked for. In band over several
/// regions, holes are not compared by offset: which region lies lower is the system's choice, and results are to be the
/// same everywhere.
template <best_fit_options Options, class Offset, class Memory, memory_traits Where>
struct strategy_in<best_fit<Options, Offset, Memory>, Where> {
    static_assert(Options.largest_extent >= Where.largest || !(Where.grows || Where.extends),
                  "allot: this arena grows beyond best_fit_options::largest_extent: say growth_options::limit instead, by "
                  "which the bins are bounded as well");
    static_assert(Options.largest_extent >= Where.largest || Where.grows || Where.extends || Where.largest == no_bound,
                  "allot: this device's memory is larger than best_fit_options::largest_extent, and is refused as a whole: "
                  "leave that option out, an arena knows its device's");
    static constexpr best_fit_options settle(best_fit_options options) noexcept {
        if (options.store == node_store::automatic)
            options.store = Where.host_pointers && options.records == 0 && options.granule == 1 ? node_store::in_band
                                                                                                 : node_store::side_table;
        if (options.store == node_store::in_band && Where.grows) options.candidates = 1;
        if (Where.largest < options.largest_extent) options.largest_extent = Where.largest;
        // A block that outgrows its place leaves a hole: where small blocks settle there, its memory grows by each move.
        const bool moves = Where.extends && Where.host_pointers && options.largest_extent >= 128_KiB;
        if (options.large == 0 && moves) options.large = 128_KiB;
        else if (options.large == no_bound) options.large = 0;
        return options;
    }
    using type = best_fit<settle(Options), Offset, Memory>;
};

static_assert(strategy<best_fit<>> && positional<best_fit<>> && resizable<best_fit<>> && removable<best_fit<>> &&
              extendable<best_fit<>>);
static_assert(!resettable<best_fit<>>);

}  // namespace v1
}  // namespace allot
