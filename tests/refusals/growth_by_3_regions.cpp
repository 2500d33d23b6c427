// The number of regions must be a power of two, because a region's number is in the top bits of an offset.
// refused: allot: growth_options::regions is a power of two
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t regions = 3;
#else
    constexpr std::size_t regions = 4;
#endif
    allot::arena<allot::host::heap, allot::bump<>, allot::growth::fixed<allot::growth_options{.regions = regions}>>
        arena;
    return static_cast<int>(arena.size());
}
