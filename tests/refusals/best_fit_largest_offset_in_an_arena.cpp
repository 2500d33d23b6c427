// A bound of the offsets, in an arena, which chooses the offsets itself.
// refused: allot: best_fit_options::largest_offset is for best_fit without an arena, which chooses the offsets itself: leave it out
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t bound = 4096;
#else
    constexpr std::size_t bound = allot::no_bound;
#endif
    using strategy = allot::best_fit<allot::best_fit_options{.records = 16, .largest_offset = bound}>;
    allot::arena<allot::host::static_storage<256>, strategy> arena;
    return static_cast<int>(arena.size());
}
