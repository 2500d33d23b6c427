// An address alone does not name a record in a side table.
// refused: allot: block_at needs records in band and blocks without metadata: use best_fit in memory that the host can access, without hardening
#include <allot/allot.hpp>
#include <allot/arena/block_at.hpp>

int main() {
#ifdef MISUSE
    constexpr allot::best_fit_options options{.store = allot::node_store::side_table};
#else
    constexpr allot::best_fit_options options{};
#endif
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<options>> memory;
    return allot::block_at(memory, memory.allocate({.size = 10}).address) ? 0 : 1;
}
