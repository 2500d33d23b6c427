// A lock that is never let go of would be taken once.
// refused: allot: the second argument of synchronized has lock() and unlock(): use a mutex, spin_lock, or a critical section
#include <allot/allot.hpp>

struct half {
    void lock() noexcept {}
};
struct whole : half {
    void unlock() noexcept {}
};

int main() {
#ifdef MISUSE
    using lock = half;
#else
    using lock = whole;
#endif
    allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::bump<>>, lock> shared;
    return shared.allocate({.size = 100}) ? 0 : 1;
}
