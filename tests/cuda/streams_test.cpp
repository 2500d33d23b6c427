// Memory in the order of a stream. On the fake runtime, whose kernels wait until someone waits for them, and fault when
// their memory is not there in that order.
#include "fake_cudart.hpp"
#include "machine.hpp"

#include <allot/allot.hpp>

#include <cstring>

namespace {

using namespace allot::literals;
using allot::cuda::async_memory;

/// Two streams, gone at the end.
struct two_streams {
    two_streams() {
        REQUIRE(cudaStreamCreate(&first) == cudaSuccess);
        REQUIRE(cudaStreamCreate(&second) == cudaSuccess);
    }
    ~two_streams() {
        CHECK(cudaStreamDestroy(first) == cudaSuccess);
        CHECK(cudaStreamDestroy(second) == cudaSuccess);
    }
    two_streams(const two_streams&) = delete;
    two_streams& operator=(const two_streams&) = delete;
    cudaStream_t first = nullptr, second = nullptr;
};

}  // namespace

TEST_CASE("cuda: a region lives from its acquisition to its release, in the order of its stream") {
    const tests::machine machine;
    const two_streams streams;
    async_memory device{streams.first};
    const auto region = device.acquire({1000, 4_KiB});
    REQUIRE(region);
    int ran = 0;
    fake_cuda::launch(streams.first, region->base, region->size, [&](std::byte* bytes) {
        std::memset(bytes, 1, 1000);
        ++ran;
    });
    device.release(*region);
    CHECK(fake_cuda::in_use(0) > 0);  // the kernel has not run
    CHECK(ran == 0);
    CHECK(cudaStreamSynchronize(streams.first) == cudaSuccess);
    CHECK(ran == 1);
    CHECK(fake_cuda::in_use(0) == 0);
}

TEST_CASE("cuda: work on a region behind its release is a fault, so is work before its acquisition on another stream") {
    for (const bool behind : {true, false}) {
        fake_cuda::start();
        const two_streams* const streams = new two_streams;
        async_memory device{streams->first};
        const auto region = device.acquire({1000, 256});
        REQUIRE(region);
        if (behind) device.release(*region);
        const cudaStream_t stream = behind ? streams->first : streams->second;
        fake_cuda::launch(stream, region->base, 1000, [](std::byte*) { FAIL("it ran"); });
        CHECK(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress);
        fake_cuda::start();
        delete streams;
    }
}

TEST_CASE("cuda: another stream may use a region once its own was waited for") {
    const tests::machine machine;
    const two_streams streams;
    allot::arena<async_memory, allot::best_fit<>> memory{async_memory{streams.first}, 4_KiB};
    const auto block = memory.allocate({100, 16});
    CHECK(cudaStreamSynchronize(streams.first) == cudaSuccess);
    int ran = 0;
    fake_cuda::launch(streams.second, block.address, block.size, [&](std::byte*) { ++ran; });
    CHECK(cudaStreamSynchronize(streams.second) == cudaSuccess);
    CHECK(ran == 1);
}

TEST_CASE("cuda: what was released on a stream is there for that stream at once, for others when it has happened") {
    const tests::machine machine;
    const two_streams streams;
    async_memory mine{streams.first}, theirs{streams.second};
    const auto before = mine.acquire({10'000, 256});
    REQUIRE(before);
    unsigned char seen = 0;
    fake_cuda::launch(streams.first, before->base, 1, [](std::byte* byte) { *byte = std::byte{42}; });
    fake_cuda::launch(streams.first, before->base, 1,
                      [&](std::byte* byte) { seen = static_cast<unsigned char>(*byte); });
    mine.release(*before);
    const auto other = theirs.acquire({10'000, 256}), again = mine.acquire({10'000, 256});
    REQUIRE((other && again));
    CHECK(other->base != before->base);
    CHECK(again->base == before->base);
    fake_cuda::launch(streams.first, again->base, 1, [](std::byte* byte) { *byte = std::byte{7}; });
    fake_cuda::launch(streams.second, other->base, 1, [](std::byte* byte) { *byte = std::byte{9}; });
    CHECK(cudaStreamSynchronize(streams.second) == cudaSuccess);
    CHECK(cudaStreamSynchronize(streams.first) == cudaSuccess);
    CHECK(seen == 42);
    mine.release(*again);
    theirs.release(*other);
}

TEST_CASE("cuda: blocks of an arena follow one another in the order of the arena's stream") {
    const tests::machine machine;
    const two_streams streams;
    int sum = 0;
    {
        allot::arena<async_memory, allot::best_fit<>> memory{async_memory{streams.first}, 4_KiB};
        for (int i = 0; i != 10; ++i) {
            const auto block = memory.allocate({3000, 256});  // the same bytes, ten times
            REQUIRE(block);
            fake_cuda::launch(streams.first, block.address, block.size,
                              [i](std::byte* bytes) { std::memset(bytes, i, 3000); });
            fake_cuda::launch(streams.first, block.address, block.size,
                              [&](std::byte* bytes) { sum += static_cast<int>(bytes[2999]); });
            memory.deallocate(block);
        }
    }  // the region is released behind the work
    CHECK(sum == 0);
    CHECK(cudaStreamSynchronize(streams.first) == cudaSuccess);
    CHECK(sum == 45);
}
