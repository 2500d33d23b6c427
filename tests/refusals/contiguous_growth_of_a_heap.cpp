// A region that grows in place, on a device whose regions cannot grow.
// refused: allot: growth::contiguous needs a device whose regions grow in place
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#ifdef MISUSE
using device = allot::host::heap;
constexpr device memory{};
#else
using device = allot::host::virtual_memory;
const device memory{1 << 20};
#endif

int main() {
    allot::arena<device, allot::best_fit<>, allot::growth::contiguous<>> arena{memory};
    return static_cast<int>(arena.size());
}
