// Shared rows over a storage whose rows are allocated together.
// refused: allot: a storage in rows has its rows already
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto tables = *allot::alloc_storage(memory, 1024);
#ifdef MISUSE
    const auto data = *allot::alloc_storage(memory, memory, {4, 16}, allot::int32);
#else
    const auto data = *allot::alloc_storage(memory, 256);
#endif
    return allot::share_rows(data, tables, 4) ? 0 : 1;
}
