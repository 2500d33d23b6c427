// What a GPU does not do when asked to: refusals, faults, odd bases, a missing driver. On the fake runtime only.
#include "../laws/device_laws.hpp"
#include "fake_cudart.hpp"
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
using allot::cuda::async_memory;
using allot::cuda::device_memory;
using allot::cuda::managed;
using allot::cuda::pinned;

/// Whether the host can read this byte; finding out does no harm.
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

TEST_CASE_TEMPLATE("cuda: the runtime's code is in diagnose, and nowhere else", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    for (const cudaError_t code : {cudaErrorMemoryAllocation, cudaErrorNotSupported, cudaErrorDevicesUnavailable}) {
        fake_cuda::refuse_next(code);
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 64 * kib};
        CHECK(cudaPeekAtLastError() == cudaSuccess);
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});

        allot::naive<Device> naive{tests::make<Device>()};
        fake_cuda::refuse_next(code);
        CHECK_FALSE(naive.allocate({1, 1}));
        CHECK(naive.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        const auto block = naive.allocate({1, 1});  // it was refused once
        CHECK(block);
        naive.deallocate(block);
    }
}

TEST_CASE_TEMPLATE("cuda: an arena that grows says why CUDA gave no more, and goes on", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    using growth = allot::growth::fixed<allot::growth_options{.step = 4 * kib, .regions = 4}>;
    allot::arena<Device, allot::best_fit<>, growth> arena{tests::make<Device>()};
    const auto first = arena.allocate({3000, 1});
    REQUIRE(first);
    fake_cuda::refuse_next(cudaErrorMemoryAllocation);
    CHECK_FALSE(arena.allocate({3000, 1}));
    CHECK(arena.diagnose({3000, 1}).device_error == cudaErrorMemoryAllocation);
    CHECK(arena.allocate({500, 1}));   // there is room for this one
    CHECK(arena.allocate({3000, 1}));  // and CUDA has some again
}

TEST_CASE_TEMPLATE("cuda: memory that is really exhausted: an answer, a trim, a retry", Device, device_memory, pinned,
                   managed) {
    const tests::machine machine;
    CHECK(laws::exhaust(tests::make<Device>(), 4096 * kib, 100) == 0);
}

TEST_CASE("cuda: memory of a stream that is really exhausted: what was trimmed is there when the stream got so far") {
    const tests::machine machine;
    allot::naive<allot::cached<async_memory>> memory{allot::cached<async_memory>{async_memory{nullptr}}};
    const allot::layout part{4096 * kib, 256}, large{2 * part.size, 256};
    std::vector<decltype(memory)::block_type> blocks;
    while (const auto block = memory.allocate(part)) blocks.push_back(block);
    CHECK(blocks.size() == 16);
    for (const auto& block : blocks) memory.deallocate(block);
    CHECK_FALSE(memory.allocate(large));  // everything was trimmed, and the stream is not there yet
    CHECK(memory.diagnose(large) == allot::diagnosis{refusal::device_refused, 0, cudaErrorMemoryAllocation});
    CHECK(memory.device().size() == 0);
    REQUIRE(cudaStreamSynchronize(nullptr) == cudaSuccess);
    const auto served = memory.allocate(large);
    CHECK(served);
    memory.deallocate(served);
}

TEST_CASE_TEMPLATE("cuda: an error that was pending is left alone by a call that succeeds", Device, device_memory,
                   pinned, managed, async_memory) {
    const tests::machine machine;
    void* never = nullptr;
    fake_cuda::refuse_next(cudaErrorNotSupported);
    REQUIRE(cudaMalloc(&never, 1) == cudaErrorNotSupported);
    {
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 4 * kib};
        CHECK(arena.allocate({1000, 1}));
    }
    CHECK(cudaGetLastError() == cudaErrorNotSupported);
}

TEST_CASE_TEMPLATE("cuda: without a driver everything is refused with the driver's code", Device, device_memory, pinned,
                   managed, async_memory) {
    for (const cudaError_t code : {cudaErrorInsufficientDriver, cudaErrorNoDevice}) {
        fake_cuda::start({.driver = code});
        allot::arena<Device, allot::best_fit<>> arena{tests::make<Device>(), 64 * kib};
        CHECK(arena.size() == 0);
        CHECK_FALSE(arena.allocate({1, 1}));
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, code});
    }
    fake_cuda::start();
}

TEST_CASE("cuda: a device that is not there is refused with CUDA's code") {
    const tests::machine machine;
    for (const int missing : {2, 7, -1}) {
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{missing}, 64 * kib};
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{refusal::device_refused, 0, cudaErrorInvalidDevice});
        CHECK(cudaPeekAtLastError() == cudaSuccess);
    }
}

