// refused: allot: separate needs a device that returns many regions
#include <allot/allot.hpp>

#ifdef MISUSE
using device = allot::host::buffer;  // one window
#else
using device = allot::host::heap;
#endif

int main() {
    std::byte bytes[64]{};
    [[maybe_unused]] const allot::host::buffer window{bytes, sizeof bytes};
    return sizeof(allot::separate<device>) != 0 ? 0 : 1;
}
