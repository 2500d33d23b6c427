// Paged rows whose size only a table knows.
// refused: allot: paged needs a constant row size
#include <allot/allot.hpp>

using memory = allot::arena<allot::host::heap, allot::best_fit<>>;
#ifdef MISUSE
using table = allot::pointer_table<std::dynamic_extent>;
#else
using table = allot::pointer_table<64>;
#endif

int main() {
    memory rows{{}, 4096}, tables{{}, 4096};
    allot::paged<memory&, memory&, table> tensors{rows, tables};
    return tensors.allocate({.size = 100, .align = 1}) ? 0 : 1;
}
