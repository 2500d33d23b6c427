// An arena whose growth precedes its strategy.
// refused: allot: an arena takes the strategy before the growth: arena<Device, Strategy, Growth>, use<Strategy, Growth>
// within: 12
#include <allot/allot.hpp>

int main() {
    using namespace allot;
#ifdef MISUSE
    arena<host::heap, growth::geometric<>, best_fit<>> memory;
#else
    arena<host::heap, best_fit<>, growth::geometric<>> memory;
#endif
    return static_cast<int>(memory.size());
}
