// A lock that is never let go of would be taken once.
// refused: allot: the second argument of per_thread has lock() and unlock(): use a mutex, spin_lock, or no_lock over an allocator whose calls may overlap
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
    allot::per_thread<allot::arena<allot::host::static_storage<256>, allot::best_fit<>>, lock> memory;
    return memory.allocate({.size = 10}) ? 0 : 1;
}
