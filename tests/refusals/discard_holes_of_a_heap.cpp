// A heap cannot return the pages inside a region.
// refused: allot: discard_holes needs a device that discards pages: use host::virtual_memory
#include <allot/allot.hpp>
#include <allot/arena/discard_holes.hpp>
#include <allot/host/virtual_memory.hpp>

int main() {
    using namespace allot::literals;
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 64_KiB};
#else
    allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>> memory{
        allot::host::virtual_memory{1_MiB}};
#endif
    return allot::discard_holes(memory, 4096) == 0 ? 0 : 1;
}
