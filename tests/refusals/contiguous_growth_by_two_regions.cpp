// A region that grows in place, with two regions.
// refused: allot: growth::contiguous has one region
// only
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>

#ifdef MISUSE
constexpr allot::growth_options options{.regions = 2};
#else
constexpr allot::growth_options options{.step = 4096};
#endif

int main() {
    allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<options>> arena{
        allot::host::virtual_memory{1 << 20}};
    return static_cast<int>(arena.size());
}
