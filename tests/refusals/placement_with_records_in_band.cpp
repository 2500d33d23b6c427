// A storage whose placement keeps its records in the tensors' memory.
// refused: allot: the placement of a storage must keep its records in a side table
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
using placement = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
#else
using placement = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
#endif

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    return allot::alloc_storage<allot::storage_policies<placement>>(memory, 64) ? 0 : 1;
}
