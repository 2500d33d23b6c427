// Shared virtual memory on the installed OpenCL driver: pointers as kernel arguments, fine and coarse.
#include <allot/allot.hpp>
#include <allot/opencl/svm.hpp>
#include <allot/tensor.hpp>

#include "installed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::opencl::coarse_svm;
using allot::opencl::fine_svm;
using tests::opencl;
using tests::run;

using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

constexpr std::size_t room = 64_KiB;  // the size of every arena here

/// The device. Without it, returns nothing and prints a line.
template <class Device>
bool is_missing() {
    if (Device{opencl().context, opencl().device}.is_supported()) return false;
    std::puts("skipped: the OpenCL device has no shared virtual memory of this grain");
    return true;
}

cl::Kernel twice() {
    return tests::kernel("kernel void twice(global int* at) { at[get_global_id(0)] *= 2; }", "twice");
}

}  // namespace

static_assert(fine_svm::host_accessible && !coarse_svm::host_accessible);
static_assert(allot::arena<fine_svm, allot::best_fit<>>::host_accessible);

TEST_CASE("opencl svm, fine: host and kernel use the same addresses; records are in band") {
    if (is_missing<fine_svm>()) return;
    allot::arena<fine_svm, allot::best_fit<>> memory{{opencl().context, opencl().device}, room};
    const auto before = memory.allocate({1000, 64}), block = memory.allocate({1024, 64}),
               after = memory.allocate({1000, 64});
    REQUIRE((before && block && after));
    CHECK(allot::raw_pointer::position(block.address) % 64 == 0);
    std::fill_n(static_cast<unsigned char*>(before.address), 1000, 0xEE);
    std::fill_n(static_cast<unsigned char*>(after.address), 1000, 0xEE);
    auto* const numbers = static_cast<std::int32_t*>(block.address);
    std::iota(numbers, numbers + 256, 0);
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, block) == CL_SUCCESS);
    run(kernel, 256);
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[i] == 2 * i);
    for (const auto& neighbour : {before, after})
        REQUIRE(std::count(static_cast<unsigned char*>(neighbour.address),
                           static_cast<unsigned char*>(neighbour.address) + 1000, 0xEE) == 1000);
    memory.deallocate(block);
    memory.deallocate(before);
    memory.deallocate(after);
    CHECK(memory.allocate({60'000, 64}));
}

TEST_CASE("opencl svm, fine: tensors are pointers without an offset; the host copies them") {
    if (is_missing<fine_svm>()) return;
    allot::arena<fine_svm, allot::best_fit<>> memory{{opencl().context, opencl().device}, room};
    host_arena host{{}, room};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto io = *allot::alloc_storage(host, 4096);
    const auto a = *allot::alloc_tensor(data, 1024, {4, 64}, allot::int32);
    const auto b = *allot::alloc_tensor(io, 0, {4, 64}, allot::int32);
    CHECK(a.byte_offset() == 0);
    CHECK(a.data() == static_cast<std::byte*>(data.base()) + 1024);
    std::iota(static_cast<std::int32_t*>(b.data()), static_cast<std::int32_t*>(b.data()) + 256, 7);
    REQUIRE(allot::copy_tensor(b, a));
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, *allot::slice(a, {1, 0}, {3, 64})) == CL_SUCCESS);
    run(kernel, 192);
    const auto* const numbers = static_cast<const std::int32_t*>(a.data());
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[i] == (i < 64 ? 1 : 2) * (i + 7));
}

TEST_CASE("opencl svm, coarse: the host accesses the bytes between map and unmap") {
    if (is_missing<coarse_svm>()) return;
    allot::arena<coarse_svm, allot::best_fit<>> memory{{opencl().context, opencl().device}, room};
    const auto block = memory.allocate({1024, 64});
    REQUIRE(block);
    {
        const auto mapped = allot::opencl::map(opencl().queue, block, CL_MAP_WRITE);
        REQUIRE(mapped);
        REQUIRE(mapped->bytes().size() == 1024);
        CHECK(mapped->bytes().data() == block.address);
        auto* const numbers = reinterpret_cast<std::int32_t*>(mapped->bytes().data());
        std::iota(numbers, numbers + 256, 0);
    }
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, block) == CL_SUCCESS);
    run(kernel, 256);
    auto mapped = allot::opencl::map(opencl().queue, block, CL_MAP_READ);
    REQUIRE(mapped);
    auto moved = *std::move(mapped);
    CHECK(mapped->bytes().empty());
    const auto* const numbers = reinterpret_cast<const std::int32_t*>(moved.bytes().data());
    for (int i = 0; i != 256; ++i) REQUIRE(numbers[i] == 2 * i);
    CHECK(moved.unmap() == CL_SUCCESS);
    CHECK(moved.bytes().empty());
    CHECK(moved.unmap() == CL_SUCCESS);  // a second call does nothing
    CHECK(allot::opencl::map(opencl().queue, block.address, 0).error() == CL_INVALID_VALUE);
}

