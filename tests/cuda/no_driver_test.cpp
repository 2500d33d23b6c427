// The CUDA runtime itself, and virtual memory, where there is no driver: everything is refused, and nothing breaks.
#include <allot/allot.hpp>
#include <allot/device/cuda.hpp>
#include <allot/device/cuda_virtual_memory.hpp>

#include <doctest/doctest.h>

#include <cstdio>

TEST_CASE("cuda: without a driver the runtime's code is in diagnose") {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) {
        std::puts("skipped: there is a CUDA device here");
        return;
    }
    const auto is_refused = [status](auto device) {
        allot::arena<decltype(device), allot::best_fit<>> arena{device, 4096};
        CHECK_FALSE(arena.allocate({1, 1}));
        CHECK(arena.diagnose({1, 1}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
        allot::naive<decltype(device)> naive{device};
        CHECK_FALSE(naive.allocate({1, 4096}));
        CHECK(naive.diagnose({1, 4096}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
    };
    is_refused(allot::cuda::device_memory{0});
    is_refused(allot::cuda::pinned{});
    is_refused(allot::cuda::managed{});
    is_refused(allot::cuda::async_memory{nullptr});
}

TEST_CASE("cuda: without a driver virtual memory is refused, and the program has started") {
    const allot::cuda::driver_functions driver;
    CUresult status = driver.error;
    if (status == CUDA_SUCCESS) {
        status = driver.init(0);  // a driver, but no device
    } else {
        CHECK(status == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    }
    if (status == CUDA_SUCCESS) {
        std::puts("skipped: there is a CUDA driver here");
        return;
    }
    allot::arena<allot::cuda::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>> arena{
        allot::cuda::virtual_memory{1 << 26}};
    CHECK_FALSE(arena.allocate({1, 1}));
    CHECK(arena.diagnose({1, 1}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
    allot::naive<allot::cuda::virtual_memory> naive{allot::cuda::virtual_memory{1 << 26}};
    CHECK_FALSE(naive.allocate({1, 4096}));
    CHECK(naive.diagnose({1, 4096}) == allot::diagnosis{allot::refusal::device_refused, 0, status});
}
