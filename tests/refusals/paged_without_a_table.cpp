// The size of a row in place of a pointer table.
// refused: allot: the third parameter of paged is a pointer_table: allot::pointer_table<bytes of a row>
#include <allot/allot.hpp>

int main() {
    using arena = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
    arena rows, tables;
#ifdef MISUSE
    using table = std::integral_constant<std::size_t, 256>;
#else
    using table = allot::pointer_table<256>;
#endif
    allot::paged<arena&, arena&, table> tensors{rows, tables};
    return tensors.allocate({1000, 16}) ? 0 : 1;
}
