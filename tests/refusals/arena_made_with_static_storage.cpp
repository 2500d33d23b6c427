// A device that contains its memory cannot be moved into an arena.
// refused: allot: this device contains its memory and cannot be moved: write the type of the arena, which makes the device: arena<host::static_storage<64_KiB>, best_fit<>> memory
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::arena memory{allot::host::static_storage<1024>{}, allot::use<allot::bump<>>};
#else
    allot::arena<allot::host::static_storage<1024>, allot::bump<>> memory;
#endif
    return memory.allocate({.size = 100}) ? 0 : 1;
}
