// All shards would be one allocator.
// refused: allot: sharded owns its allocators: use an allocator, not a reference
#include <allot/allot.hpp>

int main() {
    using shard =
        allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::best_fit<>>, allot::spin_lock>;
#ifdef MISUSE
    using shards = allot::sharded<shard&, 2>;
#else
    using shards = allot::sharded<shard, 2>;
#endif
    return sizeof(shards) != 0 ? 0 : 1;
}
