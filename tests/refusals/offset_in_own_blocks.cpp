// An offset in a storage whose tensors are separate blocks of its allocator.
// refused: allot: tensors in a storage of own_blocks have no offsets
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = *allot::alloc_storage<allot::storage_policies<allot::own_blocks>>(memory, 64);
#ifdef MISUSE
    return allot::alloc_tensor(data, 0, {4}, allot::int32) ? 0 : 1;
#else
    return allot::alloc_tensor(data, allot::anywhere, {4}, allot::int32) ? 0 : 1;
#endif
}
