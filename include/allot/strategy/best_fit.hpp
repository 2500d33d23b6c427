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
// among the first few holes of that bin. For an alignment up to the granule, it takes the newest hole of a bin of one
// size. If `granule` is set, `candidates` is 2 and there is no `offset_index`, it compares two holes there as well. The
// rest of the hole on either side remains a hole. A node store keeps the records: in band (in_band.hpp) or in a side
// table (block_table.hpp).
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
// visit the holes. With `best_fit_options::offset_index`, `allocate_at` and `remove` take O(log holes), and so do
// `allocate` and `deallocate`. Measured on a Cortex-M4 at -Os in an arena of 1 KiB: at most 281 instructions to
// allocate and 158 to deallocate in band, 360 and 245 with a side table, and 971 to search in vain for an alignment of
// 64 (./dev size).
//
// Memory: 4.1 KiB of bins in band, 2.2 KiB with a side table (3.9 KiB with a granule), and 1.1 KiB (1.9 KiB)
// for 32-bit offsets. The bins are smaller if the largest extent is known: 320 bytes for 4 KiB on a Cortex-M. The node
// store adds its records: block_table.hpp, or side_table.hpp with an index by offset.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/options.hpp>
#include <allot/strategy/detail/best_fit_holes.hpp>
#include <allot/strategy/detail/best_fit_refusals.hpp>
#include <allot/strategy/detail/node_sizes.hpp>

