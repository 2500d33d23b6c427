// windows::virtual_memory and growth::contiguous: one region grows and shrinks, and blocks keep their addresses.
#include "kernel.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::windows::virtual_memory;
namespace windows = allot::windows;
constexpr auto most = static_cast<std::size_t>(-1);

template <class Strategy, std::size_t Step = 64_KiB>
using growing =
    allot::arena<virtual_memory, Strategy,
                 allot::growth::contiguous<allot::growth_options{.step = Step, .limit = 1_GiB, .regions = 1}>>;
using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;

}  // namespace

TEST_CASE_TEMPLATE("windows virtual memory: blocks keep their addresses while the region grows", Strategy, in_band,
                   beside, up) {
    growing<Strategy> memory{virtual_memory{64_MiB}};
    CHECK(memory.size() == 0);
    std::vector<decltype(memory.allocate({}))> blocks;
    for (int i = 0; i != 300; ++i) {
        blocks.push_back(memory.allocate({.size = 65'000, .align = 64}));
        REQUIRE(blocks.back());
        std::memset(blocks.back().address, i % 251, 65'000);
    }
    CHECK(memory.size() >= 300 * 65'000);
    CHECK(memory.size() <= 300 * 65'000 + 2_MiB);
    for (int i = 0; i != 300; ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(blocks[static_cast<std::size_t>(i)].address);
        CHECK(bytes[0] == i % 251);
        CHECK(bytes[64'999] == i % 251);
    }
}

TEST_CASE_TEMPLATE("windows virtual memory: trim frees the bytes behind the last block, and an empty region", Strategy,
                   in_band, beside) {
    growing<Strategy> memory{virtual_memory{64_MiB}};
    auto low = memory.allocate({.size = 100});
    auto high = memory.allocate({.size = 10_MiB});
    REQUIRE(high);
    auto* const behind = static_cast<std::byte*>(high.address) + 9_MiB;
    std::memset(high.address, 1, 10_MiB);
    CHECK(kernel::is_committed(behind));
    memory.deallocate(high);
    const std::size_t before = memory.size();
    CHECK(memory.trim() == before - 64_KiB);
    CHECK(memory.trim() == 0);
    CHECK_FALSE(kernel::is_committed(behind));

    high = memory.allocate({.size = 10_MiB});
    REQUIRE(high);
    CHECK(*behind == std::byte{0});  // new pages
    memory.deallocate(high);
    memory.deallocate(low);
    CHECK(memory.trim() >= 10_MiB);
    CHECK(memory.size() == 0);
    CHECK(memory.allocate({.size = 100}));
}

TEST_CASE("windows virtual memory: acquire fails with a code of Windows") {
    virtual_memory device{1_MiB};
    CHECK(device.acquire({.size = 0}).error() == windows::invalid_parameter);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == windows::invalid_parameter);
    CHECK(device.acquire({.size = 1, .align = 128_KiB}).error() == windows::invalid_parameter);
    CHECK(device.acquire({.size = 2_MiB}).error() == windows::not_enough_memory);
    CHECK(virtual_memory{most}.acquire({.size = 1}).error() == windows::not_enough_memory);
    CHECK_FALSE(virtual_memory{most / 2}.acquire({.size = 1}));  // the code is that of the system
    const auto first = *device.acquire({.size = 1, .align = 64_KiB}), second = *device.acquire({.size = 1});
    CHECK(first.size == 64_KiB);
    CHECK(first.base != second.base);
    CHECK(device.resize(first, 2_MiB).error() == windows::not_enough_memory);
    CHECK(device.resize(first, 64_KiB)->size == 64_KiB);
    CHECK_FALSE(kernel::is_committed(static_cast<std::byte*>(first.base) + 64_KiB));
    device.release(first);
    CHECK(kernel::is_committed(second.base));
    device.release(second);
}

TEST_CASE("windows virtual memory: the reserve is rounded up, and an upward bump uses all of it") {
    growing<up> memory{virtual_memory{1_MiB - 1}};
    CHECK(memory.allocate({.size = 1_MiB - 16, .align = 16}));
    CHECK(memory.allocate({.size = 16}));
    CHECK_FALSE(memory.allocate({.size = 1}));
    CHECK(memory.diagnose({.size = 1}).device_error == static_cast<long>(windows::not_enough_memory));
}

TEST_CASE_TEMPLATE("windows virtual memory: only a resize of the last block grows the region", Strategy, in_band,
                   beside) {
    growing<Strategy> memory{virtual_memory{8_MiB}};
    auto first = memory.allocate({.size = 10'001}), last = memory.allocate({.size = 10'001, .align = 4096});
    auto* const at = last.address;
    std::memset(at, 77, 10'001);
    CHECK_FALSE(memory.resize(first, 2'000'003));
    CHECK(memory.resize(last, 3'000'007));
    CHECK(last.address == at);
    std::memset(static_cast<std::byte*>(at) + 10'001, 78, 2'990'006);
    CHECK(static_cast<unsigned char*>(at)[10'000] == 77);
    CHECK_FALSE(memory.resize(last, 9'000'000));  // more than the reserve
    memory.deallocate(last);
    memory.deallocate(first);
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
