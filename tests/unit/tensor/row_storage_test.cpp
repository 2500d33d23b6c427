// Storages in rows: a block for each row from arenas, pools and naive allocators, and tensors in consecutive rows.
#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <allot/allot.hpp>
#include <allot/compose/cached.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <set>

namespace {

using allot::alloc_storage;
using allot::alloc_tensor;
using allot::anywhere;
using allot::int32;
using allot::refusal;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using pooled = allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 256, .count = 8, .align = 128}>>;
using own_regions = allot::naive<allot::host::heap>;
using cached_regions = allot::naive<allot::cached<allot::host::heap>>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

template <class Arena>
Arena make() {
    if constexpr (std::same_as<Arena, heap_arena>) return Arena{{}, 65536};
    else if constexpr (std::same_as<Arena, pooled>) return Arena{{}, 8 * 256};
    else return Arena{};
}

/// Memory of handles, where pointers do not exist.
using handles = laws::handles<laws::handle_options{}>;

}  // namespace

TEST_CASE_TEMPLATE("row storage: each row is an aligned block of the allocator, pooled and naive", Rows, heap_arena,
                   pooled, own_regions, cached_regions) {
    Rows memory = make<Rows>();
    heap_arena tables{{}, 4096};
    {
        auto data = *alloc_storage(memory, tables, {8, 60}, int32, 128);
        CHECK(data.rows() == 8);
        CHECK(data.row_bytes() == 240);
        CHECK(data.size() == 1920);
        CHECK(data.align() == 128);
        std::set<std::size_t> rows;
        for (std::size_t row = 0; row != 8; ++row) {
            const std::size_t at = allot::raw_pointer::position(data.table()[row]);
            CHECK(at % 128 == 0);
            const auto after = rows.lower_bound(at);
            if (after != rows.end()) CHECK(*after - at >= 240);
            if (after != rows.begin()) CHECK(at - *std::prev(after) >= 240);
            rows.insert(at);
            std::memset(data.table()[row], 7, 240);
        }
        const auto a = *alloc_tensor(data, 480, {3, 60}, int32);
        CHECK(a.rows() == 3);
        for (std::size_t row = 0; row != 3; ++row) CHECK(a.row(row) == data.table()[row + 2]);
        data.kill();
        CHECK_FALSE(data);
        std::memset(a.row(2), 8, 240);  // the tensor keeps all rows
        CHECK(tables.diagnose({4096 - 64}).reason != refusal::none);
    }
    CHECK(tables.diagnose({4096 - 64}).reason == refusal::none);
    if constexpr (requires { memory.live(); }) CHECK(memory.live() == 0);
    CHECK(alloc_storage(memory, tables, {8, 64}, int32));  // the rows are free again
}

TEST_CASE("row storage: tensors of several axes take consecutive rows, at offsets or by a search") {
    heap_arena memory{{}, 65536};
    auto data = *alloc_storage(memory, memory, {2, 3, 16}, int32, 64);
    CHECK(data.rows() == 6);
    auto a = *alloc_tensor(data, 128, {3, 16}, int32);
    CHECK(a.shape() == allot::shape{3, 16});
    CHECK(a.row_bytes() == 64);
    CHECK(error_of(alloc_tensor(data, 0, {3, 16}, int32)).reason == tensor_refusal::overlapping);
    CHECK(error_of(alloc_tensor(data, anywhere, {3, 16}, int32)).memory.reason == refusal::fragmented);
    CHECK(error_of(alloc_tensor(data, anywhere, {4, 16}, int32)).reason == tensor_refusal::no_memory);
    const auto b = *alloc_tensor(data, anywhere, {2, 1, 16}, int32);  // rows 0 and 1
    CHECK(b.row({1, 0}) == data.table()[1]);
    const auto c = *alloc_tensor(data, anywhere, {1, 4}, allot::uint8);  // a part of row 5
    CHECK(c.row(0) == data.table()[5]);
    CHECK(c.row_bytes() == 4);
    a.kill();
    const auto logical = *alloc_tensor(data, 128, {1, 3, 4, 4}, int32, {1, 2});
    CHECK(logical.shape() == allot::shape{1, 3, 16});
    CHECK(logical.logical_shape() == allot::shape{1, 3, 4, 4});

    // Copies take them as other tensors.
    const auto whole = *alloc_tensor(*alloc_storage(memory, 192, 64), 0, {48}, int32);
    auto* const numbers = static_cast<std::int32_t*>(whole.data());
    std::iota(numbers, numbers + 48, 5);
    REQUIRE(allot::copy_tensor(whole, logical));
    for (std::int64_t row = 0; row != 3; ++row)
        CHECK(static_cast<const std::int32_t*>(logical.row({0, row}))[15] == 5 + 16 * row + 15);
    std::memset(numbers, 0, 192);
    REQUIRE(allot::copy_tensor(logical, whole));
    CHECK(numbers[47] == 52);
}

