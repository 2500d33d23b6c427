// A device hands out regions, not blocks.
// refused: allot: this is a device, which hands out regions: make an allocator of it: allot::arena<Device, Strategy>, or allot::naive<Device>
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
