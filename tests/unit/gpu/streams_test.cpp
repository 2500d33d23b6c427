// Stream-ordered memory on the fake runtime. Its kernels run when the program waits for them, and fault if their memory
// is not allocated in the order of work.
#include "fake_gpu.hpp"
#include "machine.hpp"
#include "streams.hpp"

#include <allot/allot.hpp>

#include <cstring>

namespace {

using namespace allot::literals;
using tests::two_streams;
using vendor::async_memory;

}  // namespace

TEST_CASE(VENDOR ": a region is valid from acquire to release, in the order of its stream") {
    const tests::machine machine;
    const two_streams streams;
    async_memory device{streams.first};
    const auto region = device.acquire({1000, 4_KiB});
    REQUIRE(region);
    int ran = 0;
    fake_gpu::launch(streams.first, region->base, region->size, [&](std::byte* bytes) {
        std::memset(bytes, 1, 1000);
        ++ran;
    });
    device.release(*region);
    CHECK(fake_gpu::in_use(0) > 0);  // the kernel is pending
    CHECK(ran == 0);
    CHECK(gpu::stream_synchronize(streams.first) == gpu::success);
    CHECK(ran == 1);
    CHECK(fake_gpu::in_use(0) == 0);
}

TEST_CASE(VENDOR ": a copy from a region executes although the region is released after it") {
    const tests::machine machine;
    const two_streams streams;
    async_memory device{streams.first};
    const auto region = device.acquire({1000, 256});
    REQUIRE(region);
    fake_gpu::launch(streams.first, region->base, 1, [](std::byte* byte) { *byte = std::byte{42}; });
    unsigned char copied = 0;
    CHECK(gpu::memcpy_async(&copied, region->base, 1, streams.first) == gpu::success);
    device.release(*region);
    CHECK(gpu::stream_synchronize(streams.first) == gpu::success);
    CHECK(copied == 42);
}

TEST_CASE(VENDOR ": work after the release, or before the acquire on another stream, is a fault") {
    for (const bool behind : {true, false}) {
        fake_gpu::start();
        const two_streams* const streams = new two_streams;
        async_memory device{streams->first};
        const auto region = device.acquire({1000, 256});
        REQUIRE(region);
        if (behind) device.release(*region);
        const gpu::stream stream = behind ? streams->first : streams->second;
        fake_gpu::launch(stream, region->base, 1000, [](std::byte*) { FAIL("it ran"); });
        CHECK(gpu::stream_synchronize(stream) == gpu::illegal_address);
        fake_gpu::start();
        delete streams;
    }
}

TEST_CASE(VENDOR ": another stream may use a region after waiting for its stream") {
    const tests::machine machine;
    const two_streams streams;
    allot::arena<async_memory, allot::best_fit<>> memory{async_memory{streams.first}, 4_KiB};
    const auto block = memory.allocate({100, 16});
    CHECK(gpu::stream_synchronize(streams.first) == gpu::success);
    int ran = 0;
    fake_gpu::launch(streams.second, block.address, block.size, [&](std::byte*) { ++ran; });
    CHECK(gpu::stream_synchronize(streams.second) == gpu::success);
    CHECK(ran == 1);
}

TEST_CASE(VENDOR ": released memory is reused immediately on its stream, later on others") {
    const tests::machine machine;
    const two_streams streams;
    async_memory mine{streams.first}, theirs{streams.second};
    const auto before = mine.acquire({10'000, 256});
    REQUIRE(before);
    unsigned char seen = 0;
    fake_gpu::launch(streams.first, before->base, 1, [](std::byte* byte) { *byte = std::byte{42}; });
    fake_gpu::launch(streams.first, before->base, 1,
                     [&](std::byte* byte) { seen = static_cast<unsigned char>(*byte); });
    mine.release(*before);
    const auto other = theirs.acquire({10'000, 256}), again = mine.acquire({10'000, 256});
    REQUIRE((other && again));
    CHECK(other->base != before->base);
    CHECK(again->base == before->base);
    fake_gpu::launch(streams.first, again->base, 1, [](std::byte* byte) { *byte = std::byte{7}; });
    fake_gpu::launch(streams.second, other->base, 1, [](std::byte* byte) { *byte = std::byte{9}; });
    CHECK(gpu::stream_synchronize(streams.second) == gpu::success);
    CHECK(gpu::stream_synchronize(streams.first) == gpu::success);
    CHECK(seen == 42);
    mine.release(*again);
    theirs.release(*other);
}

TEST_CASE(VENDOR ": blocks of an arena are reused in the order of its stream") {
    const tests::machine machine;
    const two_streams streams;
    int sum = 0;
    {
        allot::arena<async_memory, allot::best_fit<>> memory{async_memory{streams.first}, 4_KiB};
        for (int i = 0; i != 10; ++i) {
            const auto block = memory.allocate({3000, 256});  // the same bytes, ten times
            REQUIRE(block);
            fake_gpu::launch(streams.first, block.address, block.size,
                             [i](std::byte* bytes) { std::memset(bytes, i, 3000); });
            fake_gpu::launch(streams.first, block.address, block.size,
                             [&](std::byte* bytes) { sum += static_cast<int>(bytes[2999]); });
            memory.deallocate(block);
        }
    }  // the release follows the work
    CHECK(sum == 0);
    CHECK(gpu::stream_synchronize(streams.first) == gpu::success);
    CHECK(sum == 45);
}

TEST_CASE(VENDOR ": the fake runtime refuses calls on a stream that was destroyed") {
    const tests::machine machine;
    gpu::stream gone{};
    REQUIRE(gpu::stream_create(&gone) == gpu::success);
    async_memory device{gone};
    const auto region = device.acquire({1000, 256});
    REQUIRE(region);
    CHECK(gpu::stream_destroy(gone) == gpu::success);  // its work continues
    int number = 1;
    CHECK(gpu::memcpy_async(region->base, &number, sizeof number, gone) == gpu::invalid_handle);
    CHECK(gpu::stream_synchronize(gone) == gpu::invalid_handle);
    CHECK(device.acquire({1000, 256}).error() == gpu::invalid_handle);
    device.release(*region);
    CHECK(gpu::get_last_error() == gpu::invalid_handle);  // release cannot return it
    CHECK(fake_gpu::live() == 1);
    CHECK(fake_gpu::free_device(region->base) == gpu::success);
}
