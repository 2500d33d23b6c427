// A tensor whose rows are anywhere in a storage, and a table that names them: as on processors with banked memory.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstdint>
#include <cstdio>

using namespace allot::literals;

int main() {
    allot::arena memory{allot::host::heap{}, 1_MiB};
    const auto data = allot::alloc_storage(memory, 8_KiB, 128);
    const auto table = allot::alloc_storage(memory, 256);
    if (!data || !table) return 1;

    // Four rows of 64 numbers. Rows start at these bytes of `data`; their addresses are written at byte 0 of `table`.
    const auto tensor =
        allot::alloc_discontiguous_tensor(*table, 0, *data, {768, 256, 2304, 3072}, {4, 64}, allot::int32);
    if (!tensor) {
        std::printf("%s\n", tensor.error().what());
        return 1;
    }
    for (std::size_t row = 0; row != tensor->rows(); ++row) {
        auto* const numbers = static_cast<std::int32_t*>(tensor->row(row));
        for (int i = 0; i != 64; ++i) numbers[i] = static_cast<std::int32_t>(row) * 64 + i;
    }

    // Copies accept both kinds of tensors: from rows anywhere to contiguous bytes here.
    const auto whole = allot::alloc_tensor(*data, 4_KiB, {4, 64}, allot::int32);
    if (!whole) return 1;
    const auto copied = allot::copy_tensor(*tensor, *whole);
    if (!copied) return 1;
    std::printf("copied %s: %zu rows of %zu bytes\n", to_string(*copied), tensor->rows(), tensor->row_bytes());
    const auto* const numbers = static_cast<const std::int32_t*>(whole->data());
    for (int i = 0; i != 256; ++i)
        if (numbers[i] != i) return 1;
    return 0;
}
