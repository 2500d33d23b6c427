// A ring for rows and tables: the rows would wait for the table in front of them, and the table for nothing.
// refused: allot: rows and tables from one ring block each other: use a table allocator of another type
#include <allot/allot.hpp>

int main() {
    allot::arena<allot::host::heap, allot::ring<>> rows{{}, 10'000};
#ifdef MISUSE
    using tables_type = decltype(rows);
    tables_type& tables = rows;
#else
    using tables_type = allot::arena<allot::host::heap, allot::best_fit<>>;
    tables_type tables{{}, 1000};
#endif
    allot::paged<decltype(rows)&, tables_type&, allot::pointer_table<256>> tensors{rows, tables};
    return tensors.allocate({1000, 16}) ? 0 : 1;
}
