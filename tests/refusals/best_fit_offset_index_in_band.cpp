// An index of offsets for an in-band best fit, which has no side table.
// refused: allot: best_fit_options::offset_index is for a side table: leave it out for records in band
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::node_store::in_band;
#else
    constexpr auto store = allot::node_store::side_table;
#endif
    using strategy = allot::best_fit<allot::best_fit_options{.store = store, .offset_index = true}>;
    allot::arena<allot::host::static_storage<4096>, strategy> arena;
    return static_cast<int>(arena.size());
}
