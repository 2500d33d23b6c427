// A row beside a handle has no address that an entry could hold.
// refused: allot: row_pointer needs rows with pointers: use row_offset or row_index
#include <allot/allot.hpp>

int main() {
#ifdef MISUSE
    using entry = allot::row_pointer;
#else
    using entry = allot::row_offset<>;
#endif
    return static_cast<int>(allot::pointer_table<64, entry, allot::handle_offset<int>>::row_bytes);
}
