// DLPack of discontiguous tensors: adjacent rows are shared, and the caller chooses a failure or a copy for others.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>
#include <allot/tensor/dlpack_rows.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace {

using allot::anywhere;
using allot::int32;
using allot::tensor_refusal;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

struct memories {
    heap_arena memory{{}, 65536};
    allot::storage<heap_arena> tables = *allot::alloc_storage(memory, 1024);
    allot::storage<heap_arena> data = *allot::alloc_storage(memory, 4096, 256);

    auto alloc(allot::row_offsets rows) {
        const auto made = *allot::alloc_discontiguous_tensor(tables, anywhere, data, rows, {2, 64}, int32);
        for (std::size_t row = 0; row != 2; ++row)
            for (int i = 0; i != 64; ++i) static_cast<int*>(made.row(row))[i] = static_cast<int>(row) * 64 + i;
        return made;
    }
};

}  // namespace

TEST_CASE("dlpack_rows: adjacent rows are exported without a copy, and the export keeps them") {
    memories it;
    auto rows = it.alloc({512, 768});
    auto shared = *allot::to_dlpack(rows);
    CHECK(shared->dl_tensor.data == rows.row(0));
    CHECK(shared->dl_tensor.ndim == 2);
    CHECK(shared->dl_tensor.shape[1] == 64);
    CHECK(shared->dl_tensor.strides[0] == 64);
    CHECK((shared->flags & (allot::dlpack_flag::read_only | allot::dlpack_flag::is_copied)) == 0);
    const auto same = *allot::to_dlpack_or_copy(rows, it.data);
    CHECK(same->dl_tensor.data == rows.row(0));
    CHECK((same->flags & allot::dlpack_flag::is_copied) == 0);
    const auto based = *allot::to_dlpack(rows, {.convention = allot::dlpack_convention::aligned_base});
    CHECK(based->dl_tensor.data == it.data.base());
    CHECK(based->dl_tensor.byte_offset == 512);
    rows.kill();
    CHECK(error_of(allot::alloc_tensor(it.data, 512, {64}, int32)).reason == tensor_refusal::overlapping);
    CHECK(static_cast<const int*>(shared->dl_tensor.data)[127] == 127);
    const auto adopted = allot::from_dlpack<allot::host::heap>(std::move(shared));
    REQUIRE(adopted);
    CHECK(static_cast<const int*>(adopted->data())[127] == 127);
}

TEST_CASE("dlpack_rows: other rows are refused, or copied to a storage of the caller") {
    memories it;
    const auto rows = it.alloc({512, 1024});
    CHECK(error_of(allot::to_dlpack(rows)).reason == tensor_refusal::not_compact);
    auto copied = *allot::to_dlpack_or_copy(rows, it.data);
    CHECK((copied->flags & allot::dlpack_flag::is_copied) != 0);
    CHECK(copied->dl_tensor.data != rows.row(0));
    CHECK(std::memcmp(copied->dl_tensor.data, rows.row(0), 256) == 0);
    CHECK(std::memcmp(static_cast<std::byte*>(copied->dl_tensor.data) + 256, rows.row(1), 256) == 0);
    copied.reset();

    const auto part = *allot::slice(rows, {1, 3}, {1, 10});
    const auto inside = *allot::to_dlpack(part);  // inside one row
    CHECK(inside->dl_tensor.data == static_cast<int*>(rows.row(1)) + 3);
    const auto columns = *allot::slice(rows, {0, 3}, {2, 10});
    CHECK(error_of(allot::to_dlpack(columns)).reason == tensor_refusal::not_compact);
    const auto copy = *allot::to_dlpack_or_copy(columns, it.data, {.read_only = true});
    CHECK(copy->dl_tensor.strides[0] == 10);
    CHECK((copy->flags & allot::dlpack_flag::read_only) != 0);
    CHECK(static_cast<const int*>(copy->dl_tensor.data)[10] == 67);

    const auto small = *allot::alloc_storage(it.memory, 64, 4);
    CHECK(error_of(allot::to_dlpack_or_copy(rows, small)).reason == tensor_refusal::no_memory);
    const auto broken = [](const void*, void*, std::size_t) -> long { return 3; };
    const auto failed = allot::to_dlpack_or_copy(rows, it.data, {}, broken);
    CHECK(error_of(failed).reason == tensor_refusal::copy_failed);
    CHECK(error_of(failed).memory.device_error == 3);
    auto killed = rows;
    killed.kill();
    CHECK(error_of(allot::to_dlpack(killed)).reason == tensor_refusal::killed);
    CHECK(error_of(allot::to_dlpack_or_copy(killed, it.data)).reason == tensor_refusal::killed);
}

