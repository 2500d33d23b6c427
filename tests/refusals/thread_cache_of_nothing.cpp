// A cache belongs to one per_thread, which has no default.
// refused: allot: a thread_cache needs a per_thread<Arena>: thread_cache cache{memory}
// alone
#include <allot/allot.hpp>

int main() {
    allot::per_thread<allot::arena<allot::host::static_storage<256>, allot::best_fit<>>> memory;
#ifdef MISUSE
    allot::thread_cache mine;
#else
    allot::thread_cache mine{memory};
#endif
    return mine.allocate({.size = 10}) ? 0 : 1;
}
