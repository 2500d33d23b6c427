// A limit that no size of 16 bits reaches.
// refused: allot: best_fit_options::large does not fit the offset type: use a smaller size
// alone
#include <allot/strategy/best_fit.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t large = 70'000;
#else
    constexpr std::size_t large = 7'000;
#endif
    allot::best_fit<allot::best_fit_options{.large = large}, std::uint16_t> strategy;
    return strategy.insert({0, 16384}) ? 0 : 1;
}
