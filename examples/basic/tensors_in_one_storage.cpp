// Several tensors in one storage: at offsets that a graph compiler chose, or anywhere that is free.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstdio>

using namespace allot::literals;

int main() {
    allot::arena memory{allot::host::heap{}, 1_MiB};
    const auto pool = allot::alloc_storage(memory, 64_KiB, 128);
    if (!pool) {
        std::printf("%s\n", pool.error().what());
        return 1;
    }

    // 4096 and 8192 are the compiler's offsets, in bytes.
    const auto input = allot::alloc_tensor(*pool, 4096, {2, 2, 8, 8}, allot::int8);
    const auto weights = allot::alloc_tensor(*pool, 8192, {64, 32}, allot::float32);
    const auto scratch = allot::alloc_tensor(*pool, allot::anywhere, {1000}, allot::float16);
    if (!input || !weights || !scratch) return 1;
    std::printf("%zu, %zu, and %zu bytes in a storage of %zu\n", input->size_bytes(), weights->size_bytes(),
                scratch->size_bytes(), pool->size());

    // The bytes of a live tensor are not given twice.
    const auto overlapping = allot::alloc_tensor(*pool, 4096 + 128, {8}, allot::int8);
    std::printf("overlapping: %s\n", overlapping.error().what());
    if (overlapping) return 1;

    // A view shares bytes on purpose, and keeps them when the tensor ends.
    const auto rows = allot::slice(*weights, {0, 0}, {8, 32});
    if (!rows || rows->data() != weights->data()) return 1;

    auto* const numbers = static_cast<float*>(weights->data());
    for (std::size_t i = 0; i != weights->size(); ++i) numbers[i] = static_cast<float>(i);
    return static_cast<const float*>(rows->data())[255] == 255.0f ? 0 : 1;
}
