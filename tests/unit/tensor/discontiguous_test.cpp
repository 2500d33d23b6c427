// Tests of discontiguous tensors. They cover every defect of the proposed implementation, which was never merged, and
// the limits of every argument.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace {

using allot::alloc_discontiguous_tensor;
using allot::anywhere;
using allot::int32;
using allot::refusal;
using allot::tensor_error;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using entries = allot::row_offset<std::uint32_t>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// A table storage of 64 bytes with a known pattern, and a data storage of 4096 bytes aligned to 256.
struct two_storages {
    heap_arena memory{{}, 65536};
    allot::storage<heap_arena> table = *allot::alloc_storage(memory, 64, 16);
    allot::storage<heap_arena> data = *allot::alloc_storage(memory, 4096, 256);

    two_storages() { std::memset(table.base(), 0x5A, 64); }

    [[nodiscard]] bool nothing_written() const {
        const auto* const bytes = static_cast<const unsigned char*>(table.base());
        return std::all_of(bytes, bytes + 64, [](unsigned char byte) { return byte == 0x5A; });
    }
    auto alloc(std::int64_t at, allot::row_offsets rows, allot::shape shape = {4, 64}, allot::dtype type = int32) {
        return alloc_discontiguous_tensor<entries>(table, at, data, rows, shape, type);
    }
    void refuses(std::int64_t at, allot::row_offsets rows, tensor_error expected, allot::shape shape = {4, 64},
                 allot::dtype type = int32) {
        const auto made = alloc(at, rows, shape, type);
        CHECK_FALSE(made);
        CHECK(made.error().reason == expected.reason);
        CHECK(made.error().row == expected.row);
        CHECK(nothing_written());
        CHECK(table.diagnose({64, 16}).reason == refusal::none);
        CHECK(data.diagnose({4096, 256}).reason == refusal::none);
    }
};

/// Heap memory whose consumers take no offset, with at most three buffers.
struct buffers : allot::traits_of<allot::host::heap> {
    using error = int;
    static constexpr auto offsets = allot::offset_use::none;
    int left = 3, out = 0;
    allot::acquired<buffers> acquire(allot::layout wanted) noexcept {
        if (left == 0) return allot::acquired<buffers>::failure(5);
        --left;
        ++out;
        return region_of_heap(wanted);
    }
    void release(allot::region<void*> held) noexcept {
        ++left;
        --out;
        allot::host::heap{}.release(held);
    }
    static allot::region<void*> region_of_heap(allot::layout wanted) noexcept {
        return *allot::host::heap{}.acquire(wanted);
    }
};

}  // namespace

TEST_CASE("discontiguous tensor: the table has shape[0] entries, also for a shape that is not square") {
    two_storages it;
    const auto wide = *it.alloc(0, {1024, 0}, {2, 128});
    CHECK(wide.rows() == 2);
    CHECK(wide.row_bytes() == 512);
    CHECK(wide.row(0) == static_cast<std::byte*>(it.data.base()) + 1024);
    CHECK(wide.row(1) == it.data.base());
    CHECK(it.alloc(16, {2048}, {2, 64}).error().reason == tensor_refusal::wrong_row_count);
    CHECK(it.alloc(16, {2048, 2304, 2560, 2816}, {2, 4}).error().reason == tensor_refusal::wrong_row_count);
}

TEST_CASE("discontiguous tensor: a request with named fields means the same as the positional form") {
    two_storages it;
    using allot::discontiguous_tensor_request;
    {
        const auto named = *alloc_discontiguous_tensor<entries>(
            it.table, it.data, {.table_offset = 16, .offsets = {1024, 0, 512, 256}, .shape = {4, 64}, .dtype = int32});
        CHECK(named.table().entries == static_cast<const void*>(static_cast<std::byte*>(it.table.base()) + 16));
        CHECK(named.row(0) == static_cast<std::byte*>(it.data.base()) + 1024);
        CHECK(named.row(1) == it.data.base());
        CHECK(named.shape() == allot::shape{4, 64});
        CHECK(named.logical_shape() == allot::shape{4, 64});
        CHECK(named.dtype() == int32);
    }
    {
        const auto logical = *alloc_discontiguous_tensor<entries>(it.table, it.data,
                                                                  {.offsets = {1024, 0, 512, 256},
                                                                   .shape = {4, 64},
                                                                   .dtype = int32,
                                                                   .logical_shape = {2, 2, 8, 8},
                                                                   .separators = {2}});
        CHECK(logical.logical_shape() == allot::shape{2, 2, 8, 8});
        CHECK(logical.shape() == allot::shape{4, 64});
    }
    {
        const auto searched = *alloc_discontiguous_tensor<entries>(
            it.table, it.data,
            discontiguous_tensor_request<allot::anywhere_t>{.table_offset = 32, .shape = {4, 64}, .dtype = int32});
        CHECK(searched.table().entries == static_cast<const void*>(static_cast<std::byte*>(it.table.base()) + 32));
        const auto everywhere = *alloc_discontiguous_tensor<entries>(
            it.table, it.data,
            discontiguous_tensor_request<allot::anywhere_t, allot::anywhere_t>{.shape = {4, 64}, .dtype = int32});
        CHECK(everywhere.rows() == 4);
        CHECK(everywhere.row(0) != searched.row(0));
    }
    const std::vector<std::int64_t> offsets{0, 256, 512, 768};
    const discontiguous_tensor_request<> kept{.offsets = offsets, .shape = {4, 64}, .dtype = int32};
    CHECK(alloc_discontiguous_tensor(it.table, it.data, kept)->rows() == 4);
}

