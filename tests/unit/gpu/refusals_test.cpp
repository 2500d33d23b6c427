// Failures of a GPU: failed calls, faults, unusual bases, a missing driver. On the fake runtime only.
#include "../../laws/device_laws.hpp"
#include "fake_gpu.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t sizes[] = {1, 255, 256, 257, 4095, 4096, 4097, 65'536, 65'537};
using allot::raw_pointer;
using allot::refusal;
using vendor::async_memory;
using vendor::device_memory;
using vendor::managed;
using vendor::pinned;

/// Returns true if the host can read this byte. The test is harmless.
bool host_can_read(const void* address) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const bool readable = ::write(ends[1], address, 1) == 1;
    if (!readable) CHECK(errno == EFAULT);
    ::close(ends[0]);
    ::close(ends[1]);
    return readable;
}

}  // namespace

TEST_CASE_TEMPLATE(VENDOR ": the runtime's code is in diagnose only", Device, device_memory, pinned, managed,
                   async_memory) {
    const tests::machine machine;
    for (const gpu::error code : {gpu::out_of_memory, gpu::not_supported, gpu::busy}) {
        fake_gpu::refuse_next(code);
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 64 * kib};
        CHECK(gpu::peek_at_last_error() == gpu::success);
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});

        allot::naive<Device> naive{tests::make<Device>()};
        fake_gpu::refuse_next(code);
        CHECK_FALSE(naive.allocate({1, 1}));
        CHECK(naive.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        const auto block = naive.allocate({1, 1});  // only one call fails
        CHECK(block);
        naive.deallocate(block);
    }
}

TEST_CASE_TEMPLATE(VENDOR ": a growing arena reports the runtime's error and goes on", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    using growth = allot::growth::fixed<allot::growth_options{.step = 4 * kib, .regions = 4}>;
    allot::arena<Device, allot::best_fit<>, growth> arena{tests::make<Device>()};
    const auto first = arena.allocate({3000, 1});
    REQUIRE(first);
    fake_gpu::refuse_next(gpu::out_of_memory);
    CHECK_FALSE(arena.allocate({4 * kib, 1}));
    CHECK(arena.diagnose({4 * kib, 1}).device_error == gpu::out_of_memory);
    CHECK(arena.allocate({500, 1}));  // this one fits
    fake_gpu::refuse_next(gpu::out_of_memory);
    CHECK(arena.allocate({3000, 1}));  // the next growth step would be larger than the request
    CHECK(arena.size() < 2 * 4 * kib);
    CHECK(arena.allocate({3000, 1}));  // memory is available again
}

TEST_CASE_TEMPLATE(VENDOR ": exhausted memory yields an error, then a trim and a retry", Device, device_memory, pinned,
                   managed) {
    const tests::machine machine;
    CHECK(laws::exhaust(tests::make<Device>(), 4096 * kib, 100) == 0);
}

TEST_CASE(VENDOR ": trimmed memory of a stream is available once the stream has executed the frees") {
    const tests::machine machine;
    allot::naive<allot::cached<async_memory>> memory{allot::cached<async_memory>{async_memory{nullptr}}};
    const allot::layout part{4096 * kib, 256}, large{2 * part.size, 256};
    std::vector<decltype(memory)::block_type> blocks;
    while (const auto block = memory.allocate(part)) blocks.push_back(block);
    CHECK(blocks.size() == 16);
    for (const auto& block : blocks) memory.deallocate(block);
    CHECK_FALSE(memory.allocate(large));  // everything is trimmed, but the stream still has to execute the frees
    CHECK(memory.diagnose(large) == allot::diagnosis{refusal::device_refused, 0, gpu::out_of_memory});
    CHECK(memory.device().size() == 0);
    REQUIRE(gpu::stream_synchronize(nullptr) == gpu::success);
    const auto served = memory.allocate(large);
    CHECK(served);
    memory.deallocate(served);
}

TEST_CASE_TEMPLATE(VENDOR ": a successful call leaves a pending error to the runtime", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    void* never = nullptr;
    fake_gpu::refuse_next(gpu::not_supported);
    REQUIRE(gpu::malloc_device(&never, 1) == gpu::not_supported);
    {
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 4 * kib};
        CHECK(arena.allocate({1000, 1}));
    }
    CHECK(gpu::get_last_error() == (gpu::success_clears_the_last_error ? gpu::success : gpu::not_supported));
}

TEST_CASE_TEMPLATE(VENDOR ": without a driver, requests fail with the driver's code", Device, device_memory, pinned,
                   managed, async_memory) {
    for (const gpu::error code : gpu::no_driver) {
        fake_gpu::start({.driver = code});
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 64 * kib};
        CHECK(arena.size() == 0);
        CHECK_FALSE(arena.allocate({1, 1}));
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
    }
    fake_gpu::start();
}