namespace allot {
inline namespace v1 {

namespace detail {

template <best_fit_options Options, std::unsigned_integral Offset, unsigned Axes>
class ordered_fit;
template <class Strategy>
class waiting_blocks;

}  // namespace detail

/// Strategy that allocates from the smallest suitable bin of holes and joins adjacent holes.
template <best_fit_options Options = best_fit_options{}, std::unsigned_integral Offset = std::size_t,
          class Memory = addressed_memory>
class best_fit {
    static_assert(detail::best_fit_refusals<Options, Offset>::said);

public:
    static constexpr bool in_band = Options.store == node_store::in_band;  ///< Whether records are kept in the memory.

private:
    template <best_fit_options, std::unsigned_integral, unsigned>
    friend class detail::ordered_fit;
    template <class>
    friend class detail::waiting_blocks;
    using nodes_type = typename detail::best_fit_nodes<Options, Offset, Memory>::type;
    using node = typename nodes_type::node;
    static constexpr node none = nodes_type::none;
    static constexpr Offset header = nodes_type::header;
    static constexpr bool prefers_size = Options.prefer_size;
    using sizes = detail::node_sizes<Options, nodes_type, Offset>;
    using places = detail::placement<nodes_type, Offset>;
    static_assert(detail::best_fit_refuses_all<sizes::largest_node >= nodes_type::min_hole>::said);
    using holes_type = typename detail::best_fit_holes<Options, nodes_type, Offset>::type;
    using bins = typename holes_type::bin_lists;
    using bin = typename bins::bin;

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
    constexpr best_fit(best_fit&&) noexcept = default;
    /// Moves the state. A moved-from best_fit has no offsets.
    constexpr best_fit& operator=(best_fit&&) noexcept = default;

    /// Adds an extent. Returns false if the extent wraps, is too small for a hole, is larger than `largest_extent` or
    /// ends above `largest_offset`, or if no record is available. Precondition: the extent does not overlap an inserted
    /// one.
    constexpr bool insert(extent_type where, memory_type memory = {}) noexcept {
        const extent_type usable = sizes::usable_of(where);
        if (!usable || !holes_.nodes.room(nodes_type::extent_records)) return false;
        holes_.link(holes_.nodes.insert(usable, memory), usable.size);
        return true;
    }

    /// Moves the records of a table with `given_records` to `memory`, aligned to 8 bytes, which the caller keeps until
    /// the next call. Returns false and changes nothing if it is misaligned or smaller than the records that were ever
    /// used.
    [[nodiscard]] bool give_records(std::span<std::byte> memory) noexcept
        requires(Options.records == given_records)
    {
        return holes_.nodes.table().move_to(memory);
    }
    /// Returns the size of a record in memory for `give_records`. The first record is reserved. A block and an extent
    /// take one each. With `offset_index`, no record is reserved, and a hole also takes one.
    [[nodiscard]] static constexpr std::size_t record_size() noexcept
        requires(Options.records == given_records)
    {
        return nodes_type::record_size();
    }

    /// Returns true if records are available for one more extent and for the holes on both sides of a block in it.
    [[nodiscard]] constexpr bool can_insert() const noexcept {
        return holes_.nodes.has_room(nodes_type::extent_records + records_for(2));
    }

    /// Removes an inserted extent. Returns false and changes nothing if a block is allocated in it. O(holes in its
    /// bin); with `offset_index`, O(log holes).
    constexpr bool remove(extent_type inserted) noexcept {
        const extent_type usable = sizes::usable_of(inserted);
        if (!usable) return false;
        const node hole = holes_.hole_of(usable);
        if (hole == none) return false;
        holes_.unlink(hole, [&] { return holes_type::bin_of(usable.size); });
        holes_.nodes.remove(hole);
        return true;
    }

    /// Moves the end of the inserted extent to `size`. Returns false and changes nothing if a block is in the way, if
    /// the rest of a hole would be too small to be recorded, or if no record is available. With a side table, also
    /// returns false if more than one extent was inserted since the table was empty.
    constexpr bool resize_extent(extent_type inserted, Offset size) noexcept {
        const extent_type had = sizes::usable_of(inserted), now = sizes::usable_of({inserted.offset, size});
        return had && now && holes_.nodes.knows_end() && holes_.move_end(had, now);
    }
    /// Returns the size with which the extent ends with its last block; 0 if the extent has no block and can be
    /// removed. If more than one extent was inserted since the table was empty, a side table returns the size of the
    /// extent in whole granules.
    [[nodiscard]] constexpr Offset least_size(extent_type inserted) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        if (!had) return inserted.size;
        const node hole = holes_.nodes.last_hole(had);
        if (hole != none && holes_.nodes.size(hole) == had.size) return 0;
        const Offset end = hole != none ? holes_.nodes.offset(hole) : had.end();
        return static_cast<Offset>(end + nodes_type::tail - inserted.offset);
    }

    /// Returns the smallest size of the extent with which a request fits at its end; 0 if no size suffices, or, with a
    /// side table, if more than one extent was inserted since the table was empty.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        const Offset need = sizes::of_node(wanted.size);
        if (!had || need == 0 || !is_alignment(wanted.align) || !holes_.nodes.knows_end()) return 0;
        const Offset low = end_of_blocks(had);
        if constexpr (exact) return sizes::up_to(inserted, places::lowest(low, wanted.align), need);
        // A search with limited probes finds a hole only if all holes of its bin are large enough.
        const Offset sure = sizes::sure(need, wanted.align);
        return sure == 0 ? Offset{0} : sizes::up_to(inserted, low, sure);
    }
    /// Returns true if records are available for an extension by `size_for(inserted, wanted)`: for the hole at the end
    /// and for the holes that remain before and after the block.
    [[nodiscard]] constexpr bool can_extend(extent_type inserted, layout_type wanted) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        const Offset low = end_of_blocks(had);
        return holes_.nodes.has_room(
            records_for((low == had.end() ? 1U : 0U) + (places::lowest(low, wanted.align) != low ? 1U : 0U) + 1U));
    }
    /// Returns the smallest size of the extent with which the last block can be resized to `size`; 0 if no size
    /// suffices, if the block is not the last one, or if no record is available. With a side table, also returns 0 if
    /// more than one extent was inserted since the table was empty.
    [[nodiscard]] constexpr Offset size_for(extent_type inserted, allocation_type allocation,
                                            Offset size) const noexcept {
        const extent_type had = sizes::usable_of(inserted);
        const Offset need = sizes::of_node(size);
        const node held = holes_.nodes.find(allocation), above = holes_.nodes.hole_after(held);
        const extent_type block = holes_.nodes.block_extent(held);
        if (need == 0) return 0;
        if (above == none ? block.end() != had.end() || !holes_.nodes.has_room(nodes_type::hole_records)
                          : above != holes_.nodes.last_hole(had))
            return 0;
        return sizes::up_to(inserted, block.offset, need);
    }

    /// Allocates a block. Returns an empty allocation if the layout is invalid, if no suitable hole is found, or if no
    /// record is available.
    constexpr allocation_type allocate(layout_type wanted) noexcept {
        if constexpr (in_band && !prefers_size) {
            if (!holes_type::is_short(wanted)) return holes_.allocate_any(wanted.size, wanted.align);
            const Offset need = sizes::of_node(wanted.size);
            const auto own = static_cast<bin>(need / nodes_type::granule);
            const auto rest = holes_.bins.rest_of_first_word(own);
            if (rest % 2 != 0) return holes_.take_first(own, need, wanted.size);
            if (rest == 0) return holes_.allocate_after_first_word(wanted.size, need);
            return holes_.cut_first(wanted.size, static_cast<bin>(detail::lowest_one(rest)), need, own);
        }
        const Offset need = sizes::of_node(wanted.size);
        if (need == 0 || !is_alignment(wanted.align)) return {};
        if constexpr (prefers_size) return holes_.give(holes_.find(wanted, need), need, wanted.size);
        else return holes_.allocate(wanted, need);
    }

    /// Frees a block and joins the hole with its neighbors.
    constexpr void deallocate(allocation_type allocation) noexcept { holes_.free_block(holes_.nodes.find(allocation)); }

    /// Allocates exactly this extent. Returns an empty allocation if the extent is not free, or if its offset is not a
    /// multiple of the granule. In band, the granule is two words, the word before the offset must be free for the
    /// header, and the free bytes before that word must be 0 or at least four words, which is the smallest hole.
    /// O(holes); with `offset_index`, O(log holes).
    constexpr allocation_type allocate_at(extent_type wanted) noexcept {
        return holes_.give(holes_.around(wanted), sizes::of_node(wanted.size), wanted.size);
    }

    /// Returns the reason for which `allocate_at(wanted)` would fail. O(holes); with `offset_index`, O(log holes).
    [[nodiscard]] constexpr diagnosis diagnose_at(extent_type wanted) const noexcept {
        if (wanted.size == 0) return {refusal::empty_layout};
        const auto found = holes_.around(wanted);
        if (found.hole == none) return {refusal::not_free};
        return {holes_.has_room(found, sizes::of_node(wanted.size)) ? refusal::none : refusal::out_of_records};
    }

    /// Resizes a block in place. Afterwards, the caller passes the allocation with the new size. Returns false and
    /// changes nothing if the space above is too small, if `size` is 0, or if no record is available.
    constexpr bool resize(allocation_type allocation, Offset size) noexcept {
        const Offset need = sizes::of_node(size);
        const node held = holes_.nodes.find(allocation);
        const Offset had = holes_.nodes.block_extent(held).size;
        if (need == 0) return false;
        const node above = holes_.nodes.hole_after(held);
        if (need > had) {
            if (above == none || holes_.nodes.size(above) < need - had) return false;
        } else if (above == none) {  // otherwise the rest takes the record of the hole above
            if (had - need < nodes_type::min_hole) return true;
            if (!holes_.nodes.room(nodes_type::hole_records)) return false;
        }
        holes_.resize_block(held, had, need);
        return true;
    }

    /// Returns the usable bytes of a block: at least its size.
    [[nodiscard]] constexpr Offset capacity(allocation_type allocation) const noexcept {
        if constexpr (in_band) return holes_.nodes.size_of_live(holes_.nodes.find(allocation)) - header;
        else return holes_.nodes.block_extent(holes_.nodes.find(allocation)).size - header;
    }

    /// Returns the allocation with this metadata. Its size is its capacity.
    [[nodiscard]] constexpr allocation_type allocation_with(metadata_type metadata) const noexcept
        requires(!in_band)
    {
        return {holes_.nodes.block_extent(holes_.nodes.find({{}, metadata})), metadata};
    }

    /// Returns true if the records in band around a block are intact. `inside` is the extent that contains the block.
    [[nodiscard]] bool is_sound(allocation_type allocation, extent_type inside) const noexcept
        requires in_band
    {
        return holes_.nodes.is_sound(holes_.nodes.find(allocation), inside);
    }

    /// The same for a block whose record has the right size.
    [[nodiscard]] ALLOT_INLINE bool is_sound_beside(allocation_type allocation, extent_type inside) const noexcept
        requires in_band
    {
        return holes_.nodes.is_sound_beside(holes_.nodes.find(allocation), inside);
    }
    /// Returns true if the records in band at both ends of a block are those of blocks, and no hole is below. Stores
    /// the record of the block. `most` is the number of granules from the start of the block to the end of its extent.
    [[nodiscard]] ALLOT_INLINE bool is_between_blocks(allocation_type allocation, Offset most,
                                                      Offset& record) const noexcept
        requires in_band
    {
        return holes_.nodes.is_between_blocks(holes_.nodes.find(allocation), most, record);
    }
    /// Returns the usable bytes of a block with such a record.
    [[nodiscard]] ALLOT_INLINE static Offset capacity_between_blocks(Offset record) noexcept
        requires in_band
    {
        return static_cast<Offset>(nodes_type::size_between_blocks(record) - header);
    }
    /// Frees a block with such a record.
    ALLOT_INLINE void deallocate_between_blocks(allocation_type allocation, [[maybe_unused]] Offset record) noexcept
        requires in_band
    {
        if constexpr (prefers_size) deallocate(allocation);
        else holes_.free_between_blocks(holes_.nodes.find(allocation), record);
    }
    /// Calls `f(extent, is_allocated)` with the usable bytes of each record in band of an inserted extent, in ascending
    /// order. A damaged record has no bytes and is the last one.
    template <class Function>
    void for_each_record(extent_type inserted, Function f) const noexcept
        requires in_band
    {
        const extent_type usable = sizes::usable_of(inserted);
        if (!usable) return;
        holes_.nodes.for_each_record(usable, [&](node n, Offset record) {
            const Offset room = record == 0 ? 0 : static_cast<Offset>(nodes_type::size_in(record) - header);
            f(extent_type{static_cast<Offset>(n + header), room}, nodes_type::is_allocated(record));
        });
    }

    /// Returns the reason for which `allocate(wanted)` would fail. O(holes).
    [[nodiscard]] constexpr diagnosis diagnose(layout_type wanted) const noexcept {
        Offset free = 0, largest = 0;
        holes_.for_each([&](node hole) {
            const Offset usable = holes_.nodes.size(hole) - header;
            free = static_cast<Offset>(free + usable);
            if (usable > largest) largest = usable;
        });
        if (const refusal reason = invalidity(wanted); reason != refusal::none) return {reason, largest};
        if (const Offset need = sizes::of_node(wanted.size); need != 0)
            if (const auto found = holes_.find(wanted, need); found.hole != none)
                return {holes_.has_room(found, need) ? refusal::none : refusal::out_of_records, largest};
        return {free < wanted.size ? refusal::exhausted : refusal::fragmented, largest};
    }

    /// Calls `f(extent)` with the usable bytes of every hole of an inserted extent, in ascending order. O(nodes); with
    /// a side table O(records).
    template <class Function>
    constexpr void for_each_hole(extent_type inserted, Function f) const noexcept {
        walk(inserted, false, f);
    }
    /// Calls `f(extent)` with the usable bytes of every block of an inserted extent, in ascending order. O(nodes); with
    /// a side table O(records).
    template <class Function>
    constexpr void for_each_block(extent_type inserted, Function f) const noexcept {
        walk(inserted, true, f);
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does, or if a
    /// table of `records` records is too small for them. With `given_records`, the caller gives enough records. With
    /// limited `probes` and an alignment above the granule, the size is larger by about an eighth of a block and up to
    /// twice the alignment, so that each search finds a hole. Precondition: the extent's offset is a multiple of
    /// `each.align` and of `extent_align`.
    [[nodiscard]] static constexpr Offset bytes_for(Offset count, layout_type each) noexcept {
        return sizes::of_extent(count, each);
    }

private:
    template <class Function>
    constexpr void walk(extent_type inserted, bool used, Function& f) const noexcept {
        const extent_type usable = sizes::usable_of(inserted);
        if (!usable) return;
        holes_.nodes.for_each(usable, [&](node n, bool is_used) {
            if (is_used != used) return;
            const extent_type whole =
                is_used ? holes_.nodes.block_extent(n) : extent_type{holes_.nodes.offset(n), holes_.nodes.size(n)};
            f(extent_type{static_cast<Offset>(whole.offset + header), static_cast<Offset>(whole.size - header)});
        });
    }
    /// Returns the start of the hole at the end of an extent; the extent's end if it ends with a block.
    [[nodiscard]] constexpr Offset end_of_blocks(extent_type usable) const noexcept {
        const node hole = holes_.nodes.last_hole(usable);
        return hole == none ? usable.end() : holes_.nodes.offset(hole);
    }

    /// Returns the number of records that a request takes which leaves so many holes.
    [[nodiscard]] static constexpr unsigned records_for(unsigned holes) noexcept {
        return nodes_type::block_records + holes * nodes_type::hole_records;
    }

    holes_type holes_;
};

/// Selects the node store of a best_fit with `node_store::automatic` in an arena: in band where offsets are host
/// pointers and none of `records`, `granule` and `offset_index` is set, a side table otherwise. In band over several
/// regions, holes are not compared by offset: the system chooses the order of the regions, and results must not depend
/// on it.
template <best_fit_options Options, class Offset, class Memory, memory_traits Where>
struct strategy_in<best_fit<Options, Offset, Memory>, Where> {
    /// The strategy with the selected options.
    using type = best_fit<detail::best_fit_options_in<Options, Where>(), Offset, Memory>;
};

static_assert(strategy<best_fit<>> && positional<best_fit<>> && resizable<best_fit<>> && removable<best_fit<>> &&
              extendable<best_fit<>>);
static_assert(!resettable<best_fit<>>);

}  // namespace v1
}  // namespace allot
