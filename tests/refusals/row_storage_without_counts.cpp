// The blocks of the rows are recorded on the heap, which references::none does not use.
// refused: allot: a storage in rows counts references: use references::plain or references::atomic
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
using policies = allot::storage_policies<allot::best_fit<>, allot::references::none>;
#else
using policies = allot::storage_policies<>;
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 8192};
    return allot::alloc_storage<policies>(memory, memory, {4, 64}, allot::int32) ? 0 : 1;
}
