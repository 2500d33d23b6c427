// tightly_coupled: a window like the VTCM of a Hexagon, and two defects of an earlier allocator for such a window. That
// allocator cut blocks of whole 2 KiB from the front and others from the back, and searched only the last free extent.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;

/// 64 KiB. Blocks of 2 KiB or more come from the top, smaller blocks from the bottom.
struct vtcm {
    using arena = allot::arena<allot::host::tightly_coupled,
                               allot::best_fit<allot::best_fit_options{.records = 256, .large = 2048}>>;
    alignas(65536) std::byte bytes[65536];
    arena memory{allot::host::tightly_coupled{bytes, sizeof bytes}};
};

[[nodiscard]] std::uintptr_t position(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

TEST_CASE("tightly coupled: a 2048-byte block is aligned to 2048 after a free") {
    vtcm it;
    const auto first = it.memory.allocate({.size = 2176, .align = 128});
    const auto second = it.memory.allocate({.size = 128, .align = 128});
    it.memory.deallocate(first);
    const auto aligned = it.memory.allocate({.size = 2048, .align = 2048});
    REQUIRE(second);
    REQUIRE(aligned);
    CHECK(position(aligned.address) % 2048 == 0);
}

TEST_CASE("tightly coupled: 256 bytes fit while 63,616 are free, although the last free extent is small") {
    vtcm it;
    // The last free extent is 128 bytes, and 63,616 bytes are free before it.
    const auto at = [&](std::size_t offset, std::size_t size) { return it.memory.allocate_at({offset, size}); };
    const auto front = at(0, 1664), behind = at(65280, 128);
    REQUIRE(front);
    REQUIRE(behind);
    CHECK(it.memory.diagnose({.size = 65536}).largest_hole == 63616);
    const auto block = it.memory.allocate({.size = 256, .align = 128});
    REQUIRE(block);
    CHECK(position(block.address) % 128 == 0);
}

TEST_CASE("tightly coupled: allocation from both ends tries every extent and fills the window") {
    vtcm it;
    std::vector<vtcm::arena::block_type> large, small;
    while (const auto block = it.memory.allocate({.size = 2048, .align = 2048})) large.push_back(block);
    CHECK(large.size() == 32);
    CHECK(position(large.front().address) > position(large.back().address));  // from the top
    CHECK(it.memory.diagnose({.size = 128, .align = 128}).reason == refusal::exhausted);
    it.memory.deallocate(large[7]);
    while (const auto block = it.memory.allocate({.size = 128, .align = 128})) small.push_back(block);
    CHECK(small.size() == 16);
    CHECK(small.front().address == large[7].address);
}

TEST_CASE("tightly coupled: one arena acquires the whole window, which is not zeroed") {
    vtcm it;
    CHECK(it.memory.size() == 64_KiB);
    CHECK(it.memory.regions()[0].align >= 64_KiB);  // derived from the address
    allot::host::tightly_coupled window{it.bytes, sizeof it.bytes};
    const auto all = window.acquire({.size = 1});
    CHECK(all->size == 64_KiB);
    CHECK(window.acquire({.size = 1}).error() == allot::host::window_error::in_use);

    using debug = allot::storage_policies<allot::best_fit<>, allot::references::plain, allot::hardening::debug>;
    const auto data = *allot::alloc_storage<debug>(it.memory, 4096, 128);
    const auto tensor = *allot::alloc_tensor(data, 0, {32}, allot::int32);
    CHECK(*static_cast<const unsigned char*>(tensor.data()) == 0xCD);
}
