// Copies between every two memories of the installed OpenCL driver, contiguous and by rows: the copied bytes, and the
// reported path.
#include <allot/allot.hpp>
#include <allot/opencl/imported.hpp>
#include <allot/opencl/svm.hpp>
#include <allot/opencl/tensor.hpp>
#include <allot/tensor.hpp>

#include "../../error_of.hpp"
#include "installed.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <numeric>

namespace {

using allot::copy_path;
using allot::int32;
using allot::tensor_refusal;
using allot::opencl::import_copy;
using allot::opencl::queue_copy;
using allot::opencl::svm_copy;
using tests::opencl;

using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using buffer_arena = allot::arena<allot::opencl::buffer, allot::best_fit<>>;
using shared_arena = allot::arena<allot::opencl::coarse_svm, allot::best_fit<>>;

constexpr std::size_t count = 4 * 64;

/// A second context on the same device. The first context's queue cannot access its buffers.
struct elsewhere {
    cl::Context context{opencl().device};
    cl::CommandQueue queue{context, opencl().device};
};

/// A memory, and the tensors in it that the tests copy.
template <class Arena>
struct place {
    Arena& memory;
    host_arena& tables;
    allot::storage<Arena> storage = *allot::alloc_storage(memory, 1 << 14, 128);
    allot::storage<host_arena> table = *allot::alloc_storage(tables, 64);

    auto whole() { return *allot::alloc_tensor(storage, 1024, {4, 64}, int32); }
    auto rows() {
        return *allot::alloc_discontiguous_tensor<allot::row_offset<>>(table, 0, storage, {8192, 4096, 4352, 12288},
                                                                       {4, 64}, int32);
    }
};

/// Copies numbers in by one way, along `way`, and out by another way.
template <class From, class To, class In, class Out, class... Ways>
void check(const From& from, const To& to, copy_path expected, const In& in, const Out& out, Ways&&... ways) {
    host_arena host{{}, 1 << 16};
    const auto numbers = *allot::alloc_tensor(*allot::alloc_storage(host, 4096, 128), 0, {4, 64}, int32);
    const auto seen = *allot::alloc_tensor(*allot::alloc_storage(host, 4096, 128), 0, {4, 64}, int32);
    auto* const first = static_cast<std::int32_t*>(numbers.data());
    static int round = 0;
    std::iota(first, first + count, 1000 * ++round);
    std::memset(seen.data(), 0, seen.size_bytes());
    REQUIRE(allot::copy_tensor(numbers, from, in));
    const auto path = allot::copy_tensor(from, to, ways...);
    CAPTURE(error_of(path).what());
    REQUIRE(path);
    CHECK(*path == expected);
    REQUIRE(allot::copy_tensor(to, seen, out));
    CHECK(std::memcmp(numbers.data(), seen.data(), seen.size_bytes()) == 0);
}
/// Contiguous tensors and rows, in all combinations.
template <class From, class To, class In, class Out, class... Ways>
void check_all(place<From> from, place<To> to, copy_path expected, const In& in, const Out& out, Ways&&... ways) {
    check(from.whole(), to.whole(), expected, in, out, ways...);
    check(from.whole(), to.rows(), expected, in, out, ways...);
    check(from.rows(), to.whole(), expected, in, out, ways...);
    check(from.rows(), to.rows(), expected, in, out, ways...);
}

struct memories {
    elsewhere other;
    host_arena host{{}, 1 << 18};
    buffer_arena device{allot::opencl::buffer{opencl().context, opencl().device}, 1 << 16};
    buffer_arena foreign{allot::opencl::buffer{other.context, opencl().device}, 1 << 16};
    queue_copy queue{opencl().queue}, other_queue{other.queue};
    std::array<std::byte, 300> staging;  // smaller than the copy, and not a divisor of its size

    template <class Arena>
    place<Arena> in(Arena& arena) {
        return {arena, host};
    }
    /// The path that the installed device uses for transfers between its buffers and the host.
    copy_path transfer(copy_path otherwise) {
        cl_bool unified = CL_FALSE;
        REQUIRE(::clGetDeviceInfo(opencl().device(), CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified,
                                  nullptr) == CL_SUCCESS);
        return unified != CL_FALSE ? copy_path::mapped : otherwise;
    }
};

}  // namespace

