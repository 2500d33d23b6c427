// SPDX-License-Identifier: BSL-1.0
// best_fit: a strategy for blocks of any size and alignment, which are freed in any order. Adjacent holes always join.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 16_MiB};
//     auto block = memory.allocate({.size = 3000, .align = 64});
//     memory.deallocate(block);
//
//     │ block │  hole  │ block │ block │      hole       │
//                 └──────── bins ─────────────┘
//
// Holes are segregated into bins by size (size_bins.hpp). Every small size has its own bin; above, eight bins share a
// power of two. A request searches the lowest bin that has a suitable hole. It takes the hole at the lowest offset
// among the first few holes of that bin, or the newest hole of a bin of one size. The rest of the hole on either side
// remains a hole. A node store keeps the records: in band (in_band.hpp) or in a side table (side_table.hpp).
//
// When to use: blocks of many sizes with independent lifetimes, on any device.
//
// When not to use: blocks of one size (use pool), or blocks that are freed together (bump) or in a known order (stack,
// ring). These strategies take fewer instructions and less memory. best_fit has no constant bound on the time of a
// request unless `best_fit_options::probes` limits the number of holes that a search visits.
//
// Complexity: O(1) for `allocate` and `deallocate` if a bin whose holes all fit is not empty. Otherwise `allocate`
// visits the holes that may be too small or misaligned, at most `probes`. By default, a request fails only if no hole
// fits. An alignment up to the granule (two words in band) is always satisfied. `allocate_at`, `remove` and `diagnose`
// visit the holes. Measured on a Cortex-M4 at -Os in an arena of 1 KiB: at most 281 instructions to allocate and 158 to
// deallocate in band, 360 and 245 with a side table, and 971 to search in vain for an alignment of 64 (./dev size).
//
// Memory: 4.1 KiB of bins in band, 2.2 KiB with a side table, and 1.1 KiB for 32-bit offsets. The bins are smaller if
// the largest extent is known: 320 bytes for 4 KiB on a Cortex-M. The node store adds its records.
//
// Thread safety: not synchronized.
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
// Rejects invalid options. The assertions are outside of best_fit because clang++ discards the members of a class in
// which an assertion failed and then reports further errors.
template <best_fit_options Options, class Offset>
struct best_fit_refusals {
    static constexpr bool said = true;
    static_assert(Options.candidates > 0, "allot: best_fit_options::candidates must be at least 1");
    static_assert(Options.store != node_store::in_band || Options.records == 0,
                  "allot: best_fit_options::records is for a side table: leave it out for records in band");
    static_assert(is_alignment(Options.granule) && Options.granule <= std::numeric_limits<Offset>::max(),
                  "allot: best_fit_options::granule must be a power of two that fits the offset type");
    static_assert(Options.store != node_store::in_band || Options.granule == 1,
                  "allot: best_fit_options::granule is for a side table: leave it out for records in band, where it is "
                  "two words");
    static_assert(Options.large <= Options.largest_extent,
                  "allot: best_fit_options::large must not be larger than best_fit_options::largest_extent");
    static_assert(std::in_range<Offset>(Options.large) || Options.large == no_bound,
                  "allot: best_fit_options::large does not fit the offset type: use a smaller size or a wider offset "
                  "type");
    static_assert(Options.store != node_store::in_band || sizeof(Offset) > 1,
                  "allot: records in band need offsets of at least 16 bits: use node_store::side_table with 8 bits");
};
template <bool BlockFits>
struct best_fit_refuses_all {
    static constexpr bool said = true;
    static_assert(BlockFits,
                  "allot: no block fits in the smallest of best_fit_options::largest_extent, the device's capacity and "
                  "the growth's limit: a block needs one granule with a side table and five words in band");
};
}  // namespace detail

/// Strategy that allocates from the smallest suitable bin of holes and joins adjacent holes.
template <best_fit_options Options = best_fit_options{}, std::unsigned_integral Offset = std::size_t,
          class Memory = addressed_memory>
