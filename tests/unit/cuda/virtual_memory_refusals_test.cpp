// Failures of a driver: calls that fail halfway, unusual granularities, kernels that are still running. On the fake
// driver only.
#include "fake_libcuda.hpp"
#include "virtual_memory_machine.hpp"

#include <allot/allot.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace {

using namespace allot::literals;
using allot::raw_pointer;
using allot::refusal;
using allot::cuda::virtual_memory;
using tests::bytes_of;
using tests::virtual_memory_machine;

using growing = allot::arena<virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;

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

TEST_CASE("cuda virtual_memory: a failed acquire leaves nothing behind, whichever call fails") {
    const virtual_memory_machine machine;
    virtual_memory device{64_MiB};
    std::size_t call = 1;
    for (;; ++call) {
        fake_libcuda::refuse_call(call, CUDA_ERROR_UNKNOWN);
        const auto answer = device.acquire({9_MiB, 1});
        if (fake_libcuda::is_refusal_pending()) {  // fewer calls were made
            fake_libcuda::refuse_call(0, CUDA_SUCCESS);
            REQUIRE(answer);
            device.release(*answer);
            break;
        }
        REQUIRE_FALSE(answer);
        CHECK(answer.error() == CUDA_ERROR_UNKNOWN);
        CHECK(fake_libcuda::held() == 0);
    }
    CHECK(call == 1 + 7 + 2 * 5 + 1);  // seven calls first, two for each granule, and one for access
}

TEST_CASE("cuda virtual_memory: a failed growth keeps the arena usable, whichever call fails") {
    const virtual_memory_machine machine;
    const bytes_of bytes{machine.driver};
    for (std::size_t call = 1;; ++call) {
        growing memory{virtual_memory{64_MiB}};
        const auto first = memory.allocate({.size = 1_MiB});
        REQUIRE(bytes.fill(first.address, first.size, 1) == CUDA_SUCCESS);
        const std::size_t held = fake_libcuda::held();
        fake_libcuda::refuse_call(call, CUDA_ERROR_UNKNOWN);
        const auto more = memory.allocate({.size = 9_MiB});
        if (fake_libcuda::is_refusal_pending()) {
            CHECK(more);
            CHECK(call == 1 + 4 + 2 * 4 + 1);  // one of the five granules exists
            fake_libcuda::refuse_call(0, CUDA_SUCCESS);
            break;
        }
        CHECK_FALSE(more);
        CHECK(memory.diagnose({.size = 9_MiB}).device_error == CUDA_ERROR_UNKNOWN);
        CHECK(fake_libcuda::held() == held);
        CHECK(memory.size() == 2_MiB);
        CHECK(bytes.are(first.address, first.size, 1));
        CHECK(memory.allocate({.size = 9_MiB}));  // only one call fails
    }
}

TEST_CASE("cuda virtual_memory: a failed trim keeps the arena whole, whichever call fails") {
    const virtual_memory_machine machine;
    const bytes_of bytes{machine.driver};
    for (std::size_t call = 1;; ++call) {
        growing memory{virtual_memory{64_MiB}};
        const auto first = memory.allocate({.size = 1_MiB}), last = memory.allocate({.size = 9_MiB});
        REQUIRE(bytes.fill(first.address, first.size, 1) == CUDA_SUCCESS);
        memory.deallocate(last);
        const std::size_t size = memory.size(), held = fake_libcuda::held();
        // The calls before the first unmap, and then the four granules.
        constexpr std::size_t before = 5, granules = 4;
        if (call <= before) {
            fake_libcuda::refuse_call(call, CUDA_ERROR_UNKNOWN);
        } else {
            fake_libcuda::refuse_unmap(call - before, CUDA_ERROR_UNKNOWN);
        }
        const std::size_t trimmed = memory.trim();
        if (call == before + granules + 1) {
            CHECK(fake_libcuda::is_refusal_pending());
            CHECK(trimmed == size - 2_MiB);
            fake_libcuda::refuse_unmap(0, CUDA_SUCCESS);
            break;
        }
        CHECK_FALSE(fake_libcuda::is_refusal_pending());
        CHECK(trimmed == 0);
        CHECK(memory.size() == size);
        CHECK(fake_libcuda::held() == held);
        CHECK(bytes.are(first.address, first.size, 1));
        CHECK(bytes.fill(memory.regions()[0].base, size, 2) == CUDA_SUCCESS);  // all of it is accessible
        CHECK(memory.trim() == size - 2_MiB);
        CHECK(memory.allocate({.size = 9_MiB}));
    }
}

TEST_CASE("cuda virtual_memory: a region that could not be restored is released as far as it exists") {
    const virtual_memory_machine machine;
    virtual_memory device{64_MiB};
    const auto held = device.acquire({8_MiB, 1});
    REQUIRE(held);
    fake_libcuda::refuse_unmap(3, CUDA_ERROR_UNKNOWN);
    fake_libcuda::refuse_call(6, CUDA_ERROR_OUT_OF_MEMORY);  // for the fourth granule's memory
    CHECK(device.resize(*held, 2_MiB).error() == CUDA_ERROR_UNKNOWN);
    CHECK_FALSE(fake_libcuda::is_refusal_pending());
    CHECK(fake_libcuda::in_use(0) == 4_MiB);
    device.release(*held);
    CHECK(fake_libcuda::held() == 0);
    CHECK(fake_libcuda::wrong_calls() == 2);  // for the two missing granules
    fake_libcuda::start();
}

