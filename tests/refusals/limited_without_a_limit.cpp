// There is no default limit.
// refused: allot: limited needs a limit: limited{allocator, bytes}
#include <allot/allot.hpp>

int main() {
    allot::arena arena{allot::host::heap{}, 4096};
#ifdef MISUSE
    allot::limited memory{arena};
#else
    allot::limited memory{arena, 1000};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
