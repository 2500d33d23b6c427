// The bytes of a block of this allocator can be written.
// refused: allot: indexed frees the block at an address that is not const: use const_cast
#include <allot/allot.hpp>

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::indexed memory{arena};
    const void* const bytes = memory.allocate({.size = 10}).address;
#else
    allot::indexed memory{arena};
    void* const bytes = memory.allocate({.size = 10}).address;
#endif
    memory.deallocate(bytes);
    return memory.allocate({.size = 10}) ? 0 : 1;
}
