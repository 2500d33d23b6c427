// A pool of no objects could make none.
// refused: allot: a typed_pool holds at least one object, and no more than memory can hold
#include <allot/allot.hpp>
#include <allot/object.hpp>

int main() {
#ifdef MISUSE
    allot::typed_pool<int, 0> pool;
#else
    allot::typed_pool<int, 1> pool;
#endif
    return pool.make() ? 0 : 1;
}
