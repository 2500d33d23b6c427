// SPDX-License-Identifier: BSL-1.0
// waiting_blocks: what `deferred` needs of a strategy with records in band, beyond its public functions.
//
//     │ size·flags │ the caller's bytes … │          allocated
//     │ size·flags·waits │ next │ ……………… │          waiting: in use for the strategy, in a list of `deferred`
//
// Internal. A block is given by the offset of the caller's bytes. A length counts granules and includes the record.
//
// Complexity: O(1), and O(count) for `cut`. Memory: none. Thread safety: that of the strategy.
#pragma once

#include <allot/core/detail/compiler.hpp>
#include <allot/core/strategy.hpp>

#include <limits>

namespace allot {
inline namespace v1 {
namespace detail {

/// The first block of every list, or the largest offset.
template <std::unsigned_integral Offset, std::size_t Last>
struct waiting_lists {
    Offset recent[Last + 1], old[Last + 1];

    waiting_lists() noexcept {
        for (Offset& each : recent) each = std::numeric_limits<Offset>::max();
        for (Offset& each : old) each = std::numeric_limits<Offset>::max();
    }
};
/// Access of `deferred` to the blocks of a best_fit in band.
template <class Strategy>
class waiting_blocks {
    static_assert(
        requires { typename Strategy::nodes_type; },
        "allot: deferred needs a strategy with records in band whose blocks are freed in any order: use best_fit, in "
        "memory that the host can access");
    using nodes_type = typename Strategy::nodes_type;
    using sizes = typename Strategy::sizes;
    using offset_type = typename Strategy::offset_type;
    using node = typename nodes_type::node;
    using allocation_type = allocation_of<Strategy>;

public:
    /// Returns true if an alignment is one that all blocks have.
    [[nodiscard]] ALLOT_INLINE static constexpr bool is_any_alignment(offset_type align) noexcept {
        return nodes_type::is_any_alignment(align);
    }
    /// Returns the block that follows a waiting block in its list. The list is linked as the holes of a bin are.
    [[nodiscard]] ALLOT_INLINE static offset_type next(const Strategy& of, offset_type block) noexcept {
        return of.holes_.nodes.next(node_of(block));
    }
    /// Loads a block into the cache for a later call of `next`. The largest offset is permitted.
    ALLOT_INLINE static void prefetch(const Strategy& of, offset_type block) noexcept {
        of.holes_.nodes.prefetch(node_of(block));
    }
    ALLOT_INLINE static void set_next(Strategy& of, offset_type block, offset_type next) noexcept {
        of.holes_.nodes.set_next(node_of(block), next);
    }

    /// The record of a block, read once.
    class record {
    public:
        ALLOT_INLINE record(const Strategy& of, offset_type block) noexcept
            : node_{node_of(block)}, word_{of.holes_.nodes.record(node_)} {}
        /// The record with a known word.
        ALLOT_INLINE record(offset_type block, offset_type word) noexcept : node_{node_of(block)}, word_{word} {}
        [[nodiscard]] ALLOT_INLINE std::size_t length() const noexcept {
            return static_cast<std::size_t>(nodes_type::granules(word_));
        }
        /// Returns the length of a block that is not above a hole; otherwise more than any length of a list.
        [[nodiscard]] ALLOT_INLINE offset_type length_above_block() const noexcept {
            return nodes_type::granules_above_block(word_);
        }
        [[nodiscard]] ALLOT_INLINE bool is_below_hole(const Strategy& of) const noexcept {
            return of.holes_.nodes.is_below_hole(node_, word_);
        }
        ALLOT_INLINE void set_waiting(Strategy& of) const noexcept { of.holes_.nodes.set_waiting(node_, word_); }

    private:
        node node_;
        offset_type word_;
    };

    ALLOT_INLINE static void clear_waiting(Strategy& of, offset_type block) noexcept {
        of.holes_.nodes.clear_waiting(node_of(block));
    }
    /// Returns the first block above if it waits, otherwise 0. A hole may separate the two blocks.
    [[nodiscard]] static offset_type waiting_above(const Strategy& of, offset_type block) noexcept {
        const auto& nodes = of.holes_.nodes;
        const node held = node_of(block), hole = nodes.hole_after(held);
        const node above = nodes.waiting_after(hole == nodes.none ? held : hole);
        return above == nodes.none ? 0 : static_cast<offset_type>(above + nodes_type::header);
    }

    /// Whether several blocks can be cut at once.
    static constexpr bool cuts_several = !Strategy::prefers_size;
    /// Returns true if blocks of `size` bytes can be cut several at once.
    [[nodiscard]] static constexpr bool cuts(offset_type size) noexcept { return !sizes::is_large(size); }
    /// Allocates a block of `size` bytes. Takes `count` blocks of one hole at once if the hole that is chosen for the
    /// first one has room. Marks the other ones as waiting and links them in the order of their offsets. Stores their
    /// bytes, or 0, in `more`, and the first one of them in `waiting`.
    ALLOT_INLINE static allocation_type cut(Strategy& from, offset_type size, offset_type count, offset_type& more,
                                            offset_type& waiting) noexcept {
        const offset_type each = sizes::of_node(size), all = static_cast<offset_type>(each * count);
        more = 0;
        auto& holes = from.holes_;
        const node hole = holes.lowest_in_first_bin(each);
        if (hole == nodes_type::none) return holes.allocate_any(size, 1);
        const bool several = holes.nodes.size(hole) >= all + nodes_type::min_hole;
        const allocation_type given = holes.cut(hole, several ? all : each, size);
        if (!several) return given;
        auto& nodes = holes.nodes;
        const node first = nodes.find(given);
        nodes.shrink(first, each);
        more = static_cast<offset_type>(all - each);
        waiting = static_cast<offset_type>(given.where.offset + each);
        for (auto at = static_cast<node>(first + each), last = static_cast<node>(first + more);;) {
            nodes.make_waiting(at, each);
            if (at == last) return nodes.set_next(at, nodes_type::none), given;
            at = static_cast<node>(at + each);
            nodes.set_next(static_cast<node>(at - each), static_cast<offset_type>(at + nodes_type::header));
        }
    }

private:
    [[nodiscard]] ALLOT_INLINE static node node_of(offset_type block) noexcept {
        return static_cast<node>(block - nodes_type::header);
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