class best_fit {
    // ALLOT_INLINE marks small functions on the path of every call, because compilers stop inlining in large source
    // files.
    static_assert(detail::best_fit_refusals<Options, Offset>::said);

public:
    static constexpr bool in_band = Options.store == node_store::in_band;  ///< Whether records are kept in the memory.

private:
    using nodes_type =
        std::conditional_t<in_band, detail::in_band_nodes<Offset, Memory>,
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
    using offset_type = Offset;  ///< Unsigned integer type of offsets and sizes.
    using metadata_type =
        typename nodes_type::metadata_type;                ///< Metadata of a block: empty in band, otherwise an index.
    using memory_type = typename nodes_type::memory_type;  ///< Access to the managed memory for records in band.
    using layout_type = basic_layout<Offset>;              ///< Size and alignment of a request.
    using extent_type = basic_extent<Offset>;              ///< Range of offsets.
    using allocation_type =
        basic_allocation<Offset, metadata_type>;                ///< Result of an allocation: its extent and metadata.
    static constexpr reclaim reclaims = reclaim::any;           ///< Blocks are freed in any order.
    static constexpr bool exact = Options.probes == all_holes;  ///< Whether a request fails only if no hole fits.
    static constexpr bool several_extents = true;               ///< Several extents are managed.
    /// Extent alignment that `bytes_for` assumes.
    static constexpr std::size_t extent_align = in_band ? alignof(std::max_align_t) : Options.granule;

    /// Constructs a strategy without offsets. Every request fails until `insert`.
    constexpr best_fit() noexcept = default;
    /// Moves the state. A moved-from best_fit has no offsets.
    constexpr best_fit(best_fit&& other) noexcept
        : nodes_{std::move(other.nodes_)}, bins_{std::exchange(other.bins_, {})} {}
    /// Moves the state. A moved-from best_fit has no offsets.
    constexpr best_fit& operator=(best_fit&& other) noexcept {
        nodes_ = std::move(other.nodes_);
        bins_ = std::exchange(other.bins_, {});
        return *this;
    }

    /// Adds an extent. Returns false if the extent wraps, is too small for a hole or is larger than `largest_extent`,
    /// or if no record is available. Precondition: the extent does not overlap an inserted one.
    constexpr bool insert(extent_type where, memory_type memory = {}) noexcept {
        const extent_type usable = usable_of(where);
        if (!usable || !nodes_.room(nodes_type::extent_records)) return false;
        link(nodes_.insert(usable, memory), usable.size);
        return true;
    }

    /// Returns true if records are available for one more extent and for the holes on both sides of a block in it.
    [[nodiscard]] constexpr bool can_insert() const noexcept { return nodes_.has_room(nodes_type::extent_records + 2); }

    /// Removes an inserted extent. Returns false and changes nothing if a block is allocated in it. O(holes in its
    /// bin).
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

