// Bins that are bounded by an extent's size serve no larger region, and this arena could acquire one.
// refused: allot: this arena grows beyond best_fit_options::largest_extent: say growth_options::limit instead
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
