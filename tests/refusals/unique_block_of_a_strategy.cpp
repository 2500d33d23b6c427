// A strategy has offsets, and no blocks.
// refused: allot: this is a strategy, which allocates offsets: combine it with a device
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
#ifdef MISUSE
    allot::bump<> memory;
#else
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> memory;
#endif
    return allot::allocate_unique(memory, {64}) ? 0 : 1;
}
