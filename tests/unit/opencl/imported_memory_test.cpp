// Memory of another driver on the installed OpenCL, whose driver may lack cl_khr_external_memory (PoCL 3.1 does).
#include <allot/dma/heap.hpp>
#include <allot/dma/udmabuf.hpp>
#include <allot/opencl/imported_memory.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstring>

TEST_CASE("opencl external memory: a driver without the extension refuses, another one sees the same bytes") {
    const auto& [context, device] = std::tie(tests::opencl().context, tests::opencl().device);
    if (device.getInfo<CL_DEVICE_EXTENSIONS>().find("cl_khr_external_memory_dma_buf") == std::string::npos) {
        allot::opencl::imported_memory none{context, device, {::memfd_create("memory", MFD_CLOEXEC), {.size = 4096}}};
        CHECK(none.acquire({.size = 4096}).error() == CL_INVALID_DEVICE);
        std::puts("skipped: the OpenCL device has no cl_khr_external_memory_dma_buf");
        return;
    }
    allot::dma::udmabuf<> frames;
    const auto region = frames.acquire({.size = 4096});
    if (!region) {
        std::printf("skipped: no /dev/udmabuf: %s\n", std::strerror(region.error()));
        return;
    }
    auto shared = frames.export_memory(*region);
    REQUIRE(shared);
    allot::opencl::imported_memory memory{context, device, std::move(*shared)};
    const auto held = memory.acquire({.size = 4096});
    REQUIRE(held);
    const cl::CommandQueue queue{context, device};
    CHECK(memory.enqueue_acquire(queue) == CL_SUCCESS);
    const char text[] = "allot";
    CHECK(clEnqueueWriteBuffer(queue(), held->base.handle, CL_TRUE, 0, sizeof text, text, 0, nullptr, nullptr) ==
          CL_SUCCESS);
    CHECK(memory.enqueue_release(queue) == CL_SUCCESS);
    CHECK(queue.finish() == CL_SUCCESS);
    {
        const auto access = frames.access(region->base, sizeof text, allot::dma::cpu_use::read);
        REQUIRE(access);
        CHECK(std::memcmp(region->base, text, sizeof text) == 0);
    }
    memory.release(*held);
    frames.release(*region);
}
