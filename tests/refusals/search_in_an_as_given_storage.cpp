// A search in a storage that does not record its tensors.
// refused: allot: a storage whose placement is as_given cannot be searched
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, 64);
#ifdef MISUSE
    return allot::alloc_tensor(data, allot::anywhere, {4}, allot::int32) ? 0 : 1;
#else
    return allot::alloc_tensor(data, 0, {4}, allot::int32) ? 0 : 1;
#endif
}
