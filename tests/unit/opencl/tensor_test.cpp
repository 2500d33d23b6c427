// Tensors on the installed OpenCL driver: kernels that take an offset, sub-buffers where the device allows them, and
// reported copies elsewhere.
#include <allot/allot.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

namespace {

using allot::int32;
using allot::refusal;
using allot::tensor_refusal;
using allot::opencl::queue_copy;
using tests::opencl;

using buffer_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

constexpr const char* source = R"(
__kernel void add(__global const int* a, ulong a_bytes, __global const int* b, ulong b_bytes,
                  __global int* c, ulong c_bytes) {
    size_t i = get_global_id(0);
    c[c_bytes / 4 + i] = a[a_bytes / 4 + i] + b[b_bytes / 4 + i];
}
__kernel void twice(__global int* base, ulong element_offset) { base[element_offset + get_global_id(0)] *= 2; }
__kernel void twice_in_factors(__global int4* base, ulong factors) { base[factors + get_global_id(0)] *= 2; }
__kernel void twice_without_offset(__global int* base) { base[get_global_id(0)] *= 2; }
__kernel void twice_in_rows(__global int* base, ulong origin, __global const uint* table) {
    base[(origin + table[get_global_id(0)]) / 4 + get_global_id(1)] *= 2;
}
)";

cl::Kernel kernel(const char* name) { return tests::kernel(source, name); }
/// Does not wait: a later read follows in the queue.
void run(const cl::Kernel& kernel, const cl::NDRange& range) {
    REQUIRE(opencl().queue.enqueueNDRangeKernel(kernel, cl::NullRange, range) == CL_SUCCESS);
}

/// The device's base alignment in bytes.
std::int64_t base_align() { return opencl().device.getInfo<CL_DEVICE_MEM_BASE_ADDR_ALIGN>() / 8; }

struct memories {
    buffer_arena device{allot::opencl::buffer{opencl().context, opencl().device}, 1 << 20};
    host_arena host{{}, 1 << 20};
    allot::storage<host_arena> io = *allot::alloc_storage(host, 1 << 18);
    allot::storage<buffer_arena> skipped = *allot::alloc_storage(device, 4096, 16);
    allot::storage<buffer_arena> data = *allot::alloc_storage(device, 65536, 16);
    queue_copy copy{opencl().queue};

    auto numbers(std::int32_t from, allot::shape shape = {4, 64}) {
        auto fresh = *allot::alloc_tensor(io, allot::anywhere, shape, int32);
        auto* const first = static_cast<std::int32_t*>(fresh.data());
        std::iota(first, first + fresh.size(), from);
        return fresh;
    }
    template <class Tensor>
    void fill(const Tensor& to, std::int32_t from) {
        REQUIRE(allot::copy_tensor(numbers(from, to.shape()), to, copy));
    }
    template <class Tensor>
    std::vector<std::int32_t> read(const Tensor& from) {
        const auto onto = numbers(0, from.shape());
        REQUIRE(allot::copy_tensor(from, onto, copy));
        const auto* const first = static_cast<const std::int32_t*>(onto.data());
        return {first, first + onto.size()};
    }
};

/// Sub-buffers of a large buffer, as a driver's suballocator returns them.
struct windows : allot::traits_of<allot::opencl::buffer> {
    using error = cl_int;
    cl::Buffer whole{opencl().context, CL_MEM_READ_WRITE, std::size_t{1} << 20};

    allot::acquired<windows> acquire(allot::layout wanted) noexcept {
        cl_int status = CL_SUCCESS;
        const cl_buffer_region where{0, wanted.size};
        const cl_mem made = ::clCreateSubBuffer(whole(), 0, CL_BUFFER_CREATE_TYPE_REGION, &where, &status);
        if (status != CL_SUCCESS) return allot::acquired<windows>::failure(status);
        return allot::region<address_model::address>{{made, 0}, wanted.size, static_cast<std::size_t>(base_align())};
    }
    void release(allot::region<address_model::address> held) noexcept { ::clReleaseMemObject(held.base.handle); }
};

/// Buffers of at most 8192 bytes, for kernels that take a buffer without an offset.
struct whole_buffers : allot::traits_of<allot::opencl::buffer> {
    using error = cl_int;
    static constexpr auto offsets = allot::offset_use::none;
    allot::opencl::buffer device{opencl().context, opencl().device};
    int out = 0;

