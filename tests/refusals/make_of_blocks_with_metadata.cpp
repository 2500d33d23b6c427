// A pointer alone cannot return the metadata of a block.
// refused: allot: blocks of this allocator carry metadata, which a pointer alone cannot return: use make_unique
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
    allot::naive<allot::host::heap> memory;
#ifdef MISUSE
    int* const number = allot::make<int>(memory, 0);
#else
    const auto number = allot::make_unique<int>(memory, 0);
#endif
    return *number;
}
