// A granule for an in-band best fit, whose granule is fixed.
// refused: allot: best_fit_options::granule is for a side table: leave it out for records in band, where it is two words
#include <allot/strategy/best_fit.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::side_table;
#endif
    allot::best_fit<allot::best_fit_options{.store = store, .granule = 256}> strategy;
    return strategy.allocate({16, 8}) ? 1 : 0;
}
