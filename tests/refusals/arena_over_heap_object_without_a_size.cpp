// The heap has no fixed capacity, also when the device is passed as an object.
// refused: allot: this device has no fixed capacity: make the arena with a device and a size in bytes
#include <allot/allot.hpp>

int main() {
    allot::host::heap heap;
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::bump<>> arena{heap};
#else
    allot::arena<allot::host::heap, allot::bump<>> arena{heap, 64};
#endif
    return static_cast<int>(arena.size());
}
