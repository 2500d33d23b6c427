// No request could be served.
// refused: allot: sharded needs at least one allocator: sharded<Allocator, 4>
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr std::size_t count = 0;
#else
    constexpr std::size_t count = 1;
#endif
    using shard =
        allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::best_fit<>>, allot::spin_lock>;
    allot::sharded<shard, count> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
