// vtcm: the window over a fake manager that enforces Qualcomm's rules, and strategies in it. A Hexagon runs these tests
// too (tests/targets/hexagon), with pointers of four bytes.
#include "../../targets/hexagon/dma_engine.hpp"
#include "../../targets/hexagon/fake_vtcm.hpp"
#include "../../texts.hpp"

#include <allot/allot.hpp>
#include <allot/hexagon/vtcm.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::tensor_refusal;
using allot::hexagon::vtcm_error;
using fake_vtcm::state;
using vtcm = allot::hexagon::vtcm<>;

/// Blocks below 2 KiB, the size of a tile, come from the bottom, the others from the top.
using two_ends = allot::best_fit<allot::best_fit_options{.records = 256, .large = 2048}>;
using window_arena = allot::arena<vtcm, two_ends>;

/// The offset in the window.
[[nodiscard]] std::size_t offset_of(const void* address) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - fake_vtcm::window);
}

}  // namespace

TEST_CASE("vtcm: the whole window is acquired once and released once by its address") {
    fake_vtcm::reset();
    {
        window_arena memory;
        CHECK(state.requests == 1);
        CHECK(memory.size() == 64_KiB);
        CHECK(memory.regions()[0].base == fake_vtcm::window);
        CHECK(memory.regions()[0].align >= 2048);
        window_arena second;  // another owner, which gets no memory
        CHECK(second.size() == 0);
        CHECK_FALSE(second.allocate({.size = 128, .align = 128}));
        const auto error = second.diagnose({.size = 128, .align = 128});
        CHECK(error.reason == refusal::device_refused);
        CHECK(error.device_error == static_cast<long>(vtcm_error::refused));
        CHECK(state.requests == 3);  // as one page, and as any

        window_arena moved{std::move(memory)};
        CHECK(moved.allocate({.size = 4096, .align = 2048}));
        CHECK(state.releases == 0);
    }
    CHECK(state.releases == 1);
    CHECK(state.bad_releases == 0);
    CHECK(state.held == nullptr);
    CHECK(window_arena{}.size() == 64_KiB);  // available to the next owner
}

TEST_CASE("vtcm: impossible requests fail and hold nothing") {
    fake_vtcm::reset();
    vtcm device;
    CHECK(device.capacity() == 64_KiB);
    CHECK(device.acquire({.size = 64_KiB + 1}).error() == vtcm_error::too_small);
    CHECK(device.acquire({.size = static_cast<std::size_t>(-1)}).error() == vtcm_error::too_small);
    CHECK(device.acquire({.size = 0}).error() == vtcm_error::too_small);
    CHECK(device.acquire({.size = 1, .align = 0}).error() == vtcm_error::misaligned);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == vtcm_error::misaligned);
    CHECK(state.requests == 0);  // rejected without a call
    CHECK(device.acquire({.size = 1, .align = std::size_t{1} << 31}).error() == vtcm_error::misaligned);
    CHECK(state.releases == 1);  // of the insufficiently aligned window

    const auto all = device.acquire({.size = 1, .align = 64_KiB});
    REQUIRE(all);
    CHECK(all->size == 64_KiB);
    CHECK(device.acquire({.size = 1}).error() == vtcm_error::in_use);
    vtcm moved{std::move(device)};
    CHECK(moved.acquire({.size = 1}).error() == vtcm_error::in_use);
    device.release(*all);                                   // moved away
    moved.release({fake_vtcm::window + 2048, 1024, 2048});  // not its address
    CHECK(state.releases == 1);
    moved.release(*all);
    moved.release(*all);
    CHECK(state.releases == 2);
    CHECK(state.bad_releases == 0);

    fake_vtcm::reset({.shift = 1024});  // a driver with a misaligned window
    CHECK(moved.acquire({.size = 1, .align = 128}).error() == vtcm_error::misaligned);
    CHECK(state.held == nullptr);
    fake_vtcm::reset({.total = 0});  // a chip without VTCM
    CHECK(vtcm{}.capacity() == 0);
    CHECK(vtcm{}.acquire({.size = 1}).error() == vtcm_error::too_small);
    CHECK(state.requests == 0);
}

