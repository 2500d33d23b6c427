// Tests with the example of the discontiguous-tensor proposal, unchanged: a VTCM of 4096 bytes, tables in a separate
// storage, and an allocation when rows are free but no two of them are adjacent.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using allot::int32;
using allot::tensor_refusal;

using vtcm_arena = allot::arena<allot::host::tightly_coupled, allot::best_fit<allot::best_fit_options{.records = 8}>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

struct seed {
    alignas(2048) std::byte window[4096];
    vtcm_arena vtcm{allot::host::tightly_coupled{window, sizeof window}};
    host_arena host{{}, 65536};
    allot::storage<vtcm_arena> data = *allot::alloc_storage(vtcm, 4096, 256);
    allot::storage<host_arena> io = *allot::alloc_storage(host, 16384);

    auto input(std::int32_t first) {
        auto fresh = *allot::alloc_tensor(io, allot::anywhere, {4, 64}, int32);
        auto* const numbers = static_cast<std::int32_t*>(fresh.data());
        std::iota(numbers, numbers + 256, first);
        return fresh;
    }
    template <class Tensor>
    std::vector<std::int32_t> read(const Tensor& from) {
        auto onto = *allot::alloc_tensor(io, allot::anywhere, {4, 64}, int32);
        REQUIRE(allot::copy_tensor(from, onto));
        const auto* const numbers = static_cast<const std::int32_t*>(onto.data());
        return {numbers, numbers + 256};
    }
};

/// A kernel over tables of rows, as it would run on the VTCM.
template <class Tensor, class Operation>
void by_rows(const Tensor& a, const Tensor& b, const Tensor& c, Operation operation) {
    for (std::size_t row = 0; row != c.rows(); ++row) {
        const auto* const x = static_cast<const std::int32_t*>(a.row(row));
        const auto* const y = static_cast<const std::int32_t*>(b.row(row));
        auto* const z = static_cast<std::int32_t*>(c.row(row));
        for (std::size_t i = 0; i != 64; ++i) z[i] = operation(x[i], y[i]);
    }
}

const auto sum = [](std::int32_t a, std::int32_t b) { return a + b; };
const auto product = [](std::int32_t a, std::int32_t b) { return a * b; };

}  // namespace

TEST_CASE_TEMPLATE("discontiguous proposal: the discontiguous program runs", Entry, allot::row_offset<std::uint32_t>,
                   allot::row_pointer) {
    seed it;
    constexpr bool wide = sizeof(typename Entry::template in<allot::raw_pointer>::value) == 8;
    constexpr std::int64_t stride = wide ? 32 : 16;
    auto tables = *allot::alloc_storage(it.host, wide ? 96 : 64);
    const auto alloc = [&](std::int64_t table, allot::row_offsets rows) {
        return allot::alloc_discontiguous_tensor<Entry>(tables, table, it.data, rows, {4, 64}, int32);
    };

    auto x = it.input(0), y = it.input(1000), z = it.input(-7);
    auto a = *alloc(0, {768, 256, 2304, 3072});
    CHECK(allot::copy_tensor(x, a));
    auto b = *alloc(stride, {1536, 1280, 3328, 2560});
    CHECK(allot::copy_tensor(y, b));
    auto c = *alloc(2 * stride, {512, 0, 2048, 3840});
    by_rows(a, b, c, sum);
    const auto sums = it.read(c);
    for (int i = 0; i != 256; ++i) REQUIRE(sums[static_cast<std::size_t>(i)] == 1000 + 2 * i);

    // The rows at 1024, 1792, 2816 and 3584 are free; no two of them are adjacent.
    const auto whole = allot::alloc_tensor(it.data, allot::anywhere, {2, 64}, int32);
    CHECK_FALSE(whole);
    CHECK(whole.error().reason == tensor_refusal::no_memory);
    CHECK(whole.error().memory.reason == allot::refusal::fragmented);
    CHECK(whole.error().memory.largest_hole == 256);
    {
        auto more = *allot::alloc_storage(it.host, 32);
        auto rows = *allot::alloc_discontiguous_tensor<Entry>(more, 0, it.data, allot::anywhere, {4, 64}, int32);
        std::vector<std::ptrdiff_t> found;
        for (std::size_t row = 0; row != 4; ++row) found.push_back(static_cast<std::byte*>(rows.row(row)) - it.window);
        std::sort(found.begin(), found.end());
        CHECK(found == std::vector<std::ptrdiff_t>{1024, 1792, 2816, 3584});
        const auto none_left = allot::alloc_tensor(it.data, allot::anywhere, {1}, allot::int8);
        CHECK(none_left.error().memory.reason == allot::refusal::exhausted);
    }

    a.kill();
    b.kill();
    CHECK_FALSE(a);
    auto d = *alloc(0, {1536, 1280, 3328, 2560});  // the former rows of b
    CHECK(allot::copy_tensor(z, d));
    auto e = *alloc(stride, {768, 256, 2304, 3072});
    by_rows(c, d, e, product);
    const auto products = it.read(e);
    for (int i = 0; i != 256; ++i) REQUIRE(products[static_cast<std::size_t>(i)] == (1000 + 2 * i) * (i - 7));
}

TEST_CASE("discontiguous proposal: tables of 8-byte entries at a distance of 16 bytes overlap and are rejected") {
    seed it;
    auto tables = *allot::alloc_storage(it.host, 64);
    auto a = *allot::alloc_discontiguous_tensor<allot::row_offset<std::uint64_t>>(
        tables, 0, it.data, {768, 256, 2304, 3072}, {4, 64}, int32);
    const auto b = allot::alloc_discontiguous_tensor<allot::row_offset<std::uint64_t>>(
        tables, 16, it.data, {1536, 1280, 3328, 2560}, {4, 64}, int32);
    CHECK_FALSE(b);
    CHECK(b.error().reason == tensor_refusal::overlapping);
    CHECK(a.row(1) == it.window + 256);
}

TEST_CASE("discontiguous proposal: the contiguous program runs") {
    seed it;
    auto x = it.input(0), y = it.input(1000), z = it.input(-7);
    auto a = *allot::alloc_tensor(it.data, 0, {4, 64}, int32);
    CHECK(allot::copy_tensor(x, a));
    auto b = *allot::alloc_tensor(it.data, 1024, {4, 64}, int32);
    CHECK(allot::copy_tensor(y, b));
    auto c = *allot::alloc_tensor(it.data, 2048, {4, 64}, int32);
    const auto each = [](const auto& p, const auto& q, const auto& r, auto operation) {
        for (std::size_t i = 0; i != 256; ++i)
            static_cast<std::int32_t*>(r.data())[i] =
                operation(static_cast<const std::int32_t*>(p.data())[i], static_cast<const std::int32_t*>(q.data())[i]);
    };
    each(a, b, c, sum);
    CHECK(allot::alloc_tensor(it.data, 0, {4, 64}, int32).error().reason == tensor_refusal::overlapping);
    a.kill();
    b.kill();
    auto d = *allot::alloc_tensor(it.data, 0, {4, 64}, int32);
    CHECK(allot::copy_tensor(z, d));
    auto e = *allot::alloc_tensor(it.data, 1024, {4, 64}, int32);
    each(c, d, e, product);
    const auto products = it.read(e);
    for (int i = 0; i != 256; ++i) REQUIRE(products[static_cast<std::size_t>(i)] == (1000 + 2 * i) * (i - 7));
}
