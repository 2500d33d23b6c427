// Shared rows in a storage that does not record its rows.
// refused: allot: shared rows need a storage that records them
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
#ifdef MISUSE
    const auto data = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, 64);
#else
    const auto data = *allot::alloc_storage(memory, 64);
#endif
    const auto tables = *allot::alloc_storage(memory, 1024);
    return allot::share_rows(data, tables, 4) ? 0 : 1;
}
