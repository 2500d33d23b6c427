// Adopted buffers on the installed driver: zero copy over host memory, and released exactly once.
#include <allot/allot.hpp>
#include <allot/compose/adopted.hpp>
#include <allot/opencl/buffer.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <vector>

TEST_CASE("opencl adopted: a foreign buffer is divided, used and released once") {
    alignas(4096) static unsigned char host[16384];
    cl_int status = CL_SUCCESS;
    const cl_mem handle = ::clCreateBuffer(tests::opencl().context(), CL_MEM_USE_HOST_PTR, sizeof host, host, &status);
    REQUIRE(status == CL_SUCCESS);
    static int gone;
    gone = 0;
    REQUIRE(::clSetMemObjectDestructorCallback(handle, [](cl_mem, void*) { ++gone; }, nullptr) == CL_SUCCESS);
    {
        auto release = [](auto at) noexcept { ::clReleaseMemObject(at.handle); };
        allot::adopted<allot::opencl::buffer, decltype(release)> device{{handle, 0}, sizeof host, 128, release};
        allot::arena<decltype(device), allot::best_fit<>> memory{std::move(device)};
        const auto a = memory.allocate({.size = 1000, .align = 128}), b = memory.allocate({.size = 1000, .align = 128});
        REQUIRE(a);
        REQUIRE(b);
        CHECK(b.address.handle == handle);
        CHECK(b.address.offset == 1024);
        CHECK(memory.diagnose({.size = 1, .align = 256}).reason == allot::refusal::misaligned);

        const std::vector<unsigned char> sent(1000, 42);
        REQUIRE(::clEnqueueWriteBuffer(tests::opencl().queue(), b.address.handle, CL_TRUE, b.address.offset, 1000,
                                       sent.data(), 0, nullptr, nullptr) == CL_SUCCESS);
        void* const mapped = ::clEnqueueMapBuffer(tests::opencl().queue(), handle, CL_TRUE, CL_MAP_READ, 0, sizeof host,
                                                  0, nullptr, nullptr, &status);
        REQUIRE(status == CL_SUCCESS);
        CHECK(mapped == host);
        CHECK((host[1023] == 0 && host[1024] == 42 && host[2023] == 42 && host[2024] == 0));
        REQUIRE(::clEnqueueUnmapMemObject(tests::opencl().queue(), handle, mapped, 0, nullptr, nullptr) == CL_SUCCESS);
        REQUIRE(tests::opencl().queue.finish() == CL_SUCCESS);  // no work is pending at the release
        CHECK(gone == 0);
    }
    CHECK(gone == 1);
}
