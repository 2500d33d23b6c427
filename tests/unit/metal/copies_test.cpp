// Copies between Metal buffers of every storage mode and the host, on a fake of Metal-cpp's calls.
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/metal/tensor.hpp>
#include <allot/tensor.hpp>

#include <numeric>

namespace {

using allot::copy_path;
using allot::int32;
using allot::uint8;
using allot::metal::error;
using tests::buffer;
using tests::metal_machine;
using buffer_arena = allot::arena<buffer, allot::best_fit<>>;
using host_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using queue_copy = allot::metal::queue_copy<MTL::CommandQueue>;
constexpr std::size_t room = 1 << 16;

/// A queue that is released at the end.
struct queue_of {
    explicit queue_of(MTL::Device* device) : queue{device->newCommandQueue()} {}
    ~queue_of() { queue->release(); }
    queue_of(const queue_of&) = delete;
    queue_of& operator=(const queue_of&) = delete;
    MTL::CommandQueue* queue;
};

/// A memory, and the tensors in it that the tests copy.
struct place {
    buffer_arena of;
    host_arena tables{{}, room};
    allot::storage<buffer_arena> storage = *allot::alloc_storage(of, 1 << 14, 128);
    allot::storage<host_arena> table = *allot::alloc_storage(tables, 64);

    place(MTL::Device* device, MTL::ResourceOptions options) : of{buffer{device, options}, room} {}
    auto whole() { return *allot::alloc_tensor(storage, 1024, {4, 64}, int32); }
    auto rows() {
        return *allot::alloc_discontiguous_tensor<allot::row_offset<std::uint32_t>>(
            table, 0, storage, {8192, 4096, 4352, 12288}, {4, 64}, int32);
    }
};

struct host_bytes {
    host_arena of{{}, room};
    auto numbers(std::int32_t first) {
        const auto made = *allot::alloc_tensor(*allot::alloc_storage(of, 1024), 0, {4, 64}, int32);
        std::iota(static_cast<std::int32_t*>(made.data()), static_cast<std::int32_t*>(made.data()) + 256, first);
        return made;
    }
};

}  // namespace

TEST_CASE("metal copies: host, every two storage modes and back, contiguous and by rows") {
    const metal_machine machine;
    const queue_of on{machine.device};
    const queue_copy copy{on.queue};
    constexpr MTL::ResourceOptions modes[] = {MTL::ResourceStorageModeShared, MTL::ResourceStorageModeManaged,
                                              MTL::ResourceStorageModePrivate};
    std::int32_t round = 0;
    const auto check = [&](const auto& from, const auto& to, copy_path in, copy_path out) {
        host_bytes host;
        const auto numbers = host.numbers(1000 * ++round), seen = host.numbers(0);
        const auto first = allot::copy_tensor(numbers, from, copy);
        REQUIRE(first);
        CHECK(*first == in);
        const auto second = allot::copy_tensor(from, to, copy);
        REQUIRE(second);
        CHECK(*second == copy_path::on_device);
        const auto third = allot::copy_tensor(to, seen, copy);
        REQUIRE(third);
        CHECK(*third == out);
        CHECK(std::memcmp(numbers.data(), seen.data(), seen.size_bytes()) == 0);
    };
    for (const MTL::ResourceOptions of_from : modes) {
        for (const MTL::ResourceOptions of_to : modes) {
            place from{machine.device, of_from}, to{machine.device, of_to};
            const copy_path in = of_from == MTL::ResourceStorageModeShared ? copy_path::mapped : copy_path::to_device;
            const copy_path out = of_to == MTL::ResourceStorageModeShared ? copy_path::mapped : copy_path::from_device;
            check(from.whole(), to.whole(), in, out);
            check(from.whole(), to.rows(), in, out);
            check(from.rows(), to.whole(), in, out);
            check(from.rows(), to.rows(), in, out);
        }
    }
}