TEST_CASE("row storage: bad requests are refused") {
    heap_arena memory{{}, 65536};
    const auto reason = [&](const allot::shape& of, allot::dtype type, std::size_t align = 64,
                            const allot::axis_separators& separators = {}) {
        return error_of(alloc_storage(memory, memory, of, type, align, separators)).reason;
    };
    CHECK(reason({64}, int32) == tensor_refusal::bad_shape);
    CHECK(reason({}, int32) == tensor_refusal::bad_shape);
    CHECK(reason({-1, 64}, int32) == tensor_refusal::bad_shape);
    CHECK(reason({most, most}, int32) == tensor_refusal::too_large);
    using few = allot::storage_policies<allot::best_fit<allot::best_fit_options{.records = 8}, std::uint16_t>>;
    CHECK(error_of(alloc_storage<few>(memory, memory, {65536, 1}, allot::uint8)).reason == tensor_refusal::too_large);
    CHECK(reason({2, 3}, allot::uint4) == tensor_refusal::partial_bytes);
    CHECK(reason({2, 3}, {}) == tensor_refusal::bad_dtype);
    CHECK(reason({2, 3}, int32, 3) == tensor_refusal::bad_alignment);
    CHECK(reason({2, 3}, int32, 64, {2}) == tensor_refusal::bad_separators);
    CHECK(memory.diagnose({65536 - 64}).reason == refusal::none);

    auto data = *alloc_storage(memory, memory, {2, 2, 8}, int32, 64, {2});  // (4, 8)
    CHECK(data.rows() == 4);
    const auto refused = [&](auto offset, const allot::shape& of, allot::dtype type = int32) {
        return error_of(alloc_tensor(data, offset, of, type)).reason;
    };
    CHECK(refused(-32, {1, 8}) == tensor_refusal::negative_offset);
    CHECK(refused(16, {1, 8}) == tensor_refusal::misaligned);
    CHECK(refused(96, {2, 8}) == tensor_refusal::out_of_bounds);
    CHECK(refused(160, {1, 8}) == tensor_refusal::out_of_bounds);
    CHECK(refused(160, {0, 8}) == tensor_refusal::out_of_bounds);
    CHECK(refused(most - most % 32, {1, 8}) == tensor_refusal::out_of_bounds);
    CHECK(refused(0, {1, 9}) == tensor_refusal::out_of_bounds);
    CHECK(refused(anywhere, {5, 8}) == tensor_refusal::no_memory);
    CHECK(refused(0, {8}) == tensor_refusal::bad_shape);
    CHECK(refused(0, {2, 3}, allot::uint4) == tensor_refusal::partial_bytes);
    const auto none = *alloc_tensor(data, 128, {0, 8}, int32);
    CHECK(none.rows() == 0);
    data.kill();
    CHECK(error_of(alloc_tensor(data, 0, {1, 8}, int32)).reason == tensor_refusal::killed);

    auto empty = *alloc_storage(memory, memory, {0, 8}, int32, 64);
    CHECK(empty.rows() == 0);
    CHECK(empty.size() == 0);
    CHECK(alloc_tensor(empty, 0, {0, 8}, int32));
    CHECK(error_of(alloc_tensor(empty, 0, {1, 8}, int32)).reason == tensor_refusal::out_of_bounds);
}

