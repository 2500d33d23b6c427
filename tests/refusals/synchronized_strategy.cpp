// A strategy allocates offsets, not blocks.
// refused: allot: this is a strategy, which allocates offsets: combine it with a device: allot::arena<Device, Strategy>
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using memory = allot::best_fit<>;
#else
    using memory = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
#endif
    allot::synchronized<memory, allot::spin_lock> shared;
    return shared.allocate({.size = 100}) ? 0 : 1;
}
