// Vector code that reads rows through a table of pointers, as kernels on a Hexagon do. Its loads are vmem instructions,
// which ignore the low bits of an address and do not fault. The tests use this to check that vmem was executed; it is
// also the reason why rows in VTCM are aligned.
#include "fake_vtcm.hpp"

#include <allot/allot.hpp>
#include <allot/hexagon/vtcm.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>
#include <hexagon_protos.h>
#include <hexagon_types.h>
#include <hvx_hexagon_protos.h>

#include <cstdint>
#include <cstring>

namespace {

using namespace allot::literals;
using allot::int32;
using window_arena =
    allot::arena<allot::hexagon::vtcm<>, allot::best_fit<allot::best_fit_options{.records = 64, .large = 2048}>>;

[[nodiscard]] HVX_Vector load(const void* at) noexcept {
    HVX_Vector loaded;
    asm volatile("%0 = vmem(%1+#0)" : "=v"(loaded) : "r"(at) : "memory");
    return loaded;
}
void store(void* at, HVX_Vector what) noexcept { asm volatile("vmem(%0+#0) = %1" : : "r"(at), "v"(what) : "memory"); }

/// c = a + b for rows of 32-bit integers, with the arguments of a kernel: three tables, the number of rows, and vectors
/// per row.
void add_rows(const void* const* a, const void* const* b, void* const* c, std::size_t rows,
              std::size_t vectors) noexcept {
    for (std::size_t row = 0; row != rows; ++row) {
        for (std::size_t i = 0; i != vectors; ++i) {
            const std::size_t at = i * sizeof(HVX_Vector);
            store(static_cast<std::byte*>(c[row]) + at,
                  Q6_Vw_vadd_VwVw(load(static_cast<const std::byte*>(a[row]) + at),
                                  load(static_cast<const std::byte*>(b[row]) + at)));
        }
    }
}

struct memories {
    window_arena window;
    allot::arena<allot::host::heap, allot::best_fit<>> beside{{}, 16_KiB};
    allot::storage<window_arena> data = *allot::alloc_storage(window, 16_KiB, 128);
    allot::storage<decltype(beside)> tables = *allot::alloc_storage(beside, 256);
};

}  // namespace

TEST_CASE("pointer table: its entries are pointers of four bytes, as kernels need") {
    using allot::raw_pointer;
    static_assert(sizeof(void*) == 4 && sizeof(std::size_t) == 4);
    static_assert(sizeof(allot::pointer_table<256>::value) == 4);
    static_assert(sizeof(allot::row_offset<>::in<raw_pointer>::value) == 4);
    fake_vtcm::reset();
    memories in;
    const auto rows = *allot::alloc_discontiguous_tensor(in.tables, 0, in.data, {512, 0, 2048}, {3, 64}, int32);
    // The bytes of the table, as a kernel reads them.
    std::uint32_t entries[3];
    std::memcpy(entries, rows.table().entries, sizeof entries);
    const auto base = static_cast<std::uint32_t>(raw_pointer::position(in.data.base()));
    CHECK(entries[0] == base + 512);
    CHECK(entries[1] == base);
    CHECK(entries[2] == base + 2048);
}

TEST_CASE("HVX vectors: adds non-contiguous rows of three tensors through their tables") {
    fake_vtcm::reset();
    memories in;
    constexpr std::size_t row_count = 4, columns = 96;  // three vectors per row
    const auto make = [&](allot::row_offsets at) {
        const auto made =
            allot::alloc_discontiguous_tensor(in.tables, allot::anywhere, in.data, at, {row_count, columns}, int32);
        REQUIRE(made);
        return *made;
    };
    const auto a = make({0, 1024, 512, 2048}), b = make({4096, 3072, 5120, 2560}), c = make({8192, 1408, 9216, 3456});
    const auto at = [](const auto& tensor, std::size_t row) { return static_cast<std::int32_t*>(tensor.row(row)); };
    for (std::size_t row = 0; row != row_count; ++row) {
        for (std::size_t i = 0; i != columns; ++i) {
            at(a, row)[i] = static_cast<std::int32_t>(1000 * row + 8 * i);
            at(b, row)[i] = -static_cast<std::int32_t>(7 * i);
            at(c, row)[i] = -1;
        }
    }
    add_rows(a.table().entries, b.table().entries, c.table().entries, c.rows(), c.row_bytes() / sizeof(HVX_Vector));
    bool right = true;
    for (std::size_t row = 0; row != row_count; ++row)
        for (std::size_t i = 0; i != columns; ++i)
            right = right && at(c, row)[i] == static_cast<std::int32_t>(1000 * row + i);
    CHECK(right);
}

TEST_CASE("HVX vectors: adds rows of a paged allocator through its table") {
    fake_vtcm::reset();
    memories in;
    allot::paged<window_arena&, decltype(in.beside)&, allot::pointer_table<128>> rows{in.window, in.beside};
    const auto a = rows.allocate({.size = 1024, .align = 128}), b = rows.allocate({.size = 1024, .align = 128});
    REQUIRE(a);
    REQUIRE(b);
    for (std::size_t row = 0; row != 8; ++row) {
        store(a.address[row], Q6_V_vsplat_R(static_cast<int>(row)));
        store(b.address[row], Q6_V_vsplat_R(100));
    }
    add_rows(a.address.entries, b.address.entries, a.address.entries, 8, 1);
    for (std::size_t row = 0; row != 8; ++row)
        for (std::size_t i = 0; i != 32; ++i)
            if (static_cast<const std::int32_t*>(a.address[row])[i] != static_cast<std::int32_t>(100 + row))
                FAIL_CHECK("a wrong sum");
}

TEST_CASE("HVX vectors: a misaligned row would be read from another address and is rejected") {
    fake_vtcm::reset();
    memories in;
    const auto bytes = *allot::alloc_tensor(in.data, 0, {64}, int32);
    auto* const numbers = static_cast<std::int32_t*>(bytes.data());
    for (std::int32_t i = 0; i != 64; ++i) numbers[i] = i;
    alignas(128) std::int32_t seen[32];
    store(seen, load(numbers + 5));  // 20 bytes after a vector
    CHECK(seen[0] == 0);             // a scalar load, or a copy by the compiler, would return 5
    CHECK(seen[31] == 31);
    CHECK(allot::alloc_tensor(in.data, 1044, {32}, int32).error().reason == allot::tensor_refusal::misaligned);
    CHECK(in.window.allocate({.size = 20, .align = 128}));
    const auto after = in.window.allocate({.size = 128, .align = 128});
    REQUIRE(after);
    CHECK(allot::raw_pointer::position(after.address) % 128 == 0);
}
