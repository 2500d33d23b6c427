// Host bytes as OpenCL buffers, on the installed driver: the same bytes, or a reported copy.
#include <allot/allot.hpp>
#include <allot/opencl/imported.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace {

using allot::refusal;
using allot::opencl::imported;
using tests::opencl;
using tests::run;

constexpr std::size_t size = 8192;

struct alignas(4096) pages {
    std::byte bytes[size]{};
    [[nodiscard]] std::int32_t* numbers() { return reinterpret_cast<std::int32_t*>(bytes); }
};
imported import(pages& of, std::size_t skip = 0) {
    return {opencl().context, opencl().device, of.bytes + skip, size - skip};
}

cl::Kernel twice() {
    return tests::kernel(R"(
        kernel void twice(global int* base, ulong offset) { base[offset / 4 + get_global_id(0)] *= 2; })",
                         "twice");
}

/// A buffer's bytes, mapped for the host.
struct mapping {
    cl_mem of;
    void* bytes;

    mapping(cl_mem buffer, std::size_t offset, std::size_t count) : of{buffer} {
        cl_int status = CL_SUCCESS;
        bytes = ::clEnqueueMapBuffer(opencl().queue(), of, CL_TRUE, CL_MAP_READ, offset, count, 0, nullptr, nullptr,
                                     &status);
        REQUIRE(status == CL_SUCCESS);
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() {
        ::clEnqueueUnmapMemObject(opencl().queue(), of, bytes, 0, nullptr, nullptr);
        opencl().queue.finish();
    }
};

}  // namespace

TEST_CASE("opencl import: blocks are the host's bytes at the same offsets") {
    pages host;
    std::iota(host.numbers(), host.numbers() + size / 4, 0);
    allot::arena<imported, allot::best_fit<>> memory{import(host)};
    CHECK(memory.size() == size);
    const auto skipped = memory.allocate({256, 64}), block = memory.allocate({1024, 64});
    REQUIRE((skipped && block));
    REQUIRE(block.address.offset + 1024 <= size);
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, block) == CL_SUCCESS);
    run(kernel, 256);
    const mapping mapped{block.address.handle, block.address.offset, 1024};
    CHECK(mapped.bytes == host.bytes + block.address.offset);
    for (std::size_t i = 0; i != size / 4; ++i) {
        const bool inside = i * 4 >= block.address.offset && i * 4 < block.address.offset + 1024;
        REQUIRE(host.numbers()[i] == static_cast<int>(i) * (inside ? 2 : 1));
    }
}

TEST_CASE("opencl import: keeps the host's earlier writes, and allows one buffer at a time") {
    pages host;
    host.numbers()[7] = 21;
    imported device = import(host);
    const auto region = device.acquire({1, 1});
    REQUIRE(region);
    CHECK(region->size == size);
    CHECK(device.acquire({1, 1}).error() == CL_INVALID_OPERATION);
    std::int32_t seen = 0;
    REQUIRE(::clEnqueueReadBuffer(opencl().queue(), region->base.handle, CL_TRUE, 28, 4, &seen, 0, nullptr, nullptr) ==
            CL_SUCCESS);
    CHECK(seen == 21);
    device.release(*region);
    const auto again = device.acquire({size, 64});
    REQUIRE(again);
    device.release(*again);
    CHECK(host.numbers()[7] == 21);
}

