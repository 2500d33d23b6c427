// Recent slots of a stack, which takes the slot that was freed last in any case.
// refused: allot: pool_options::recent is for pool_store::bitmap: leave it out for other stores
#include <allot/strategy/pool.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::pool_store::index_stack;
#else
    constexpr auto store = allot::pool_store::bitmap;
#endif
    allot::pool<allot::pool_options{.slot = 64, .count = 100, .store = store, .recent = 8}> slots;
    return slots.insert({0, 6400}) ? 0 : 1;
}