    allot::acquired<whole_buffers> acquire(allot::layout wanted) noexcept {
        if (wanted.size > 8192) return allot::acquired<whole_buffers>::failure(CL_INVALID_BUFFER_SIZE);
        ++out;
        return *device.acquire(wanted);
    }
    void release(allot::region<address_model::address> held) noexcept {
        --out;
        device.release(held);
    }
};

}  // namespace

TEST_CASE("opencl tensors: a kernel with offset parameters adds tensors of one cl_mem") {
    memories it;
    const auto a = *allot::alloc_tensor(it.data, 1024, {4, 64}, int32);
    const auto b = *allot::alloc_tensor(it.data, 2064, {4, 64}, int32);
    const auto c = *allot::alloc_tensor(it.data, allot::anywhere, {4, 64}, int32);
    CHECK(a.data() == it.skipped.base().handle);
    CHECK(a.byte_offset() == it.data.base().offset + 1024);
    CHECK(it.data.base().offset >= 4096);
    it.fill(a, 5);
    it.fill(b, 1000);
    auto add = kernel("add");
    CHECK(allot::opencl::set_arg(add, 0, a) == CL_SUCCESS);
    CHECK(allot::opencl::set_arg(add, 2, b) == CL_SUCCESS);
    CHECK(allot::opencl::set_arg(add, 4, c) == CL_SUCCESS);
    run(add, cl::NDRange{256});
    const auto sums = it.read(c);
    for (int i = 0; i != 256; ++i) REQUIRE(sums[static_cast<std::size_t>(i)] == 1005 + 2 * i);
}

TEST_CASE("opencl tensors: kernels take an element offset, in elements and in factors") {
    memories it;
    const auto a = *allot::alloc_tensor(it.data, 2064, {4, 64}, int32);
    it.fill(a, 0);
    const cl_mem handle = a.data();
    auto by_element = kernel("twice"), by_factor = kernel("twice_in_factors");
    const auto offset = *allot::kernel_offset_of(a, 4);
    CHECK_FALSE(offset.is_zero);
    CHECK(by_element.setArg(0, sizeof handle, &handle) == CL_SUCCESS);
    CHECK(by_element.setArg(1, static_cast<cl_ulong>(offset.elements)) == CL_SUCCESS);
    run(by_element, cl::NDRange{256});
    CHECK(by_factor.setArg(0, sizeof handle, &handle) == CL_SUCCESS);
    CHECK(by_factor.setArg(1, static_cast<cl_ulong>(offset.factors)) == CL_SUCCESS);
    run(by_factor, cl::NDRange{64});
    const auto numbers = it.read(a);
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[static_cast<std::size_t>(i)] == 4 * i);
    CHECK(allot::kernel_offset_of(a, 8).error().reason == tensor_refusal::not_divisible);
}

TEST_CASE("opencl tensors: a table in one buffer names rows of another") {
    memories it;
    const auto table = *allot::alloc_storage(it.host, 64);
    const auto a = *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 0, it.data, {768, 256, 2304, 3072},
                                                                           {4, 64}, int32);
    it.fill(a, 0);
    // Entries count from the start of the storage. The kernel reads a copy of the table.
    const auto entries = a.table();
    cl_int status = CL_SUCCESS;
    const cl::Buffer on_device{opencl().context, CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY,
                               entries.size() * sizeof *entries.entries, const_cast<std::uint32_t*>(entries.entries),
                               &status};
    REQUIRE(status == CL_SUCCESS);
    auto rows = kernel("twice_in_rows");
    CHECK(allot::opencl::set_arg(rows, 0, entries.origin) == CL_SUCCESS);
    CHECK(rows.setArg(2, on_device) == CL_SUCCESS);
    run(rows, cl::NDRange{4, 64});
    const auto numbers = it.read(a);
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[static_cast<std::size_t>(i)] == 2 * i);
}

TEST_CASE("opencl sub_buffer: has the tensor's bytes and keeps them alive") {
    memories it;
    auto data = *allot::alloc_storage(it.device, 8192, static_cast<std::size_t>(base_align()));
    auto a = *allot::alloc_tensor(data, base_align(), {4, 64}, int32);
    it.fill(a, 0);
    auto alone = allot::opencl::sub_buffer(a, opencl().device);
    REQUIRE(alone);
    CHECK(alone->aliases);
    auto twice = kernel("twice_without_offset");
    CHECK(twice.setArg(0, alone->buffer) == CL_SUCCESS);
    run(twice, cl::NDRange{256});
    const auto numbers = it.read(a);
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[static_cast<std::size_t>(i)] == 2 * i);

    a.kill();
    data.kill();
    const auto taken = allot::alloc_storage(it.device, (1 << 20) - 4096 - 65536 - 4096);
    CHECK_FALSE(taken);  // the view keeps the storage alive
    CHECK(it.read(alone->of)[255] == 510);
}

