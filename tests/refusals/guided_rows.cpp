// A block of rows has no offsets.
// refused: allot: guided divides one block by offsets, which a table of rows does not have: guide the parts of a paged allocator, as in paged{guided, guided}
#include <allot/allot.hpp>
#include <allot/plan/guided.hpp>

int main() {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
    using table = allot::pointer_table<64>;
    constexpr allot::layout room{.size = 1024, .align = 64};
#ifdef MISUSE
    allot::guided<allot::paged<arena, arena, table>> memory{room};
#else
    using guided = allot::guided<arena>;
    allot::paged<guided, guided, table> memory{guided{room}, guided{room}};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