TEST_CASE_TEMPLATE("cuda: after a fault everything is refused with it, and the fault stays to be seen", Device,
                   device_memory, pinned, managed, async_memory) {
    fake_cuda::start();
    {
        allot::naive<Device> memory{tests::make<Device>()};
        const auto block = memory.allocate({1000, 1});
        REQUIRE(block);
        fake_cuda::launch(nullptr, raw_pointer::locate(block.address, 990), 11, [](std::byte*) { FAIL("it ran"); });
        CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
        CHECK_FALSE(memory.allocate({1000, 1}));
        CHECK(memory.diagnose({1000, 1}).device_error == cudaErrorIllegalAddress);
        memory.deallocate(block);  // does no harm
    }
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
    fake_cuda::start();
}

TEST_CASE_TEMPLATE("cuda: a base that is no multiple of 256 is given back and refused", Device, device_memory, pinned,
                   managed, async_memory) {
    const tests::machine machine;
    fake_cuda::start({.phase = 64});
    for (const std::size_t align : {std::size_t{1}, std::size_t{256}, 4 * kib}) {
        CHECK(tests::make<Device>().acquire({1000, align}).error() == cudaErrorMisalignedAddress);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(fake_cuda::live() == 0);
    }
}

TEST_CASE_TEMPLATE("cuda: wherever CUDA's address lies, the region lies inside, and CUDA's address is given back",
                   Device, device_memory, pinned, managed, async_memory) {
    for (std::size_t phase = 0; phase != 4 * kib; phase += 256) {
        const tests::machine machine;
        fake_cuda::start({.phase = phase});
        Device device = tests::make<Device>();
        for (std::size_t align = 1; align <= 64 * kib; align *= 2) {
            for (const std::size_t size : sizes) {
                const auto answer = device.acquire({size, align});
                REQUIRE(answer);
                REQUIRE(answer->size >= size);
                REQUIRE(answer->align >= align);
                REQUIRE(raw_pointer::position(answer->base) % answer->align == 0);
                // The copy is refused unless all of it lies in one allocation.
                REQUIRE(cudaMemset(answer->base, 1, answer->size) == cudaSuccess);
                REQUIRE(fake_cuda::live() == 1);
                device.release(*answer);
                REQUIRE(fake_cuda::live() == 0);
                REQUIRE(fake_cuda::wrong_frees() == 0);
            }
        }
    }
}

TEST_CASE("cuda: what release meets is left for cudaGetLastError") {
    fake_cuda::start();
    device_memory device;
    const auto region = device.acquire({1000, 256});
    REQUIRE(region);
    device.release({raw_pointer::locate(region->base, 256), 744, 256});
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    pinned{}.release(*region);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    device.release(*region);
    CHECK(cudaGetLastError() == cudaSuccess);
    device.release(*region);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(fake_cuda::wrong_frees() == 3);
    fake_cuda::start();
}

TEST_CASE("cuda: the thread's device is switched only where it has to be, and back") {
    const tests::machine machine;
    {
        REQUIRE(cudaSetDevice(1) == cudaSuccess);
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{1}, 64 * kib};
        CHECK(arena.allocate({1, 1}));
        CHECK(fake_cuda::in_use(1) == 64 * kib);
    }
    CHECK_FALSE(fake_cuda::has_context(0));

    int current = -1;
    {
        allot::arena<device_memory, allot::best_fit<>> arena{device_memory{0}, 64 * kib};
        CHECK(fake_cuda::in_use(0) == 64 * kib);
        CHECK(fake_cuda::in_use(1) == 0);
        REQUIRE(cudaGetDevice(&current) == cudaSuccess);
        CHECK(current == 1);
    }
    CHECK(fake_cuda::in_use(0) == 0);
    REQUIRE(cudaGetDevice(&current) == cudaSuccess);
    CHECK(current == 1);
}

TEST_CASE_TEMPLATE("cuda: the fake device's memory is out of the host's reach where allot says so", Device,
                   device_memory, pinned, managed, async_memory) {
    const tests::machine machine;
    Device device = tests::make<Device>();
    const auto region = device.acquire({10'000, 256});
    REQUIRE(region);
    CHECK(host_can_read(region->base) == Device::host_accessible);
    CHECK(host_can_read(raw_pointer::locate(region->base, region->size - 1)) == Device::host_accessible);
    device.release(*region);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK_FALSE(host_can_read(region->base));
}
