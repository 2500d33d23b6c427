// Composed allocators and address models: fast memory that spills, rows in pointer tables, and blocks that are whole
// regions.
#include <allot/address/const_pointer.hpp>
#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>
#include <allot/arena/arena.hpp>
#include <allot/arena/naive.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/paged.hpp>
#include <allot/core/copy_path.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

namespace {

using allot::refusal;
using allot::host::static_storage;

constexpr allot::best_fit_options beside{.store = allot::node_store::side_table, .records = 24};
using slow_memory = allot::arena<static_storage<1024, 64>, allot::best_fit<>>;

/// Buffers whose handle is a number, like those of a driver.
struct numbered {
    using address_model = allot::handle_offset<int>;
    enum class error : unsigned char { none, too_large };
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64, granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::opencl;

    [[nodiscard]] allot::acquired<numbered> acquire(allot::layout wanted) noexcept {
        if (wanted.size > 4096 || wanted.align > 64) return allot::acquired<numbered>::failure(error::too_large);
        return allot::region<address_model::address>{{7, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address>) noexcept {}
};

}  // namespace

TEST_CASE("fallback: fast memory first, then slow memory, and each block returns to its origin") {
    alignas(64) std::byte window[256];
    allot::arena<allot::host::tightly_coupled, allot::pool<allot::pool_options{.slot = 64, .count = 4, .align = 64}>>
        fast{{window, sizeof window}};
    slow_memory slow;
    allot::fallback memory{fast, slow};
    decltype(memory)::block_type held[6];
    for (auto& each : held) {
        each = memory.allocate({.size = 64, .align = 64});
        CHECK(each);
    }
    CHECK(memory.is_from_first(held[3]));
    CHECK_FALSE(memory.is_from_first(held[4]));
    CHECK(memory.diagnose({.size = 4096}).reason != refusal::none);
    for (const auto& each : held) memory.deallocate(each);
    CHECK(fast.allocate({.size = 64, .align = 64}));
    CHECK(slow.allocate({.size = 960}));
}

TEST_CASE("paged: rows are named by pointers, by indices, and by offsets") {
    allot::arena<static_storage<1024, 64>, allot::pool<allot::pool_options{.slot = 64, .align = 64}>> rows;
    slow_memory tables;
    allot::paged<decltype(rows)&, slow_memory&, allot::pointer_table<64>> by_pointer{rows, tables};
    const auto block = by_pointer.allocate({.size = 200});
    CHECK(block);
    CHECK(block.address.size() == 4);
    using table = allot::pointer_table<64>;
    for (std::size_t i = 0; i != 200; ++i) *static_cast<std::byte*>(table::locate(block.address, i)) = std::byte(i);
    for (std::size_t i = 0; i != 200; ++i)
        CHECK(*static_cast<std::byte*>(table::locate(block.address, i)) == std::byte(i));
    CHECK(by_pointer.diagnose({.size = 1024}).reason == refusal::exhausted);
    CHECK_FALSE(by_pointer.allocate({.size = 1024}));
    by_pointer.deallocate(block);
    CHECK(by_pointer.allocate({.size = 1024}));

    allot::arena<numbered, allot::best_fit<beside, std::uint16_t>> far{{}, 4096};
    allot::paged<decltype(far)&, slow_memory&, allot::pointer_table<64, allot::row_index<>, numbered::address_model>>
        by_index{far, tables, far.regions()[0].base};
    const auto named = by_index.allocate({.size = 128});
    CHECK(named);
    CHECK(named.address[1].handle == 7);
    CHECK(named.address[1].offset % 64 == 0);
    by_index.deallocate(named);

    std::uint32_t entries[2];
    using by_offset = allot::pointer_table<64, allot::row_offset<>>;
    alignas(64) std::byte window[256];
    const std::int64_t given[] = {128, 0}, overlapping[] = {32, 0};
    const auto written = allot::write_table<by_offset>(entries, {window, sizeof window, 64}, given);
    CHECK(written);
    CHECK((*written)[0] == window + 128);
    CHECK(entries[0] == 128);
    CHECK(allot::write_table<by_offset>(entries, {window, sizeof window, 64}, overlapping).error().reason ==
          allot::table_refusal::overlapping);
}

TEST_CASE("paged: rows and tables in stacks are freed in reverse order") {
    allot::arena<static_storage<512, 64>, allot::stack<>> rows;
    allot::arena<static_storage<256, 64>, allot::stack<>> tables;
    allot::paged<decltype(rows)&, decltype(tables)&, allot::pointer_table<64>> memory{rows, tables};
    const auto first = memory.allocate({.size = 256}), second = memory.allocate({.size = 256});
    CHECK(first);
    CHECK(second);
    memory.deallocate(second);
    memory.deallocate(first);
    CHECK(memory.allocate({.size = 512}));
}

TEST_CASE("naive: a block is a whole window") {
    allot::naive<static_storage<256, 64>> own;
    const auto block = own.allocate({.size = 100, .align = 64});
    CHECK(block);
    CHECK(own.capacity(block) == 256);
    CHECK_FALSE(own.allocate({.size = 1}));
    CHECK(own.diagnose({.size = 1}).reason == refusal::device_refused);
    own.deallocate(block);
    CHECK(own.allocate({.size = 256}));

    alignas(64) std::byte window[128];
    allot::naive<allot::host::tightly_coupled> tcm{{window, sizeof window}};
    const auto all = tcm.allocate({.size = 128, .align = 64});
    CHECK(all);
    tcm.deallocate(all);
    CHECK_FALSE(tcm.allocate({.size = 129}));
}

TEST_CASE("handle offsets: an address is a handle and an offset") {
    allot::arena<numbered, allot::bump<allot::bump_options{}, std::uint32_t>> memory{{}, 1024};
    const auto first = memory.allocate({.size = 100, .align = 64}),
               second = memory.allocate({.size = 100, .align = 64});
    CHECK(first);
    CHECK(second);
    CHECK(first.address.handle == 7);
    CHECK(first.address != second.address);
    CHECK_FALSE(memory.allocate({.size = 8, .align = 128}));
}

TEST_CASE("const pointer: constants are readable in place") {
    static constexpr std::byte constants[16]{std::byte{3}};
    using model = allot::const_pointer;
    CHECK(model::locate(constants, 0) == static_cast<const void*>(constants));
    CHECK(model::position(model::locate(constants, 8)) == model::position(constants) + 8);
}
