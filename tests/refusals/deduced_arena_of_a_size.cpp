// An arena that is created from a size only, where the type of the arena is deduced.
// refused: allot: an arena is made with a device, before any size
#include <allot/allot.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    allot::arena memory{1_MiB};
#else
    allot::arena memory{allot::host::heap{}, 1_MiB};
#endif
    return static_cast<int>(memory.size());
}
