// Memory of captured graphs, on the fake runtime and on a GPU. Each graph copies patterns through blocks of its pool.
#include "machine.hpp"
#include "streams.hpp"

#include <allot/allot.hpp>
#include <allot/compose/graph_pool.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace {

using allot::cuda::device_memory;
using memory_type = allot::indexed_ordered<
    allot::ordered<allot::arena<device_memory, allot::best_fit<>, allot::growth::geometric<>>, allot::cuda::events>,
    std::mutex>;
using pool_type = allot::graph_pool<memory_type, allot::growth::geometric<allot::growth_options{.step = 64 * 1024}>>;

constexpr std::size_t most = 10'000, copies = 12;

/// Page-locked bytes of the host: what a graph sends and reads.
class host_bytes {
public:
    host_bytes() { REQUIRE(cudaMallocHost(&at_, 2 * copies * most) == cudaSuccess); }
    ~host_bytes() { CHECK(cudaFreeHost(at_) == cudaSuccess); }
    host_bytes(const host_bytes&) = delete;
    host_bytes& operator=(const host_bytes&) = delete;
    unsigned char* sent(std::size_t copy) { return static_cast<unsigned char*>(at_) + copy * most; }
    unsigned char* read(std::size_t copy) { return sent(copies + copy); }

private:
    void* at_ = nullptr;
};

/// A graph that sends bytes to blocks and reads them back, in one stream or in two.
class copying_graph {
public:
    copying_graph(pool_type& pool, const tests::two_streams& on, bool forks, std::mt19937& random) {
        REQUIRE(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming) == cudaSuccess);
        REQUIRE(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming) == cudaSuccess);
        pool.begin_capture();
        REQUIRE(cudaStreamBeginCapture(on.first, cudaStreamCaptureModeGlobal) == cudaSuccess);
        if (forks) {
            REQUIRE(cudaEventRecord(fork_, on.first) == cudaSuccess);
            REQUIRE(cudaStreamWaitEvent(on.second, fork_, 0) == cudaSuccess);
        }
        for (std::size_t i = 0; i != copies; ++i) {
            sizes_.push_back(1 + random() % most);
            const cudaStream_t stream = forks && random() % 2 == 0 ? on.second : on.first;
            const auto block = pool.allocate({sizes_[i], 256}, stream);
            REQUIRE(block);
            REQUIRE(cudaMemcpyAsync(block.address, host_.sent(i), sizes_[i], cudaMemcpyDefault, stream) == cudaSuccess);
            REQUIRE(cudaMemcpyAsync(host_.read(i), block.address, sizes_[i], cudaMemcpyDefault, stream) == cudaSuccess);
            if (random() % 4 != 0) CHECK(pool.deallocate(block.address, stream));
        }
        if (forks) {
            REQUIRE(cudaEventRecord(join_, on.second) == cudaSuccess);
            REQUIRE(cudaStreamWaitEvent(on.first, join_, 0) == cudaSuccess);
        }
        REQUIRE(cudaStreamEndCapture(on.first, &graph_) == cudaSuccess);
        REQUIRE(cudaGraphInstantiate(&executable_, graph_, 0) == cudaSuccess);
    }
    ~copying_graph() {
        CHECK(cudaGraphExecDestroy(executable_) == cudaSuccess);
        CHECK(cudaGraphDestroy(graph_) == cudaSuccess);
        CHECK(cudaEventDestroy(fork_) == cudaSuccess);
        CHECK(cudaEventDestroy(join_) == cudaSuccess);
    }
    copying_graph(const copying_graph&) = delete;
    copying_graph& operator=(const copying_graph&) = delete;

    void launch(cudaStream_t stream, unsigned char value) {
        value_ = value;
        for (std::size_t i = 0; i != copies; ++i)
            std::fill_n(host_.sent(i), sizes_[i], static_cast<unsigned char>(value + i));
        REQUIRE(cudaGraphLaunch(executable_, stream) == cudaSuccess);
    }
    /// Returns the number of wrong bytes of the last launch, which is done.
    std::size_t wrong() {
        std::size_t count = 0;
        for (std::size_t i = 0; i != copies; ++i)
            count += static_cast<std::size_t>(std::count_if(host_.read(i), host_.read(i) + sizes_[i],
                                                            [&](unsigned char byte) { return byte != value_ + i; }));
        return count;
    }

private:
    host_bytes host_;
    std::vector<std::size_t> sizes_;
    cudaEvent_t fork_ = nullptr, join_ = nullptr;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t executable_ = nullptr;
    unsigned char value_ = 0;
};

}  // namespace

TEST_CASE("cuda graph_pool: graphs of one pool keep their bytes beside other work") {
    for (unsigned seed = 0; seed != 6; ++seed) {
        const tests::machine machine;
        const tests::two_streams streams;
        std::mt19937 random{seed};
        memory_type memory{allot::cuda::events{0}, device_memory{0}};
        host_bytes noise;
        std::fill_n(noise.sent(0), most, static_cast<unsigned char>(255));
        const auto work = [&](cudaStream_t stream) {  // of the streams, beside the graphs
            const auto block = memory.allocate({most, 256}, stream);
            REQUIRE(block);
            REQUIRE(cudaMemcpyAsync(block.address, noise.sent(0), most, cudaMemcpyDefault, stream) == cudaSuccess);
            CHECK(memory.deallocate(block.address, stream));
        };
        work(streams.first);
        auto pool = std::make_unique<pool_type>(memory);
        {
            copying_graph one{*pool, streams, false, random};
            const std::size_t held = pool->size();
            copying_graph other{*pool, streams, true, random};
            CHECK(pool->size() <= held + copies * most);
            for (int i = 0; i != 4; ++i) {
                copying_graph& next = i % 2 == 0 ? one : other;
                const cudaStream_t stream = random() % 2 == 0 ? streams.first : streams.second;
                next.launch(stream, static_cast<unsigned char>(i * 20));
                CHECK(pool->launched(stream));
                work(streams.first);
                work(streams.second);
                REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);  // the graphs never run at once
                CHECK(next.wrong() == 0);
            }
            one.launch(streams.first, 100);
            CHECK(pool->launched(streams.first));
            pool.reset();  // the graph still runs, and other work gets its bytes behind it
            for (int i = 0; i != 20; ++i) work(streams.second);
            REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
            CHECK(one.wrong() == 0);
        }
    }
}

TEST_CASE("cuda graph_pool: memory that grows during a capture does not end it") {
    const tests::machine machine;
    const tests::two_streams streams;
    memory_type memory{allot::cuda::events{0}, device_memory{0}};
    pool_type pool{memory};
    std::mt19937 random{7};
    const auto before = memory.allocate({64 * 1024, 256}, streams.first);
    CHECK(memory.deallocate(before.address, streams.first));  // pending on the stream that captures
    const std::size_t size = memory.size();
    copying_graph one{pool, streams, true, random};
    pool.begin_capture();
    REQUIRE(cudaStreamBeginCapture(streams.first, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(pool.allocate({4 * size, 256}, streams.first));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(streams.first, &graph) == cudaSuccess);
    CHECK(cudaGraphDestroy(graph) == cudaSuccess);
    one.launch(streams.second, 1);
    REQUIRE(cudaStreamSynchronize(streams.second) == cudaSuccess);
    CHECK(one.wrong() == 0);
}
