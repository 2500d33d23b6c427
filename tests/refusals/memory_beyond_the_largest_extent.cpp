// A region that is larger than the extent for which the bins are sized.
// refused: allot: this device's memory is larger than best_fit_options::largest_extent: leave that option out, because an arena derives it from its device
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using bytes = allot::host::static_storage<1001>;
#else
    using bytes = allot::host::static_storage<1000>;
#endif
    allot::arena<bytes, allot::best_fit<allot::best_fit_options{.largest_extent = 1000}>> arena;
    return arena.allocate({1, 1}) ? 0 : 1;
}
