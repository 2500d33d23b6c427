// The parts of the combinations that satisfy the laws: strategies, node stores, devices, growths, options.
//
// Every row of a table is a combination that a user can write. The tables are in the tests, which assert the number of
// their rows, so that a removed row is noticed.
#pragma once

#include "adapters.hpp"
#include "judge.hpp"

#include <allot/arena/hardening.hpp>

namespace laws {

// ── devices ──────────────────────────────────────────────────────────────────────────────────────────────────────────

using allot::host::buffer;
using allot::host::heap;
using storage = allot::host::static_storage<2048, 4096>;
using even_pages = pages<page_options{}>;
using uneven_pages = pages<page_options{.phase = {16, 0}}>;  // on and 16 bytes after a page boundary
using odd_pages = pages<page_options{.phase = {1, 40}}>;
using whole_pages = pages<page_options{.min_align = 64, .granularity = 4096}>;
using protected_pages = pages<page_options{.accessible = false, .phase = {16, 0}}>;  // every access faults
using even_handles = handles<handle_options{}>;
using uneven_handles = handles<handle_options{.align = {16, 4096}}>;

// ── strategies ───────────────────────────────────────────────────────────────────────────────────────────────────────

using narrow = std::uint32_t;
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
using down = allot::bump<allot::bump_options{.direction = allot::direction::down}>;
using up_narrow = allot::bump<allot::bump_options{.direction = allot::direction::up}, narrow>;
using down_narrow = allot::bump<allot::bump_options{.direction = allot::direction::down}, narrow>;

inline constexpr allot::best_fit_options beside{.store = allot::node_store::side_table};
inline constexpr allot::best_fit_options beside_few{.store = allot::node_store::side_table, .records = 24};
inline constexpr allot::best_fit_options beside_large{.store = allot::node_store::side_table, .large = 200};
inline constexpr allot::best_fit_options within{.store = allot::node_store::in_band};
inline constexpr allot::best_fit_options within_large{.store = allot::node_store::in_band, .large = 200};
inline constexpr allot::best_fit_options in_granules{.store = allot::node_store::side_table, .granule = 32};
using up_to_lines = allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 64}>;
using down_to_lines = allot::bump<allot::bump_options{.direction = allot::direction::down, .limit_align = 64}>;
inline constexpr allot::best_fit_options in_large_granules{.store = allot::node_store::side_table, .granule = 256};
using beside_large_granules = allot::best_fit<in_large_granules>;
inline constexpr allot::best_fit_options within_one_probe{.store = allot::node_store::in_band, .probes = 1};
inline constexpr allot::best_fit_options beside_one_probe{.store = allot::node_store::side_table, .probes = 1};
using in_band_one_probe = allot::best_fit<within_one_probe>;
using beside_one_probed = allot::best_fit<beside_one_probe>;
using automatic = allot::best_fit<>;
using beside_granules = allot::best_fit<in_granules>;
using beside_granules_narrow = allot::best_fit<in_granules, narrow>;
using beside_growing = allot::best_fit<beside>;
using beside_fixed = allot::best_fit<beside_few>;
using beside_two_ends = allot::best_fit<beside_large>;
using in_band = allot::best_fit<within>;
using in_band_two_ends = allot::best_fit<within_large>;
using in_band_deferred = allot::deferred<in_band>;
using in_band_deferred_narrow =
    allot::deferred<allot::best_fit<within, narrow, window_memory<narrow>>, allot::deferred_options{.largest = 100}>;
using in_band_deferred_bounded =
    allot::deferred<allot::best_fit<within_large>, allot::deferred_options{.share = 100, .joins = 2}>;
using beside_narrow = allot::best_fit<beside, narrow>;
using beside_fixed_narrow = allot::best_fit<beside_few, narrow>;
using in_band_two_ends_narrow = allot::best_fit<within_large, narrow, window_memory<narrow>>;
using in_band_narrow = allot::best_fit<within, narrow, window_memory<narrow>>;

using stack = allot::stack<>;
using stack_two_ends = allot::stack<allot::stack_options{.large = 100}>;
using stack_narrow = allot::stack<allot::stack_options{}, narrow>;
using ring = allot::ring<>;
using ring_narrow = allot::ring<allot::ring_options{}, narrow>;

template <allot::pool_store Store, std::size_t Count = 80>
using pool = allot::pool<allot::pool_options{.slot = 64, .count = Count, .align = 16, .store = Store}>;
template <allot::pool_store Store>
using pool_narrow = allot::pool<allot::pool_options{.slot = 40, .count = 80, .align = 8, .store = Store}, narrow>;
template <allot::pool_store Store, std::size_t Count = 80>
using pool_aligned = allot::pool<allot::pool_options{.slot = 100, .count = Count, .align = 64, .store = Store}>;
/// The position of a page depends on the caller's processor, which must be the same for the same calls.
struct one_processor {
    std::size_t operator()() const noexcept { return 1; }
};
using pages_in_tree = allot::page_tree<allot::page_tree_options{.page = 64, .count = 80}, std::size_t, one_processor>;
using narrow_pages_in_tree =
    allot::page_tree<allot::page_tree_options{.page = 32, .count = 90, .processors = 2}, narrow, one_processor>;

// ── growths and options ──────────────────────────────────────────────────────────────────────────────────────────────

using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
using geometric = allot::growth::geometric<allot::growth_options{.step = 500, .regions = 4}>;
using contiguous = allot::growth::contiguous<allot::growth_options{.step = 500, .limit = 20'000, .regions = 1}>;
using by_the_page = allot::growth::fixed<allot::growth_options{.step = 3000, .limit = 10'000, .regions = 4}>;
using none = allot::growth::none<>;

inline constexpr allot::arena_options plain{};
inline constexpr allot::arena_options at_a_page{.align = 4096};
inline constexpr allot::arena_options checked{.hardening = allot::hardening::checked, .align = 4096};
inline constexpr allot::arena_options debug{.hardening = allot::hardening::debug, .align = 4096};

template <class Device, class Strategy, class Growth = none, allot::arena_options Options = plain>
using on = arena_subject<arena_over<Device, Strategy, Growth, Options>>;
template <class Strategy, whereabouts Where = whereabouts::low>
using alone = strategy_subject<Strategy, Where>;

/// Rows of 64 bytes, with a table of pointers or of indices.
template <class RowDevice, class RowStrategy, class TableStrategy, class Entry = allot::row_pointer>
using paged_over = paged_subject<arena_over<RowDevice, RowStrategy>, arena_over<even_pages, TableStrategy>,
                                 allot::pointer_table<64, Entry, typename RowDevice::address_model>>;
template <class First, class Second, class Composition = in_fallback>
using both =
    composed_subject<Composition, arena_over<uneven_pages, First, none, plain, 1500>, arena_over<even_pages, Second>>;

template <class Device, class Strategy>
using shards_of = composed_subject<in_shards, arena_over<Device, Strategy>, arena_over<Device, Strategy>>;

using enum whereabouts;
inline constexpr auto bitmap = allot::pool_store::bitmap, index_stack = allot::pool_store::index_stack,
                      atomic_bitmap = allot::pool_store::atomic_bitmap;

}  // namespace laws
