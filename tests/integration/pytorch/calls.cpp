// The functions of liballot_pytorch.so, called as PyTorch calls them, on the fake runtime.
#include <allot_pytorch.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// The signatures of torch/csrc/cuda/CUDAPluggableAllocator.h.
using pool_id = std::pair<unsigned long long, unsigned long long>;
const std::function<void*(size_t, int, cudaStream_t)> allocate = &allot_malloc;
const std::function<void(void*, size_t, int, cudaStream_t)> deallocate = &allot_free;
const std::function<void(void*, cudaStream_t)> record_stream = &allot_record_stream;
const std::function<void(int, pool_id, std::function<bool(cudaStream_t)>)> begin_pool = &allot_begin_allocate_to_pool;
const std::function<void(int, pool_id)> end_pool = &allot_end_allocate_to_pool, release_pool = &allot_release_pool;

constexpr std::size_t mib = 1 << 20;

struct two_streams {
    two_streams() {
        REQUIRE(cudaStreamCreate(&first) == cudaSuccess);
        REQUIRE(cudaStreamCreate(&second) == cudaSuccess);
    }
    ~two_streams() {
        CHECK(cudaDeviceSynchronize() == cudaSuccess);  // they remain known to the memory, as those of PyTorch
    }
    two_streams(const two_streams&) = delete;
    two_streams& operator=(const two_streams&) = delete;
    cudaStream_t first = nullptr, second = nullptr;
};

allot_pytorch_statistics counted() {
    allot_pytorch_statistics found{};
    CHECK(allot_get_statistics(0, &found) == 0);
    return found;
}

/// A block that is filled on a stream, and then read back.
struct pattern {
    pattern(std::size_t bytes, cudaStream_t on, unsigned char value) : read(bytes), stream{on}, written{value} {
        at = allocate(bytes, 0, stream);
        REQUIRE(at != nullptr);
        enqueue();
    }
    void enqueue() {
        REQUIRE(cudaMemsetAsync(at, written, read.size(), stream) == cudaSuccess);
        REQUIRE(cudaMemcpyAsync(read.data(), at, read.size(), cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    }
    [[nodiscard]] bool is_kept() const {
        return std::all_of(read.begin(), read.end(), [&](unsigned char byte) { return byte == written; });
    }
    std::vector<unsigned char> read;
    cudaStream_t stream;
    unsigned char written;
    void* at = nullptr;
};

}  // namespace

TEST_CASE("pytorch: blocks of two streams keep their bytes") {
    const two_streams streams;
    std::mt19937 random{1};
    std::vector<pattern> all;
    all.reserve(100);
    for (unsigned i = 0; i != 100; ++i) {
        all.emplace_back(1 + random() % mib, random() % 2 == 0 ? streams.first : streams.second,
                         static_cast<unsigned char>(i));
        pattern& one = all.back();
        deallocate(one.at, one.read.size(), 0, one.stream);
    }
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(std::all_of(all.begin(), all.end(), [](const pattern& each) { return each.is_kept(); }));
    CHECK(counted().blocks == 0);
    CHECK(counted().reserved < 100 * mib / 4);
}

TEST_CASE("pytorch: a block waits for the streams that record_stream named") {
    const two_streams streams;
    pattern one{8 * mib, streams.first, 1};
    record_stream(one.at, streams.second);
    one.stream = streams.second;
    one.written = 2;
    REQUIRE(cudaStreamSynchronize(streams.first) == cudaSuccess);
    one.enqueue();
    deallocate(one.at, 8 * mib, 0, streams.first);
    std::vector<pattern> others;
    for (unsigned char i = 0; i != 12; ++i)
        others.emplace_back(2 * mib, streams.first, static_cast<unsigned char>(10 + i));
    REQUIRE(cudaStreamSynchronize(streams.first) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(one.is_kept());
    for (const pattern& each : others) {
        CHECK(each.is_kept());
        deallocate(each.at, 2 * mib, 0, streams.first);
    }
}

TEST_CASE("pytorch: a captured graph keeps its memory until PyTorch releases its pool") {
    const two_streams streams;
    const pool_id id{0, 5};
    const auto is_first = [&](cudaStream_t stream) { return stream == streams.first; };
    const std::uint64_t before = counted().reserved;
    begin_pool(0, id, is_first);
    const pattern eager{1000, streams.first, 3};  // no capture yet: not of the pool
    REQUIRE(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeGlobal) == cudaSuccess);
    pattern kept{3 * mib, streams.first, 4}, freed{mib, streams.first, 5};
    deallocate(freed.at, mib, 0, streams.first);
    pattern again{mib, streams.first, 6};
    CHECK(again.at == freed.at);
    pattern other{1000, streams.second, 7};  // another stream works beside the capture
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    REQUIRE(cudaStreamEndCapture(streams.first, &graph) == cudaSuccess);
    end_pool(0, id);
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    deallocate(again.at, mib, 0, streams.first);
    CHECK(counted().graph_pools == 1);
    CHECK(counted().graph_reserved >= 4 * mib);
    for (int i = 0; i != 3; ++i) {
        std::fill(kept.read.begin(), kept.read.end(), static_cast<unsigned char>(0));
        REQUIRE(cudaGraphLaunch(executable, streams.second) == cudaSuccess);
        pattern work{5 * mib, streams.first, 8};
        deallocate(work.at, 5 * mib, 0, streams.first);
        REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
        CHECK(kept.is_kept());
        CHECK(freed.is_kept());
        CHECK(again.is_kept());
        CHECK(work.is_kept());
    }
    release_pool(0, id);
    CHECK(counted().graph_pools == 1);  // `kept` is live
    deallocate(kept.at, 3 * mib, 0, streams.first);
    CHECK(counted().graph_pools == 0);
    deallocate(eager.at, 1000, 0, streams.first);
    deallocate(other.at, 1000, 0, streams.second);
    CHECK(counted().blocks == 0);
    CHECK(counted().reserved >= before);
    CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
}

TEST_CASE("pytorch: two graphs share a pool") {
    const two_streams streams;
    const pool_id id{0, 6};
    const auto every = [](cudaStream_t) { return true; };
    void* first = nullptr;
    for (int graphs = 0; graphs != 2; ++graphs) {
        begin_pool(0, id, every);
        REQUIRE(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeGlobal) == cudaSuccess);
        const pattern one{mib, streams.first, 1};
        deallocate(one.at, mib, 0, streams.first);
        if (graphs == 0) first = one.at;
        CHECK(one.at == first);
        cudaGraph_t graph = nullptr;
        REQUIRE(cudaStreamEndCapture(streams.first, &graph) == cudaSuccess);
        end_pool(0, id);
        CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    }
    release_pool(0, id);
    CHECK(counted().graph_pools == 1);
    release_pool(0, id);
    CHECK(counted().graph_pools == 0);
}

