// A storage has several policies, of which the placement is one.
// refused: allot: the policies of a storage are a list: alloc_storage<storage_policies<Placement>>(memory, layout)
// only
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::naive<allot::host::heap> memory;
#ifdef MISUSE
    return allot::alloc_storage<allot::as_given>(memory, {.size = 64}) ? 0 : 1;
#else
    return allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, {.size = 64}) ? 0 : 1;
#endif
}
