// Copies to and from a device with separate memory: transferred, unless the buffer is in host memory.
#include "driver.hpp"

#include <allot/allot.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

namespace {

using allot::copy_path;
using allot::int32;
using allot::opencl::import_copy;
using allot::opencl::queue_copy;

using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using buffer_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;

struct machine {
    machine() { fake::start(); }
    ~machine() { CHECK(fake::book().violations.empty()); }
};

auto numbers(host_arena& memory, allot::shape shape) {
    auto storage = *allot::alloc_storage(memory, shape, int32, 128);
    auto made = *allot::alloc_tensor(storage, 0, shape, int32);
    std::iota(static_cast<std::int32_t*>(made.data()), static_cast<std::int32_t*>(made.data()) + made.size(), 1);
    return made;
}

}  // namespace

TEST_CASE("queue_copy: transfers buffers of the device, maps buffers in host memory") {
    const machine running;
    host_arena host{{}, 1 << 20};
    for (const cl_mem_flags flags : {cl_mem_flags{0}, cl_mem_flags{CL_MEM_ALLOC_HOST_PTR}}) {
        const bool mapped = flags != 0;
        buffer_arena memory{allot::opencl::buffer{fake::context(), fake::device(), CL_MEM_READ_WRITE | flags}, 1 << 16};
        const auto storage = *allot::alloc_storage(memory, 1 << 14, 64);
        const auto in = numbers(host, {16, 16}), out = numbers(host, {16, 16});
        std::memset(out.data(), 0, out.size_bytes());
        const auto there = *allot::alloc_tensor(storage, 1024, {16, 16}, int32);
        fake::book().transfers = fake::book().maps = 0;
        const auto to = allot::copy_tensor(in, there, queue_copy{fake::queue()});
        const auto from = allot::copy_tensor(there, out, queue_copy{fake::queue()});
        REQUIRE((to && from));
        CHECK(*to == (mapped ? copy_path::mapped : copy_path::to_device));
        CHECK(*from == (mapped ? copy_path::mapped : copy_path::from_device));
        CHECK(fake::book().maps == (mapped ? 2U : 0U));
        CHECK(fake::book().transfers == (mapped ? 0U : 2U));
        CHECK(std::memcmp(in.data(), out.data(), in.size_bytes()) == 0);
    }
}

TEST_CASE("queue_copy: maps all buffers of a unified device unless the host has no access") {
    const machine running;
    fake::rule().unified = true;
    host_arena host{{}, 1 << 20};
    const auto in = numbers(host, {64});
    for (const cl_mem_flags flags : {cl_mem_flags{0}, cl_mem_flags{CL_MEM_HOST_WRITE_ONLY}}) {
        buffer_arena memory{allot::opencl::buffer{fake::context(), fake::device(), CL_MEM_READ_WRITE | flags}, 1 << 16};
        const auto there = *allot::alloc_tensor(*allot::alloc_storage(memory, 1024), 0, {64}, int32);
        const auto path = allot::copy_tensor(in, there, queue_copy{fake::queue()});
        REQUIRE(path);
        CHECK(*path == (flags == 0 ? copy_path::mapped : copy_path::to_device));
    }
}

TEST_CASE("queue_copy: transfers rows one after the other and waits once") {
    const machine running;
    host_arena host{{}, 1 << 20};
    buffer_arena memory{allot::opencl::buffer{fake::context(), fake::device()}, 1 << 16};
    const auto table = *allot::alloc_storage(host, 1024), rows = *allot::alloc_storage(host, 1 << 16);
    const auto storage = *allot::alloc_storage(memory, 1 << 14);
    const auto in = *allot::alloc_discontiguous_tensor(table, 0, rows, {4096, 1024, 2048, 1088}, {4, 16}, int32);
    for (std::size_t row = 0; row != 4; ++row) std::memset(in.row(row), static_cast<int>(row + 1), 64);
    const auto there = *allot::alloc_tensor(storage, 0, {64}, int32),
               again = *allot::alloc_tensor(storage, 256, {64}, int32);
    const auto path = allot::copy_tensor(in, there, queue_copy{fake::queue()});
    REQUIRE(path);
    CHECK(*path == copy_path::to_device);
    CHECK(fake::book().transfers == 4);
    CHECK(fake::book().waits == 1);
    const auto on_device = allot::copy_tensor(there, again, queue_copy{fake::queue()});
    REQUIRE(on_device);
    CHECK(*on_device == copy_path::on_device);
    CHECK(fake::book().waits == 1);  // the copy did not wait for the device
}

TEST_CASE("import_copy: leaves misaligned bytes to the next way") {
    const machine running;
    host_arena host{{}, 1 << 20};
    buffer_arena memory{allot::opencl::buffer{fake::context(), fake::device()}, 1 << 16};
    const auto in = numbers(host, {128});
    const auto shifted = *allot::slice(in, {4}, {64});
    const auto there = *allot::alloc_tensor(*allot::alloc_storage(memory, 1024), 0, {64}, int32);
    const auto whole = *allot::view(in, int32, {64});
    const import_copy import{fake::queue()};
    const auto aligned = allot::copy_tensor(whole, there, import, queue_copy{fake::queue()});
    const auto misaligned = allot::copy_tensor(shifted, there, import, queue_copy{fake::queue()});
    REQUIRE((aligned && misaligned));
    CHECK(*aligned == copy_path::imported);
    CHECK(*misaligned == copy_path::to_device);
    CHECK(allot::copy_tensor(shifted, there, import).error().reason == allot::tensor_refusal::no_way);
    CHECK(fake::book().buffers == 1);  // the imported buffer is released
    fake::rule().buffers_left = 0;
    const auto refused = allot::copy_tensor(whole, there, import);
    CHECK(refused.error().reason == allot::tensor_refusal::copy_failed);
    CHECK(refused.error().memory.device_error == CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_CASE("fake OpenCL driver: refuses copies that overlap, parts without bytes, and pointers that are not mapped") {
    fake::start();
    const cl::CommandQueue queue = fake::queue();
    const cl::Buffer buffer{fake::context(), CL_MEM_READ_WRITE, 256};
    char byte = 0;
    CHECK(queue.enqueueCopyBuffer(buffer, buffer, 0, 128, 128) == CL_SUCCESS);
    CHECK(queue.enqueueCopyBuffer(buffer, buffer, 0, 127, 128) == CL_MEM_COPY_OVERLAP);
    CHECK(queue.enqueueCopyBuffer(buffer, buffer, 0, 128, 0) == CL_INVALID_VALUE);
    CHECK(queue.enqueueReadBuffer(buffer, CL_TRUE, 0, 0, &byte) == CL_INVALID_VALUE);
    CHECK(queue.enqueueWriteBuffer(buffer, CL_TRUE, 256, 0, &byte) == CL_INVALID_VALUE);
    cl_int status = CL_SUCCESS;
    void* const mapped = queue.enqueueMapBuffer(buffer, CL_TRUE, CL_MAP_READ, 64, 64, nullptr, nullptr, &status);
    REQUIRE(status == CL_SUCCESS);
    CHECK(::clEnqueueUnmapMemObject(queue(), buffer(), &byte, 0, nullptr, nullptr) == CL_INVALID_VALUE);
    CHECK(::clEnqueueUnmapMemObject(queue(), buffer(), mapped, 0, nullptr, nullptr) == CL_SUCCESS);
    CHECK(::clEnqueueUnmapMemObject(queue(), buffer(), mapped, 0, nullptr, nullptr) == CL_INVALID_VALUE);
    CHECK(fake::book().violations.size() == 3);
}