TEST_CASE("dlpack_rows: shared rows are exported read-only") {
    memories it;
    const auto shared = *allot::share_rows(it.data, it.tables, 8);
    auto a = *allot::alloc_discontiguous_tensor(it.tables, anywhere, shared, {0, 256}, {2, 64}, int32);
    *static_cast<int*>(a.row(0)) = 5;
    const auto exported = *allot::to_dlpack(a);
    CHECK((exported->flags & allot::dlpack_flag::read_only) != 0);
    const auto row = allot::write(a, 0);  // the export names the row, too
    REQUIRE(row);
    *static_cast<int*>(*row) = 6;
    CHECK(*static_cast<const int*>(exported->dl_tensor.data) == 5);
}

TEST_CASE("dlpack_rows: rows of an arena and of several storages have no common base") {
    heap_arena memory{{}, 65536};
    const auto tables = *allot::alloc_storage(memory, 1024);
    const auto blocks =
        *allot::alloc_storage<allot::storage_policies<allot::own_blocks>>(memory, {.size = 4096, .align = 256});
    const auto one = *allot::alloc_discontiguous_tensor(tables, anywhere, blocks, anywhere, {1, 8}, int32);
    const auto based = *allot::to_dlpack(one, {.convention = allot::dlpack_convention::aligned_base});
    CHECK(based->dl_tensor.data == one.row(0));
    CHECK(based->dl_tensor.byte_offset == 0);
    const auto fast = *allot::alloc_storage(memory, 256, 64), slow = *allot::alloc_storage(memory, 4096, 256);
    const allot::storage_list both{fast, slow};
    const auto rows = *allot::alloc_discontiguous_tensor(tables, anywhere, both, {256 + 64, 256 + 128}, {2, 16}, int32);
    CHECK((*allot::to_dlpack(rows))->dl_tensor.data == rows.row(0));
    const auto or_copy = allot::to_dlpack_or_copy(rows, slow, {.convention = allot::dlpack_convention::aligned_base});
    CHECK(error_of(or_copy).reason == tensor_refusal::misaligned);  // only rows that are not adjacent are copied
    CHECK(error_of(allot::to_dlpack(rows, {.convention = allot::dlpack_convention::aligned_base})).reason ==
          tensor_refusal::misaligned);
    const auto aligned = *allot::alloc_discontiguous_tensor(tables, anywhere, both, {1280, 1344}, {2, 16}, int32);
    const auto named = *allot::share_rows(both, tables, 4);
    const auto shared = *allot::alloc_discontiguous_tensor(tables, anywhere, named, {2304, 2368}, {2, 16}, int32);
    const auto of_row = [](const auto& tensor) {
        const auto exported = *allot::to_dlpack(tensor, {.convention = allot::dlpack_convention::aligned_base});
        return exported->dl_tensor.data == tensor.row(0) && exported->dl_tensor.byte_offset == 0;
    };
    CHECK(of_row(aligned));
    CHECK(of_row(shared));
}

TEST_CASE("dlpack_rows: a storage in rows, and buffers with handles") {
    heap_arena memory{{}, 65536}, tables{{}, 4096};
    const auto data = *allot::alloc_storage(memory, tables, {3, 16}, int32, 64);
    const auto rows = *allot::alloc_tensor(data, 0, {3, 16}, int32);
    const bool adjacent = rows.row(1) == static_cast<std::byte*>(rows.row(0)) + 64 &&
                          rows.row(2) == static_cast<std::byte*>(rows.row(1)) + 64;
    CHECK(static_cast<bool>(allot::to_dlpack(rows)) == adjacent);

    struct handles : allot::traits_of<laws::handles<laws::handle_options{}>> {
        using address_model = allot::handle_offset<int*>;
        using error = int;
        int memory[2] = {};
        int next = 0;
        [[nodiscard]] allot::acquired<handles> acquire(allot::layout wanted) noexcept {
            return allot::region<address_model::address>{{&memory[next++ % 2], 0}, wanted.size, 4096};
        }
        void release(allot::region<address_model::address>) noexcept {}
    };
    allot::arena<handles, allot::best_fit<>> buffers{{}, 4096};
    const auto in_buffer = *allot::alloc_storage(buffers, 1024, 16);
    const auto host_tables = *allot::alloc_storage(memory, 256);
    const auto carried = *allot::alloc_discontiguous_tensor<allot::row_offset<>>(host_tables, anywhere, in_buffer,
                                                                                 {64, 128, 512}, {3, 16}, int32);
    const auto two = *allot::to_dlpack(*allot::slice(carried, {0, 0}, {2, 16}));
    CHECK(two->dl_tensor.data == in_buffer.base().handle);
    CHECK(two->dl_tensor.byte_offset == in_buffer.base().offset + 64);
    CHECK(error_of(allot::to_dlpack(carried)).reason == tensor_refusal::not_compact);
}
