// An arena has no transfer lists, and no lock for several threads.
// refused: allot: thread_local_caches needs a per_thread: thread_local_caches<per_thread<Arena>>
#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
#ifdef MISUSE
    allot::thread_local_caches<arena> memory;
#else
    allot::thread_local_caches<allot::per_thread<arena>> memory;
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
