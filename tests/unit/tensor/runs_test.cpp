// Tests of for_each_run: the bytes of the runs, their order, and their number.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace {

using allot::anywhere;
using allot::tensor_refusal;
using allot::uint4;
using allot::uint8;

/// Memory whose regions are identified by a number and have no bytes.
struct handles {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64, granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::opencl;

    int given = 0;

    allot::acquired<handles> acquire(allot::layout wanted) noexcept {
        return allot::region<address_model::address>{{++given, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

using pieces = std::vector<std::pair<std::size_t, std::size_t>>;  // offset from the storage's base, and size

template <class Storage, class Tensor>
pieces pieces_of(const Storage& in, const Tensor& of) {
    using model = typename Storage::address_model;
    pieces found;
    const auto reason = allot::for_each_run(of, [&](auto address, std::size_t bytes) noexcept {
        const std::size_t at = model::position(address) - model::position(in.base());
        CHECK(address == model::locate(in.base(), at));
        found.emplace_back(at, bytes);
    });
    CHECK(reason == allot::tensor_error{});
    return found;
}

using heap = allot::naive<allot::host::heap>;

}  // namespace

TEST_CASE_TEMPLATE("for_each_run: a compact tensor is one run, a slice has one for each contiguous part", Memory, heap,
                   allot::naive<handles>) {
    Memory memory;
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto whole = *allot::alloc_tensor(data, 512, {4, 3, 10}, uint8);
    CHECK(pieces_of(data, whole) == pieces{{512, 120}});
    CHECK(pieces_of(data, *allot::slice(whole, {1, 0, 0}, {2, 3, 10})) == pieces{{542, 60}});
    CHECK(pieces_of(data, *allot::slice(whole, {0, 1, 0}, {3, 2, 10})) == pieces{{522, 20}, {552, 20}, {582, 20}});
    CHECK(pieces_of(data, *allot::slice(whole, {2, 0, 7}, {2, 2, 3})) ==
          pieces{{579, 3}, {589, 3}, {609, 3}, {619, 3}});
    CHECK(pieces_of(data, *allot::slice(whole, {0, 0, 9}, {4, 1, 1})) ==
          pieces{{521, 1}, {551, 1}, {581, 1}, {611, 1}});
}

TEST_CASE_TEMPLATE("for_each_run: adjacent rows form one run, in the order of the rows", Memory, heap,
                   allot::naive<handles>) {
    heap tables;
    Memory memory;
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto table = *allot::alloc_storage(tables, 64);
    const auto in_rows = [&](std::int64_t at, allot::row_offsets rows) {
        const auto count = static_cast<std::int64_t>(rows.size());
        return *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, at, data, rows, {count, 64}, uint8);
    };
    CHECK(pieces_of(data, in_rows(0, {128, 192, 448, 384, 256, 320})) ==
          pieces{{128, 128}, {448, 64}, {384, 64}, {256, 128}});
    CHECK(pieces_of(data, in_rows(0, {0, 64, 128})) == pieces{{0, 192}});
    CHECK(pieces_of(data, in_rows(0, {128, 64, 0})) == pieces{{128, 64}, {64, 64}, {0, 64}});
    CHECK(pieces_of(data, in_rows(0, {})).empty());
}

TEST_CASE("for_each_run: a tensor without elements has no runs, a killed one is rejected") {
    heap memory;
    const auto data = *allot::alloc_storage(memory, 256);
    auto empty = *allot::alloc_tensor(data, 0, {4, 0}, uint8);
    CHECK(pieces_of(data, empty).empty());
    const auto never = [](void*, std::size_t) noexcept { FAIL_CHECK("there are no bytes"); };
    empty.kill();
    CHECK(allot::for_each_run(empty, never).reason == tensor_refusal::killed);
    CHECK(allot::for_each_run(allot::discontiguous_tensor<decltype(data), decltype(data)>{}, never).reason ==
          tensor_refusal::killed);
}

TEST_CASE("for_each_run: runs that are not whole bytes are rejected") {
    heap memory;
    const auto data = *allot::alloc_storage(memory, 256);
    const auto packed = *allot::alloc_tensor(data, 0, {3, 5}, uint4);
    CHECK(pieces_of(data, packed) == pieces{{0, 8}});  // 15 elements of four bits
    const auto part = *allot::slice(packed, {0, 0}, {3, 2});
    CHECK(allot::for_each_run(part, [](void*, std::size_t) noexcept { FAIL_CHECK("nothing is a run"); }).reason ==
          tensor_refusal::partial_bytes);
}

#if SIZE_MAX > 0xFFFF'FFFF  // smaller address spaces have no such tensors
TEST_CASE("slice: offsets in the largest tensors do not overflow") {
    allot::naive<handles> memory;
    constexpr std::int64_t half = std::int64_t{1} << 61, most = std::numeric_limits<std::int64_t>::max();
    const auto data = *allot::alloc_storage(memory, most, 64);
    const auto bytes = *allot::alloc_tensor(data, allot::anywhere, {2, half}, uint8);  // 2^62 bytes
    CHECK(pieces_of(data, *allot::slice(bytes, {1, half - 3}, {1, 3})) == pieces{{2 * half - 3, 3}});
    CHECK(pieces_of(data, *allot::slice(bytes, {0, half / 2}, {2, half / 2})) ==
          pieces{{half / 2, half / 2}, {half + half / 2, half / 2}});
    const auto at = [&](allot::dtype type, std::int64_t begin) {
        const auto all = *allot::view(bytes, type, {(std::int64_t{1} << 59) * 7});
        return allot::slice(all, {begin}, {1})->byte_offset();
    };
    CHECK(at(uint4, half + 2) == half / 2 + 1);
    CHECK(at({allot::dtype_code::unsigned_integer, 3}, half + 8) == half / 8 * 3 + 3);
    CHECK(at({allot::dtype_code::unsigned_integer, 4, 2}, half + 5) == half + 5);
}
#endif
