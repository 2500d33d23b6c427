// SPDX-License-Identifier: BSL-1.0
// best_fit_refusals: rejects invalid options of best_fit, and adapts the options to the memory of an arena.
//
// Internal. The assertions are outside of best_fit because clang++ discards the members of a class in which an
// assertion failed and then reports further errors.
//
// Complexity: evaluated at compile time.
#pragma once

#include <allot/core/arithmetic.hpp>
#include <allot/core/options.hpp>
#include <allot/core/strategy.hpp>

#include <utility>

namespace allot {
inline namespace v1 {
namespace detail {

/// Rejects invalid options.
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
    static_assert(Options.store != node_store::in_band || !Options.offset_index,
                  "allot: best_fit_options::offset_index is for a side table: leave it out for records in band");
    static_assert(Options.store != node_store::in_band || Options.largest_offset == no_bound,
                  "allot: best_fit_options::largest_offset is for a side table: leave it out for records in band");
    static_assert(Options.store != node_store::side_table || !Options.unlocked_capacity,
                  "allot: best_fit_options::unlocked_capacity is for records in band: leave it out for a side table");
    static_assert(Options.large <= Options.largest_extent,
                  "allot: best_fit_options::large must not be larger than best_fit_options::largest_extent");
    static_assert(std::in_range<Offset>(Options.large) || Options.large == no_bound,
                  "allot: best_fit_options::large does not fit the offset type: use a smaller size or a wider offset "
                  "type");
    static_assert(Options.store != node_store::in_band || sizeof(Offset) > 1,
                  "allot: records in band need offsets of at least 16 bits: use node_store::side_table with 8 bits");
};

/// Rejects bounds with which no block fits.
template <bool BlockFits>
struct best_fit_refuses_all {
    static constexpr bool said = true;
    static_assert(BlockFits,
                  "allot: no block fits in the smallest of best_fit_options::largest_extent, the device's capacity and "
                  "the growth's limit: a block needs one granule with a side table and five words in band");
};

/// Returns the options of a best_fit in an arena: with the selected node store, and with the bounds that the arena's
/// memory guarantees.
template <best_fit_options Options, memory_traits Where>
consteval best_fit_options best_fit_options_in() {
    static_assert(Options.largest_extent >= Where.largest || !(Where.grows || Where.extends),
                  "allot: this arena grows beyond best_fit_options::largest_extent: set growth_options::limit instead, "
                  "which also bounds the bins");
    static_assert(Options.largest_extent >= Where.largest || Where.grows || Where.extends || Where.largest == no_bound,
                  "allot: this device's memory is larger than best_fit_options::largest_extent: leave that option out, "
                  "because an arena derives it from its device");
    static_assert(
        Options.records != given_records,
        "allot: an arena cannot give memory to a table with best_fit_options::records = given_records: set the "
        "number of records, or use best_fit without an arena");
    static_assert(Options.largest_offset == no_bound,
                  "allot: best_fit_options::largest_offset is for best_fit without an arena, which chooses the offsets "
                  "itself: leave it out");
    best_fit_options options = Options;
    if (options.store == node_store::automatic)
        options.store = Where.host_pointers && options.records == 0 && options.granule == 1 && !options.offset_index
                            ? node_store::in_band
                            : node_store::side_table;
    if (options.store == node_store::in_band && Where.grows) options.candidates = 1;
    if (Where.largest < options.largest_extent) options.largest_extent = Where.largest;
    // A block that is moved in order to grow leaves a hole. If small blocks were placed there, later large blocks could
    // not use the hole, and the memory would grow by every move.
    const bool moves = Where.extends && Where.host_pointers && options.largest_extent >= 128_KiB;
    if (options.large == 0 && moves) options.large = 128_KiB;
    else if (options.large == no_bound) options.large = 0;
    return options;
}

}  // namespace detail
}  // namespace v1
}  // namespace allot