TEST_CASE("pytorch: a request that does not fit throws, and says why") {
    const two_streams streams;
    const std::uint64_t before = counted().refusals;
    std::string text;
    try {
        static_cast<void>(allocate(std::size_t{1} << 40, 0, streams.first));
    } catch (const std::runtime_error& error) {
        text = error.what();
    }
    CHECK(text.find("out of memory") != std::string::npos);
    CHECK(counted().refusals == before + 1);
    CHECK_THROWS_AS(static_cast<void>(allocate(1, 64, nullptr)), std::runtime_error);
    CHECK(allocate(0, 0, streams.first) == nullptr);
    deallocate(nullptr, 0, 0, streams.first);
    void* const large = allocate(8 * mib, 0, streams.second);
    const std::uint64_t held = counted().reserved;
    deallocate(large, 8 * mib, 0, streams.second);  // the stream may still use it
    allot_empty_cache();
    CHECK(counted().reserved < held);
    CHECK(allot_get_statistics(3, nullptr) == -1);
    CHECK(allot_reset_peak(3) == -1);
    std::size_t size = 0;
    void* const block = allocate(1000, 0, streams.first);
    CHECK(allot_base_allocation(static_cast<std::byte*>(block) + 999, &size) == block);
    CHECK(size == 1000);
    CHECK(allot_base_allocation(&size, &size) == nullptr);
    const std::uint64_t unfreed = counted().unfreed;
    deallocate(static_cast<std::byte*>(block) + 256, 1000, 0, streams.first);  // not the address of a block
    CHECK(counted().unfreed == unfreed + 1);
    CHECK(counted().allocated == 1000);
    deallocate(block, 1000, 0, streams.first);
}
