// The tensor layer without reference counts: storages in given bodies, tensors at given or found offsets, views, and
// rows.
#include <allot/arena/arena.hpp>
#include <allot/arena/naive.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using allot::anywhere;
using allot::int16;
using allot::int32;
using allot::int8;
using allot::tensor_refusal;
using allot::host::static_storage;

using memory = allot::arena<static_storage<1024, 64>, allot::bump<>>;
using by_planner = allot::storage_policies<allot::as_given, allot::references::basic_none<4>>;
using by_search = allot::storage_policies<allot::best_fit<allot::best_fit_options{.records = 16}, std::uint16_t>,
                                          allot::references::basic_none<4>>;

}  // namespace

TEST_CASE("tensors: given offsets in a given storage body") {
    memory from;
    allot::storage_body<memory, by_planner> body;
    const auto data = *allot::alloc_storage(body, from, 512, 64);
    CHECK(allot::alloc_storage(body, from, 16).error().reason == tensor_refusal::in_use);
    const auto a = *allot::alloc_tensor(data, 0, {4, 16}, int32);
    const auto b = *allot::alloc_tensor(data, 256, {4, 16}, int32);
    CHECK(static_cast<std::byte*>(b.data()) - static_cast<std::byte*>(a.data()) == 256);
    CHECK(allot::alloc_tensor(data, 384, {4, 16}, int32).error().reason == tensor_refusal::out_of_bounds);
    CHECK(allot::alloc_tensor(data, 8, {4}, int32).error().reason == tensor_refusal::misaligned);
    CHECK(allot::alloc_tensor(data, -64, {4}, int32).error().reason == tensor_refusal::negative_offset);

    for (std::int32_t i = 0; i != 64; ++i) static_cast<std::int32_t*>(a.data())[i] = i;
    CHECK(*allot::copy_tensor(a, b) == allot::copy_path::host);
    CHECK(static_cast<const std::int32_t*>(b.data())[63] == 63);
    CHECK(std::memcmp(a.data(), b.data(), 256) == 0);

    const auto halves = *allot::view(b, int16, {128});
    CHECK(halves.data() == b.data());
    const auto part = *allot::slice(b, {1, 4}, {2, 8});
    CHECK(*static_cast<const std::int32_t*>(part.data()) == 20);
    std::size_t runs = 0, bytes = 0;
    CHECK(allot::for_each_run(part, [&](void*, std::size_t size) noexcept { ++runs, bytes += size; }).reason ==
          tensor_refusal::none);
    CHECK(runs == 2);
    CHECK(bytes == 64);
    CHECK(allot::kernel_offset_of(part, 4)->is_zero);
}

TEST_CASE("tensors: found offsets never share a byte") {
    memory from;
    allot::storage_body<memory, by_search> body;
    const auto data = *allot::alloc_storage(body, from, 512, 32);
    auto given = *allot::alloc_tensor(data, 96, {32}, int8);
    const auto found = *allot::alloc_tensor(data, anywhere, {100}, int8);
    CHECK(found.data() != given.data());
    CHECK(allot::alloc_tensor(data, 96, {8}, int8).error().reason == tensor_refusal::overlapping);
    CHECK(allot::alloc_tensor(data, anywhere, {512}, int8).error().reason == tensor_refusal::no_memory);
    given.kill();
    CHECK(allot::alloc_tensor(data, 96, {8}, int8));
}

TEST_CASE("discontiguous tensors: rows in fast memory, with a table in slow memory") {
    alignas(64) std::byte window[512];
    allot::arena<allot::host::tightly_coupled, allot::bump<>> fast{{window, sizeof window}};
    memory slow;
    allot::storage_body<decltype(fast), by_search> fast_body;
    allot::storage_body<memory, by_search> slow_body;
    const auto data = *allot::alloc_storage(fast_body, fast, 512, 64);
    const auto table = *allot::alloc_storage(slow_body, slow, 64, 8);

    CHECK(allot::alloc_discontiguous_tensor(table, 0, data, {0, 64, 128, 192, 256}, {5, 16}, int8).error().reason ==
          tensor_refusal::too_many_rows);
    auto rows = *allot::alloc_discontiguous_tensor(table, 0, data, {256, 0, 64}, {3, 16}, int32);
    CHECK(rows.rows() == 3);
    CHECK(static_cast<std::byte*>(rows.row(0)) == static_cast<std::byte*>(data.base()) + 256);
    CHECK(rows.row(1) == data.base());
    const auto whole = *allot::alloc_tensor(data, anywhere, {48}, int32);
    for (std::int32_t i = 0; i != 48; ++i) static_cast<std::int32_t*>(whole.data())[i] = 100 + i;
    CHECK(allot::copy_tensor(whole, rows));
    CHECK(*static_cast<const std::int32_t*>(rows.row(0)) == 100);
    CHECK(*static_cast<const std::int32_t*>(rows.row(2)) == 132);
    CHECK(allot::alloc_tensor(data, 64, {8}, int8).error().reason == tensor_refusal::overlapping);
    rows.kill();
    CHECK(allot::alloc_tensor(data, 64, {8}, int8));

    const auto searched =
        *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, anywhere, data, anywhere, {2, 16}, int8);
    CHECK(searched.row(0) != searched.row(1));
}

TEST_CASE("scopes: a name selects a memory") {
    memory global;
    allot::arena<static_storage<256, 64>, allot::bump<>> vtcm;
    const allot::scope_map memories{allot::in_scope<allot::scope::global>(global),
                                    allot::in_scope<allot::scope::vtcm>(vtcm)};
    CHECK(&memories.get<allot::scope::vtcm>() == &vtcm);
    const auto size_of = [](auto& found) noexcept { return allot::tensor_result<std::size_t>{found.size()}; };
    CHECK(*memories.visit("global.vtcm", 0, size_of) == 256);
    CHECK(*memories.visit("", 0, size_of) == 1024);
    CHECK(memories.visit("global.vtcmx", 0, size_of).error().reason == tensor_refusal::unknown_scope);
}

TEST_CASE("tensors: shapes and types are checked before bytes are allocated") {
    static_assert(*allot::byte_count({3, 5}, int16) == 30);
    CHECK_FALSE(allot::byte_count({std::int64_t{1} << 40, std::int64_t{1} << 40}, int8));
    CHECK_FALSE(allot::byte_count({-1}, int8));
    memory from;
    allot::storage_body<memory, by_planner> body;
    const auto data = *allot::alloc_storage(body, from, 64, 4);
    CHECK_FALSE(allot::alloc_tensor(data, 0, {std::int64_t{1} << 40, std::int64_t{1} << 40}, int32));
    CHECK_FALSE(allot::alloc_tensor(data, 0, {17}, int32));
    CHECK(allot::alloc_tensor(data, 0, {16}, int32));
}
