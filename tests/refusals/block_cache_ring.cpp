// A ring frees its oldest block first, and a block cache frees blocks in the order of its lists.
// refused: allot: block_cache frees blocks in another order than the program, which stack and ring do not support: use best_fit, pool, bump or naive
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::ring<>;
#else
    using strategy = allot::bump<>;
#endif
    allot::block_cache<allot::arena<allot::host::static_storage<256>, strategy>> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
