// A granule that is not a power of two.
// refused: allot: best_fit_options::granule must be a power of two that fits the offset type
// alone
#include <allot/strategy/best_fit.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t granule = 48;
#else
    constexpr std::size_t granule = 64;
#endif
    allot::best_fit<allot::best_fit_options{.granule = granule}> strategy;
    return strategy.allocate({16, 8}) ? 1 : 0;
}
