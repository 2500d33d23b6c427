// A deduced arena whose growth precedes its strategy.
// refused: allot: an arena takes the strategy before the growth: arena<Device, Strategy, Growth>, use<Strategy, Growth>
// within: 12
#include <allot/allot.hpp>

int main() {
    using namespace allot;
#ifdef MISUSE
    arena memory{host::heap{}, use<growth::geometric<>, best_fit<>>};
#else
    arena memory{host::heap{}, use<best_fit<>, growth::geometric<>>};
#endif
    return static_cast<int>(memory.size());
}
