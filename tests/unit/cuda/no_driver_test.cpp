// Virtual memory without a driver: it fails without further harm. ../gpu tests the runtime.
#include <allot/allot.hpp>
#include <allot/cuda/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <cstdio>

TEST_CASE("cuda: without a driver, virtual memory fails and the program starts") {
    const allot::cuda::driver_functions driver;
    CUresult status = driver.error;
    if (status == CUDA_SUCCESS) {
        status = driver.init(0);  // a driver without a device
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
