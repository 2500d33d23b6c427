// A copy to read-only memory.
// refused: allot: this memory is read-only
#include <allot/allot.hpp>
#include <allot/compose/adopted.hpp>
#include <allot/tensor.hpp>

int main() {
    static const std::int32_t table[16]{};
    allot::adopted constants{static_cast<const void*>(table), sizeof table, 4, [](const void*) noexcept {}};
    allot::arena<decltype(constants), allot::best_fit<>> weights{std::move(constants)};
    allot::arena<allot::host::heap, allot::best_fit<>> heap{{}, 4096};
    const auto a = *allot::alloc_tensor(*allot::alloc_storage(weights, 64, 4), 0, {16}, allot::int32);
    const auto b = *allot::alloc_tensor(*allot::alloc_storage(heap, 64, 4), 0, {16}, allot::int32);
#ifdef MISUSE
    return allot::copy_tensor(b, a) ? 0 : 1;
#else
    return allot::copy_tensor(a, b) ? 0 : 1;
#endif
}
