// The written table of what keeps the laws: strategy × node store × device × growth.
//
// Every row is one combination that a user can write. The table comes in parts, and the test that judges a part asserts
// how many rows it has, so that one which no longer compiles and is taken out is noticed. The parts are templates, and
// their rows depend on the parameter, only so that each is compiled by its own test and by no other.
#pragma once

#include "adapters.hpp"
#include "judge.hpp"

namespace laws {

// ── devices ──────────────────────────────────────────────────────────────────────────────────────────────────────────

using allot::host::buffer;
using allot::host::heap;
using storage = allot::host::static_storage<2048, 4096>;
using even_pages = pages<page_options{}>;
using uneven_pages = pages<page_options{.phase = {16, 0}}>;  // bases in turn 16 bytes behind a page, and at one
using odd_pages = pages<page_options{.phase = {1, 40}}>;
using whole_pages = pages<page_options{.min_align = 64, .granularity = 4096}>;
using protected_pages = pages<page_options{.accessible = false, .phase = {16, 0}}>;  // any touch is a fault
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
using automatic = allot::best_fit<>;
using beside_granules = allot::best_fit<in_granules>;
using beside_granules_narrow = allot::best_fit<in_granules, narrow>;
using beside_growing = allot::best_fit<beside>;
using beside_fixed = allot::best_fit<beside_few>;
using beside_two_ends = allot::best_fit<beside_large>;
using in_band = allot::best_fit<within>;
using in_band_two_ends = allot::best_fit<within_large>;
using in_band_deferred = allot::deferred<in_band>;
using in_band_deferred_narrow = allot::deferred<allot::best_fit<within, narrow, window_memory<narrow>>, allot::deferred_options{.largest = 100}>;
using beside_narrow = allot::best_fit<beside, narrow>;
using beside_fixed_narrow = allot::best_fit<beside_few, narrow>;
using in_band_two_ends_narrow = allot::best_fit<within_large, narrow, window_memory<narrow>>;
using in_band_narrow = allot::best_fit<within, narrow, window_memory<narrow>>;

using stack = allot::stack<>;
using stack_two_ends = allot::stack<allot::stack_options{.large = 100}>;
using stack_narrow = allot::stack<allot::stack_options{}, narrow>;
using ring = allot::ring<>;
using ring_narrow = allot::ring<narrow>;

template <allot::pool_store Store, std::size_t Count = 80>
using pool = allot::pool<allot::pool_options{.slot = 64, .count = Count, .align = 16, .store = Store}>;
template <allot::pool_store Store>
using pool_narrow = allot::pool<allot::pool_options{.slot = 40, .count = 80, .align = 8, .store = Store}, narrow>;
template <allot::pool_store Store, std::size_t Count = 80>
using pool_aligned = allot::pool<allot::pool_options{.slot = 100, .count = Count, .align = 64, .store = Store}>;

// ── growths and options ──────────────────────────────────────────────────────────────────────────────────────────────

using fixed = allot::growth::fixed<allot::growth_options{.step = 1000, .limit = 20'000, .regions = 8}>;
using geometric = allot::growth::geometric<allot::growth_options{.step = 500, .regions = 4}>;
using contiguous = allot::growth::contiguous<allot::growth_options{.step = 500, .limit = 20'000, .regions = 1}>;
using by_the_page = allot::growth::fixed<allot::growth_options{.step = 3000, .limit = 10'000, .regions = 4}>;
using none = allot::growth::none;

inline constexpr allot::arena_options plain{};
inline constexpr allot::arena_options at_a_page{.align = 4096};
inline constexpr allot::arena_options checked{.hardening = allot::hardening::checked, .align = 4096};
inline constexpr allot::arena_options debug{.hardening = allot::hardening::debug, .align = 4096};

template <class Device, class Strategy, class Growth = none, allot::arena_options Options = plain>
using on = arena_subject<arena_over<Device, Strategy, Growth, Options>>;
template <class Strategy, whereabouts Where = whereabouts::low>
using alone = strategy_subject<Strategy, Where>;

/// Rows of 64 bytes, named by pointers or by indices.
template <class RowDevice, class RowStrategy, class TableStrategy, class Entry = allot::row_pointer>
using paged_over = paged_subject<arena_over<RowDevice, RowStrategy>, arena_over<even_pages, TableStrategy>,
                                 allot::pointer_table<64, Entry, typename RowDevice::address_model>>;
template <class First, class Second>
using both = fallback_subject<arena_over<uneven_pages, First, none, plain, 1500>, arena_over<even_pages, Second>>;

// ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────

using enum whereabouts;
inline constexpr auto bitmap = allot::pool_store::bitmap, index_stack = allot::pool_store::index_stack;

/// One: host memory, records in band where the strategy has any.
template <class Late = void>
inline constexpr row host_memory[] = {
    {"best fit, automatic, host heap", make<on<heap, automatic, none, at_a_page>, Late>},
    {"best fit, in band, caller's buffer", make<on<buffer, in_band>, Late>},
    {"best fit, in band, static storage", make<on<storage, in_band>, Late>, false, false},
    {"best fit, in band, odd pages", make<on<odd_pages, in_band>, Late>},
    {"best fit, in band, two ends, uneven pages", make<on<uneven_pages, in_band_two_ends>, Late>},
#if __has_include(<sys/mman.h>)
    {"best fit, in band, system pages", make<on<allot::host::pages<>, in_band>, Late>, false, false},
#endif
    {"best fit, deferred, host heap", make<on<heap, allot::deferred<automatic>, none, at_a_page>, Late>},
    {"best fit, deferred, odd pages", make<on<odd_pages, in_band_deferred>, Late>},
    {"best fit, side table, host heap", make<on<heap, beside_growing, none, at_a_page>, Late>},
    {"best fit, side table, tightly coupled", make<on<allot::tightly_coupled, beside_fixed>, Late>},
    {"bump up, host heap", make<on<heap, up, none, at_a_page>, Late>},
    {"bump down, host heap", make<on<heap, down, none, at_a_page>, Late>},
    {"bump up, odd pages", make<on<odd_pages, up>, Late>},
    {"bump down, odd pages", make<on<odd_pages, down>, Late>},
    {"bump down, static storage", make<on<storage, down>, Late>, false, false},
    {"stack, caller's buffer", make<on<buffer, stack>, Late>},
    {"stack, two ends, host heap", make<on<heap, stack_two_ends, none, at_a_page>, Late>},
    {"ring, caller's buffer", make<on<buffer, ring>, Late>},
    {"pool, in band, odd pages", make<on<odd_pages, pool<allot::pool_store::in_band, 0>>, Late>},
    {"pool, automatic, aligned slots, uneven pages", make<on<uneven_pages, pool_aligned<allot::pool_store::automatic, 0>>, Late>},
    {"pool, bitmap, tightly coupled", make<on<allot::tightly_coupled, pool<bitmap>>, Late>},
    {"pool, index stack, static storage", make<on<storage, pool<index_stack>>, Late>, false, false},
    {"best fit, in band, checked", make<on<uneven_pages, in_band, none, checked>, Late>},
    {"best fit, in band, debug", make<on<uneven_pages, in_band, none, debug>, Late>},
    {"best fit, deferred, debug", make<on<uneven_pages, in_band_deferred, none, debug>, Late>},
    {"best fit, side table, checked", make<on<uneven_pages, beside_growing, none, checked>, Late>},
    {"bump down, checked", make<on<uneven_pages, down, none, checked>, Late>},
    {"stack, checked", make<on<uneven_pages, stack, none, checked>, Late>},
    {"pool, in band, checked", make<on<uneven_pages, pool<allot::pool_store::in_band, 0>, none, checked>, Late>},
};

/// Two: raw pointers into protected pages.
template <class Late = void>
inline constexpr row protected_memory[] = {
    {"best fit, automatic, protected pages", make<on<protected_pages, automatic>, Late>},
    {"best fit, side table of 24, protected pages", make<on<protected_pages, beside_fixed>, Late>},
    {"best fit, side table, two ends, protected pages", make<on<protected_pages, beside_two_ends>, Late>},
    {"best fit, debug, protected pages", make<on<protected_pages, automatic, none, debug>, Late>},
    {"bump up, protected pages", make<on<protected_pages, up>, Late>},
    {"bump down, protected pages", make<on<protected_pages, down>, Late>},
    {"stack, protected pages", make<on<protected_pages, stack>, Late>},
    {"ring, protected pages", make<on<protected_pages, ring>, Late>},
    {"pool, automatic, protected pages", make<on<protected_pages, pool<allot::pool_store::automatic>>, Late>},
    {"pool, bitmap, protected pages", make<on<protected_pages, pool<bitmap>>, Late>},
};

/// Three: a handle and an offset. (OpenCL itself: tests/device/opencl_laws_test.cpp.)
template <class Late = void>
inline constexpr row handle_memory[] = {
    {"best fit, automatic, handles", make<on<even_handles, automatic>, Late>},
    {"best fit, side table of 24, handles", make<on<even_handles, beside_fixed>, Late>},
    {"best fit, two ends, handles of small alignment", make<on<uneven_handles, beside_two_ends>, Late>},
    {"best fit, 32 bits, handles", make<on<even_handles, beside_narrow>, Late>},
    {"best fit, 32 bits, checked, handles", make<on<even_handles, beside_narrow, none, checked>, Late>},
    {"bump up, handles", make<on<even_handles, up>, Late>},
    {"bump down, handles of small alignment", make<on<uneven_handles, down>, Late>},
    {"bump up, 32 bits, handles", make<on<even_handles, up_narrow>, Late>},
    {"stack, two ends, handles", make<on<even_handles, stack_two_ends>, Late>},
    {"ring, 32 bits, handles", make<on<even_handles, ring_narrow>, Late>},
    {"pool, index stack, 32 bits, handles", make<on<even_handles, pool_narrow<index_stack>>, Late>},
};

/// Four: paged, tables in one arena and rows in another.
template <class Late = void>
inline constexpr row paged_memory[] = {
    {"paged: best fit rows, best fit tables", make<paged_over<uneven_pages, in_band, in_band>, Late>, false, false},
    {"paged: bump rows, bump tables", make<paged_over<even_pages, up, down>, Late>, false, false},
    {"paged: best fit rows, bump tables", make<paged_over<even_pages, in_band, down>, Late>, false, false},
    {"paged: bump rows, best fit tables", make<paged_over<uneven_pages, down, in_band>, Late>, false, false},
    {"paged: pool rows, best fit tables", make<paged_over<even_pages, pool<allot::pool_store::in_band, 0>, in_band>, Late>, false, false},
    {"paged: protected rows, best fit tables", make<paged_over<protected_pages, automatic, in_band>, Late>, false, false},
    {"paged: rows of handles, best fit tables", make<paged_over<even_handles, automatic, in_band, allot::row_index<>>, Late>, false, false},
    {"paged: rows of handles, 32 bits, bump tables", make<paged_over<even_handles, beside_narrow, up, allot::row_offset<>>, Late>, false, false},
    {"paged: stack rows, stack tables", make<paged_over<even_pages, stack, stack>, Late>, false, false},
};

/// Five: several regions of unequal alignment, with growth.
template <class Late = void>
inline constexpr row growing_memory[] = {
    {"best fit, in band, uneven pages, fixed growth", make<on<uneven_pages, in_band, fixed>, Late>, true},
    {"best fit, in band, odd pages, geometric growth", make<on<odd_pages, in_band, geometric>, Late>, true},
    {"best fit, in band, two ends, uneven pages, fixed growth", make<on<uneven_pages, in_band_two_ends, fixed>, Late>, true},
    {"best fit, in band, whole pages, growth to a limit", make<on<whole_pages, in_band, by_the_page>, Late>, true},
    {"best fit, in band, checked, fixed growth", make<on<uneven_pages, in_band, fixed, checked>, Late>, true},
    {"best fit, deferred, odd pages, geometric growth", make<on<odd_pages, in_band_deferred, geometric>, Late>, true},
    {"best fit, deferred, checked, fixed growth", make<on<uneven_pages, in_band_deferred, fixed, checked>, Late>, true},
    {"best fit, deferred, contiguous growth", make<on<stretching, in_band_deferred, contiguous>, Late>, true},
    {"best fit, side table, uneven pages, fixed growth", make<on<uneven_pages, beside_growing, fixed>, Late>, true},
    {"best fit, side table, odd pages, geometric growth", make<on<odd_pages, beside_growing, geometric>, Late>, true},
    {"best fit, side table of 24, uneven pages, fixed growth", make<on<uneven_pages, beside_fixed, fixed>, Late>, true},
    {"best fit, side table, two ends, protected pages, fixed growth", make<on<protected_pages, beside_two_ends, fixed>, Late>, true},
    {"best fit, side table, checked, fixed growth", make<on<uneven_pages, beside_growing, fixed, checked>, Late>, true},
    {"best fit, automatic, protected pages, geometric growth", make<on<protected_pages, automatic, geometric>, Late>, true},
    {"best fit, automatic, uneven handles, fixed growth", make<on<uneven_handles, automatic, fixed>, Late>, true},
    {"best fit, 32 bits, uneven handles, geometric growth", make<on<uneven_handles, beside_narrow, geometric>, Late>, true},
    {"best fit, 32 bits, 24 records, handles, fixed growth", make<on<even_handles, beside_fixed_narrow, fixed>, Late>, true},
    {"bump up, uneven pages, fixed growth", make<on<uneven_pages, up, fixed>, Late>, true},
    {"bump down, odd pages, geometric growth", make<on<odd_pages, down, geometric>, Late>, true},
    {"bump down, whole pages, growth to a limit", make<on<whole_pages, down, by_the_page>, Late>, true},
    {"bump up, protected pages, geometric growth", make<on<protected_pages, up, geometric>, Late>, true},
    {"bump down, uneven handles, fixed growth", make<on<uneven_handles, down, fixed>, Late>, true},
    {"bump down, 32 bits, handles, geometric growth", make<on<even_handles, down_narrow, geometric>, Late>, true},
    {"best fit, in band, contiguous growth", make<on<stretching, in_band, contiguous>, Late>, true},
    {"best fit, in band, two ends, contiguous growth", make<on<stretching, in_band_two_ends, contiguous>, Late>, true},
    {"best fit, side table, contiguous growth", make<on<stretching, beside_growing, contiguous>, Late>, true},
    {"best fit, side table of 24, contiguous growth", make<on<stretching, beside_fixed, contiguous>, Late>, true},
    {"best fit, in band, checked, contiguous growth", make<on<stretching, in_band, contiguous, checked>, Late>, true},
    {"bump up, contiguous growth", make<on<stretching, up, contiguous>, Late>, true},
    {"pool, in band, uneven pages, fixed growth", make<on<uneven_pages, pool<allot::pool_store::in_band, 0>, fixed>, Late>, true},
    {"pool, in band, at most 40 slots, fixed growth", make<on<even_pages, pool<allot::pool_store::in_band, 40>, fixed>, Late>, true},
    {"pool, in band, aligned slots, odd pages, fixed growth", make<on<odd_pages, pool_aligned<allot::pool_store::in_band, 0>, fixed>, Late>, true},
};

/// Six: a side table on its own, over any offsets. (In constant expressions: constexpr_test.cpp.)
template <class Late = void>
inline constexpr row offsets_alone[] = {
    {"alone: best fit, side table", make<alone<automatic>, Late>},
    {"alone: best fit, side table, extents that touch", make<alone<beside_growing, touching>, Late>},
    {"alone: best fit, side table of 24, extents that touch", make<alone<beside_fixed, touching>, Late>},
    {"alone: best fit, side table, two ends, at the last offset", make<alone<beside_two_ends, top>, Late>},
    {"alone: best fit, side table, 32 bits, at the last offset", make<alone<beside_narrow, top>, Late>},
    {"alone: best fit, side table of 24, 32 bits", make<alone<beside_fixed_narrow>, Late>},
    {"alone: best fit, side table, granules of 32, extents that touch", make<alone<beside_granules, touching>, Late>},
    {"alone: best fit, side table, granules of 32, 32 bits, at the last offset", make<alone<beside_granules_narrow, top>, Late>},
    {"alone: best fit, in band, extents that touch", make<alone<in_band, touching>, Late>},
    {"alone: best fit, in band, two ends", make<alone<in_band_two_ends>, Late>},
    {"alone: best fit, in band, 32 bits, extents that touch", make<alone<in_band_narrow, touching>, Late>},
    {"alone: best fit, in band, two ends, 32 bits", make<alone<in_band_two_ends_narrow>, Late>},
    {"alone: best fit, deferred, extents that touch", make<alone<in_band_deferred, touching>, Late>},
    {"alone: best fit, deferred up to 100, 32 bits", make<alone<in_band_deferred_narrow>, Late>},
    {"alone: bump up, at the last offset", make<alone<up, top>, Late>},
    {"alone: bump down, at the last offset", make<alone<down, top>, Late>},
    {"alone: bump up, 32 bits, at the last offset", make<alone<up_narrow, top>, Late>},
    {"alone: bump down, 32 bits", make<alone<down_narrow>, Late>},
    {"alone: stack, at the last offset", make<alone<stack, top>, Late>},
    {"alone: stack, two ends", make<alone<stack_two_ends>, Late>},
    {"alone: stack, 32 bits, at the last offset", make<alone<stack_narrow, top>, Late>},
    {"alone: ring, at the last offset", make<alone<ring, top>, Late>},
    {"alone: ring, 32 bits", make<alone<ring_narrow>, Late>},
    {"alone: pool, in band, extents that touch", make<alone<pool<allot::pool_store::in_band, 0>, touching>, Late>},
    {"alone: pool, bitmap", make<alone<pool<bitmap>>, Late>},
    {"alone: pool, bitmap, 32 bits, at the last offset", make<alone<pool_narrow<bitmap>, top>, Late>},
    {"alone: pool, index stack, at the last offset", make<alone<pool<index_stack>, top>, Late>},
};

/// Combined.
template <class Late = void>
inline constexpr row combined_memory[] = {
    {"fallback: best fit, then best fit", make<both<in_band, in_band>, Late>, false, false},
    {"fallback: pool, then best fit with records beside", make<both<pool<allot::pool_store::in_band, 0>, beside_growing>, Late>, false, false},
};

}  // namespace laws
