// An allocator for Boost.Container whose arena precedes the type of objects.
// refused: allot: the type of objects comes before the allocator: boost_allocator<T, Arena>
// within: 20
#include <allot/adapt/boost_allocator.hpp>
#include <allot/allot.hpp>

int main() {
    using memory_type = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
#ifdef MISUSE
    using objects = allot::boost_allocator<memory_type, int>;
#else
    using objects = allot::boost_allocator<int, memory_type>;
#endif
    return sizeof(objects) == sizeof(void*) ? 0 : 1;
}