TEST_CASE("opencl sub_buffer: an impossible one fails with a code or becomes a reported copy") {
    memories it;
    const auto a = *allot::alloc_tensor(it.data, 16, {4, 64}, int32);
    REQUIRE(static_cast<std::int64_t>(a.byte_offset()) % base_align() != 0);
    it.fill(a, 0);
    CHECK(allot::opencl::sub_buffer(a, opencl().device).error() == CL_MISALIGNED_SUB_BUFFER_OFFSET);
    const auto copy = allot::opencl::as_buffer(a, opencl().queue);
    REQUIRE(copy);
    CHECK_FALSE(copy->aliases);
    auto twice = kernel("twice_without_offset");
    CHECK(twice.setArg(0, copy->buffer) == CL_SUCCESS);
    run(twice, cl::NDRange{256});
    CHECK(it.read(a)[255] == 255);  // the tensor is independent
    std::vector<std::int32_t> numbers(256);
    REQUIRE(opencl().queue.enqueueReadBuffer(copy->buffer, CL_TRUE, 0, 1024, numbers.data()) == CL_SUCCESS);
    CHECK(numbers[255] == 510);

    const auto empty = *allot::alloc_tensor(it.data, 0, {0}, int32);
    CHECK(allot::opencl::sub_buffer(empty, opencl().device).error() == CL_INVALID_BUFFER_SIZE);
    CHECK(allot::opencl::as_buffer(empty, opencl().queue).error() == CL_INVALID_BUFFER_SIZE);
    auto killed = a;
    killed.kill();
    CHECK(allot::opencl::as_buffer(killed, opencl().queue).error() == CL_INVALID_MEM_OBJECT);
    const auto part = *allot::slice(a, {0, 0}, {4, 32});
    CHECK(allot::opencl::as_buffer(part, opencl().queue).error() == CL_INVALID_VALUE);
}

TEST_CASE("opencl as_buffer: makes a copy inside a sub-buffer") {
    memories it;
    allot::arena<windows, allot::best_fit<>> inner{windows{}, 65536};
    const auto data = *allot::alloc_storage(inner, 4096);
    const auto a = *allot::alloc_tensor(data, 0, {4, 64}, int32);
    it.fill(a, 3);
    CHECK(allot::opencl::sub_buffer(a, opencl().device).error() == CL_INVALID_MEM_OBJECT);
    const auto copy = allot::opencl::as_buffer(a, opencl().queue);
    REQUIRE(copy);
    CHECK_FALSE(copy->aliases);
}

TEST_CASE("opencl buffers: one per tensor for kernels without offsets, all or none") {
    allot::naive<whole_buffers> memory;
    const auto data = *allot::alloc_storage(memory, 65536);
    const std::vector<allot::tensor_request<>> wanted{
        {0, {2048}, int32}, {8192, {2048}, int32}, {16384, {2049}, int32}};
    std::vector<allot::tensor_in<std::remove_const_t<decltype(data)>>> fresh(3);
    const auto error = allot::alloc_tensors(data, std::span{wanted}, std::span{fresh});
    CHECK(error.row == 2);
    CHECK(error.memory.device_error == CL_INVALID_BUFFER_SIZE);
    CHECK(memory.device().out == 0);
    REQUIRE(allot::alloc_tensors(data, std::span{wanted}.first(2), std::span{fresh}.first(2)).reason ==
            tensor_refusal::none);
    CHECK(memory.device().out == 2);
    memories it;
    it.fill(fresh[0], 0);
    it.fill(fresh[1], 5000);
    auto twice = kernel("twice_without_offset");
    const cl_mem second = fresh[1].data();
    CHECK(twice.setArg(0, sizeof second, &second) == CL_SUCCESS);
    run(twice, cl::NDRange{2048});
    CHECK(it.read(fresh[1])[2047] == 2 * 7047);
    CHECK(it.read(fresh[0])[2047] == 2047);
}
