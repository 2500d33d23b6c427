// deferred merges blocks of different sizes. The blocks of a pool have one size.
// refused: allot: deferred needs a strategy with records in band whose blocks are freed in any order: use best_fit, in memory that the host can access
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::deferred<allot::pool<allot::pool_options{.slot = 64}>>> memory{{}, 4096};
#else
    allot::arena<allot::host::heap, allot::deferred<allot::best_fit<>>> memory{{}, 4096};
#endif
    return memory.allocate({.size = 64}) ? 0 : 1;
}
