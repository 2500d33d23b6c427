// A mutex cannot be moved.
// refused: allot: per_thread moves this allocator, which has a lock or shards and cannot be moved: keep it in a variable, and use per_thread<Allocator&, no_lock>
// alone
#include <allot/allot.hpp>

#include <mutex>

using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using shared = allot::synchronized<arena, std::mutex>;

int main() {
#ifdef MISUSE
    allot::per_thread<shared, allot::no_lock> memory{shared{arena{{}, 4096}}};
#else
    shared below{arena{{}, 4096}};
    allot::per_thread<shared&, allot::no_lock> memory{below};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
