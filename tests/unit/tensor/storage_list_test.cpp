// storage_list and own_blocks: rows of one tensor in several storages, and in an arena that grows.
#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "../../laws/devices.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace allot::literals;
using allot::anywhere;
using allot::int32;
using allot::tensor_refusal;

using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using growing_arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
using in_blocks = allot::storage_policies<allot::own_blocks>;

/// Whether a range of bytes is inside a storage.
template <class Storage>
bool holds(const Storage& in, const void* row, std::size_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(row), base = reinterpret_cast<std::uintptr_t>(in.base());
    return at >= base && at + bytes <= base + in.size();
}

/// A fast storage of 1000 bytes and a slow one of 4096, with alignments 64 and 32.
struct two_memories {
    heap_arena memory{{}, 65536};
    allot::storage<heap_arena> table = *allot::alloc_storage(memory, 4096);
    allot::storage<heap_arena> fast = *allot::alloc_storage(memory, 1000, 64);
    allot::storage<heap_arena> slow = *allot::alloc_storage(memory, 4096, 32);
    allot::storage_list<allot::storage<heap_arena>, allot::storage<heap_arena>> both{fast, slow};

    [[nodiscard]] bool is_free() const {
        return fast.diagnose({1000, 64}).reason == allot::refusal::none &&
               slow.diagnose({4096, 32}).reason == allot::refusal::none &&
               table.diagnose({4096, 1}).reason == allot::refusal::none;
    }
};

}  // namespace

TEST_CASE("storage_list: rows go to the first storage that has room") {
    two_memories it;
    CHECK(it.both.size() == 5096);
    CHECK(it.both.align() == 32);
    auto t = allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, anywhere, {17, 60}, int32);  // 240 bytes
    REQUIRE(t);
    std::size_t in_fast = 0;
    for (std::size_t row = 0; row != t->rows(); ++row) {
        const bool is_fast = t->lease().piece(row).storage() == 0;
        CHECK(is_fast == holds(it.fast, t->row(row), 240));
        CHECK(is_fast != holds(it.slow, t->row(row), 240));
        CHECK(is_fast == (row < 3));  // at multiples of 32: 0, 256 and 512; 768 + 240 is beyond the end
        CHECK(reinterpret_cast<std::uintptr_t>(t->row(row)) % 32 == 0);
        in_fast += is_fast;
        std::memset(t->row(row), static_cast<int>(row), 240);
    }
    CHECK(in_fast == 3);
    const auto whole = *allot::alloc_tensor(*allot::alloc_storage(it.memory, 8192), anywhere, {17, 60}, int32);
    REQUIRE(allot::copy_tensor(*t, whole));
    for (std::size_t i = 0; i != 17 * 240; ++i)
        CHECK(static_cast<const unsigned char*>(whole.data())[i] == static_cast<unsigned char>(i / 240));
    t->kill();
    CHECK(it.is_free());
}

TEST_CASE("storage_list: tensors of the storages and of the list never share bytes") {
    two_memories it;
    const auto own = *allot::alloc_tensor(it.fast, 256, {60}, int32);
    const auto taken = allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, {0, 256}, {2, 60}, int32);
    CHECK(error_of(taken).reason == tensor_refusal::overlapping);
    CHECK(error_of(taken).row == 1);
    const auto rows = *allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, anywhere, {4, 60}, int32);
    for (std::size_t row = 0; row != 4; ++row) CHECK(rows.row(row) != own.data());
    CHECK_FALSE(allot::alloc_tensor(it.fast, 0, {60}, int32));
}

TEST_CASE("storage_list: an offset counts through the storages") {
    two_memories it;
    const auto t =
        allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, {64, 1000, 1032 + 256}, {3, 10}, int32);
    REQUIRE(t);
    CHECK(t->row(0) == static_cast<std::byte*>(it.fast.base()) + 64);
    CHECK(t->row(1) == it.slow.base());
    CHECK(t->row(2) == static_cast<std::byte*>(it.slow.base()) + 288);
    const auto refuses = [&](allot::row_offsets at, tensor_refusal reason, std::size_t row) {
        const auto made = allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, at, {2, 10}, int32);
        CHECK(error_of(made).reason == reason);
        CHECK(error_of(made).row == row);
    };
    refuses({128, 992}, tensor_refusal::out_of_bounds, 1);  // across both
    refuses({5096 - 40, 128}, tensor_refusal::misaligned, 0);
    refuses({128, 5096}, tensor_refusal::out_of_bounds, 1);
    refuses({-32, 128}, tensor_refusal::negative_offset, 0);
    refuses({128, std::numeric_limits<std::int64_t>::max()}, tensor_refusal::out_of_bounds, 1);
}

TEST_CASE("storage_list: a failed allocation frees its rows in all storages") {
    two_memories it;
    const auto full = allot::alloc_discontiguous_tensor(it.table, anywhere, it.both, anywhere, {20, 60}, int32);
    CHECK(error_of(full).reason == tensor_refusal::no_memory);
    CHECK(error_of(full).row == 19);  // 3 rows and 16
    CHECK(it.is_free());
    it.slow.kill();
    CHECK(it.both);  // it holds a reference
    decltype(it.both) of_killed{it.fast, it.slow};
    CHECK_FALSE(of_killed);
    CHECK(of_killed.size() == 0);
    CHECK(error_of(allot::alloc_discontiguous_tensor(it.table, anywhere, of_killed, anywhere, {1, 4}, int32)).reason ==
          tensor_refusal::killed);
    it.both.kill();
    CHECK_FALSE(it.both);
}