TEST_CASE("discontiguous tensor: a request is checked as the positional form") {
    two_storages it;
    const auto reason = [&](const allot::discontiguous_tensor_request<>& wanted) {
        const tensor_error error = error_of(alloc_discontiguous_tensor<entries>(it.table, it.data, wanted));
        std::memset(it.table.base(), 0x5A, 64);
        return error;
    };
    CHECK(reason({}).reason == tensor_refusal::bad_shape);
    CHECK(reason({.offsets = {0}, .shape = {4, 64}, .dtype = int32}).reason == tensor_refusal::wrong_row_count);
    CHECK(reason({.table_offset = -16, .offsets = {0, 256}, .shape = {2, 64}, .dtype = int32}).reason ==
          tensor_refusal::negative_offset);
    CHECK(reason({.offsets = {0, -256}, .shape = {2, 64}, .dtype = int32}) ==
          tensor_error{tensor_refusal::negative_offset, 1});
    CHECK(reason({.offsets = {0, 256}, .shape = {2, 64}}).reason == tensor_refusal::bad_dtype);
    // A logical shape needs separators, and separators need a logical shape.
    CHECK(reason({.offsets = {0, 256}, .shape = {2, 64}, .dtype = int32, .logical_shape = {2, 8, 8}}).reason ==
          tensor_refusal::shape_mismatch);
    CHECK(reason({.offsets = {0, 256}, .shape = {2, 64}, .dtype = int32, .separators = {1}}).reason ==
          tensor_refusal::bad_separators);
    CHECK(reason({.offsets = {0, 256}, .shape = {2, 64}, .dtype = int32, .logical_shape = {4, 8, 8}, .separators = {1}})
              .reason == tensor_refusal::shape_mismatch);
    CHECK(reason({.offsets = {0, 256}, .shape = {2, 64}, .dtype = int32}).reason == tensor_refusal::none);
}

TEST_CASE("discontiguous tensor: a wrong number of offsets is rejected before the table is written") {
    two_storages it;
    it.refuses(0, {0, 256, 512}, {tensor_refusal::wrong_row_count});
    it.refuses(0, {0, 256, 512, 768, 1024}, {tensor_refusal::wrong_row_count});
    it.refuses(0, {}, {tensor_refusal::wrong_row_count});
}

TEST_CASE("discontiguous tensor: a table out of bounds is rejected before it is written") {
    two_storages it;
    it.refuses(64, {0, 256, 512, 768}, {tensor_refusal::out_of_bounds});
    it.refuses(52, {0, 256, 512, 768}, {tensor_refusal::out_of_bounds});
    it.refuses(-16, {0, 256, 512, 768}, {tensor_refusal::negative_offset});
    it.refuses(most, {0, 256, 512, 768}, {tensor_refusal::out_of_bounds});
    it.refuses(2, {0, 256, 512, 768}, {tensor_refusal::misaligned});
}

TEST_CASE("discontiguous tensor: a row out of bounds is rejected, including the last one") {
    two_storages it;
    it.refuses(0, {0, 256, 512, 4096}, {tensor_refusal::out_of_bounds, 3});
    it.refuses(0, {0, 256, 3840 + 256, 512}, {tensor_refusal::out_of_bounds, 2});
    it.refuses(0, {0, -256, 512, 768}, {tensor_refusal::negative_offset, 1});
    it.refuses(0, {most - 255, 256, 512, 768}, {tensor_refusal::out_of_bounds, 0});
}

