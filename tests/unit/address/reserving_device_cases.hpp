// Tests that every virtual_memory must pass: a region grows and shrinks at its end, and blocks keep their addresses.
#pragma once

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace reserving_device_cases {

using namespace allot::literals;

template <class Device, class Strategy, std::size_t Step = 64_KiB>
using growing =
    allot::arena<Device, Strategy,
                 allot::growth::contiguous<allot::growth_options{.step = Step, .limit = 1_GiB, .regions = 1}>>;
using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using low = allot::best_fit<allot::best_fit_options{.large = allot::no_bound}>;
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;

/// `count` blocks keep their addresses and contents while the region grows.
template <class Device, class Strategy>
void blocks_keep_their_addresses(int count) {
    const std::size_t bytes = 65'000 * static_cast<std::size_t>(count);
    growing<Device, Strategy> memory{Device{128_MiB}};
    CHECK(memory.size() == 0);
    std::vector<decltype(memory.allocate({}))> blocks;
    for (int i = 0; i != count; ++i) {
        blocks.push_back(memory.allocate({.size = 65'000, .align = 64}));
        REQUIRE(blocks.back());
        std::memset(blocks.back().address, i % 251, 65'000);
    }
    CHECK(memory.size() >= bytes);
    CHECK(memory.size() <= bytes + 2_MiB);
    CHECK(memory.regions()[0].size == memory.size());
    for (int i = 0; i != count; ++i) {
        const auto* const found = static_cast<const unsigned char*>(blocks[static_cast<std::size_t>(i)].address);
        CHECK(found[0] == i % 251);
        CHECK(found[64'999] == i % 251);
    }
}

/// `trim` returns the bytes behind the last block to the system, and later an empty region.
template <class Device, class Strategy>
void trim_returns_pages(bool (*is_readable)(const void*)) {
    growing<Device, Strategy> memory{Device{128_MiB}};
    auto first = memory.allocate({.size = 100});
    auto second = memory.allocate({.size = 10_MiB});
    REQUIRE(second);
    auto* const behind = static_cast<std::byte*>(second.address) + 9_MiB;
    std::memset(second.address, 1, 10_MiB);
    CHECK(is_readable(behind));
    memory.deallocate(second);
    const std::size_t before = memory.size();
    CHECK(memory.trim() == before - 64_KiB);
    CHECK(memory.size() == 64_KiB);
    CHECK(memory.trim() == 0);
    CHECK_FALSE(is_readable(behind));

    second = memory.allocate({.size = 10_MiB});
    REQUIRE(second);
    CHECK(*behind == std::byte{0});  // new pages
    memory.deallocate(second);
    memory.deallocate(first);
    CHECK(memory.trim() >= 10_MiB);
    CHECK(memory.size() == 0);
    CHECK(memory.trim() == 0);
    CHECK(memory.allocate({.size = 100}));
}

/// `acquire` and `resize` fail with the errors that the device documents.
template <class Device>
void invalid_calls_fail(bool (*is_readable)(const void*), std::size_t largest_align, typename Device::error invalid,
                        typename Device::error out_of_memory) {
    Device device{1_MiB};
    CHECK(device.acquire({.size = 0}).error() == invalid);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == invalid);
    CHECK(device.acquire({.size = 1, .align = 2 * largest_align}).error() == invalid);
    CHECK(device.acquire({.size = 2_MiB}).error() == out_of_memory);
    CHECK(Device{static_cast<std::size_t>(-1)}.acquire({.size = 1}).error() == out_of_memory);
    const auto first = *device.acquire({.size = 1, .align = largest_align}), second = *device.acquire({.size = 1});
    CHECK(first.size == 64_KiB);
    CHECK(reinterpret_cast<std::uintptr_t>(first.base) % largest_align == 0);
    CHECK(first.base != second.base);
    CHECK(device.resize(first, 2_MiB).error() == out_of_memory);
    CHECK(device.resize(first, 64_KiB)->size == 64_KiB);
    CHECK_FALSE(is_readable(static_cast<std::byte*>(first.base) + 64_KiB));
    device.release(first);
    CHECK(is_readable(second.base));
    device.release(second);
}

/// The reserve is rounded up, and an upward bump uses all of it.
template <class Device>
void all_of_the_reserve_is_used() {
    growing<Device, up, 1_MiB> memory{Device{1_MiB - 1}};
    CHECK(memory.allocate({.size = 3}));
    CHECK(memory.allocate({.size = 1_MiB - 16, .align = 16}));
    CHECK_FALSE(memory.allocate({.size = 1}));
}

/// A block grows in place only at the end of the region, within the reserve.
template <class Device, class Strategy>
void only_the_last_block_grows_the_region() {
    growing<Device, Strategy> memory{Device{8_MiB}};
    auto first = memory.allocate({.size = 10'001}), last = memory.allocate({.size = 10'001, .align = 4096});
    auto* const at = last.address;
    std::memset(at, 77, 10'001);
    CHECK_FALSE(memory.resize(first, 2'000'003));
    const std::size_t before = memory.size();
    CHECK(memory.resize(last, 3'000'007));
    CHECK(last.address == at);
    CHECK(last.size == 3'000'007);
    CHECK(memory.capacity(last) >= 3'000'007);
    CHECK(memory.size() > before);
    std::memset(static_cast<std::byte*>(at) + 10'001, 78, 2'990'006);
    CHECK(static_cast<unsigned char*>(at)[10'000] == 77);
    const std::size_t held = memory.size();
    CHECK_FALSE(memory.resize(last, 9'000'000));  // more than the reserve
    CHECK(memory.size() == held);
    CHECK(memory.resize(last, 100));
    memory.deallocate(last);
    memory.deallocate(first);
    CHECK(memory.trim() == held);
}

}  // namespace reserving_device_cases
