// The room of a guided allocator is older than the blocks outside of it, and these are freed in any order.
// refused: allot: guided keeps one block of its allocator and frees others around it: use best_fit or pool, which free in any order
#include <allot/allot.hpp>
#include <allot/plan/guided.hpp>

int main() {
#ifdef MISUSE
    using strategy = allot::stack<>;
#else
    using strategy = allot::best_fit<>;
#endif
    allot::guided<allot::arena<allot::host::static_storage<4096>, strategy>> memory{{.size = 1024, .align = 16}};
    return memory.allocate({.size = 10}) ? 0 : 1;
}