TEST_CASE("opencl copies: between host and buffers, by a queue") {
    memories it;
    check_all(it.in(it.host), it.in(it.device), it.transfer(copy_path::to_device), it.queue, it.queue, it.queue);
    check_all(it.in(it.device), it.in(it.host), it.transfer(copy_path::from_device), it.queue, it.queue, it.queue);
    check_all(it.in(it.device), it.in(it.device), copy_path::on_device, it.queue, it.queue, it.queue);
    check_all(it.in(it.host), it.in(it.host), copy_path::host, it.queue, it.queue, it.queue);
}

TEST_CASE("opencl copies: by a device that works in the host's bytes") {
    memories it;
    const import_copy import{opencl().queue};
    check_all(it.in(it.host), it.in(it.device), copy_path::imported, it.queue, it.queue, import);
    check_all(it.in(it.device), it.in(it.host), copy_path::imported, it.queue, it.queue, import);
    CHECK(allot::copy_tensor(it.in(it.host).whole(), it.in(it.foreign).whole(), import).error().reason ==
          tensor_refusal::no_way);
}

TEST_CASE("opencl copies: between two contexts, through the host") {
    memories it;
    allot::staged_copy through{it.queue, it.other_queue, it.staging};
    check_all(it.in(it.device), it.in(it.foreign), copy_path::staged, it.queue, it.other_queue, it.queue, through);
    allot::staged_copy nowhere{it.queue, it.other_queue, std::span<std::byte>{}};
    const auto from = it.in(it.device).whole();
    const auto to = it.in(it.foreign).whole();
    CHECK(allot::copy_tensor(from, to, it.queue).error().reason == tensor_refusal::no_way);
    CHECK(allot::copy_tensor(from, to, it.queue, nowhere).error().reason == tensor_refusal::no_way);
    CHECK(allot::copy_tensor(from, to, it.other_queue, it.queue).error().reason == tensor_refusal::no_way);
}

TEST_CASE("opencl copies: imported host memory is mapped, not transferred") {
    memories it;
    const auto bytes = it.host.allocate({.size = 1 << 16, .align = 4096});
    allot::arena<allot::opencl::imported, allot::best_fit<>> imported{
        {opencl().context, opencl().device, bytes.address, bytes.size}};
    check_all(it.in(it.host), it.in(imported), copy_path::mapped, it.queue, it.queue, it.queue);
    check_all(it.in(imported), it.in(it.host), copy_path::mapped, it.queue, it.queue, it.queue);
    check_all(it.in(imported), it.in(it.device), copy_path::on_device, it.queue, it.queue, it.queue);
}

TEST_CASE("opencl copies: shared virtual memory") {
    const allot::opencl::coarse_svm shared{opencl().context, opencl().device};
    if (!shared.is_supported()) {
        MESSAGE("skipped: the device has no shared virtual memory");
        return;
    }
    memories it;
    shared_arena memory{shared, 1 << 16};
    const svm_copy copy{opencl().queue};
    check_all(it.in(it.host), it.in(memory), copy_path::to_device, copy, copy, copy);
    check_all(it.in(memory), it.in(it.host), copy_path::from_device, copy, copy, copy);
    check_all(it.in(memory), it.in(memory), copy_path::on_device, copy, copy, copy);
    // Fine-grained memory: the device copies bytes that the host can access, too.
    const allot::opencl::fine_svm fine{opencl().context, opencl().device};
    if (fine.is_supported()) {
        allot::arena<allot::opencl::fine_svm, allot::best_fit<>> fine_memory{fine, 1 << 16};
        check_all(it.in(it.host), it.in(fine_memory), copy_path::imported, copy, copy, copy);
        check_all(it.in(fine_memory), it.in(it.host), copy_path::imported, copy, copy, copy);
        check_all(it.in(fine_memory), it.in(fine_memory), copy_path::imported, copy, copy, copy);
        check_all(it.in(memory), it.in(fine_memory), copy_path::from_device, copy, copy, copy);
    }
    // Pointers on one side and buffers on the other: only the host can access both.
    check_all(it.in(memory), it.in(it.device), copy_path::staged, copy, it.queue, it.queue,
              allot::staged_copy{copy, it.queue, it.staging});
    check_all(it.in(it.foreign), it.in(memory), copy_path::staged, it.other_queue, copy,
              allot::staged_copy{it.other_queue, copy, it.staging});
}
