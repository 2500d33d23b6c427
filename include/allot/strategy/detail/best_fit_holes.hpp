// SPDX-License-Identifier: BSL-1.0
// best_fit_holes: selects the node store of a best_fit, and the paths that cut blocks out of its holes.
//
//     in band       in_band_nodes        in_band_holes
//     side table    block_table_nodes    beside_holes
//     with index    side_table_nodes     holes
//
// Internal. With best_fit_options::prefer_size, records in band have only the general path of `holes`.
//
// Complexity and memory: none, because only types are selected.
#pragma once

#include <allot/core/options.hpp>
#include <allot/strategy/detail/holes_beside.hpp>
#include <allot/strategy/detail/holes_in_band.hpp>
#include <allot/strategy/detail/in_band.hpp>
#include <allot/strategy/detail/side_table.hpp>

namespace allot {
inline namespace v1 {
namespace detail {

/// The node store of a best_fit. `Memory` is the access to the memory for records in band.
template <best_fit_options Options, std::unsigned_integral Offset, class Memory>
struct best_fit_nodes {
    static constexpr auto granule = static_cast<Offset>(Options.granule);
    static constexpr Offset last = bounded(Options.largest_offset, std::numeric_limits<Offset>::max());
    using unit =
        std::conditional_t<(last / Options.granule <= 0xFFFF'FFFFU && sizeof(Offset) > 4), std::uint32_t, Offset>;
    using beside =
        std::conditional_t<Options.offset_index, side_table_nodes<Offset, Options.records, granule, index_links>,
                           block_table_nodes<Offset, Options.records, granule, unit>>;
    using type = std::conditional_t<Options.store == node_store::in_band,
                                    in_band_nodes<Offset, Memory, Options.unlocked_capacity>, beside>;
};

/// The holes of a best_fit.
template <best_fit_options Options, class Nodes, std::unsigned_integral Offset>
struct best_fit_holes {
    using general =
        std::conditional_t<is_block_table<Nodes>, beside_holes<Options, Nodes, Offset>, holes<Options, Nodes, Offset>>;
    using type = std::conditional_t<Options.store == node_store::in_band && !Options.prefer_size,
                                    in_band_holes<Options, Nodes, Offset>, general>;
};

}  // namespace detail
}  // namespace v1
}  // namespace allot
