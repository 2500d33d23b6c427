// The rows of a paged block have no common position.
// refused: allot: indexed finds a block by the position of an address: use an allocator of pointers or of handles with offsets
#include <allot/allot.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
    arena rows, tables;
#ifdef MISUSE
    using paged = allot::paged<arena&, arena&, allot::pointer_table<64>>;
    allot::indexed memory{paged{rows, tables}};
#else
    allot::indexed memory{rows};
#endif
    return memory.allocate({.size = 10}) && tables.size() != 0 ? 0 : 1;
}
