// A list would have no size.
// refused: allot: the members smallest, largest, steps and align of block_cache_options must be powers of two, with steps <= smallest <= largest
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t largest = 100;
#else
    constexpr std::size_t largest = 128;
#endif
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
    allot::block_cache<arena, allot::block_cache_options{.smallest = 16, .largest = largest}> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
