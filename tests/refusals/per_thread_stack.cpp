// A stack frees its newest block first, and the caches free blocks in the order of their lists.
// refused: allot: per_thread frees blocks in another order than the program, which stack and ring do not support: use best_fit, pool, page_tree, bump or naive
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::stack<>;
#else
    using strategy = allot::best_fit<>;
#endif
    allot::per_thread<allot::arena<allot::host::static_storage<256>, strategy>> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
