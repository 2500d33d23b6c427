// A search in a storage that records nothing.
// refused: allot: a storage whose placement is as_given cannot be searched
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#ifdef MISUSE
using policies = allot::storage_policies<allot::as_given>;
#else
using policies = allot::storage_policies<>;
#endif

int main() {
    allot::arena memory{allot::host::heap{}, 8192};
    const auto data = *allot::alloc_storage<policies>(memory, memory, {4, 64}, allot::int32);
    return allot::alloc_tensor(data, allot::anywhere, {2, 64}, allot::int32) ? 0 : 1;
}
