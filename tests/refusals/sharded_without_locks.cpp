// Two threads on the same shard would call one best_fit at a time.
// refused: allot: the threads of a sharded allocator call each of its allocators concurrently: use sharded<synchronized<Arena, Lock>, N>, or arenas of page_tree
#include <allot/allot.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<256>, allot::best_fit<>>;
#ifdef MISUSE
    using shard = arena;
#else
    using shard = allot::synchronized<arena, allot::spin_lock>;
#endif
    allot::sharded<shard, 2> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
