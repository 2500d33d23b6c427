// An allocation changes the arena.
// refused: allot: this allocator is const: pass one that may change
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
#ifdef MISUSE
    const allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
#else
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
#endif
    const auto made = allot::make_unique<int>(memory, 1);
    return made ? 0 : 1;
}
