// Owners of bytes in buffers, on the installed driver: kernels take the handle and the offset, or a sub-buffer.
#include <allot/allot.hpp>
#include <allot/opencl/unique_buffer.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace allot::literals;
using allot::opencl::make_buffer;
using tests::opencl;

constexpr const char* source = R"(
__kernel void fill_at(__global uint* base, ulong offset) { base[offset / 4 + get_global_id(0)] = get_global_id(0); }
__kernel void twice(__global uint* all) { all[get_global_id(0)] *= 2; }
)";

}  // namespace

TEST_CASE("opencl unique_buffer: kernels use the handle with an offset, and the sub-buffer") {
    constexpr std::size_t count = 256;
    allot::arena<allot::opencl::buffer, allot::best_fit<>> memory{{opencl().context, opencl().device}, 64_KiB};
    REQUIRE(memory.size() == 64_KiB);
    const std::uint64_t all = memory.diagnose({1, 1}).largest_hole;
    {
        const auto before = make_buffer(memory, 100), bytes = make_buffer(memory, count * 4);
        REQUIRE((before && bytes));
        auto fill = tests::kernel(source, "fill_at");
        REQUIRE(allot::opencl::set_arg(fill, 0, *bytes) == CL_SUCCESS);
        tests::run(fill, cl::NDRange{count});
        const auto whole = bytes->sub_buffer(opencl().device);
        REQUIRE(whole);
        auto twice = tests::kernel(source, "twice");
        REQUIRE(twice.setArg(0, *whole) == CL_SUCCESS);
        tests::run(twice, cl::NDRange{count});
        std::vector<cl_uint> read(count);
        REQUIRE(opencl().queue.enqueueReadBuffer(*whole, CL_TRUE, 0, count * 4, read.data()) == CL_SUCCESS);
        for (cl_uint i = 0; i != count; ++i) REQUIRE(read[i] == 2 * i);
    }
    CHECK(memory.diagnose({1, 1}).largest_hole == all);
}

TEST_CASE("opencl unique_buffer: a wrapper has the alignment of the device, which a sub-buffer needs") {
    using arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
    allot::counted memory{arena{{opencl().context, opencl().device}, 64_KiB}};
    const auto before = make_buffer(memory, 40), bytes = make_buffer(memory, 256);
    REQUIRE((before && bytes));
    CHECK(memory.statistics().used == 296);
    CHECK(bytes->address().offset % memory.device().base_align() == 0);
    CHECK(bytes->sub_buffer(opencl().device));
}

TEST_CASE("opencl unique_buffer: naive reports the driver's limits, and an arena that it has no room") {
    allot::naive<allot::opencl::buffer> each{{opencl().context, opencl().device}};
    CHECK(make_buffer(each, 4096));
    CHECK(make_buffer(each, 0).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(make_buffer(each, ~std::size_t{0}).error() == CL_INVALID_BUFFER_SIZE);
    allot::arena<allot::opencl::buffer, allot::best_fit<>> memory{{opencl().context, opencl().device}, 4_KiB};
    CHECK(make_buffer(memory, 8_KiB).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
    CHECK(make_buffer(memory, 64, 3).error() == CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_CASE("opencl unique_buffer: without a driver every call fails") {
    const cl::Device none;
    allot::naive<allot::opencl::buffer> memory{{cl::Context{}, none}};
    CHECK(make_buffer(memory, 64).error() == CL_INVALID_DEVICE);
    CHECK(make_buffer(memory, 64, 64).error() == CL_INVALID_DEVICE);
}
