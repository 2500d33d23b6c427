// The old block is freed after a newer one is allocated, which a stack does not support.
// refused: allot: reallocate frees the old block after the new one exists, an order that a stack or a ring does not support: use best_fit or pool
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::static_storage<4096>, allot::stack<>> memory;
#else
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
#endif
    auto block = memory.allocate({64});
    return allot::reallocate(memory, block, {128}) ? 0 : 1;
}
