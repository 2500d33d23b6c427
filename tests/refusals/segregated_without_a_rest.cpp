// No branch serves large requests.
// refused: allot: the last argument of segregated is an allocator that serves all other requests, and each one before it has a condition: up_to<N>(allocator) or aligned_up_to<N>(allocator)
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::static_storage<256>, allot::best_fit<>> one, other, third;
#ifdef MISUSE
    allot::segregated memory{allot::up_to<64>(one), allot::up_to<128>(other)};
#else
    allot::segregated memory{allot::up_to<64>(one), allot::up_to<128>(other), third};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
