// The laws of regions that are acquired and released: see laws.hpp.
#include "subjects.hpp"

namespace laws {
namespace {

/// Several regions of unequal alignment, with growth.
constexpr row growing_memory[] = {
    {"best fit, in band, uneven pages, fixed growth", make<on<uneven_pages, in_band, fixed>>, true},
    {"best fit, in band, odd pages, geometric growth", make<on<odd_pages, in_band, geometric>>, true},
    {"best fit, in band, two ends, uneven pages, fixed growth", make<on<uneven_pages, in_band_two_ends, fixed>>, true},
    {"best fit, in band, whole pages, growth to a limit", make<on<whole_pages, in_band, by_the_page>>, true},
    {"best fit, in band, checked, fixed growth", make<on<uneven_pages, in_band, fixed, checked>>, true},
    {"best fit, deferred, odd pages, geometric growth", make<on<odd_pages, in_band_deferred, geometric>>, true},
    {"best fit, deferred, checked, fixed growth", make<on<uneven_pages, in_band_deferred, fixed, checked>>, true},
    {"best fit, deferred, bounded joins, fixed growth", make<on<uneven_pages, in_band_deferred_bounded, fixed>>, true},
    {"best fit, deferred, contiguous growth", make<on<stretching, in_band_deferred, contiguous>>, true},
    {"best fit, side table, uneven pages, fixed growth", make<on<uneven_pages, beside_growing, fixed>>, true},
    {"best fit, side table, odd pages, geometric growth", make<on<odd_pages, beside_growing, geometric>>, true},
    {"best fit, side table of 24, uneven pages, fixed growth", make<on<uneven_pages, beside_fixed, fixed>>, true},
    {"best fit, side table, two ends, protected pages, fixed growth", make<on<protected_pages, beside_two_ends, fixed>>,
     true},
    {"best fit, side table, checked, fixed growth", make<on<uneven_pages, beside_growing, fixed, checked>>, true},
    {"best fit, automatic, protected pages, geometric growth", make<on<protected_pages, automatic, geometric>>, true},
    {"best fit, automatic, uneven handles, fixed growth", make<on<uneven_handles, automatic, fixed>>, true},
    {"best fit, 32 bits, uneven handles, geometric growth", make<on<uneven_handles, beside_narrow, geometric>>, true},
    {"best fit, 32 bits, 24 records, handles, fixed growth", make<on<even_handles, beside_fixed_narrow, fixed>>, true},
    {"bump up, uneven pages, fixed growth", make<on<uneven_pages, up, fixed>>, true},
    {"bump down, odd pages, geometric growth", make<on<odd_pages, down, geometric>>, true},
    {"bump down, whole pages, growth to a limit", make<on<whole_pages, down, by_the_page>>, true},
    {"bump up, protected pages, geometric growth", make<on<protected_pages, up, geometric>>, true},
    {"bump down, uneven handles, fixed growth", make<on<uneven_handles, down, fixed>>, true},
    {"bump down, 32 bits, handles, geometric growth", make<on<even_handles, down_narrow, geometric>>, true},
    {"best fit, in band, contiguous growth", make<on<stretching, in_band, contiguous>>, true},
    {"best fit, in band, two ends, contiguous growth", make<on<stretching, in_band_two_ends, contiguous>>, true},
    {"best fit, side table, contiguous growth", make<on<stretching, beside_growing, contiguous>>, true},
    {"best fit, side table of 24, contiguous growth", make<on<stretching, beside_fixed, contiguous>>, true},
    {"best fit, in band, checked, contiguous growth", make<on<stretching, in_band, contiguous, checked>>, true},
    {"bump up, contiguous growth", make<on<stretching, up, contiguous>>, true},
    {"best fit, in band, one probe, odd pages, fixed growth", make<on<odd_pages, in_band_one_probe, fixed>>, true},
    {"best fit, side table, one probe, uneven pages, geometric growth",
     make<on<uneven_pages, beside_one_probed, geometric>>, true},
    {"best fit, in band, one probe, contiguous growth", make<on<stretching, in_band_one_probe, contiguous>>, true},
    {"best fit, side table, one probe, contiguous growth", make<on<stretching, beside_one_probed, contiguous>>, true},
    {"best fit, granules of 32, odd pages, fixed growth", make<on<odd_pages, beside_granules, fixed>>, true},
    {"best fit, granules of 256, uneven handles, geometric growth",
     make<on<uneven_handles, beside_large_granules, geometric>>, true},
    {"best fit, granules of 32, contiguous growth", make<on<stretching, beside_granules, contiguous>>, true},
    {"bump up to multiples of 64, odd pages, fixed growth", make<on<odd_pages, up_to_lines, fixed>>, true},
    {"bump down to multiples of 64, odd pages, geometric growth", make<on<odd_pages, down_to_lines, geometric>>, true},
    {"bump up to multiples of 64, uneven handles, fixed growth", make<on<uneven_handles, up_to_lines, fixed>>, true},
    {"pool, in band, uneven pages, fixed growth", make<on<uneven_pages, pool<allot::pool_store::in_band, 0>, fixed>>,
     true},
    {"pool, in band, at most 40 slots, fixed growth", make<on<even_pages, pool<allot::pool_store::in_band, 40>, fixed>>,
     true},
    {"pool, in band, aligned slots, odd pages, fixed growth",
     make<on<odd_pages, pool_aligned<allot::pool_store::in_band, 0>, fixed>>, true},
};

}  // namespace
}  // namespace laws

TEST_CASE("laws: arenas that grow") {
    CHECK(std::size(laws::growing_memory) == 43);
    laws::judge(laws::growing_memory);
}