    /// Moves the end of the inserted extent to `size`. Returns false and changes nothing if a block is in the way, if
    /// the rest of a hole would be too small to be recorded, or if no record is available. With a side table, also
    /// returns false if more than one extent was inserted since the table was empty.
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
            if (size_of_hole < less || !places::is_hole_or_nothing(static_cast<Offset>(size_of_hole - less)))
                return false;
            unlink(hole, [&] { return bin_of(size_of_hole); });
            if (const node left = nodes_.shorten(had, less); left != none)
                link(left, static_cast<Offset>(size_of_hole - less));
        }
        return true;
    }
    /// Returns the size with which the extent ends with its last block; 0 if the extent has no block and can be
    /// removed.
    [[nodiscard]] constexpr Offset least_size(extent_type inserted) const noexcept {
        const extent_type had = usable_of(inserted);
        if (!had) return inserted.size;
        const node hole = nodes_.last_hole(had);
        if (hole != none && nodes_.size(hole) == had.size) return 0;
        const Offset end = hole != none ? nodes_.offset(hole) : had.end();
        return static_cast<Offset>(end + nodes_type::tail - inserted.offset);
    }

    /// Returns the smallest size of the extent with which a request fits at its end; 0 if no size suffices.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset need = size_of_node(wanted.size);
        if (!had || need == 0 || !is_alignment(wanted.align) || !nodes_.knows_end()) return 0;
        const Offset low = end_of_blocks(had);
        if constexpr (exact) return size_up_to(inserted, places::lowest(low, wanted.align), need);
        // A search with limited probes finds a hole only if all holes of its bin are large enough.
        const Offset enough = places::enough(need, wanted.align);
        Offset sure = 0;
        if (!checked_add<Offset>(enough, enough / 8 + nodes_type::granule, sure)) return 0;
        return size_up_to(inserted, low, sure);
    }
    /// Returns true if records are available for an extension by `size_for(inserted, wanted)`: for the hole at the end
    /// and for the holes that remain before and after the block.
    [[nodiscard]] constexpr bool can_extend(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset low = end_of_blocks(had);
        return nodes_.has_room((low == had.end() ? 1U : 0U) + (places::lowest(low, wanted.align) != low ? 1U : 0U) +
                               1U);
    }
    /// Returns the smallest size of the extent with which the last block can be resized to `size`; 0 if no size
    /// suffices, if the block is not the last one, or if no record is available.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, allocation_type allocation,
                                            Offset size) const noexcept {
        const extent_type had = usable_of(inserted);
        const Offset need = size_of_node(size);
        const node held = nodes_.find(allocation), above = nodes_.hole_after(held);
        const auto end = static_cast<Offset>(nodes_.offset(held) + nodes_.size(held));
        if (need == 0) return 0;
        if (above == none ? end != had.end() || !nodes_.has_room(1) : above != nodes_.last_hole(had)) return 0;
        return size_up_to(inserted, nodes_.offset(held), need);
    }

    /// Allocates a block. Returns an empty allocation if the layout is invalid, if no suitable hole is found, or if no
    /// record is available. `Small` selects smaller code, which finds the same holes.
    template <bool Small = detail::small_code>
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        const Offset need = size_of_node(wanted.size);
        if (need == 0 || !is_alignment(wanted.align)) return {};
        if constexpr (Small) return give<Small>(find<Small>(wanted, need), need, wanted.size);
        if (!is_anywhere(wanted)) [[unlikely]]
            return allocate_placed<Small>(wanted, need);
        // Fast path for common requests, without `find`: a hole of exactly this size, or the front of a larger hole.
        const bin own = bin_of(need);
        if (bins::is_exact(own) && bins_.head(own) != none) {
            const node hole = bins_.head(own);
            pop(own, hole);
            nodes_.mark_used(hole, need);
            return allocation_of_node(hole, wanted.size);
        }
        bin from = bins_.next(own);
        if (from == bins::count) [[unlikely]]
            return {};
        node hole = bins::is_exact(from) ? bins_.head(from) : lowest_of(from, need);
        if (hole == none) {
            if (from = bins_.after(own); from == bins::count) [[unlikely]]
                return allocate_placed<Small>(wanted, need);
            hole = lowest_of(from, need);
        }
        return cut_front(hole, from, nodes_.size(hole), need, wanted.size);
    }

    /// Frees a block and joins the hole with its neighbors.
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

    /// Allocates exactly this extent. Returns an empty allocation if the extent is not free, or if its offset is not a
    /// multiple of the granule. In band, the granule is two words, the word before the offset must be free for the
    /// header, and the free bytes before that word must be 0 or at least four words, which is the smallest hole.
    /// O(holes).
    constexpr allocation_type allocate_at(extent_type wanted) noexcept {
        return give(around(wanted), size_of_node(wanted.size), wanted.size);
    }

    /// Returns the reason for which `allocate_at(wanted)` would fail. O(holes).
    [[nodiscard]] constexpr diagnosis diagnose_at(extent_type wanted) const noexcept {
        if (wanted.size == 0) return {refusal::empty_layout};
        const place found = around(wanted);
        if (found.hole == none) return {refusal::not_free};
        return {has_room(found, size_of_node(wanted.size)) ? refusal::none : refusal::out_of_records};
    }

    /// Resizes a block in place. Afterwards, the caller passes the allocation with the new size. Returns false and
    /// changes nothing if the space above is too small, if `size` is 0, or if no record is available.
    constexpr bool resize(allocation_type allocation, Offset size) noexcept {
        const Offset need = size_of_node(size);
        const node held = nodes_.find(allocation);
        const Offset had = nodes_.size(held);
        if (need == 0) return false;
        const node above = nodes_.hole_after(held);
        if (need > had) {
            if (above == none || nodes_.size(above) < need - had) return false;
        } else if (above == none) {  // otherwise the rest takes the record of the hole above
            if (had - need < nodes_type::min_hole) return true;
            if (!nodes_.room(1)) return false;
        }
        keep_front(held, static_cast<Offset>(had + absorb_above(held)), need);
        return true;
    }

    /// Whether a block in use can be marked as waiting, for `deferred`: a record in band has a bit for the mark.
    static constexpr bool can_wait = in_band && sizeof(Offset) > 2;
    /// Marks a block as waiting.
    ALLOT_INLINE void set_waiting(allocation_type allocation) noexcept
        requires can_wait
    {
        nodes_.set_waiting(nodes_.find(allocation));
    }
    /// Clears the mark of a block.
    ALLOT_INLINE void clear_waiting(allocation_type allocation) noexcept
        requires can_wait
    {
        nodes_.clear_waiting(nodes_.find(allocation));
    }
    /// Returns the first block above with its full capacity if that block is marked as waiting, otherwise an empty
    /// allocation. A hole may separate the two blocks.
    [[nodiscard]] allocation_type waiting_above(allocation_type allocation) const noexcept
        requires can_wait
    {
        const node held = nodes_.find(allocation), hole = nodes_.hole_after(held);
        const node above = nodes_.waiting_after(hole == none ? held : hole);
        return above == none ? allocation_type{}
                             : allocation_of_node(above, static_cast<Offset>(nodes_.size(above) - header));
    }

    /// Returns the usable bytes of a block: at least its size.
    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept {
        return nodes_.size(nodes_.find(allocation)) - header;
    }

    /// Returns true if the records in band around a block are intact. `inside` is the extent that contains the block.
    [[nodiscard]] bool is_sound(allocation_type allocation, extent_type inside) const noexcept
        requires in_band
    {
        return nodes_.is_sound(nodes_.find(allocation), inside);
    }

    /// Returns the reason for which `allocate(wanted)` would fail. O(holes).
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

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does.
    /// Precondition: the extent's offset is a multiple of `each.align` and of `extent_align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        if (!each.is_valid() || count == 0) return 0;
        const Offset need = size_of_node(each.size);
        const Offset first = places::lowest(align_up<Offset>(header, nodes_type::granule) - header, each.align);
        Offset second = 0, total = 0;
        if (need == 0 || first == nowhere || !checked_add<Offset>(first, need, second)) return 0;
        if (count > 1) {
            // From the top, a block includes the bytes after it that are too small for a hole. From below, it starts
            // further up, so that the bytes before it are 0 or enough for a hole.
            if (!is_large(each.size)) {
                second = places::lowest(second, each.align);
            } else if (!checked_align_up<Offset>(need, each.align, second) ||
                       !checked_add<Offset>(first, second, second)) {
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
    /// Returns the size of the node for a block of `size` bytes; 0 if `size` is 0 or too large for every extent.
    [[nodiscard]] static constexpr Offset size_of_node(Offset size) noexcept {
        return nodes_type::template node_size<largest_node>(size);
    }
    /// Returns the part of an extent that nodes can fill; empty if the extent wraps, is too small for a hole or is
    /// larger than `largest_extent`.
    [[nodiscard]] static constexpr extent_type usable_of(extent_type where) noexcept {
        if (where.size > last_offset - where.offset || where.size > largest_extent) return {};
        return nodes_type::usable(where);
    }

    using bins = detail::size_bins<Offset, node, none, largest_node / nodes_type::granule>;
    using bin = typename bins::bin;
    using places = detail::placement<nodes_type, Offset>;
    static constexpr Offset nowhere = places::nowhere;

    /// Returns the start of the hole at the end of an extent; the extent's end if it ends with a block.
    [[nodiscard]] constexpr Offset end_of_blocks(extent_type usable) const noexcept {
        const node hole = nodes_.last_hole(usable);
        return hole == none ? usable.end() : nodes_.offset(hole);
    }
    /// Returns the size of an extent with a node of `need` bytes at `at`; 0 if the size wraps or is too large.
    [[nodiscard]] static constexpr Offset size_up_to(extent_type where, Offset at, Offset need) noexcept {
        Offset end = 0;
        if (!checked_add<Offset>(at, need, end) || !checked_add<Offset>(end, nodes_type::tail, end)) return 0;
        // Nodes end at a multiple of the granule.
        if (!checked_align_up<Offset>(end, nodes_type::granule, end) || end - where.offset > largest_extent) return 0;
        return static_cast<Offset>(end - where.offset);
    }

    /// Position of a node in a hole.
    struct place {
        node hole = none;
        bin from = 0;  // the hole's bin
        Offset at = nowhere;
    };

    [[nodiscard]] static constexpr bin bin_of(Offset size) noexcept { return bins::of(size / nodes_type::granule); }

    [[nodiscard]] static constexpr bool is_large(Offset size) noexcept {
        return Options.large != 0 && size >= Options.large;
    }
    /// Returns true if the front of any hole that is large enough satisfies the request.
    [[nodiscard]] static constexpr bool is_anywhere(layout_type wanted) noexcept {
        return wanted.align <= nodes_type::granule && !is_large(wanted.size);
    }

    /// Returns the hole at the lowest offset among the first `candidates` holes of a bin that are large enough; `none`
    /// if these are all too small.
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

    /// Returns the best place for a node, or a place without a hole.
    template <bool Small = detail::small_code>
    [[nodiscard]] constexpr place find(layout_type wanted, Offset need) const noexcept {
        const bin first = bins_.next(bin_of(need));
        if (!Small && first == bins::count) return {};  // with `Small`, `search` returns the same
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
                return place_in(hole,
                                [&](Offset low, Offset high) { return places::highest(low, high, wanted.align); });
            });
        return search<Small, false>(first, enough, candidates, [&](node hole) {
            return place_in(hole, [&](Offset low, Offset) { return places::lowest(low, wanted.align); });
        });
    }

    /// Returns the first bin whose holes all have at least this size. The result may be `>= bins::count`.
    [[nodiscard]] static constexpr bin first_all_fit(Offset size) noexcept {
        return bin_of(size) + (bins::is_exact(bin_of(size)) ? 0 : 1);
    }

    /// Searches from the bin `first`, which is not empty or is `bins::count`. `place_in` returns the position of the
    /// node in a hole, or `nowhere`. Every hole of at least `enough` bytes has a position. `candidates` returns the
    /// number of holes of a bin to compare.
    template <bool Small, bool FromTop, class Candidates, class PlaceIn>
    [[nodiscard]] constexpr place search(bin first, Offset enough, Candidates candidates,
                                         PlaceIn place_in) const noexcept {
        if constexpr (Small) {
            const bin sure = first_all_fit(enough);
            for (bin b = first; b != bins::count; b = bins_.next(sure)) {
                if (const place found = best_of<FromTop>(b, candidates(b), place_in); found.hole != none) return found;
                if (b >= sure || sure >= bins::count) break;
            }
        } else {
            if (const place found = best_of<FromTop>(first, candidates(first), place_in); found.hole != none)
                return found;
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
    /// Returns the lowest place, or the highest if `FromTop`, in the first `left` holes of a bin that is not empty.
    template <bool FromTop, class PlaceIn>
    [[nodiscard]] constexpr place best_of(bin b, unsigned left, PlaceIn place_in) const noexcept {
        place best;
        for (node hole = bins_.head(b);;) {
            const Offset at = place_in(hole);
            if (FromTop ? at != nowhere && (best.at == nowhere || at > best.at) : at < best.at) best = {hole, b, at};
            if (--left == 0 || (hole = nodes_.next(hole)) == none) return best;
        }
    }

    /// Returns the place of exactly this extent and the header before it.
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

    /// Returns the first hole of a bin that satisfies `wanted`; `none` if no hole does.
    template <class Predicate>
    [[nodiscard]] constexpr node first_hole(bin b, Predicate wanted) const noexcept {
        node hole = bins_.head(b);
        while (hole != none && !wanted(hole)) hole = nodes_.next(hole);
        return hole;
    }

    /// Returns true if records are available for the holes that would remain before and after the node.
    [[nodiscard]] constexpr bool has_room(place found, Offset need) const noexcept {
        const Offset low = nodes_.offset(found.hole), end = static_cast<Offset>(low + nodes_.size(found.hole));
        return nodes_.has_room((found.at != low ? 1U : 0U) + (end - found.at - need >= nodes_type::min_hole ? 1U : 0U));
    }

    [[nodiscard]] constexpr allocation_type allocation_of_node(node n, Offset size) const noexcept {
        return {{static_cast<Offset>(nodes_.offset(n) + header), size}, nodes_.metadata(n)};
    }
    /// Slow path of `allocate`. A separate function, so that `allocate` saves no registers for it.
    template <bool Small>
    [[gnu::noinline]] constexpr allocation_type allocate_placed(layout_type wanted, Offset need) noexcept {
        return give<Small>(find<Small>(wanted, need), need, wanted.size);
    }
    /// Cuts a block out of a hole. The rest on either side remains a hole. Returns an empty allocation if no records
    /// are available for these holes.
    template <bool Small = detail::small_code>
    constexpr allocation_type give(place found, Offset need, Offset size) noexcept {
        const node hole = found.hole;
        if (hole == none) return {};
        const Offset had = nodes_.size(hole);
        const auto front = static_cast<Offset>(found.at - nodes_.offset(hole)),
                   behind = static_cast<Offset>(had - front - need);
        // In band, both paths make the rest after the block the newest hole of its bin.
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
    /// Cuts a block from the front of a hole of `had` bytes.
    ALLOT_INLINE constexpr allocation_type cut_front(node hole, bin from, Offset had, Offset need,
                                                     Offset size) noexcept {
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
    /// Marks a node that is in no bin as used and makes a hole of the bytes after the first `need`.
    constexpr void keep_front(node n, Offset size, Offset need) noexcept {
        const auto left = static_cast<Offset>(size - need);
        if (left < nodes_type::min_hole) return nodes_.mark_used(n, size);
        const node rest = nodes_.split(n, need);
        nodes_.mark_used(n, need);
        link(rest, left);
    }
    /// Joins the hole above, if any, to `n`. Returns the size of that hole, or 0.
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
    /// Removes a hole from its list. `its_bin` is called only if the hole is the head.
    template <bool Small = detail::small_code, class Bin>
    ALLOT_INLINE constexpr void unlink(node hole, Bin its_bin) noexcept {
        if constexpr (Small && in_band) return unlink(hole);
        const node next = nodes_.next(hole), prev = nodes_.prev(hole);
        if (next != none) nodes_.set_prev(next, prev);
        if (prev != none) nodes_.set_next(prev, next);
        else bins_.pop(its_bin(), next);
    }
    /// Removes a hole from its list. One function for all callers; it reads the hole's size from its record.
    constexpr void unlink(node hole) noexcept {
        const node next = nodes_.next(hole), prev = nodes_.prev(hole);
        if (next != none) nodes_.set_prev(next, prev);
        if (prev != none) nodes_.set_next(prev, next);
        else bins_.pop(bin_of(nodes_.size(hole)), next);
    }

    nodes_type nodes_;
    bins bins_;
};

/// Selects the node store of a best_fit with `node_store::automatic` in an arena: in band where offsets are host
/// pointers and neither `records` nor `granule` is set, a side table otherwise. In band over several regions, holes are
/// not compared by offset: the system chooses the order of the regions, and results must not depend on it.
template <best_fit_options Options, class Offset, class Memory, memory_traits Where>
struct strategy_in<best_fit<Options, Offset, Memory>, Where> {
    static_assert(Options.largest_extent >= Where.largest || !(Where.grows || Where.extends),
                  "allot: this arena grows beyond best_fit_options::largest_extent: set growth_options::limit instead, "
                  "which also bounds the bins");
    static_assert(Options.largest_extent >= Where.largest || Where.grows || Where.extends || Where.largest == no_bound,
                  "allot: this device's memory is larger than best_fit_options::largest_extent: leave that option out, "
                  "because an arena derives it from its device");
    /// Returns the options with the selected store and with the bounds that the arena's memory guarantees.
    static constexpr best_fit_options settle(best_fit_options options) noexcept {
        if (options.store == node_store::automatic)
            options.store = Where.host_pointers && options.records == 0 && options.granule == 1
                                ? node_store::in_band
                                : node_store::side_table;
        if (options.store == node_store::in_band && Where.grows) options.candidates = 1;
        if (Where.largest < options.largest_extent) options.largest_extent = Where.largest;
        // A block that is moved in order to grow leaves a hole. If small blocks were placed there, later large blocks
        // could not use the hole, and the memory would grow by every move.
        const bool moves = Where.extends && Where.host_pointers && options.largest_extent >= 128_KiB;
        if (options.large == 0 && moves) options.large = 128_KiB;
        else if (options.large == no_bound) options.large = 0;
        return options;
    }
    using type = best_fit<settle(Options), Offset, Memory>;  ///< The strategy with these options.
};

static_assert(strategy<best_fit<>> && positional<best_fit<>> && resizable<best_fit<>> && removable<best_fit<>> &&
              extendable<best_fit<>>);
static_assert(!resettable<best_fit<>>);

}  // namespace v1
}  // namespace allot