TEST_CASE("vtcm: a window of one page is requested as a single page, others are not") {
    fake_vtcm::reset();
    CHECK(window_arena{}.size() == 64_KiB);
    CHECK(state.single_page);
    for (const unsigned pages : {1u, 3u}) {  // 48 KiB: as a single page it would be 64
        fake_vtcm::reset({.total = 49152, .pages = pages});
        CHECK(window_arena{}.size() == 48_KiB);
        CHECK_FALSE(state.single_page);
        CHECK(state.requests == (pages == 1 ? 2 : 1));
        CHECK(state.releases == 1);
    }
}

namespace {

/// Another source of the memory: a context, which is released instead of an address.
struct resource_manager {
    int* live;
    unsigned context = 0;
    [[nodiscard]] std::size_t size() const noexcept { return 16_KiB; }
    [[nodiscard]] void* acquire(std::size_t) noexcept {
        context = 41;
        ++*live;
        return fake_vtcm::window;
    }
    void release(void*) noexcept {
        if (context == 41) --*live;
        context = 0;
    }
};

}  // namespace

TEST_CASE("vtcm: another driver replaces the manager") {
    int live = 0;
    {
        allot::arena<allot::hexagon::vtcm<resource_manager>, two_ends> memory{
            allot::hexagon::vtcm{resource_manager{&live}}};
        CHECK(memory.size() == 16_KiB);
        CHECK(live == 1);
    }
    CHECK(live == 0);
}

TEST_CASE("vtcm: 2048 bytes aligned to 2048 are aligned after 2176 and 128 with a hole") {
    fake_vtcm::reset();
    window_arena memory;
    const auto first = memory.allocate({.size = 2176, .align = 128});
    const auto second = memory.allocate({.size = 128, .align = 128});
    memory.deallocate(first);
    const auto tile = memory.allocate({.size = 2048, .align = 2048});
    REQUIRE(second);
    REQUIRE(tile);
    CHECK(offset_of(tile.address) % 2048 == 0);
}

TEST_CASE("vtcm: 256 bytes are served from 63,616 free ones, though the last hole is small") {
    fake_vtcm::reset();
    window_arena memory;
    const auto front = memory.allocate_at({0, 1664}), behind = memory.allocate_at({65280, 128});
    REQUIRE(front);
    REQUIRE(behind);
    CHECK(memory.diagnose({.size = 64_KiB}).largest_hole == 63616);
    const auto block = memory.allocate({.size = 256, .align = 128});
    REQUIRE(block);
    CHECK(offset_of(block.address) % 128 == 0);
}

TEST_CASE("vtcm: tiles from the top, vectors from the bottom, and every hole is tried") {
    fake_vtcm::reset();
    window_arena memory;
    window_arena::block_type vectors[16], tiles[31];
    for (std::size_t i = 0; i != 16; ++i) {
        vectors[i] = memory.allocate({.size = 128, .align = 128});
        CHECK(offset_of(vectors[i].address) == i * 128);
    }
    for (std::size_t i = 0; i != 31; ++i) {
        tiles[i] = memory.allocate({.size = 2048, .align = 2048});
        CHECK(offset_of(tiles[i].address) == 63488 - i * 2048);
    }
    CHECK(memory.diagnose({.size = 1}).reason == refusal::exhausted);
    memory.deallocate(tiles[9]);  // holes in the middle, of 2 KiB and of 128 bytes
    memory.deallocate(vectors[4]);
    memory.deallocate(vectors[11]);
    CHECK(memory.diagnose({.size = 2176, .align = 128}).reason == refusal::fragmented);
    CHECK(memory.allocate({.size = 2048, .align = 2048}).address == tiles[9].address);
    CHECK(memory.allocate({.size = 128, .align = 128}).address == vectors[4].address);
    CHECK(memory.allocate({.size = 128, .align = 128}).address == vectors[11].address);
    CHECK_FALSE(memory.allocate({.size = 1}));
}