TEST_CASE("storage_list: entries that count from an origin name rows of all storages") {
    two_memories it;
    const auto check = [&](const auto& first, const auto& second) {
        const allot::storage_list list{first, second};
        const auto t =
            allot::alloc_discontiguous_tensor<allot::row_offset<>>(it.table, anywhere, list, anywhere, {17, 60}, int32);
        REQUIRE(t);
        for (std::size_t row = 0; row != 17; ++row)
            CHECK(holds(t->lease().piece(row).storage() == 0 ? first : second, t->row(row), 240));
    };
    check(it.fast, it.slow);
    check(it.slow, it.fast);
}

TEST_CASE("storage_list: rows of handles in two buffers, with entries that are addresses") {
    using handles = laws::handles<laws::handle_options{}>;
    allot::arena<handles, allot::best_fit<>> first{handles{false}, 4096}, second{handles{true}, 4096};
    heap_arena host{{}, 4096};
    const auto table = *allot::alloc_storage(host, 2048);
    const auto a = *allot::alloc_storage(first, 512, 16);
    const auto b = *allot::alloc_storage(second, 512, 16);
    const allot::storage_list both{a, b};
    const auto t =
        allot::alloc_discontiguous_tensor<allot::row_address>(table, anywhere, both, anywhere, {8, 25}, int32);
    REQUIRE(t);
    for (std::size_t row = 0; row != 8; ++row) {
        const bool is_first = row < 4;  // at multiples of 16 that hold 100 bytes: 0, 112, 224 and 336
        CHECK(t->row(row).handle == (is_first ? a : b).base().handle);
        CHECK(t->row(row).offset == (is_first ? a : b).base().offset + (is_first ? row : row - 4) * 112);
    }
}

TEST_CASE("own_blocks: rows in an arena that grows, up to the size of the storage") {
    growing_arena memory{{}, 4096};
    heap_arena host{{}, 65536};
    const auto table = *allot::alloc_storage(host, 16_KiB);
    const auto data = *allot::alloc_storage<in_blocks>(memory, {.size = 100'000, .align = 64});
    const std::size_t before = memory.size();
    auto t = allot::alloc_discontiguous_tensor(table, anywhere, data, anywhere, {990, 25}, int32);
    REQUIRE(t);
    CHECK(memory.size() >= 99'000);
    CHECK(memory.size() > before);
    for (std::size_t row = 0; row != 990; ++row) {
        CHECK(reinterpret_cast<std::uintptr_t>(t->row(row)) % 64 == 0);
        std::memset(t->row(row), static_cast<int>(row), 100);
    }
    for (std::size_t row = 0; row != 990; ++row)
        CHECK(static_cast<const unsigned char*>(t->row(row))[99] == static_cast<unsigned char>(row));
    const auto beyond = allot::alloc_discontiguous_tensor(table, anywhere, data, anywhere, {11, 25}, int32);
    CHECK(error_of(beyond).reason == tensor_refusal::no_memory);
    CHECK(error_of(beyond).memory.reason == allot::refusal::exhausted);
    CHECK(error_of(beyond).row == 10);
    const auto ten = allot::alloc_tensor(data, anywhere, {250}, int32);
    CHECK(ten);
    CHECK_FALSE(allot::alloc_tensor(data, anywhere, {1}, int32));
    t->kill();
    CHECK(allot::alloc_tensor(data, anywhere, {24'750}, int32));
    CHECK(memory.trim() > 0);
}

TEST_CASE("own_blocks: a block that the allocator refuses does not count") {
    heap_arena memory{{}, 512};
    const auto data = *allot::alloc_storage<in_blocks>(memory, {.size = 1000, .align = 4});
    CHECK(error_of(allot::alloc_tensor(data, anywhere, {150}, int32)).reason == tensor_refusal::no_memory);
    CHECK(error_of(allot::alloc_tensor(data, anywhere, {150}, int32)).reason == tensor_refusal::no_memory);
    CHECK(allot::alloc_tensor(data, anywhere, {110}, int32));
}

TEST_CASE("own_blocks: checked builds report a live block at the end of the storage") {
    struct told {
        void operator()(allot::misuse what, std::size_t, std::size_t live) const noexcept {
            CHECK(what == allot::misuse::leaked);
            ++reports();
            CHECK(live == 1);
        }
        static int& reports() {
            static int all = 0;
            return all;
        }
    };
    using checked =
        allot::storage_policies<allot::own_blocks, allot::references::none, allot::hardening::checked, told>;
    growing_arena memory{{}, 4096};
    {
        alignas(allot::tensor_in<allot::storage<growing_arena, checked>>) std::byte room[1024];
        allot::storage_body<growing_arena, checked> body;
        const auto data = *allot::alloc_storage(body, memory, {.size = 4096});
        auto t = *allot::alloc_tensor(data, anywhere, {4}, int32);
        ::new (static_cast<void*>(room)) decltype(t){std::move(t)};  // never destroyed
        auto freed = *allot::alloc_tensor(data, anywhere, {4}, int32);
        freed.kill();
    }
    CHECK(told::reports() == 1);
}

TEST_CASE("storage_list: spills from a small fixed memory to an arena that grows") {
    alignas(2048) static std::byte window[4096];
    allot::arena<allot::host::tightly_coupled, allot::best_fit<>> fast_memory{{window, sizeof window}};
    growing_arena slow_memory{{}, 4096};
    const auto fast = *allot::alloc_storage(fast_memory, 2048, 128);
    const auto slow = *allot::alloc_storage<in_blocks>(slow_memory, {.size = 1_MiB, .align = 128});
    const auto table = *allot::alloc_storage(slow_memory, 4096);
    const allot::storage_list both{fast, slow};
    const auto t = allot::alloc_discontiguous_tensor(table, anywhere, both, anywhere, {300, 32}, int32);
    REQUIRE(t);
    for (std::size_t row = 0; row != 300; ++row) CHECK(holds(fast, t->row(row), 128) == (row < 16));
}
