// A copy of the result of alloc_tensor, instead of the tensor in it.
// refused: allot: alloc_tensor, view and slice return results: test a result, and pass the tensor in it: *made
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = allot::alloc_storage(memory, 1024, 64).value();
    const auto made = allot::alloc_tensor(data, 0, {4, 16}, allot::int32);
    const auto other = allot::alloc_tensor(data, 512, {4, 16}, allot::int32).value();
#ifdef MISUSE
    const auto copied = allot::copy_tensor(made, other);
#else
    const auto copied = allot::copy_tensor(*made, other);
#endif
    return copied ? 0 : 1;
}
