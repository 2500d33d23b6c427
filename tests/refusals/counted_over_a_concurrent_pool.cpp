// Concurrent calls would corrupt the counters.
// refused: allot: a wrapper has state that is not for concurrent calls: put the wrapper inside, as in synchronized<counted<Arena>, Lock>, over a strategy that is not concurrent
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    constexpr auto store = allot::pool_store::atomic_bitmap;
#else
    constexpr auto store = allot::pool_store::bitmap;
#endif
    using pool = allot::pool<allot::pool_options{.slot = 64, .count = 4, .store = store}>;
    allot::counted<allot::arena<allot::host::static_storage<256>, pool>> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
