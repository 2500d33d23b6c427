// More records than 32-bit record numbers allow; two of their values are reserved.
// refused: allot: a side table must have fewer than 2^31 records
#include <allot/strategy/detail/record_table.hpp>

#include <new>

struct record {
    allot::detail::record_index next;
};

int main() {
#ifdef MISUSE
    using table = allot::detail::record_table<record, 0xFFFF'FFFFU>;
#else
    using table = allot::detail::record_table<record, 16>;
#endif
    return sizeof(table) == 0;
}
