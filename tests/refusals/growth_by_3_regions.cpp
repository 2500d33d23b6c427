// The number of regions must be a power of two, because a region's number is in the top bits of an offset.
// refused: allot: growth_options::regions is a power of two
// only
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t regions = 3;
#else
    constexpr std::size_t regions = 4;
#endif
    constexpr allot::growth_options options{.regions = regions};
    allot::arena<allot::host::heap, allot::bump<>, allot::growth::fixed<options>> even;
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<options>> doubled;
    return static_cast<int>(even.size() + doubled.size());
}