TEST_CASE("cuda virtual_memory: memory is unmapped after the kernels that use it") {
    const virtual_memory_machine machine;
    const bytes_of bytes{machine.driver};
    growing memory{virtual_memory{64_MiB}};
    const auto first = memory.allocate({.size = 1000}), last = memory.allocate({.size = 9_MiB});
    fake_libcuda::launch(0, raw_pointer::position(first.address), first.size, 1);
    fake_libcuda::launch(0, raw_pointer::position(last.address), last.size, 2);
    memory.deallocate(last);
    CHECK(memory.trim() > 0);
    CHECK(memory.size() == 2_MiB);
    CHECK(bytes.are(first.address, first.size, 1));
    fake_libcuda::launch(0, raw_pointer::position(first.address), first.size, 3);
    memory.deallocate(first);
    CHECK(memory.trim() == 2_MiB);
    CHECK(fake_libcuda::wrong_calls() == 0);
}

TEST_CASE("cuda virtual_memory: only the device has access, and only inside the region") {
    const virtual_memory_machine machine;
    virtual_memory device{64_MiB, 1};
    auto held = *device.acquire({4_MiB, 1});
    CHECK(fake_libcuda::in_use(0) == 0);
    CHECK(fake_libcuda::in_use(1) == 4_MiB);
    CHECK(fake_libcuda::reserved() == 64_MiB);
    CHECK_FALSE(host_can_read(held.base));
    {
        const bytes_of elsewhere{machine.driver, 0};
        CHECK(elsewhere.fill(held.base, 1, 1) == CUDA_ERROR_INVALID_VALUE);
        const bytes_of there{machine.driver, 1};
        CHECK(there.fill(held.base, 4_MiB, 1) == CUDA_SUCCESS);
        CHECK(there.fill(held.base, 4_MiB + 1, 1) == CUDA_ERROR_INVALID_VALUE);
        held = *device.resize(held, 2_MiB);
        CHECK(there.fill(held.base, 2_MiB + 1, 1) == CUDA_ERROR_INVALID_VALUE);
        CHECK(fake_libcuda::in_use(1) == 2_MiB);
    }
    device.release(held);
}

TEST_CASE("cuda virtual_memory: only granularities that divide the device's are accepted") {
    const virtual_memory_machine machine;
    for (const std::size_t granularity : {64_KiB, 2_MiB}) {
        fake_libcuda::start({.granularity = granularity});
        virtual_memory device{64_MiB};
        const auto held = device.acquire({3_MiB, 1});
        REQUIRE(held);
        CHECK(fake_libcuda::in_use(0) == 4_MiB);
        device.release(*held);
    }
    for (const std::size_t granularity : {4_MiB, 512_MiB, 3_MiB, std::size_t{0}}) {
        fake_libcuda::start({.granularity = granularity});
        growing memory{virtual_memory{64_MiB}};
        CHECK_FALSE(memory.allocate({.size = 1}));
        CHECK(memory.diagnose({.size = 1}) == allot::diagnosis{refusal::device_refused, 0, CUDA_ERROR_INVALID_VALUE});
        CHECK(fake_libcuda::held() == 0);
    }
    fake_libcuda::start({.granularity = 4_MiB});
    allot::cuda::basic_virtual_memory<8_MiB> device{64_MiB};
    const auto held = device.acquire({1, 1});
    REQUIRE(held);
    device.release(*held);
}

TEST_CASE("cuda virtual_memory: ranges with another alignment are freed") {
    const virtual_memory_machine machine;
    fake_libcuda::start({.granularity = 64_KiB, .misalign = 1_MiB});
    virtual_memory device{64_MiB};
    CHECK(device.acquire({1, 1}).error() == CUDA_ERROR_MISALIGNED_ADDRESS);
    CHECK(fake_libcuda::held() == 0);

    fake_libcuda::start();
    const auto held = device.acquire({1, 256_MiB});
    REQUIRE(held);
    CHECK(held->align == 256_MiB);
    CHECK(raw_pointer::position(held->base) % 256_MiB == 0);
    device.release(*held);
}

TEST_CASE("cuda virtual_memory: diagnose reports the driver's error at startup") {
    const virtual_memory_machine machine;
    const auto is_refused = [](const fake_libcuda::settings& there, CUresult code) {
        fake_libcuda::start(there);
        growing memory{virtual_memory{64_MiB}};
        CHECK_FALSE(memory.allocate({.size = 1}));
        CHECK(memory.diagnose({.size = 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        allot::arena<virtual_memory, allot::bump<>> scratch{virtual_memory{64_MiB}, 1};
        CHECK(scratch.size() == 0);
        CHECK(scratch.diagnose({.size = 1}) == allot::diagnosis{refusal::device_refused, 0, code});
        CHECK(fake_libcuda::held() == 0);
    };
    is_refused({.driver = CUDA_ERROR_NO_DEVICE}, CUDA_ERROR_NO_DEVICE);
    is_refused({.driver = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH}, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
    is_refused({.devices = 0}, CUDA_ERROR_INVALID_DEVICE);
    is_refused({.virtual_memory = false}, CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("cuda virtual_memory: release frees a region also without a context") {
    const virtual_memory_machine machine;
    virtual_memory device{64_MiB};
    for (std::size_t call = 1; call != 6; ++call) {  // four calls for the context, and the wait
        fake_libcuda::start();
        const auto held = device.acquire({9_MiB, 1});
        REQUIRE(held);
        fake_libcuda::refuse_call(call, CUDA_ERROR_UNKNOWN);
        device.release(*held);
        CHECK_FALSE(fake_libcuda::is_refusal_pending());
        CHECK(fake_libcuda::in_use(0) == 0);
        CHECK(fake_libcuda::reserved() == 0);
        CHECK(fake_libcuda::held() == (call < 5 ? 1 : 0));  // the context itself
    }
}
