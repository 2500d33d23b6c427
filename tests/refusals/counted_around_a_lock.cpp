// The lock protects the arena, and not the counters around it.
// refused: allot: a wrapper has state that is not for concurrent calls: put the wrapper inside, as in synchronized<counted<Arena>, Lock>, over a strategy that is not concurrent
#include <allot/allot.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<256>, allot::bump<>>;
#ifdef MISUSE
    allot::counted<allot::synchronized<arena, allot::spin_lock>> memory;
#else
    allot::synchronized<allot::counted<arena>, allot::spin_lock> memory;
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
