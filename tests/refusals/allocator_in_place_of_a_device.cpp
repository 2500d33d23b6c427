// An arena divides the memory of a device, not that of another allocator.
// refused: allot: this is an allocator in the place of a device: write the device inside, such as naive<cached<host::heap>> or arena<host::heap, best_fit<>>
#include <allot/allot.hpp>

using namespace allot::literals;

int main() {
#ifdef MISUSE
    allot::arena<allot::naive<allot::host::heap>, allot::bump<>> memory;
#else
    allot::arena<allot::cached<allot::host::heap>, allot::bump<>> memory{{}, 64_KiB};
#endif
}
