// A storage is a block of an allocator.
// refused: allot: alloc_storage takes an allocator: use naive<Device> for a region for each storage, or an arena
// only
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
#ifdef MISUSE
    allot::host::heap memory;
    return allot::alloc_storage(memory, {.size = 64}) ? 0 : 1;
#else
    allot::naive<allot::host::heap> memory;
    return allot::alloc_storage(memory, {.size = 64}) ? 0 : 1;
#endif
}
