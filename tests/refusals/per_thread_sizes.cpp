// A list would have no size.
// refused: allot: the members smallest, largest, steps and align of per_thread_options must be powers of two, with steps <= smallest <= largest
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t smallest = 24;
#else
    constexpr std::size_t smallest = 32;
#endif
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
    allot::per_thread<arena, allot::spin_lock, allot::per_thread_options{.smallest = smallest}> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
