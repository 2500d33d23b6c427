// Copies between two devices, and copies that fail, on the fake runtime. It has two devices and fails on request.
#include "fake_gpu.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>
#include <allot/tensor.hpp>

#include <cstring>

namespace {

using allot::copy_path;
using allot::uint8;
using vendor::device_memory;
using vendor::stream_copy;
using arena = allot::arena<device_memory, allot::best_fit<>>;

auto bytes_of(arena& memory) { return *allot::alloc_tensor(*allot::alloc_storage(memory, 4096), 0, {4096}, uint8); }

}  // namespace

TEST_CASE(VENDOR " copies: between devices, direct with peer access and staged without") {
    for (const bool peers : {true, false}) {
        const tests::machine machine;
        fake_gpu::start({.peers = peers});
        arena first{device_memory{0}, 1 << 16}, second{device_memory{1}, 1 << 16};
        const auto from = bytes_of(first);
        const auto to = bytes_of(second);
        REQUIRE(gpu::memset(from.data(), 5, 4096) == gpu::success);
        const auto path = allot::copy_tensor(from, to, stream_copy{});
        REQUIRE(path);
        CHECK(*path == (peers ? copy_path::peer : copy_path::staged));
        unsigned char seen = 0;
        REQUIRE(gpu::memcpy(&seen, allot::raw_pointer::locate(to.data(), 4095), 1) == gpu::success);
        CHECK(seen == 5);
    }
}

TEST_CASE(VENDOR " copies: those between devices stay pending, those with the host are complete") {
    const tests::machine machine;
    gpu::stream stream = nullptr;
    REQUIRE(gpu::stream_create(&stream) == gpu::success);
    {
        arena memory{device_memory{0}, 1 << 16};
        const auto a = bytes_of(memory), b = bytes_of(memory);
        bool seen = false;
        fake_gpu::launch(stream, a.data(), 4096, [&](std::byte* data) {
            std::memset(data, 9, 4096);
            seen = true;
        });
        REQUIRE(allot::copy_tensor(a, b, stream_copy{stream}));
        CHECK(!seen);  // the copy follows the kernel, and the program did not wait
        allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 1 << 16};
        const auto out = *allot::alloc_tensor(*allot::alloc_storage(host, 4096), 0, {4096}, uint8);
        REQUIRE(allot::copy_tensor(b, out, stream_copy{stream}));
        CHECK(seen);
        CHECK(static_cast<unsigned char*>(out.data())[4095] == 9);
    }
    REQUIRE(gpu::stream_destroy(stream) == gpu::success);
}

TEST_CASE(VENDOR " copies: a failure returns the runtime's code and clears the last error") {
    const tests::machine machine;
    arena memory{device_memory{0}, 1 << 16};
    allot::arena<allot::host::heap, allot::best_fit<>> host{{}, 1 << 16};
    const auto there = bytes_of(memory);
    const auto here = *allot::alloc_tensor(*allot::alloc_storage(host, 4096), 0, {4096}, uint8);
    fake_gpu::refuse_next(gpu::launch_out_of_resources);
    const auto refused = allot::copy_tensor(here, there, stream_copy{});
    CHECK(refused.error().reason == allot::tensor_refusal::copy_failed);
    CHECK(refused.error().memory.device_error == gpu::launch_out_of_resources);
    CHECK(gpu::peek_at_last_error() == gpu::success);
    CHECK(allot::copy_tensor(here, there, stream_copy{}));
}
