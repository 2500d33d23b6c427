// An arena has no transfer lists, and no lock for several threads.
// refused: allot: a thread_cache needs a per_thread<Arena>: thread_cache cache{memory}
#include <allot/allot.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
#ifdef MISUSE
    arena memory;
#else
    allot::per_thread<arena> memory;
#endif
    allot::thread_cache mine{memory};
    return mine.allocate({.size = 10}) ? 0 : 1;
}
