// Offsets of rows in memory with pointers count from an address, which is not null.
// refused: allot: the offsets or indexes of these rows count from an origin: pass it as the third argument of paged, such as rows.regions()[0].base
#include <allot/allot.hpp>
#include <allot/compose/paged.hpp>

int main() {
    using slots = allot::pool<allot::pool_options{.slot = 64}>;
    allot::arena<allot::host::static_storage<1024>, slots> rows;
    allot::arena<allot::host::static_storage<1024>, allot::best_fit<>> tables;
    using table = allot::pointer_table<64, allot::row_offset<>>;
#ifdef MISUSE
    allot::paged<decltype(rows)&, decltype(tables)&, table> memory{rows, tables};
#else
    allot::paged<decltype(rows)&, decltype(tables)&, table> memory{rows, tables, rows.regions()[0].base};
#endif
    return memory.allocate({.size = 100}) ? 0 : 1;
}