TEST_CASE("vtcm: every request that fits somewhere is served, without overlaps") {
    fake_vtcm::reset();
    window_arena memory;
    constexpr std::size_t unit = 128, units = fake_vtcm::most / unit, tile = 2048 / unit;
    bool taken[units]{};
    window_arena::block_type live[100]{};
    const auto take = [&](const window_arena::block_type& block, bool now) {
        bool right = true;
        for (std::size_t i = 0; i != block.size / unit; ++i) {
            right = right && taken[offset_of(block.address) / unit + i] != now;
            taken[offset_of(block.address) / unit + i] = now;
        }
        return right;
    };
    const auto has_room = [&](std::size_t count, std::size_t step) {
        for (std::size_t at = 0; at + count <= units; at += step) {
            std::size_t free = 0;
            while (free != count && !taken[at + free]) ++free;
            if (free == count) return true;
        }
        return false;
    };
    std::uint32_t seed = 1;
    const auto random = [&](std::uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
    unsigned given = 0, refused = 0, wrong = 0;
    for (int call = 0; call != 4000; ++call) {
        auto& block = live[random(100)];
        if (block) {
            wrong += !take(block, false);
            memory.deallocate(std::exchange(block, {}));
            continue;
        }
        const bool tiles = random(3) == 0;
        const std::size_t count = tiles ? tile * (1 + random(3)) : 1 + random(20);
        const std::size_t step = tiles || random(8) == 0 ? tile : 1;
        const bool room = has_room(count, step);
        block = memory.allocate({.size = count * unit, .align = step * unit});
        ++(block ? given : refused);
        wrong += room != static_cast<bool>(block);
        if (block) wrong += offset_of(block.address) % (step * unit) != 0 || !take(block, true);
    }
    CHECK(wrong == 0);
    CHECK(given > 1000);
    CHECK(refused > 100);
}

TEST_CASE("vtcm: every strategy divides the window and keeps its bytes") {
    fake_vtcm::reset();
    {
        allot::arena<vtcm, allot::bump<>> memory;
        const auto tile = memory.allocate({.size = 2048, .align = 2048});
        const auto vector = memory.allocate({.size = 128, .align = 128});
        REQUIRE(tile);
        REQUIRE(vector);
        CHECK(offset_of(tile.address) % 2048 == 0);
        CHECK(offset_of(vector.address) % 128 == 0);
        CHECK(*static_cast<const unsigned char*>(tile.address) == fake_vtcm::unwritten);
    }
    {
        using tiles = allot::pool<allot::pool_options{
            .slot = 2048, .count = 32, .align = 2048, .store = allot::pool_store::bitmap}>;
        allot::arena<vtcm, tiles> memory;
        std::size_t count = 0;
        for (; const auto tile = memory.allocate({.size = 2048, .align = 2048}); ++count)
            CHECK(offset_of(tile.address) % 2048 == 0);
        CHECK(count == 32);
        for (std::size_t i = 0; i != fake_vtcm::most; ++i)  // no record in the window
            if (std::to_integer<unsigned char>(fake_vtcm::window[i]) != fake_vtcm::unwritten) FAIL_CHECK("written to");
    }
    CHECK(state.releases == 2);
}

TEST_CASE("vtcm: a pointer table in other memory names rows anywhere in the window") {
    fake_vtcm::reset();
    window_arena rows;
    allot::arena<allot::host::static_storage<1_KiB>, allot::best_fit<>> tables;
    using table = allot::pointer_table<256>;
    static_assert(sizeof(table::value) == sizeof(void*));
    // Free: 256 bytes before every second block, not adjacent.
    window_arena::block_type every[8];
    for (auto& block : every) block = rows.allocate({.size = 256, .align = 128});
    for (std::size_t i = 0; i < 8; i += 2) rows.deallocate(every[i]);
    const auto hole_of = [&](const void* at) {  // returns the index of the hole that begins there, or 8
        std::size_t i = 0;
        while (i != 8 && every[i].address != at) i += 2;
        return i;
    };

    allot::paged<window_arena&, decltype(tables)&, table> tensors{rows, tables};
    const auto tensor = tensors.allocate({.size = 1000, .align = 128});
    REQUIRE(tensor);
    CHECK(tensor.address.count == 4);
    bool filled[8]{};
    for (std::size_t row = 0; row != 4; ++row) {
        const std::size_t hole = hole_of(tensor.address[row]);
        REQUIRE(hole != 8);  // the rest of the window is larger and stays unused
        CHECK_FALSE(std::exchange(filled[hole], true));
        CHECK(tensor.address.entries[row] == every[hole].address);  // the entry is the pointer itself
    }
    CHECK(table::locate(tensor.address, 999) == static_cast<std::byte*>(tensor.address[3]) + 231);
    tensors.deallocate(tensor);
    CHECK(hole_of(rows.allocate({.size = 256, .align = 128}).address) != 8);
}

namespace {

/// Tensors in the window, and in other memory.
struct memories {
    window_arena window;
    allot::arena<allot::host::heap, allot::best_fit<>> beside{{}, 64_KiB};
    allot::storage<window_arena> data = *allot::alloc_storage(window, 8_KiB, 128);
    allot::storage<decltype(beside)> ddr = *allot::alloc_storage(beside, 16_KiB, 128);
    allot::storage<decltype(beside)> tables = *allot::alloc_storage(beside, 256);
};

template <class Tensor>
void fill(const Tensor& tensor) {
    unsigned char next = 1;
    const auto write = [&](void* at, std::size_t bytes) noexcept {
        for (std::size_t i = 0; i != bytes; ++i) static_cast<unsigned char*>(at)[i] = next++;
    };
    CHECK(allot::for_each_run(tensor, write).reason == tensor_refusal::none);
}
template <class Tensor>
bool is_filled(const Tensor& tensor) {
    unsigned char next = 1;
    bool same = true;
    const auto compare = [&](const void* at, std::size_t bytes) noexcept {
        for (std::size_t i = 0; i != bytes; ++i) same = static_cast<const unsigned char*>(at)[i] == next++ && same;
    };
    return allot::for_each_run(tensor, compare).reason == tensor_refusal::none && same;
}

}  // namespace

TEST_CASE("vtcm: a DMA engine copies adjacent rows in one run of whole vectors") {
    fake_vtcm::reset();
    memories in;
    dma_engine engine;
    const auto queue = [&](const void* from, void* to, std::size_t bytes) noexcept -> long {
        return engine.enqueue(from, to, bytes);
    };
    // Rows of 256 bytes: 0 to 2, then 3, then 4 and 5.
    const auto rows = *allot::alloc_discontiguous_tensor(in.tables, 0, in.data, {0, 256, 512, 1024, 2048, 2304},
                                                         {6, 64}, allot::int32);
    const auto flat = *allot::alloc_tensor(in.ddr, allot::anywhere, {6, 64}, allot::int32);
    fill(rows);
    REQUIRE(allot::copy_tensor(rows, flat, queue));
    REQUIRE(engine.count == 3);
    CHECK(engine.queue[0].bytes == 768);
    CHECK(engine.queue[1].bytes == 256);
    CHECK(engine.queue[2].bytes == 512);
    CHECK(engine.queue[1].to == static_cast<std::byte*>(flat.data()) + 768);
    CHECK_FALSE(is_filled(flat));  // only enqueued
    engine.wait();
    CHECK(is_filled(flat));

    // Into other rows: 0 and 1, then 2 to 5. A run ends where either side ends.
    const auto others = *allot::alloc_discontiguous_tensor(in.tables, allot::anywhere, in.data,
                                                           {4096, 4352, 5120, 5376, 5632, 5888}, {6, 64}, allot::int32);
    engine = {};
    REQUIRE(allot::copy_tensor(rows, others, queue));
    REQUIRE(engine.count == 4);
    CHECK(engine.queue[0].bytes == 512);
    CHECK(engine.queue[1].bytes == 256);
    CHECK(engine.queue[2].bytes == 256);
    CHECK(engine.queue[3].bytes == 512);
    engine.wait();
    CHECK(is_filled(others));
}

TEST_CASE("vtcm: a DMA engine's failure keeps its code; a misaligned row fails before") {
    fake_vtcm::reset();
    memories in;
    dma_engine engine;
    const auto queue = [&](const void* from, void* to, std::size_t bytes) noexcept -> long {
        return engine.enqueue(from, to, bytes);
    };
    const auto bad = allot::alloc_discontiguous_tensor(in.tables, 0, in.data, {0, 320}, {2, 64}, allot::int32);
    CHECK(bad.error().reason == tensor_refusal::misaligned);
    CHECK(bad.error().row == 1);

    // Rows of 192 bytes, each at a whole vector: neither row can be copied.
    const auto odd = *allot::alloc_discontiguous_tensor(in.tables, 0, in.data, {0, 256}, {2, 48}, allot::int32);
    const auto flat = *allot::alloc_tensor(in.ddr, allot::anywhere, {2, 48}, allot::int32);
    const auto error = allot::copy_tensor(odd, flat, queue).error();
    CHECK(error.reason == tensor_refusal::copy_failed);
    CHECK(error.memory.device_error == dma_engine::misaligned);
    CHECK(engine.count == 0);
}

TEST_CASE("vtcm: every error has its own text") { texts::check_distinct_up_to(vtcm_error::misaligned); }
