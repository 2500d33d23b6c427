// A growing arena over a device with a single window.
// refused: allot: this device has one window, which an arena acquires as a whole: use growth::none<>
// within: 12
#include <allot/allot.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    using growth = allot::growth::geometric<>;
#else
    using growth = allot::growth::none<>;
#endif
    allot::arena<allot::host::static_storage<8_KiB>, allot::best_fit<>, growth> arena;
    return static_cast<int>(arena.size());
}
