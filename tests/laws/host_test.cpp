// The laws of host memory: see laws.hpp.
#include "subjects.hpp"

namespace laws {
namespace {

/// Host memory, records in band where the strategy has any.
constexpr row host_memory[] = {
    {"best fit, automatic, host heap", make<on<heap, automatic, none, at_a_page>>},
    {"best fit, in band, caller's buffer", make<on<buffer, in_band>>},
    {"best fit, in band, static storage", make<on<storage, in_band>>, false, false},
    {"best fit, in band, odd pages", make<on<odd_pages, in_band>>},
    {"best fit, in band, two ends, uneven pages", make<on<uneven_pages, in_band_two_ends>>},
#if defined(__linux__)
    {"best fit, in band, system pages", make<on<allot::host::pages<>, in_band>>, false, false},
#endif
    {"best fit, deferred, host heap", make<on<heap, allot::deferred<automatic>, none, at_a_page>>},
    {"best fit, deferred, odd pages", make<on<odd_pages, in_band_deferred>>},
    {"best fit, side table, host heap", make<on<heap, beside_growing, none, at_a_page>>},
    {"best fit, side table, tightly coupled", make<on<allot::host::tightly_coupled, beside_fixed>>},
    {"bump up, host heap", make<on<heap, up, none, at_a_page>>},
    {"bump down, host heap", make<on<heap, down, none, at_a_page>>},
    {"bump up, odd pages", make<on<odd_pages, up>>},
    {"bump down, odd pages", make<on<odd_pages, down>>},
    {"bump down, static storage", make<on<storage, down>>, false, false},
    {"stack, caller's buffer", make<on<buffer, stack>>},
    {"stack, two ends, host heap", make<on<heap, stack_two_ends, none, at_a_page>>},
    {"ring, caller's buffer", make<on<buffer, ring>>},
    {"pool, in band, odd pages", make<on<odd_pages, pool<allot::pool_store::in_band, 0>>>},
    {"pool, automatic, aligned slots, uneven pages",
     make<on<uneven_pages, pool_aligned<allot::pool_store::automatic, 0>>>},
    {"pool, bitmap, tightly coupled", make<on<allot::host::tightly_coupled, pool<bitmap>>>},
    {"pool, index stack, static storage", make<on<storage, pool<index_stack>>>, false, false},
    {"pool, atomic bitmap, odd pages", make<on<odd_pages, pool<atomic_bitmap>>>},
    {"page tree, uneven pages", make<on<uneven_pages, pages_in_tree>>},
    {"best fit, in band, checked", make<on<uneven_pages, in_band, none, checked>>},
    {"best fit, in band, debug", make<on<uneven_pages, in_band, none, debug>>},
    {"best fit, deferred, debug", make<on<uneven_pages, in_band_deferred, none, debug>>},
    {"best fit, side table, checked", make<on<uneven_pages, beside_growing, none, checked>>},
    {"bump down, checked", make<on<uneven_pages, down, none, checked>>},
    {"stack, checked", make<on<uneven_pages, stack, none, checked>>},
    {"pool, in band, checked", make<on<uneven_pages, pool<allot::pool_store::in_band, 0>, none, checked>>},
};

}  // namespace
}  // namespace laws

TEST_CASE("laws: arenas over host memory") {
#if defined(__linux__)
    CHECK(std::size(laws::host_memory) == 31);
#else  // no system that provides pages
    CHECK(std::size(laws::host_memory) == 30);
#endif
    laws::judge(laws::host_memory);
}