TEST_CASE("row storage: a row that fails frees the others") {
    heap_arena tables{{}, 4096};
    {
        pooled memory{{}, 8 * 256};  // eight rows
        const auto made = alloc_storage(memory, tables, {9, 64}, int32, 128);
        CHECK(error_of(made).reason == tensor_refusal::no_memory);
        CHECK(error_of(made).row == 8);
        CHECK(error_of(made).memory.reason == refusal::exhausted);
        CHECK(alloc_storage(memory, tables, {8, 64}, int32, 128));
    }
    heap_arena small{{}, 64}, memory{{}, 65536};
    CHECK(error_of(alloc_storage(memory, small, {100, 4}, int32)).reason == tensor_refusal::no_memory);
    CHECK(memory.diagnose({65536 - 64}).reason == refusal::none);
    CHECK(tables.diagnose({4096 - 64}).reason == refusal::none);
}

TEST_CASE("row storage: 32-bit indices of the rows of a pool, and offsets in memory of handles") {
    heap_arena tables{{}, 4096};
    using by_index = allot::row_index<std::uint32_t>;
    {
        pooled memory{{}, 8 * 256};
        const auto skipped = memory.allocate({256, 128});
        const auto data = *alloc_storage<allot::storage_policies<>, by_index>(memory, tables, {4, 64}, int32, 128);
        std::set<std::uint32_t> entries;
        for (std::size_t row = 0; row != 4; ++row) entries.insert(data.table().entries[row]);
        CHECK(entries.size() == 4);
        CHECK(*entries.begin() == 0);
        CHECK(*entries.rbegin() < 8);
        CHECK(alloc_tensor(data, 256, {2, 64}, int32)->row(1) == data.table()[2]);
        CHECK(error_of(alloc_tensor(data, 0, {2, 32}, int32)).reason == tensor_refusal::shape_mismatch);
        CHECK(alloc_tensor(data, 0, {2, 0}, int32));
        memory.deallocate(skipped);
    }
    heap_arena memory{{}, 65536};  // rows of 60 bytes at multiples of 64
    CHECK(error_of(alloc_storage<allot::storage_policies<>, by_index>(memory, tables, {4, 15}, int32, 64)).reason ==
          tensor_refusal::entry_too_narrow);
    CHECK(memory.diagnose({65536 - 64}).reason == refusal::none);

    allot::arena<handles, allot::best_fit<>> device{handles{false}, 65536};
    const auto data = *alloc_storage(device, tables, {4, 64}, int32, 64);
    const auto a = *alloc_tensor(data, 256, {2, 64}, int32);
    CHECK(a.row(0).handle == a.row(1).handle);
    CHECK(a.table().origin.offset + a.table().entries[1] == a.row(1).offset);
    allot::naive<handles> separate{handles{false}};  // a handle for each row: no table of offsets can name them
    CHECK(error_of(alloc_storage(separate, tables, {4, 64}, int32, 64)).reason == tensor_refusal::entry_too_narrow);
}

TEST_CASE("row storage: policies and scopes are those of other storages") {
    heap_arena memory{{}, 65536};
    const allot::scope_map memories{allot::in_scope<allot::scope::vtcm>(memory)};
    const auto scoped = *alloc_storage<allot::scope::vtcm>(memories, memory, {2, 2, 8}, int32, 64, {1});
    CHECK(scoped.rows() == 2);
    CHECK(scoped.row_bytes() == 64);

    const auto given = *alloc_storage<allot::storage_policies<allot::as_given>>(memory, memory, {4, 8}, int32);
    const auto a = *alloc_tensor(given, 32, {2, 8}, int32), b = *alloc_tensor(given, 32, {2, 8}, int32);
    CHECK(a.row(0) == b.row(0));  // trusted
    static int misuses = 0;
    struct counting {
        void operator()(allot::misuse, std::uintptr_t, std::size_t) const noexcept { ++misuses; }
    };
    misuses = 0;
    using debug =
        allot::storage_policies<allot::as_given, allot::references::atomic, allot::hardening::debug, counting>;
    auto hardened = *alloc_storage<debug>(memory, memory, {4, 8}, int32);
    auto c = *alloc_tensor(hardened, 32, {2, 8}, int32);
    CHECK(static_cast<const unsigned char*>(c.row(1))[31] == 0xCD);
    CHECK(error_of(alloc_tensor(hardened, 64, {1, 8}, int32)).reason == tensor_refusal::overlapping);
    const void* const row = c.row(1);
    c.kill();
    CHECK(static_cast<const unsigned char*>(row)[31] == 0xDD);
    CHECK(misuses == 0);
    c.kill();
    CHECK(misuses == 1);
    hardened.kill();
    hardened.kill();
    CHECK(misuses == 2);
}
