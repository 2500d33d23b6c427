// windows::virtual_memory and growth::contiguous: one region grows and shrinks, and blocks keep their addresses.
#include "../address/reserving_device_cases.hpp"
#include "kernel.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace allot::literals;
using allot::windows::virtual_memory;
namespace windows = allot::windows;
constexpr auto most = static_cast<std::size_t>(-1);

template <class Strategy>
using growing = reserving_device_cases::growing<virtual_memory, Strategy>;
using reserving_device_cases::beside, reserving_device_cases::in_band, reserving_device_cases::up;

}  // namespace

TEST_CASE_TEMPLATE("windows virtual memory: blocks keep their addresses while the region grows", Strategy, in_band,
                   beside, up) {
    reserving_device_cases::blocks_keep_their_addresses<virtual_memory, Strategy>(300);
}

TEST_CASE_TEMPLATE("windows virtual memory: trim frees the bytes behind the last block, and an empty region", Strategy,
                   in_band, beside) {
    reserving_device_cases::trim_returns_pages<virtual_memory, Strategy>(kernel::is_committed);
}

TEST_CASE("windows virtual memory: acquire fails with a code of Windows") {
    reserving_device_cases::invalid_calls_fail<virtual_memory>(kernel::is_committed, 64_KiB, windows::invalid_parameter,
                                                               windows::not_enough_memory);
    CHECK_FALSE(virtual_memory{most / 2}.acquire({.size = 1}));  // the code is that of the system
}

TEST_CASE("windows virtual memory: an upward bump uses the whole reserved range") {
    reserving_device_cases::all_of_the_reserve_is_used<virtual_memory>();
    growing<up> memory{virtual_memory{1_MiB}};
    CHECK_FALSE(memory.allocate({.size = 2_MiB}));
    CHECK(memory.diagnose({.size = 2_MiB}).device_error == static_cast<long>(windows::not_enough_memory));
}

TEST_CASE_TEMPLATE("windows virtual memory: only a resize of the last block grows the region", Strategy, in_band,
                   beside) {
    reserving_device_cases::only_the_last_block_grows_the_region<virtual_memory, Strategy>();
}

TEST_CASE("windows virtual memory: up_to reserves all if the system allows it") {
    CHECK(virtual_memory::up_to(64_MiB).reserve() == 64_MiB);
    CHECK(virtual_memory::up_to(1_MiB, 2_MiB).reserve() == 2_MiB);
}

#if !defined(_WIN32)
TEST_CASE("windows virtual memory: up_to reserves less if the process has fewer addresses") {
    auto& kernel = fake_kernel::state();
    const std::size_t limit = kernel.address_limit;
    kernel.address_limit = 40_MiB;
    CHECK(virtual_memory{64_MiB}.acquire({.size = 1}).error() == windows::not_enough_memory);
    virtual_memory device = virtual_memory::up_to(64_MiB);
    CHECK(device.reserve() == 32_MiB);
    const auto answer = device.acquire({.size = 1});
    REQUIRE(answer);
    device.release(*answer);
    kernel.address_limit = limit;
}

TEST_CASE("windows virtual memory: with a full page file, resize fails and the region is unchanged") {
    auto& kernel = fake_kernel::state();
    const std::size_t limit = kernel.commit_limit, before = kernel.reserved;
    virtual_memory device{8_MiB};
    const auto held = *device.acquire({.size = 64_KiB});
    kernel.commit_limit = kernel.committed + 1_MiB;
    CHECK(device.resize(held, 2_MiB).error() == windows::commitment_limit);
    CHECK(device.acquire({.size = 2_MiB}).error() == windows::commitment_limit);
    CHECK(kernel.reserved == before + 8_MiB);
    std::memset(held.base, 1, held.size);
    const auto larger = device.resize(held, 1_MiB);
    REQUIRE(larger);
    device.release(*larger);
    CHECK(kernel.reserved == before);
    CHECK(kernel.violations == 0);
    kernel.commit_limit = limit;
}
#endif

TEST_CASE("windows virtual memory: device laws") {
    laws::judge_device([] { return virtual_memory{1_MiB}; }, {.align = 64_KiB}, laws::host_bytes{},
                       kernel::resources{});
    kernel::seen("windows::virtual_memory");
}
