// A granule that is larger than the memory.
// refused: allot: no block fits in the smallest of best_fit_options::largest_extent, the device's capacity and the growth's limit: a block needs one granule with a side table and five words in band
// alone
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t granule = 1024;
#else
    constexpr std::size_t granule = 512;
#endif
    using strategy = allot::best_fit<allot::best_fit_options{.records = 4, .granule = granule}>;
    allot::arena<allot::host::static_storage<1000>, strategy> arena;
    return arena.allocate({.size = 3}) ? 0 : 1;
}
