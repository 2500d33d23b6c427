// Options that contradict each other: no size would be placed from the top.
// refused: allot: best_fit_options::large must not be larger than best_fit_options::largest_extent
// alone
#include <allot/strategy/best_fit.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t large = 5000;
#else
    constexpr std::size_t large = 500;
#endif
    allot::best_fit<allot::best_fit_options{.large = large, .largest_extent = 4096}> strategy;
    return strategy.insert({0, 4096}) ? 0 : 1;
}