TEST_CASE("discontiguous tensor: rows need the alignment of their storage") {
    two_storages it;
    it.refuses(0, {0, 256, 512, 896}, {tensor_refusal::misaligned, 3});
}

TEST_CASE("discontiguous tensor: rows that overlap each other or a live tensor are rejected") {
    two_storages it;
    it.refuses(0, {0, 256, 256, 768}, {tensor_refusal::overlapping, 2});
    it.refuses(0, {0, 256}, {tensor_refusal::overlapping, 1}, {2, 128});
    auto live = *allot::alloc_tensor(it.data, 1024, {64}, int32);
    const auto over = it.alloc(0, {0, 256, 1024, 768});
    CHECK(over.error().reason == tensor_refusal::overlapping);
    CHECK(over.error().row == 2);
    CHECK(it.nothing_written());
    live.kill();
    CHECK(it.alloc(0, {0, 256, 1024, 768}));
}

TEST_CASE("discontiguous tensor: overlapping rows are rejected even with as_given") {
    heap_arena memory{{}, 65536};
    const auto data = *allot::alloc_storage<allot::storage_policies<allot::as_given>>(memory, 4096, 256);
    const auto reason = [&](allot::row_offsets rows) {
        return error_of(alloc_discontiguous_tensor<entries>(data, 0, data, rows, {4, 64}, int32));
    };
    CHECK(reason({1024, 512, 1024, 768}).reason == tensor_refusal::overlapping);
    CHECK(reason({1024, 512, 1024, 768}).row == 2);
    CHECK(reason({1024, 512, 4096, 768}).reason == tensor_refusal::out_of_bounds);
    CHECK(reason({1024, 512, 1280 + 8, 768}).reason == tensor_refusal::misaligned);
    CHECK(reason({1024, 512, 1280, 768}).reason == tensor_refusal::none);
}

TEST_CASE("discontiguous tensor: keeps both storages alive") {
    heap_arena tables{{}, 4096}, rows{{}, 65536};
    auto table = *allot::alloc_storage(tables, 64);
    auto data = *allot::alloc_storage(rows, 4096, 256);
    auto a = *alloc_discontiguous_tensor(table, 0, data, {768, 256, 2304, 3072}, {4, 64}, int32);
    table.kill();
    data.kill();
    std::memset(a.row(3), 1, 256);
    CHECK(rows.diagnose({65536 - 64, 16}).reason != refusal::none);
    CHECK(tables.diagnose({4096 - 64, 16}).reason != refusal::none);
    auto copy = a;
    a.kill();
    CHECK(static_cast<unsigned char*>(copy.row(3))[255] == 1);
    copy.kill();
    CHECK(rows.diagnose({65536 - 64, 16}).reason == refusal::none);
    CHECK(tables.diagnose({4096 - 64, 16}).reason == refusal::none);
}

TEST_CASE("discontiguous tensor: the separators must convert the logical shape to the physical shape") {
    two_storages it;
    const auto alloc = [&](allot::shape physical, allot::shape logical, allot::axis_separators separators) {
        return alloc_discontiguous_tensor<entries>(it.table, 0, it.data, {0, 256, 512, 768}, physical, int32, logical,
                                                   separators);
    };
    {
        const auto a = *alloc({4, 64}, {2, 2, 8, 8}, {2});
        CHECK(a.shape() == allot::shape{4, 64});
        CHECK(a.logical_shape() == allot::shape{2, 2, 8, 8});
    }
    CHECK(alloc({4, 64}, {2, 2, 8, 8}, {1}).error().reason == tensor_refusal::shape_mismatch);
    CHECK(alloc({4, 64}, {2, 2, 8, 8}, {}).error().reason == tensor_refusal::shape_mismatch);
    CHECK(alloc({4, 64}, {2, 2, 8, 8}, {4}).error().reason == tensor_refusal::bad_separators);
    CHECK(alloc({4, 64}, {2, 2, 8, 9}, {2}).error().reason == tensor_refusal::shape_mismatch);
    CHECK(alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {4, 64}, int32, {4, 4, 16}, {1}));
}

