// A tensor anywhere in a storage of which nothing is recorded.
// refused: allot: nothing is recorded where offsets are as_given
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
