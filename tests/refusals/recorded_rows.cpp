// Blocks of rows have no position.
// refused: allot: recorded finds blocks by their position, which a table of rows does not have: record the parts of a paged allocator, as in paged{recorded, recorded}
#include <allot/allot.hpp>
#include <allot/compose/recorded.hpp>
#include <allot/inspect/trace.hpp>

int main() {
    using arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
    using table = allot::pointer_table<64>;
#ifdef MISUSE
    allot::recorded<allot::paged<arena, arena, table>, allot::trace_writer> memory;
#else
    using recorded = allot::recorded<arena, allot::trace_writer>;
    allot::paged<recorded, recorded, table> memory{recorded{}, recorded{}};
#endif
    return memory.allocate({.size = 10}) ? 0 : 1;
}
