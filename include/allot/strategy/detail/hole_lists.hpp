// SPDX-License-Identifier: BSL-1.0
// hole_lists: the lists of the holes of best_fit, one for each bin, and their index by offset.
//
//     bins: head ─► hole ─► hole ─► none      newest first
//
// Internal. `Nodes` is a node store (in_band.hpp, side_table.hpp, block_table.hpp). Its records have the links.
//
// Complexity: O(1) for every operation; O(log holes) for `link`, `put`, `unlink` and `pop` with
// best_fit_options::offset_index.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/strategy/detail/block_table.hpp>
#include <allot/strategy/detail/node_sizes.hpp>
#include <allot/strategy/detail/offset_index.hpp>
#include <allot/strategy/detail/size_bins.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Lists of holes in bins by size.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
class hole_lists {
    using node = typename Nodes::node;
    static constexpr node none = Nodes::none;
    static constexpr bool small = Options.prefer_size, in_band = Options.store == node_store::in_band;
    // Whether the first hole of a list has the number of the list.
    static constexpr bool numbered = requires { Nodes::number_of_list(0); };
    // Whether `none` names a record, so that its links can be written.
    static constexpr bool none_is_record = is_block_table<Nodes>;
    static constexpr bool indexed = Options.offset_index && !in_band;
    // With a granule, sizes follow no pattern that a processor predicts: the lists change without branches, and bins
    // are finer. Small extents keep the coarser bins, which need less memory.
    static constexpr bool branchless = !small && !in_band && Options.granule > 1;
    static constexpr Offset largest = node_sizes<Options, Nodes, Offset>::largest_node / Nodes::granule;
    static constexpr bool fine = !in_band && Options.granule > 1 && std::uint64_t{largest} > 0xFFFF;

public:
    using bin_lists = size_bins<Offset, node, none, largest, fine>;
    using bin = typename bin_lists::bin;

    Nodes nodes;     // records of blocks and holes
    bin_lists bins;  // heads of the lists of holes
    ALLOT_NO_UNIQUE_ADDRESS std::conditional_t<indexed, offset_index<Nodes>, no_index> index{};

    constexpr hole_lists() noexcept = default;
    constexpr hole_lists(hole_lists&& other) noexcept
        : nodes{std::move(other.nodes)}, bins{std::exchange(other.bins, {})}, index{std::exchange(other.index, {})} {}
    constexpr hole_lists& operator=(hole_lists&& other) noexcept {
        nodes = std::move(other.nodes);
        bins = std::exchange(other.bins, {});
        index = std::exchange(other.index, {});
        return *this;
    }

    [[nodiscard]] static constexpr bin bin_of(Offset size) noexcept { return bin_lists::of(size / Nodes::granule); }

    /// Makes a hole of a node of `size` bytes that is in no bin.
    ALLOT_INLINE constexpr void link(node hole, Offset size) noexcept {
        nodes.mark_hole(hole, size);
        put(hole, bin_of(size));
    }
    /// Adds a hole to a bin and to the index.
    ALLOT_INLINE constexpr void put(node hole, bin to) noexcept {
        enter(hole, to);
        if constexpr (indexed) index.insert(nodes, hole);
    }
    /// Removes a hole from its list and from the index. `its_bin` is called only if the hole is the head.
    template <class Bin>
    ALLOT_INLINE constexpr void unlink(node hole, Bin its_bin) noexcept {
        leave(hole, its_bin);
        if constexpr (indexed) index.erase(nodes, hole);
    }
    /// Adds a hole to a bin. The holes of a bin are a list, newest first.
    ALLOT_INLINE constexpr void enter(node hole, bin to) noexcept {
        const node second = bins.head(to);
        nodes.set_next(hole, second);
        set_prev_if_any(hole, second, hole);
        nodes.set_prev(hole, before_first(to));
        if constexpr (branchless) bins.push(to, hole);
        else bins.push(to, hole, second);
    }
    /// Removes the head of a bin, also from the index. Precondition: the hole is that head.
    ALLOT_INLINE constexpr void pop(bin from, node hole) noexcept {
        const node next = nodes.next(hole);
        set_prev_if_any(hole, next, before_first(from));
        if constexpr (branchless) bins.replace(from, next);
        else bins.pop(from, next);
        if constexpr (indexed) index.erase(nodes, hole);
    }
    /// Removes a hole from its list. `its_bin` is called only if the hole is the head and has no number of its list.
    template <class Bin>
    ALLOT_INLINE constexpr void leave(node hole, Bin its_bin) noexcept {
        if constexpr (numbered) return unlink_any(hole);
        const node next = nodes.next(hole), prev = nodes.prev(hole);
        set_prev_if_any(hole, next, prev);
        if (prev != none) nodes.set_next(prev, next);
        else if constexpr (branchless) bins.replace(its_bin(), next);
        else bins.pop(its_bin(), next);
    }

    /// Calls `f(hole)` for each hole. O(holes).
    template <class Function>
    constexpr void for_each(Function f) const noexcept {
        for (bin b = bins.next(0); b != bin_lists::count; b = bins.after(b))
            for (node hole = bins.head(b); hole != none; hole = nodes.next(hole)) f(hole);
    }

protected:
    /// Removes a hole from its list, whose first hole has the number of the list. One function for all callers.
    constexpr void unlink_any(node hole) noexcept { unlink_numbered(hole); }
    ALLOT_INLINE constexpr void unlink_numbered(node hole) noexcept {
        const node next = nodes.next(hole), prev = nodes.prev(hole);
        set_prev_if_any(hole, next, prev);
        if (!Nodes::is_number_of_list(prev)) nodes.set_next(prev, next);
        else if constexpr (branchless) bins.replace(Nodes::list_of(prev), next);
        else bins.pop(Nodes::list_of(prev), next);
    }
    /// Adds `hole` to the bin `to` in place of `old`, the first one of its list.
    ALLOT_INLINE void replace_first(node old, node hole, bin to) noexcept {
        if (hole != old) move_first(old, hole, to);
    }
    /// Does the same. Precondition: `hole` is not `old`.
    ALLOT_INLINE void move_first(node old, node hole, bin to) noexcept {
        const node next = nodes.next(old);
        nodes.set_next(hole, next);
        nodes.set_prev(hole, before_first(to));
        if (next != none) nodes.set_prev(next, hole);
        bins.set_head(to, hole);
    }
    /// Returns what the first hole of a list has instead of a previous hole.
    [[nodiscard]] static constexpr node before_first([[maybe_unused]] bin list) noexcept {
        if constexpr (numbered) return Nodes::number_of_list(list);
        else return none;
    }
    /// Returns the first bin whose holes all have at least this size. The result may be `>= bin_lists::count`.
    [[nodiscard]] static constexpr bin first_all_fit(Offset size) noexcept {
        return bin_of(size) + (bin_lists::is_exact(bin_of(size)) ? 0 : 1);
    }

    /// Links `next`, unless it is `none`, to the hole before it. `hole` is in no list.
    ALLOT_INLINE constexpr void set_prev_if_any(node hole, node next, node prev) noexcept {
        if constexpr (none_is_record) nodes.set_prev(next, prev);
        else if constexpr (branchless) nodes.set_prev(select(next == none, hole, next), prev);
        else if (next != none) nodes.set_prev(next, prev);
    }
    /// Returns `yes ? a : b`, by arithmetic, which compilers do not turn into a branch.
    [[nodiscard]] ALLOT_INLINE static constexpr node select(bool yes, node a, node b) noexcept {
        return b ^ ((a ^ b) & (node{0} - node{yes}));
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
