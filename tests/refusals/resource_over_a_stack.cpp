// Containers give blocks back in any order; a stack takes only its newest, and would keep all others.
// refused: allot: containers deallocate in any order, which stack and ring do not support
#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>

#ifdef MISUSE
using strategy = allot::stack<>;
#else
using strategy = allot::bump<>;
#endif

int main() {
    allot::arena<allot::host::static_storage<4096>, strategy> memory;
    allot::memory_resource resource{memory};
    void* const bytes = resource.allocate(64);
    resource.deallocate(bytes, 64);
}
