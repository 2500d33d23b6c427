// A region that grows in place, with a strategy that cannot move the end of its extent.
// refused: allot: growth::contiguous moves the end of a strategy's extent
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#ifdef MISUSE
using strategy = allot::pool<allot::pool_options{.slot = 64}>;
#else
using strategy = allot::best_fit<>;
#endif

int main() {
    allot::arena<allot::host::virtual_memory, strategy, allot::growth::contiguous<>> arena{
        allot::host::virtual_memory{1 << 20}};
    return static_cast<int>(arena.size());
}