TEST_CASE("discontiguous tensor: several separators give more than two physical axes") {
    two_storages it;
    constexpr std::int64_t offsets[] = {1280, 0, 512, 256, 3840, 768};
    // Axes 0 | 1, 2 | 3, 4: the position (i, j, k, l, m) is element l * 8 + m of row (i, j * 3 + k), with i below 2.
    const allot::discontiguous_tensor_request<> wanted{
        .offsets = offsets, .dtype = int32, .logical_shape = {2, 1, 3, 2, 8}, .separators = {1, 3}};
    const auto a = *alloc_discontiguous_tensor<entries>(it.table, it.data, wanted);
    CHECK(a.shape() == allot::shape{2, 3, 16});
    CHECK(a.logical_shape() == allot::shape{2, 1, 3, 2, 8});
    CHECK(a.rows() == 6);
    CHECK(a.row_bytes() == 64);
    for (std::int64_t i = 0; i != 2; ++i) {
        for (std::int64_t j = 0; j != 3; ++j) {
            const auto number = static_cast<std::size_t>(i * 3 + j);
            CHECK(a.table().entries[number] == static_cast<std::uint32_t>(offsets[number]));
            CHECK(a.row({i, j}) == a.row(number));
            CHECK(a.row({i, j}) == static_cast<std::byte*>(it.data.base()) + offsets[number]);
        }
    }
    // A copy to contiguous memory has the elements in row-major order.
    const auto whole = *allot::alloc_tensor(it.data, 1536, {2, 1, 3, 2, 8}, int32);
    for (std::size_t row = 0; row != 6; ++row)
        for (std::size_t i = 0; i != 16; ++i)
            static_cast<std::int32_t*>(a.row(row))[i] = static_cast<std::int32_t>(16 * row + i);
    REQUIRE(allot::copy_tensor(a, whole));
    for (std::int32_t i = 0; i != 96; ++i) CHECK(static_cast<const std::int32_t*>(whole.data())[i] == i);

    // Four physical axes, at rows that a search selects.
    const auto b = *alloc_discontiguous_tensor<entries>(it.table, 32, it.data, anywhere, {1, 2, 2, 8}, int32,
                                                        {1, 2, 2, 4, 2}, {1, 2, 3});
    CHECK(b.rows() == 4);
    CHECK(b.row({0, 1, 1}) == b.row(3));
    const auto other = alloc_discontiguous_tensor<entries>(it.table, 48, it.data, anywhere, {1, 2, 2, 8}, int32,
                                                           {1, 2, 2, 4, 2}, {1, 2});
    CHECK(other.error().reason == tensor_refusal::shape_mismatch);
    auto without_rank = wanted;
    without_rank.separators = {1, 5};
    CHECK(alloc_discontiguous_tensor<entries>(it.table, it.data, without_rank).error().reason ==
          tensor_refusal::bad_separators);
    without_rank.separators = {};
    CHECK(alloc_discontiguous_tensor<entries>(it.table, it.data, without_rank).error().reason ==
          tensor_refusal::bad_shape);  // one physical axis
}

TEST_CASE("discontiguous tensor: shapes of another rank or with too many elements are rejected") {
    two_storages it;
    it.refuses(0, {0}, {tensor_refusal::bad_shape}, {});
    it.refuses(0, {0}, {tensor_refusal::bad_shape}, {64});
    it.refuses(0, {0}, {tensor_refusal::bad_shape}, {1, 1, 1, 1, 1, 1, 1, 1, 8});
    it.refuses(0, {0}, {tensor_refusal::bad_shape}, {-1, 8});
    it.refuses(0, {0}, {tensor_refusal::bad_shape}, {1, -1, 8});
    it.refuses(0, {0}, {tensor_refusal::wrong_row_count}, {1, 8, 8});
    it.refuses(0, {0}, {tensor_refusal::too_large}, {most, most, 0});
    it.refuses(0, {0}, {tensor_refusal::too_large}, {most, most});
    it.refuses(0, {0}, {tensor_refusal::bad_dtype}, {1, 8}, {});
    it.refuses(0, {0, 256}, {tensor_refusal::partial_bytes}, {2, 3}, allot::uint4);
    const auto nibbles = it.alloc(0, {0, 256}, {2, 4}, allot::uint4);
    CHECK(nibbles->row_bytes() == 2);
}

TEST_CASE("discontiguous tensor: without elements it has no table and no rows") {
    two_storages it;
    const auto none = *it.alloc(0, {}, {0, 64});
    CHECK(static_cast<bool>(none));
    CHECK(none.rows() == 0);
    const auto empty_rows = *it.alloc(0, {0, 256}, {2, 0});
    CHECK(empty_rows.rows() == 0);
    CHECK(empty_rows.shape() == allot::shape{2, 0});
    CHECK(it.nothing_written());
    it.refuses(0, {0}, {tensor_refusal::wrong_row_count}, {2, 0});
    CHECK(alloc_discontiguous_tensor(it.table, anywhere, it.data, anywhere, {most, 0}, int32)->rows() == 0);
}

