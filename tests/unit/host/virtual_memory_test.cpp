// virtual_memory and growth::contiguous: one region grows and shrinks, and blocks keep their addresses.
#include <allot/allot.hpp>
#include <allot/host/virtual_memory.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include "../../in_child.hpp"
#include "../address/reserving_device_cases.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <sys/resource.h>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::host::virtual_memory;

template <class Strategy, std::size_t Step = 64_KiB>
using growing = reserving_device_cases::growing<virtual_memory, Strategy, Step>;
using reserving_device_cases::beside, reserving_device_cases::in_band, reserving_device_cases::low,
    reserving_device_cases::up;

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
    reserving_device_cases::blocks_keep_their_addresses<virtual_memory, Strategy>(1000);
}

TEST_CASE_TEMPLATE("virtual memory: trim frees the bytes behind the last block, and an empty region", Strategy, in_band,
                   beside) {
    reserving_device_cases::trim_returns_pages<virtual_memory, Strategy>(is_readable);
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
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    reserving_device_cases::invalid_calls_fail<virtual_memory>(is_readable, page, EINVAL, ENOMEM);
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
    reserving_device_cases::all_of_the_reserve_is_used<virtual_memory>();
}

TEST_CASE("virtual memory: the alignment of the device takes no bytes of the reserved range") {
    growing<up> memory{virtual_memory{1_MiB}};
    CHECK(memory.allocate({.size = 1_MiB, .align = virtual_memory::min_align}));
}

TEST_CASE_TEMPLATE("virtual memory: only a resize of the last block grows the region", Strategy, in_band, beside, low) {
    reserving_device_cases::only_the_last_block_grows_the_region<virtual_memory, Strategy>();
}

TEST_CASE("virtual memory: a region grows until the side table is full") {
    using few = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 5}>;
    growing<few> memory{virtual_memory{8_MiB}};
    for (int i = 0; i != 4; ++i) CHECK(memory.allocate({.size = 64_KiB}));  // one record for the extent
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
