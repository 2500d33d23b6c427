// An arena that may acquire a region larger than the extent for which the bins are sized.
// refused: allot: this arena grows beyond best_fit_options::largest_extent: set growth_options::limit instead, which also bounds the bins
#include <allot/allot.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    using growth = allot::growth::geometric<>;
#else
    using growth = allot::growth::geometric<allot::growth_options{.limit = 64_KiB}>;
#endif
    allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.largest_extent = 64_KiB}>, growth> arena;
    return arena.allocate({.size = 100}) ? 0 : 1;
}
