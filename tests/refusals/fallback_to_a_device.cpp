// A device acquires regions, not blocks.
// refused: allot: this is a device, which acquires regions: combine it with a strategy: allot::arena<Device, Strategy>, or use allot::naive<Device>
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<256>, allot::bump<>> fast;
#ifdef MISUSE
    allot::host::heap slow;
#else
    allot::naive<allot::host::heap> slow;
#endif
    allot::fallback memory{fast, slow};
    return memory.allocate({.size = 100}) ? 0 : 1;
}
