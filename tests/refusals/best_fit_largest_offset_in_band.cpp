// A bound of the offsets, whose records are in band and have the size of a pointer.
// refused: allot: best_fit_options::largest_offset is for a side table: leave it out for records in band
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t bound = 4096;
#else
    constexpr std::size_t bound = allot::no_bound;
#endif
    allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band, .largest_offset = bound}> strategy;
    return static_cast<int>(strategy.can_insert() ? 0 : 1);
}
