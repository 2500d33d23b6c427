// A pool takes blocks back one by one.
// refused: allot: this allocator has no marks: use an arena over bump, stack or ring, or free blocks one by one
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::static_storage<4096>, allot::pool<allot::pool_options{.slot = 64}>> memory;
#else
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> memory;
#endif
    const allot::scoped_mark here{memory};
    return memory.allocate({64}) ? 0 : 1;
}
