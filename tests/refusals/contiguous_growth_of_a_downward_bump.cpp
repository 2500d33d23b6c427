// A bump allocates downward by default, from the end that contiguous growth moves.
// refused: allot: growth::contiguous moves the end of a strategy's extent: use best_fit<>, or an upward bump: bump<bump_options{.direction = direction::up}>
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#ifdef MISUSE
using strategy = allot::bump<>;
#else
using strategy = allot::bump<allot::bump_options{.direction = allot::direction::up}>;
#endif

int main() {
    allot::arena<allot::host::virtual_memory, strategy, allot::growth::contiguous<>> arena{
        allot::host::virtual_memory{1 << 20}};
    return static_cast<int>(arena.size());
}
