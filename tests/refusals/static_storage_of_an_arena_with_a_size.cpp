// The device has its size and contains its memory.
// refused: allot: this device contains its memory and cannot be moved: write the type of the arena, which makes the device: arena<host::static_storage<64_KiB>, best_fit<>> memory
#include <allot/allot.hpp>

using namespace allot::literals;

int main() {
#ifdef MISUSE
    allot::arena<allot::host::static_storage<4_KiB>, allot::best_fit<>> memory{{}, 4_KiB};
#else
    allot::arena<allot::host::static_storage<4_KiB>, allot::best_fit<>> memory;
#endif
}