TEST_CASE("metal copies: those between buffers stay pending, those with the host are complete") {
    const metal_machine machine;
    const queue_of on{machine.device};
    const queue_copy copy{on.queue};
    place from{machine.device, MTL::ResourceStorageModePrivate}, to{machine.device, MTL::ResourceStorageModeShared};
    host_bytes host;
    const auto numbers = host.numbers(7), seen = host.numbers(0);
    const auto a = from.whole(), b = to.whole();
    REQUIRE(allot::copy_tensor(numbers, a, copy));
    std::memset(numbers.data(), 0, numbers.size_bytes());  // the host's bytes may be reused
    REQUIRE(allot::copy_tensor(a, b, copy));
    CHECK(on.queue->waiting.size() == 2);
    CHECK(*static_cast<std::int32_t*>(allot::metal::contents(b)) == 0);
    REQUIRE(allot::copy_tensor(b, seen, copy));
    CHECK(on.queue->waiting.empty());
    CHECK(*static_cast<std::int32_t*>(seen.data()) == 7);
}

TEST_CASE("metal copies: ranges unsuitable for a blit go to the host or the next way") {
    const metal_machine machine;
    const queue_of on{machine.device};
    const queue_copy copy{on.queue};
    host_arena host{{}, room};
    const auto numbers = *allot::alloc_tensor(*allot::alloc_storage(host, 1024), 0, {7}, uint8);
    std::memset(numbers.data(), 9, 7);
    const auto odd = [](buffer_arena& memory) {
        return *allot::alloc_tensor(*allot::alloc_storage(memory, 1024, 1), 1, {7}, uint8);
    };
    buffer_arena hidden{buffer{machine.device, MTL::ResourceStorageModePrivate}, room};
    buffer_arena shared{buffer{machine.device}, room};
    const auto there = odd(hidden), one = odd(shared), other = odd(shared);
    CHECK(allot::copy_tensor(numbers, there, copy).error().reason == allot::tensor_refusal::no_way);
    CHECK(allot::copy_tensor(there, one, copy).error().reason == allot::tensor_refusal::no_way);
    REQUIRE(allot::copy_tensor(numbers, one, copy));
    const auto path = allot::copy_tensor(one, other, copy);
    REQUIRE(path);
    CHECK(*path == copy_path::mapped);
    CHECK(static_cast<unsigned char*>(allot::metal::contents(other))[6] == 9);
}

TEST_CASE("metal copies: a failure has a code and leaves nothing behind") {
    const metal_machine machine{{.memory = 64 * 1024}};
    const queue_of on{machine.device};
    const queue_copy copy{on.queue};
    place all{machine.device, MTL::ResourceStorageModePrivate};
    host_bytes host;
    const auto numbers = host.numbers(1);
    const auto there = all.whole();
    const auto refused = allot::copy_tensor(numbers, there, copy);  // no memory for the staging buffer
    CHECK(refused.error().reason == allot::tensor_refusal::copy_failed);
    CHECK(refused.error().memory.device_error == static_cast<long>(error::no_memory));

    stand_in::here().settings.memory = 128 * 1024;
    REQUIRE(allot::copy_tensor(numbers, there, copy));
    on.queue->run_to(nullptr);
    stand_in::here().failing = 1;
    const auto lost = allot::copy_tensor(there, numbers, copy);
    CHECK(lost.error().reason == allot::tensor_refusal::copy_failed);
    CHECK(lost.error().memory.device_error == static_cast<long>(error::not_executed));
    CHECK(allot::copy_tensor(there, numbers, copy));
}

TEST_CASE("metal copies: buffers of another device go to the next way") {
    const metal_machine machine;
    MTL::Device* const second = MTL::CreateSystemDefaultDevice();
    {
        const queue_of on{second};
        place here{machine.device, MTL::ResourceStorageModeShared};
        host_bytes host;
        const auto refused = allot::copy_tensor(host.numbers(1), here.whole(), queue_copy{on.queue});
        CHECK(refused.error().reason == allot::tensor_refusal::no_way);
    }
    second->release();
}
