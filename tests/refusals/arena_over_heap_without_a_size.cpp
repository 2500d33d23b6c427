// The heap has no fixed capacity: an arena that does not grow needs a size.
// refused: allot: this device has no fixed capacity: make the arena with a device and a size in bytes
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::bump<>> arena;
#else
    allot::arena<allot::host::heap, allot::bump<>> arena{{}, 64};
#endif
    return static_cast<int>(arena.size());
}
