// A stack frees its newest block first, and a quarantine its oldest.
// refused: allot: quarantined frees the oldest block first, which a stack does not support: use best_fit, pool or ring
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::stack<>;
#else
    using strategy = allot::ring<>;
#endif
    allot::quarantined<allot::arena<allot::host::static_storage<256>, strategy>> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
