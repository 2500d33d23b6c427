// A pool has no marks.
// refused: allot: this strategy has no marks: use bump, stack or ring for mark and rollback, or free blocks one by one
// within: 8
#include <allot/allot.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    allot::arena<allot::host::static_storage<4_KiB>, allot::pool<allot::pool_options{.slot = 64}>> arena;
#else
    allot::arena<allot::host::static_storage<4_KiB>, allot::bump<>> arena;
#endif
    const auto here = arena.allocate({.size = 1});
    static_cast<void>(arena.mark());
    return here ? 0 : 1;
}
