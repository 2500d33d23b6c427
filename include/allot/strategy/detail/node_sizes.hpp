// SPDX-License-Identifier: BSL-1.0
// node_sizes: the sizes of nodes and extents of best_fit.
//
// Internal. A node is a block with its header, or a hole. `Nodes` is a node store. The functions do arithmetic only,
// access no memory and are O(1).
#pragma once

#include <allot/core/extent.hpp>
#include <allot/core/layout.hpp>
#include <allot/core/options.hpp>
#include <allot/strategy/detail/placement.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// Returns the smaller one of an option, which may be `no_bound`, and a value. Offsets may be wider than the option.
template <std::unsigned_integral Offset>
[[nodiscard]] constexpr Offset bounded(std::size_t option, Offset value) noexcept {
    return option != no_bound && option < value ? static_cast<Offset>(option) : value;
}

/// Arithmetic on the sizes of nodes and extents.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
struct node_sizes {
    using extent_type = basic_extent<Offset>;
    using layout_type = basic_layout<Offset>;
    using places = placement<Nodes, Offset>;
    static constexpr Offset nowhere = places::nowhere;
    static constexpr Offset last_offset = bounded(Options.largest_offset, std::numeric_limits<Offset>::max());
    static constexpr Offset largest_extent = bounded(Options.largest_extent, last_offset);
    static constexpr Offset largest_node = Nodes::largest_node(largest_extent);

    /// Returns the size of the node for a block of `size` bytes; 0 if `size` is 0 or too large for every extent.
    [[nodiscard]] static constexpr Offset of_node(Offset size) noexcept {
        return Nodes::template node_size<largest_node>(size);
    }
    /// Returns the part of an extent that nodes can fill; empty if the extent wraps, is too small for a hole or
    /// is larger than `largest_extent`, or if it ends above `largest_offset`.
    [[nodiscard]] static constexpr extent_type usable_of(extent_type where) noexcept {
        if (where.offset > last_offset || where.size > last_offset - where.offset || where.size > largest_extent)
            return {};
        return Nodes::usable(where);
    }
    /// Returns the size of an extent with a node of `need` bytes at `at`; 0 if the size wraps or is too large.
    [[nodiscard]] static constexpr Offset up_to(extent_type where, Offset at, Offset need) noexcept {
        Offset end = 0;
        if (!checked_add<Offset>(at, need, end) || !checked_add<Offset>(end, Nodes::tail, end)) return 0;
        // Nodes end at a multiple of the granule.
        if (!checked_align_up<Offset>(end, Nodes::granule, end) || end > last_offset ||
            end - where.offset > largest_extent)
            return 0;
        return static_cast<Offset>(end - where.offset);
    }

    /// Returns true if a block of `size` bytes is placed from the top end.
    [[nodiscard]] static constexpr bool is_large(Offset size) noexcept {
        return Options.large != 0 && size >= Options.large;
    }
    /// Returns true if the front of any hole that is large enough satisfies the request.
    [[nodiscard]] static constexpr bool is_anywhere(layout_type wanted) noexcept {
        return wanted.align <= Nodes::granule && !is_large(wanted.size);
    }

    /// Returns the size of a hole that a search with limited `probes` finds, because all holes of its bin are large
    /// enough; 0 if the size wraps.
    [[nodiscard]] static constexpr Offset sure(Offset need, Offset align) noexcept {
        const Offset enough = places::enough(need, align);
        Offset size = 0;
        return checked_add<Offset>(enough, enough / 8 + Nodes::granule, size) ? size : Offset{0};
    }

    /// Returns the size of the smallest extent that holds `count` allocations of `each`; 0 if no extent does. With
    /// limited `probes` and an alignment above the granule, the search finds the hole for the last allocation.
    /// Precondition: the extent's offset is a multiple of `each.align` and of the strategy's `extent_align`.
    [[nodiscard]] static constexpr Offset of_extent(Offset count, layout_type each) noexcept {
        if (!each.is_valid() || count == 0) return 0;
        const Offset need = of_node(each.size);
        const Offset start = align_up<Offset>(Nodes::header, Nodes::granule) - Nodes::header;
        const Offset first = places::lowest(start, each.align);
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
        const Offset between = count > 1 && second - first != need ? static_cast<Offset>(count - 1) : Offset{0};
        const bool is_limited = Options.probes != all_holes && each.align > Nodes::granule;
        if (!Nodes::can_record(count, between + (is_limited ? 1U : 0U))) return 0;
        if (is_limited) {
            const bool is_top = is_large(each.size);
            const Offset hole = sure(need, each.align);
            const auto has = static_cast<Offset>(count > 1 && !is_top ? second - first : first + need - start);
            Offset more = hole > has ? static_cast<Offset>(hole - has) : Offset{0};
            if (hole == 0 || !checked_align_up<Offset>(more, is_top ? each.align : Offset{Nodes::granule}, more) ||
                !checked_add<Offset>(total, more, total))
                return 0;
        }
        if (!checked_add<Offset>(total, first, total) || !checked_add<Offset>(total, need, total) ||
            !checked_add<Offset>(total, Nodes::tail, total))
            return 0;
        return total > largest_extent ? 0 : total;
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
