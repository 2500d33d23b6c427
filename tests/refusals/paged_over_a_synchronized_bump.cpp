// Others may allocate between the rows of one block, so that a mark could not be returned to.
// refused: allot: paged undoes partial allocations: use row and table allocators that reclaim any block or have mark and rollback, and synchronize the paged allocator, not its parts
#include <allot/arena/arena.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>

int main() {
    using allot::host::static_storage;
    using table_arena = allot::arena<static_storage<1000>, allot::best_fit<>>;
    using row_arena = allot::arena<static_storage<4000>, allot::bump<>>;
    table_arena tables;
#ifdef MISUSE
    using shared_rows = allot::synchronized<row_arena, allot::spin_lock>;
    shared_rows rows;
    allot::paged<shared_rows&, table_arena&, allot::pointer_table<256>> tensors{rows, tables};
#else
    row_arena rows;
    using paged = allot::paged<row_arena&, table_arena&, allot::pointer_table<256>>;
    allot::synchronized<paged, allot::spin_lock> tensors{paged{rows, tables}};
#endif
    return tensors.allocate({1000, 16}) ? 0 : 1;
}
