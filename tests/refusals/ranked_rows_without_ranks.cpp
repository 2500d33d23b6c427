// Entries that name a rank, of rows that are on none.
// refused: allot: ranked_row needs rows that are named by remote_offset
#include <allot/address/on_rank.hpp>

int main() {
#ifdef MISUSE
    using rows = allot::handle_offset<int>;
#else
    using rows = allot::remote_offset<int>;
#endif
    return sizeof(allot::pointer_table<64, allot::ranked_row<>, rows>::value) == 0;
}