TEST_CASE("discontiguous tensor: an entry type too narrow for a row is rejected") {
    two_storages it;
    const auto narrow =
        alloc_discontiguous_tensor<allot::row_offset<std::uint8_t>>(it.table, 0, it.data, {0, 256}, {2, 64}, int32);
    CHECK(narrow.error().reason == tensor_refusal::entry_too_narrow);
    CHECK(narrow.error().row == 1);
    CHECK(it.nothing_written());
    // With index entries, the rows must begin at multiples of the row size from the storage's start.
    const auto by_index = [&](allot::row_offsets rows) {
        return alloc_discontiguous_tensor<allot::row_index<std::uint8_t>>(it.table, 0, it.data, rows, {2, 96}, int32);
    };
    CHECK(by_index({0, 512}).error().reason == tensor_refusal::entry_too_narrow);
    const auto a = *by_index({0, 768});
    CHECK(a.table().entries[1] == 2);
    CHECK(a.row(1) == static_cast<std::byte*>(it.data.base()) + 768);
    CHECK(it.data.diagnose({4096, 256}).reason != refusal::none);
}

TEST_CASE("discontiguous tensor: a search places each row, and a failure frees all rows") {
    two_storages it;
    std::vector<allot::tensor_in<allot::storage<heap_arena>>> taken;
    for (std::int64_t at = 0; at != 4096; at += 512) taken.push_back(*allot::alloc_tensor(it.data, at, {64}, int32));
    const auto eight = alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {8, 64}, int32);
    REQUIRE(eight);
    std::vector<const void*> rows(8), holes(8);  // one row in each hole, in any order
    for (std::size_t row = 0; row != 8; ++row) {
        rows[row] = eight->row(row);
        holes[row] = static_cast<std::byte*>(it.data.base()) + 256 + 512 * row;
    }
    CHECK(std::is_permutation(rows.begin(), rows.end(), holes.begin()));
    const auto more = alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {1, 64}, int32);
    CHECK(more.error().reason == tensor_refusal::no_memory);
    CHECK(more.error().memory.reason == refusal::exhausted);
    taken[3].kill();
    const auto two = alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {2, 64}, int32);
    CHECK(two.error().row == 1);
    CHECK(allot::alloc_tensor(it.data, 3 * 512, {64}, int32));  // the first row of the failed tensor is free again
}

TEST_CASE("discontiguous tensor: a full table storage is reported") {
    two_storages it;
    const auto a = alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {16, 4}, int32);
    REQUIRE(a);
    const auto b = alloc_discontiguous_tensor<entries>(it.table, anywhere, it.data, anywhere, {1, 4}, int32);
    CHECK(b.error().reason == tensor_refusal::no_memory);
    CHECK(it.alloc(0, {0}, {1, 4}).error().reason == tensor_refusal::overlapping);
}

TEST_CASE("discontiguous tensor: rows in memory with handles use offset entries and a table on the host") {
    using handles = laws::handles<laws::handle_options{}>;
    allot::arena<handles, allot::best_fit<>> device{handles{false}, 65536};
    heap_arena host{{}, 4096};
    const auto skipped = *allot::alloc_storage(device, 1024, 256);
    const auto data = *allot::alloc_storage(device, 4096, 256);
    const auto table = *allot::alloc_storage(host, 64);
    const auto a = *alloc_discontiguous_tensor<entries>(table, 0, data, {768, 256}, {2, 64}, int32);
    CHECK(a.table().entries[0] == 768);  // from the start of the storage, as a kernel with the storage's base reads it
    CHECK(a.row(0) == allot::handle_offset<int>::address{data.base().handle, data.base().offset + 768});
    CHECK(data.base().offset == skipped.base().offset + 1024);
}

TEST_CASE("discontiguous tensor: without offsets each row has a separate buffer, and a failure frees all of them") {
    allot::naive<buffers> memory;
    heap_arena host{{}, 4096};
    const auto data = *allot::alloc_storage(memory, 4096, 256);
    const auto table = *allot::alloc_storage(host, 64);
    const auto four = alloc_discontiguous_tensor(table, 0, data, {768, 256, 2304, 3072}, {4, 64}, int32);
    CHECK(four.error().reason == tensor_refusal::no_memory);
    CHECK(four.error().row == 3);
    CHECK(four.error().memory.device_error == 5);
    CHECK(memory.device().out == 0);
    const auto three = *alloc_discontiguous_tensor(table, 0, data, {768, 256, 2304}, {3, 64}, int32);
    CHECK(memory.device().out == 3);
    std::memset(three.row(2), 7, 256);
    CHECK(allot::alloc_tensor(data, 256, {1}, int32).error().reason == tensor_refusal::overlapping);
}
