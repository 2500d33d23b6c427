// An arena that is created from a size without a device.
// refused: allot: an arena is made with a device, before any size
// within: 8
#include <allot/allot.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::best_fit<>> arena{16_MiB};
#else
    allot::arena<allot::host::heap, allot::best_fit<>> arena{{}, 16_MiB};
#endif
    return static_cast<int>(arena.size());
}
