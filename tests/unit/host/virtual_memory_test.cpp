// virtual_memory and growth::contiguous: one region grows and shrinks, and blocks keep their addresses.
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include "../../in_child.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::host::virtual_memory;

template <class Strategy, std::size_t Step = 64_KiB>
using growing =
    allot::arena<virtual_memory, Strategy,
                 allot::growth::contiguous<allot::growth_options{.step = Step, .limit = 1_GiB, .regions = 1}>>;
using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;
using beside = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
using low = allot::best_fit<allot::best_fit_options{.large = allot::no_bound}>;
using up = allot::bump<allot::bump_options{.direction = allot::direction::up}>;

sigjmp_buf back;
void jump(int) { siglongjmp(back, 1); }

/// Returns whether a byte is readable.
bool is_readable(const void* at) {
    struct sigaction handler {
    }, before{};
    handler.sa_handler = jump;
    ::sigaction(SIGSEGV, &handler, &before);
    const bool readable = sigsetjmp(back, 1) == 0 && (*static_cast<const volatile char*>(at), true);
    ::sigaction(SIGSEGV, &before, nullptr);
    return readable;
}

}  // namespace

TEST_CASE_TEMPLATE("virtual memory: blocks keep their addresses while the region grows a thousandfold", Strategy,
                   in_band, beside, up) {
    growing<Strategy> memory{virtual_memory{512_MiB}};
    CHECK(memory.size() == 0);
    std::vector<decltype(memory.allocate({}))> blocks;
    for (int i = 0; i != 1000; ++i) {
        blocks.push_back(memory.allocate({.size = 65'000, .align = 64}));
        REQUIRE(blocks.back());
        std::memset(blocks.back().address, i % 251, 65'000);
    }
    CHECK(memory.size() >= 65'000'000);
    CHECK(memory.size() <= 65'000 * 1000 + 2_MiB);
    CHECK(memory.regions()[0].size == memory.size());
    for (int i = 0; i != 1000; ++i) {
        const auto* const bytes = static_cast<const unsigned char*>(blocks[static_cast<std::size_t>(i)].address);
        CHECK(bytes[0] == i % 251);
        CHECK(bytes[64'999] == i % 251);
    }
}

TEST_CASE_TEMPLATE("virtual memory: trim frees the bytes behind the last block, and an empty region", Strategy, in_band,
                   beside) {
    growing<Strategy> memory{virtual_memory{1_GiB}};
    auto low = memory.allocate({.size = 100});
    auto high = memory.allocate({.size = 10_MiB});
    auto* const behind = static_cast<std::byte*>(high.address) + 9_MiB;
    std::memset(high.address, 1, 10_MiB);
    memory.deallocate(high);
    const std::size_t before = memory.size();
    CHECK(memory.trim() == before - 64_KiB);
    CHECK(memory.size() == 64_KiB);
    CHECK(memory.trim() == 0);
    CHECK_FALSE(is_readable(behind));

    high = memory.allocate({.size = 10_MiB});
    REQUIRE(high);
    CHECK(*behind == std::byte{0});  // new pages
    memory.deallocate(high);
    memory.deallocate(low);
    CHECK(memory.trim() >= 10_MiB);
    CHECK(memory.size() == 0);
    CHECK(memory.trim() == 0);
    CHECK(memory.allocate({.size = 100}));
}

TEST_CASE("virtual memory: trim frees an empty region, and its mark stays valid") {
    growing<up> memory{virtual_memory{1_GiB}};
    const auto nothing_yet = memory.mark();
    CHECK(memory.allocate({.size = 100'000}));
    memory.rollback(nothing_yet);
    const auto empty = memory.mark();
    CHECK(memory.trim() == 128_KiB);
    const auto block = memory.allocate({.size = 100});
    memory.rollback(empty);
    CHECK(memory.allocate({.size = 100}).address == block.address);
}

TEST_CASE("virtual memory: the end of the reserved range and the limit are distinct errors") {
    growing<in_band> memory{virtual_memory{1_MiB}};
    CHECK(memory.allocate({.size = 500'000}));
    CHECK_FALSE(memory.allocate({.size = 600'000}));
    CHECK(memory.diagnose({.size = 600'000}) ==
          allot::diagnosis{refusal::device_refused, memory.diagnose({.size = 600'000}).largest_hole, ENOMEM});
    CHECK(memory.allocate({.size = 500'000}));
    growing<in_band> limited{virtual_memory{2_GiB}};
    CHECK(limited.diagnose({.size = 1_GiB}).reason == refusal::over_limit);
    CHECK_FALSE(limited.allocate({.size = 1_GiB}));
    CHECK(limited.size() == 0);
    CHECK_FALSE(limited.allocate({.size = 0}));
    CHECK_FALSE(limited.allocate({.size = 8, .align = 3}));
}

TEST_CASE("virtual memory: an alignment above the granularity makes the region grow further") {
    growing<in_band> memory{virtual_memory{1_GiB}};
    const auto first = memory.allocate({.size = 10, .align = 2_MiB});
    REQUIRE(first);
    CHECK(reinterpret_cast<std::uintptr_t>(first.address) % 2_MiB == 0);
    const auto block = memory.allocate({.size = 1000, .align = 1_MiB});
    REQUIRE(block);
    CHECK(reinterpret_cast<std::uintptr_t>(block.address) % 1_MiB == 0);
}

TEST_CASE("virtual memory: acquire fails with the system's error") {
    virtual_memory device{1_MiB};
    CHECK(device.acquire({.size = 0}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 3}).error() == EINVAL);
    CHECK(device.acquire({.size = 1, .align = 64_KiB}).error() == EINVAL);
    CHECK(device.acquire({.size = 2_MiB}).error() == ENOMEM);
    CHECK(virtual_memory{static_cast<std::size_t>(-1)}.acquire({.size = 1}).error() == ENOMEM);
    const auto first = *device.acquire({.size = 1}), second = *device.acquire({.size = 1});
    CHECK(first.size == 64_KiB);
    CHECK(first.base != second.base);
    CHECK(device.resize(first, 2_MiB).error() == ENOMEM);
    CHECK_FALSE(is_readable(static_cast<std::byte*>(first.base) + 64_KiB));
    device.release(first);
    CHECK(is_readable(second.base));
    device.release(second);
}

TEST_CASE("virtual memory: storages never move while the region grows") {
    growing<beside> memory{virtual_memory{1_GiB}};
    auto first = *allot::alloc_storage(memory, 4096, 256);
    auto tensor = *allot::alloc_tensor(first, 256, {4, 64}, allot::int32);
    const void* const at = tensor.data();
    auto second = *allot::alloc_storage(memory, 100'000'000, 4096);
    CHECK(tensor.data() == at);
    second.kill();
    CHECK(memory.trim() > 99'000'000);
    CHECK(tensor.data() == at);
}

TEST_CASE_TEMPLATE("virtual memory: a region grows by the bytes that its last hole lacks", Strategy, in_band, beside,
                   low) {
    growing<Strategy> memory{virtual_memory{100_MiB}};
    memory.deallocate(memory.allocate({.size = 60'000'001}));
    CHECK(memory.diagnose({.size = 70'000'001}).reason == refusal::none);
    CHECK(memory.allocate({.size = 70'000'001}));
    CHECK(memory.size() <= 70'000'001 + 64_KiB);
}

TEST_CASE("virtual memory: an upward bump uses the whole reserved range") {
    growing<up, 1_MiB> memory{virtual_memory{1_MiB}};
    CHECK(memory.allocate({.size = 3}));
    CHECK(memory.allocate({.size = 1_MiB - 16, .align = 16}));
    CHECK_FALSE(memory.allocate({.size = 1}));
}

TEST_CASE("virtual memory: the alignment of the device takes no bytes of the reserved range") {
    growing<up> memory{virtual_memory{1_MiB}};
    CHECK(memory.allocate({.size = 1_MiB, .align = virtual_memory::min_align}));
}

TEST_CASE_TEMPLATE("virtual memory: only a resize of the last block grows the region", Strategy, in_band, beside, low) {
    growing<Strategy> memory{virtual_memory{8_MiB}};
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

TEST_CASE("virtual memory: a region grows until the side table is full") {
    using few = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 5}>;
    growing<few> memory{virtual_memory{8_MiB}};
    for (int i = 0; i != 3; ++i) CHECK(memory.allocate({.size = 64_KiB}));  // one record for the end, one for a hole
    CHECK(memory.diagnose({.size = 64_KiB}).reason == refusal::out_of_records);
    CHECK_FALSE(memory.allocate({.size = 64_KiB}));
}

TEST_CASE("virtual memory: a growing buffer among small blocks does not inflate the region") {
    using arena = allot::arena<virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
    for (const bool in_place : {false, true}) {
        arena memory{virtual_memory{1_GiB}};
        auto buffer = memory.allocate({.size = 4096});
        std::size_t live = 0;
        for (std::size_t i = 2; i != 302; ++i) {
            if (!in_place || !memory.resize(buffer, i * 4096)) {
                const auto larger = memory.allocate({.size = i * 4096});
                memory.deallocate(buffer);
                buffer = larger;
            }
            for (int small = 0; small != 26; ++small) live += memory.allocate({.size = 100}).size;
        }
        CHECK(memory.size() <= 3 * (live + buffer.size));
    }
}

#if UINTPTR_MAX > UINT32_MAX
TEST_CASE("virtual memory: up_to reserves less under an address limit") {
    const int wrong = processes::in_child([] {
        unsigned long pages = 0;  // current number of mapped pages
        std::FILE* const file = std::fopen("/proc/self/statm", "r");
        if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) return 1;
        const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + 3_GiB;
        const rlimit few{most, most};
        if (::setrlimit(RLIMIT_AS, &few) != 0) return 2;
        growing<in_band> none{virtual_memory{64_GiB}};
        if (none.allocate({.size = 1})) return 3;
        const virtual_memory less = virtual_memory::up_to(64_GiB);
        growing<in_band> some{less};
        if (less.reserve() != 2_GiB) return 4;
        return some.allocate({.size = 100'000'000}) ? 0 : 5;
    });
    CHECK(wrong == 0);
    CHECK(virtual_memory::up_to(1_GiB).reserve() == 1_GiB);
    CHECK(virtual_memory::up_to(1_GiB, 2_GiB).reserve() == 2_GiB);
}
#endif

TEST_CASE_TEMPLATE("virtual memory: a region grows by the request if the next step exceeds the reserve", Strategy,
                   beside, up) {
    growing<Strategy, 256_KiB> memory{virtual_memory{448_KiB}};
    CHECK(memory.allocate({.size = 256_KiB}));
    CHECK(memory.allocate({.size = 192_KiB}));
    CHECK(memory.size() == 448_KiB);
    CHECK_FALSE(memory.allocate({.size = 1}));
}

TEST_CASE_TEMPLATE("virtual memory: a region does not grow for an invalid request", Strategy, in_band, beside, up) {
    growing<Strategy> memory{virtual_memory{100_MiB}};
    CHECK(memory.allocate({.size = 100}));
    const std::size_t before = memory.size();
    CHECK_FALSE(memory.allocate({.size = 1_MiB, .align = 3}));
    CHECK_FALSE(memory.allocate({.size = 0, .align = 64}));
    CHECK(memory.size() == before);
}
