// The heap has no fixed capacity, also where the type of the arena is deduced.
// refused: allot: this device has no fixed capacity: make the arena with a device and a size in bytes
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::arena memory{allot::host::heap{}};
#else
    allot::arena memory{allot::host::heap{}, 64};
#endif
    return static_cast<int>(memory.size());
}
