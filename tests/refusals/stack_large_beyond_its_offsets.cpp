// A limit that no size of 16 bits reaches.
// refused: allot: stack_options::large does not fit the offset type: use a smaller size
#include <allot/strategy/stack.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t large = 70'000;
#else
    constexpr std::size_t large = 7'000;
#endif
    allot::stack<allot::stack_options{.large = large}, std::uint16_t> strategy;
    return strategy.insert({0, 16384}) ? 0 : 1;
}
