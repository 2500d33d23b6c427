// The second branch is never used.
// refused: allot: segregated needs growing sizes, or a branch is never used: up_to<64>, then up_to<1024>
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<256>, allot::best_fit<>> one, other, third;
#ifdef MISUSE
    allot::segregated memory{allot::up_to<64>(one), allot::up_to<32>(other), third};
#else
    allot::segregated memory{allot::up_to<32>(one), allot::up_to<64>(other), third};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
