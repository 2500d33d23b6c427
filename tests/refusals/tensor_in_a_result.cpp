// A result of alloc_storage has a storage or an error.
// refused: allot: alloc_storage returns a result: test it, and pass the storage in it: alloc_tensor(*made, offset, shape, dtype)
// alone
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 8192};
    const auto made = allot::alloc_storage(memory, 4096, 64);
    if (!made) return 1;
#ifdef MISUSE
    const auto tensor = allot::alloc_tensor(made, 0, {4, 4}, allot::float32);
#else
    const auto tensor = allot::alloc_tensor(*made, 0, {4, 4}, allot::float32);
#endif
    return tensor ? 0 : 1;
}