TEST_CASE(VENDOR ": a device that does not exist fails with the runtime's code") {
    const tests::machine machine;
    for (const int missing : {2, 7, -1}) {
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{missing}, 64 * kib};
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, gpu::invalid_device});
        CHECK(gpu::peek_at_last_error() == gpu::success);
    }
}

TEST_CASE_TEMPLATE(VENDOR ": after a fault, every request fails with it and the error stays", Device, device_memory,
                   pinned, managed, async_memory) {
    fake_gpu::start();
    {
        allot::naive<Device> memory{tests::make<Device>()};
        const auto block = memory.allocate({1000, 1});
        REQUIRE(block);
        fake_gpu::launch(nullptr, raw_pointer::locate(block.address, 990), 11, [](std::byte*) { FAIL("it ran"); });
        CHECK(gpu::device_synchronize() == gpu::illegal_address);
        CHECK_FALSE(memory.allocate({1000, 1}));
        CHECK(memory.diagnose({1000, 1}).device_error == gpu::illegal_address);
        memory.deallocate(block);  // harmless
    }
    CHECK(gpu::get_last_error() == gpu::illegal_address);
    CHECK(gpu::get_last_error() == gpu::illegal_address);
    fake_gpu::start();
}

TEST_CASE_TEMPLATE(VENDOR ": a base that is not a multiple of 256 is freed and rejected", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    fake_gpu::start({.phase = 64});
    for (const std::size_t align : {std::size_t{1}, std::size_t{256}, 4 * kib}) {
        CHECK(tests::make<Device>().acquire({1000, align}).error() == gpu::misaligned_address);
        REQUIRE(gpu::device_synchronize() == gpu::success);
        CHECK(fake_gpu::live() == 0);
    }
}

TEST_CASE_TEMPLATE(VENDOR ": the region is inside the allocation, and release frees the original address", Device,
                   device_memory, pinned, managed, async_memory) {
    for (std::size_t phase = 0; phase != 4 * kib; phase += 256) {
        const tests::machine machine;
        fake_gpu::start({.phase = phase});
        Device device = tests::make<Device>();
        for (std::size_t align = 1; align <= 64 * kib; align *= 2) {
            for (const std::size_t size : sizes) {
                const auto answer = device.acquire({size, align});
                REQUIRE(answer);
                REQUIRE(answer->size >= size);
                REQUIRE(answer->align >= align);
                REQUIRE(raw_pointer::position(answer->base) % answer->align == 0);
                // The copy fails unless all of it is in one allocation.
                REQUIRE(gpu::memset(answer->base, 1, answer->size) == gpu::success);
                REQUIRE(fake_gpu::live() == 1);
                device.release(*answer);
                REQUIRE(fake_gpu::live() == 0);
                REQUIRE(fake_gpu::wrong_frees() == 0);
            }
        }
    }
}

TEST_CASE(VENDOR ": errors of release remain for the runtime's get_last_error") {
    fake_gpu::start();
    device_memory device;
    const auto region = device.acquire({1000, 256});
    REQUIRE(region);
    device.release({raw_pointer::locate(region->base, 256), 744, 256});
    CHECK(gpu::get_last_error() == gpu::wrong_free_device);
    pinned{}.release(*region);
    CHECK(gpu::get_last_error() == gpu::invalid_value);
    device.release(*region);
    CHECK(gpu::get_last_error() == gpu::success);
    device.release(*region);
    CHECK(gpu::get_last_error() == gpu::wrong_free_device);
    CHECK(fake_gpu::wrong_frees() == 3);
    fake_gpu::start();
}

TEST_CASE(VENDOR ": the thread's device is switched only if necessary, and restored") {
    const tests::machine machine;
    {
        REQUIRE(gpu::set_device(1) == gpu::success);
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{1}, 64 * kib};
        CHECK(arena.allocate({1, 1}));
        CHECK(fake_gpu::in_use(1) == 64 * kib);
    }
    CHECK_FALSE(fake_gpu::has_context(0));

    int current = -1;
    {
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{0}, 64 * kib};
        CHECK(fake_gpu::in_use(0) == 64 * kib);
        CHECK(fake_gpu::in_use(1) == 0);
        REQUIRE(gpu::get_device(&current) == gpu::success);
        CHECK(current == 1);
    }
    CHECK(fake_gpu::in_use(0) == 0);
    REQUIRE(gpu::get_device(&current) == gpu::success);
    CHECK(current == 1);
}

TEST_CASE_TEMPLATE(VENDOR ": the host cannot access the fake device's memory where allot says so", Device,
                   device_memory, pinned, managed, async_memory) {
    const tests::machine machine;
    Device device = tests::make<Device>();
    const auto region = device.acquire({10'000, 256});
    REQUIRE(region);
    CHECK(host_can_read(region->base) == Device::host_accessible);
    CHECK(host_can_read(raw_pointer::locate(region->base, region->size - 1)) == Device::host_accessible);
    device.release(*region);
    CHECK(gpu::device_synchronize() == gpu::success);
    CHECK_FALSE(host_can_read(region->base));
}
