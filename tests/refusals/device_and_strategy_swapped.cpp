// An arena with device and strategy in the wrong order.
// refused: allot: an arena takes the device first and the strategy second
// within: 12
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::best_fit<>, allot::host::heap> arena{{}, 1000};
#else
    allot::arena<allot::host::heap, allot::best_fit<>> arena{{}, 1000};
#endif
    return static_cast<int>(arena.size());
}
