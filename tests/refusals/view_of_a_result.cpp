// A view of the result of alloc_tensor, instead of the tensor in it.
// refused: allot: alloc_tensor, view and slice return results: test a result, and pass the tensor in it: *made
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

int main() {
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
    const auto data = allot::alloc_storage(memory, 1024, 64).value();
    const auto made = allot::alloc_tensor(data, 0, {4, 16}, allot::int32);
#ifdef MISUSE
    const auto part = allot::view(made, allot::uint8, {256});
#else
    const auto part = allot::view(*made, allot::uint8, {256});
#endif
    return part ? 0 : 1;
}