TEST_CASE("opencl svm, coarse: the queue copies tensors") {
    if (is_missing<coarse_svm>()) return;
    allot::arena<coarse_svm, allot::best_fit<>> memory{{opencl().context, opencl().device}, room};
    host_arena host{{}, room};
    const auto data = *allot::alloc_storage(memory, 4096, 64);
    const auto io = *allot::alloc_storage(host, 4096, 64);
    const auto from = *allot::alloc_tensor(io, 0, {256}, allot::int32);
    const auto to = *allot::alloc_tensor(io, 1024, {256}, allot::int32);
    const auto a = *allot::alloc_tensor(data, 256, {4, 64}, allot::int32);
    std::iota(static_cast<std::int32_t*>(from.data()), static_cast<std::int32_t*>(from.data()) + 256, 5);
    const allot::opencl::svm_copy copy{opencl().queue};
    REQUIRE(allot::copy_tensor(from, a, copy));
    auto kernel = twice();
    REQUIRE(allot::opencl::set_arg(kernel, 0, a) == CL_SUCCESS);
    run(kernel, 256);
    REQUIRE(allot::copy_tensor(a, to, copy));
    for (int i = 0; i != 256; ++i) REQUIRE(static_cast<const std::int32_t*>(to.data())[i] == 2 * (i + 5));
}

TEST_CASE_TEMPLATE("opencl svm: unsupported requests fail with a code", Device, coarse_svm, fine_svm) {
    if (is_missing<Device>()) return;
    Device device{opencl().context, opencl().device};
    const cl_ulong largest = opencl().device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
    for (const cl_ulong size : {cl_ulong{0}, largest + 1, ~cl_ulong{0}})
        CHECK(device.acquire({static_cast<std::size_t>(size), 64}).error() == CL_INVALID_BUFFER_SIZE);
    for (const std::size_t align : {std::size_t{0}, std::size_t{3}, std::size_t{1} << 40})
        CHECK(device.acquire({1000, align}).error() == CL_INVALID_VALUE);
    for (std::size_t align = 1; align <= 65536; align *= 2) {
        const auto answer = device.acquire({1000, align});
        if (align <= Device::min_align) REQUIRE(answer);
        if (answer) {
            CHECK(answer->align >= align);
            CHECK(allot::raw_pointer::position(answer->base) % answer->align == 0);
            device.release(*answer);
        } else {
            CHECK(answer.error() == (align > 128 ? CL_INVALID_VALUE : CL_MEM_OBJECT_ALLOCATION_FAILURE));
        }
    }

    allot::arena<Device, allot::best_fit<>> memory{{opencl().context, opencl().device},
                                                   static_cast<std::size_t>(largest + 1)};
    CHECK_FALSE(memory.allocate({1, 1}));
    CHECK(memory.diagnose({1, 1}).reason == refusal::device_refused);
    CHECK(memory.diagnose({1, 1}).device_error == CL_INVALID_BUFFER_SIZE);
    // A region supports greater alignments than the driver, because addresses are plain pointers.
    allot::arena<Device, allot::best_fit<>> pages{{opencl().context, opencl().device}, room};
    const auto page = pages.allocate({100, 4096});
    REQUIRE(page);
    CHECK(allot::raw_pointer::position(page.address) % 4096 == 0);
}

TEST_CASE("opencl svm: without support, requests fail without a driver call") {
    fine_svm none{opencl().context, cl::Device{}};  // no device: reports no support
    CHECK_FALSE(none.is_supported());
    CHECK(none.acquire({1000, 64}).error() == CL_INVALID_OPERATION);
    allot::arena<fine_svm, allot::best_fit<>> memory{fine_svm{opencl().context, cl::Device{}}, room};
    CHECK_FALSE(memory.allocate({1, 1}));
    CHECK(memory.diagnose({1, 1}).device_error == CL_INVALID_OPERATION);
}
