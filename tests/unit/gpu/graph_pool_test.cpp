// Memory of captured graphs on the fake runtime: kernels run late, and the test selects which.
#include "fake_gpu.hpp"
#include "machine.hpp"
#include "streams.hpp"

#include <allot/allot.hpp>
#include <allot/compose/graph_pool.hpp>

#include <algorithm>
#include <memory>
#include <random>

namespace {

using growing_arena = allot::arena<vendor::device_memory, allot::best_fit<>,
                                   allot::growth::fixed<allot::growth_options{.step = 64 * 1024}>>;
using memory_type = allot::indexed_ordered<allot::ordered<growing_arena, vendor::events>>;
using pool_type = allot::graph_pool<memory_type, allot::growth::fixed<allot::growth_options{.step = 8 * 1024}>>;

/// Enqueues a kernel that writes one value, and then one that counts the bytes which differ from it.
template <class Block>
void write_and_check(gpu::stream stream, const Block& block, int value, int& wrong) {
    const auto byte = static_cast<std::byte>(value);
    const std::size_t size = block.size;
    fake_gpu::launch(stream, block.address, size, [=](std::byte* bytes) { std::fill_n(bytes, size, byte); });
    fake_gpu::launch(stream, block.address, size, [=, &wrong](const std::byte* bytes) {
        wrong += static_cast<int>(std::count_if(bytes, bytes + size, [=](std::byte each) { return each != byte; }));
    });
}

/// Captures graphs, launches them beside other work, and ends their pool while one runs. Returns the wrong bytes.
int wrong_bytes(unsigned seed, bool tells) {
    const tests::machine machine;
    const tests::two_streams streams;
    std::mt19937 random{seed};
    int wrong = 0;
    memory_type memory{{}, vendor::device_memory{0}};
    const auto work = [&](gpu::stream stream) {
        const auto block = memory.allocate({1 + random() % 12'000, 256}, stream);
        REQUIRE(block);
        write_and_check(stream, block, 200, wrong);
        CHECK(memory.deallocate(block.address, stream));
    };
    auto pool = std::make_unique<pool_type>(memory);
    fake_gpu::graph_work* graphs[2]{};
    for (fake_gpu::graph_work*& graph : graphs) {
        work(streams.first);
        pool->begin_capture();
        REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
        for (int i = 0; i != 20; ++i) {
            const auto block = pool->allocate({1 + random() % 5000, 256}, streams.first);
            REQUIRE(block);
            write_and_check(streams.first, block, i, wrong);
            if (random() % 5 != 0) CHECK(pool->deallocate(block.address, streams.first));
            work(streams.second);
            fake_gpu::step(streams.second);
        }
        REQUIRE(fake_gpu::end_capture(streams.first, &graph) == gpu::success);
    }
    for (int i = 0; i != 4; ++i) {
        const gpu::stream stream = random() % 2 == 0 ? streams.first : streams.second;
        REQUIRE(fake_gpu::launch_graph(graphs[i % 2], stream) == gpu::success);
        if (tells) CHECK(pool->launched(stream));
        if (i == 3) pool.reset();  // the graph still runs
        for (int step = 0; step != 10; ++step) {
            work(streams.first);
            work(streams.second);
            fake_gpu::step(random() % 2 == 0 ? streams.first : streams.second);
        }
        CHECK(gpu::device_synchronize() == gpu::success);  // the graphs never run at once
    }
    for (fake_gpu::graph_work* const graph : graphs) CHECK(fake_gpu::destroy_graph(graph) == gpu::success);
    return wrong;
}

}  // namespace

TEST_CASE(VENDOR " graph_pool: kernels of graphs keep their patterns beside other work") {
    for (unsigned seed = 0; seed != 30; ++seed) CHECK(wrong_bytes(seed, true) == 0);
}

TEST_CASE(VENDOR " graph_pool: the patterns show launches that the pool does not know") {
    int wrong = 0;
    for (unsigned seed = 0; seed != 30; ++seed) wrong += wrong_bytes(seed, false);
    CHECK(wrong > 0);
}

TEST_CASE(VENDOR " graph_pool: a capture on the stream with pending memory continues") {
    const tests::machine machine;
    const tests::two_streams streams;
    memory_type memory{{}, vendor::device_memory{0}};
    const auto block = memory.allocate({64 * 1024, 256}, streams.first);
    int wrong = 0;
    write_and_check(streams.first, block, 1, wrong);
    CHECK(memory.deallocate(block.address, streams.first));
    pool_type pool{memory};
    pool.begin_capture();
    REQUIRE(gpu::stream_begin_capture(streams.first) == gpu::success);
    CHECK(pool.allocate({60 * 1024, 256}, streams.first));  // the host waits for the kernels
    CHECK(pool.allocate({60 * 1024, 256}, streams.first));  // the memory grows
    fake_gpu::graph_work* graph = nullptr;
    CHECK(fake_gpu::end_capture(streams.first, &graph) == gpu::success);
    CHECK(fake_gpu::destroy_graph(graph) == gpu::success);
    CHECK(wrong == 0);
}
