// A device acquires regions, not blocks.
// refused: allot: this is a device, which acquires regions: combine it with a strategy: allot::arena<Device, Strategy>, or use allot::naive<Device>
#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::host::heap memory;
#else
    allot::naive<allot::host::heap> memory;
#endif
    allot::memory_resource resource{memory};
    resource.deallocate(resource.allocate(100, 16), 100, 16);
}
