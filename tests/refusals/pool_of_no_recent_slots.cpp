// A bitmap that takes one of its 0 lowest free slots.
// refused: allot: pool_options::recent must be at least 1
#include <allot/strategy/pool.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t recent = 0;
#else
    constexpr std::size_t recent = 1;
#endif
    allot::pool<allot::pool_options{.slot = 64, .count = 100, .store = allot::pool_store::bitmap, .recent = recent}>
        slots;
    return slots.insert({0, 6400}) ? 0 : 1;
}