TEST_CASE("opencl import: misaligned bytes and too large sizes are rejected") {
    pages host;
    for (const std::size_t skip : {1u, 4u, 16u}) {
        imported device = import(host, skip);
        CHECK(device.acquire({100, 1}).error() == CL_INVALID_HOST_PTR);
        allot::arena<imported, allot::best_fit<>> memory{import(host, skip)};
        CHECK_FALSE(memory.allocate({100, 1}));
        CHECK(memory.diagnose({100, 1}).reason == refusal::device_refused);
        CHECK(memory.diagnose({100, 1}).device_error == CL_INVALID_HOST_PTR);
    }
    imported nowhere{opencl().context, opencl().device, nullptr, size};
    CHECK(nowhere.acquire({100, 1}).error() == CL_INVALID_HOST_PTR);
    imported device = import(host);
    CHECK(device.acquire({0, 1}).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(device.acquire({size + 1, 1}).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(device.acquire({~std::size_t{0}, 1}).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(device.acquire({100, 0}).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    CHECK(device.acquire({100, 3}).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    CHECK(device.acquire({100, std::size_t{1} << 20}).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    imported empty{opencl().context, opencl().device, host.bytes, 0};
    CHECK(empty.acquire({1, 1}).error() == CL_INVALID_BUFFER_SIZE);
    const auto region = device.acquire({size, 1});  // the bytes are still available
    REQUIRE(region);
    device.release(*region);
}

TEST_CASE("opencl import: two windows at the same time") {
    pages first, second;
    allot::arena<imported, allot::best_fit<>> one{import(first)}, two{import(second)};
    const auto a = one.allocate({1024, 64}), b = two.allocate({1024, 64});
    std::fill_n(first.numbers(), size / 4, 3);
    std::fill_n(second.numbers(), size / 4, 5);
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, b) == CL_SUCCESS);
    run(kernel, 256);
    CHECK(mapping{b.address.handle, 0, size}.bytes == second.bytes);
    CHECK(std::count(first.numbers(), first.numbers() + size / 4, 3) == size / 4);
    CHECK(std::count(second.numbers(), second.numbers() + size / 4, 10) == 256);
    one.deallocate(a);
    two.deallocate(b);
}

TEST_CASE("opencl import: a host tensor is a buffer of the same bytes or a reported copy") {
    constexpr allot::arena_options whole_pages{.align = 4096};
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, whole_pages> host{{}, 4 * size};
    auto data = *allot::alloc_storage(host, 4096, 4096);
    auto a = *allot::alloc_tensor(data, 0, {4, 64}, allot::int32);
    auto b = *allot::alloc_tensor(data, 1024 + 16, {4, 64}, allot::int32, 16);
    for (const auto& each : {a, b})
        std::iota(static_cast<std::int32_t*>(each.data()), static_cast<std::int32_t*>(each.data()) + 256, 1);
    auto shared = allot::opencl::as_buffer(a, opencl().queue);
    const auto copy = allot::opencl::as_buffer(b, opencl().queue);
    REQUIRE((shared && copy));
    CHECK(shared->aliases);
    CHECK_FALSE(copy->aliases);
    auto kernel = twice();
    REQUIRE(kernel.setArg(1, cl_ulong{0}) == CL_SUCCESS);
    for (const cl::Buffer& each : {shared->buffer, copy->buffer}) {
        REQUIRE(kernel.setArg(0, each) == CL_SUCCESS);
        run(kernel, 256);
    }
    {
        const mapping same{shared->buffer(), 0, 1024}, other{copy->buffer(), 0, 1024};
        CHECK(same.bytes == a.data());
        CHECK(other.bytes != b.data());
        CHECK(static_cast<const std::int32_t*>(a.data())[255] == 512);
        CHECK(static_cast<const std::int32_t*>(b.data())[255] == 256);  // the tensor is independent
        CHECK(static_cast<const std::int32_t*>(other.bytes)[255] == 512);
    }
    const void* const where = a.data();
    a.kill();
    b.kill();
    CHECK(shared->of.data() == where);  // the view keeps the bytes alive
    CHECK(allot::alloc_tensor(data, 0, {4, 64}, allot::int32).error().reason == allot::tensor_refusal::overlapping);
    *shared = {};
    CHECK(allot::alloc_tensor(data, 0, {4, 64}, allot::int32));

    CHECK(allot::opencl::as_buffer(a, opencl().queue).error() == CL_INVALID_MEM_OBJECT);
    const auto empty = *allot::alloc_tensor(data, 0, {0}, allot::int32);
    CHECK(allot::opencl::as_buffer(empty, opencl().queue).error() == CL_INVALID_BUFFER_SIZE);
    const auto part = *allot::slice(copy->of, {0, 0}, {4, 32});
    CHECK(allot::opencl::as_buffer(part, opencl().queue).error() == CL_INVALID_VALUE);
}
