// SPDX-License-Identifier: BSL-1.0
// ordered_arena: selects the arena of `ordered`: its strategy, and no annotations for memory checkers.
//
// Internal. Compile time only. Freed bytes are not annotated, because pending work may still use them.
#pragma once

#include <allot/arena/arena.hpp>
#include <allot/strategy/detail/ordered_ends.hpp>
#include <allot/strategy/detail/ordered_fit.hpp>
#include <allot/strategy/detail/ordered_slots.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The strategy that knows pending uses and allocates as `Strategy` does in memory of the device.
template <class Device, class Strategy, unsigned Columns>
struct ordered_strategy {
    static_assert(
        !sizeof(Strategy),
        "allot: ordered divides its memory by best_fit, pool, page_tree, bump, stack or ring: use one of these");
};
template <class Device, pool_options Options, class Offset, unsigned Columns>
struct ordered_strategy<Device, pool<Options, Offset>, Columns> {
    static_assert(Options.store != pool_store::in_band && Options.count != 0,
                  "allot: ordered keeps its records in a side table, because work of a queue may still write freed "
                  "slots: leave out pool_store::in_band, and state the number of slots in pool_options::count");
    using type = ordered_slots<pool<Options, Offset>, Columns>;
};
template <class Device, page_tree_options Options, class Offset, class Processor, unsigned Columns>
struct ordered_strategy<Device, page_tree<Options, Offset, Processor>, Columns> {
    using type = ordered_slots<page_tree<Options, Offset, Processor>, Columns>;
};
template <class Device, bump_options Options, class Offset, unsigned Columns>
struct ordered_strategy<Device, bump<Options, Offset>, Columns> {
    using type = ordered_ends<bump<Options, Offset>, Columns>;
};
template <class Device, stack_options Options, class Offset, unsigned Columns>
struct ordered_strategy<Device, stack<Options, Offset>, Columns> {
    using type = ordered_ends<stack<Options, Offset>, Columns>;
};
template <class Device, ring_options Options, class Offset, unsigned Columns>
struct ordered_strategy<Device, ring<Options, Offset>, Columns> {
    using type = ordered_ends<ring<Options, Offset>, Columns>;
};
template <class Device, best_fit_options Options, class Offset, class Memory, unsigned Columns>
struct ordered_strategy<Device, best_fit<Options, Offset, Memory>, Columns> {
    static_assert(Options.store != node_store::in_band,
                  "allot: ordered keeps its records in a side table, because work of a queue may still write freed "
                  "bytes: leave out node_store::in_band");
    static_assert(
        !Options.offset_index,
        "allot: ordered visits the holes of a bin and has no index: leave out best_fit_options::offset_index");
    /// Without a granule, blocks have the least alignment of the device, so that a gap between two blocks does not
    /// divide a hole. The granule is at most 256 bytes.
    static consteval best_fit_options in_side_table() {
        best_fit_options options = Options;
        options.store = node_store::side_table;
        options.offset_index = false;  // it was refused above
        if (options.granule == 1) options.granule = Device::min_align < 256 ? Device::min_align : 256;
        if (options.granule > options.largest_extent) options.granule = 1;
        if (std::numeric_limits<Offset>::max() < 256 * options.granule) options.granule = 1;
        return options;
    }
    using type = ordered_fit<in_side_table(), Offset, Columns>;
};

/// The arena of `ordered`.
template <class Arena, unsigned Columns>
struct ordered_arena {
    static_assert(!sizeof(Arena),
                  "allot: the first argument of ordered is an arena: ordered<arena<Device, best_fit<>>, Timeline>");
};
template <class Device, class Strategy, class Growth, arena_options Options, class OnMisuse, unsigned Columns>
struct ordered_arena<arena<Device, Strategy, Growth, Options, OnMisuse>, Columns> {
    using strategy_type = typename ordered_strategy<Device, Strategy, Columns>::type;
    static_assert(
        strategy_type::several_extents || (Growth::regions == 1 && !Growth::in_place),
        "allot: ordered grows only with best_fit, because a strategy of one extent would lose the pending uses "
        "of its earlier regions: leave out the growth, or use best_fit");
    static_assert(Options.hardening != hardening::debug || !Device::host_accessible,
                  "allot: hardening::debug overwrites freed bytes, which work of a queue may still use: use "
                  "hardening::checked in an arena of ordered");
    static consteval arena_options without_annotations() {
        arena_options options = Options;
        options.annotate = false;
        return options;
    }
    using type = arena<Device, strategy_type, Growth, without_annotations(), OnMisuse>;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
