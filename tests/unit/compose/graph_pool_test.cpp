#include <allot/compose/graph_pool.hpp>
#include <allot/host/static_storage.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace {

constexpr std::size_t unit = 16, bytes = 256 * unit;
using arena_type = allot::arena<allot::host::static_storage<bytes>, allot::best_fit<>>;
using memory_type = allot::indexed_ordered<allot::ordered<arena_type, simulated::timeline>>;
using growth = allot::growth::fixed<allot::growth_options{.step = 40 * unit}>;
using pool_type = allot::graph_pool<memory_type, growth>;

/// A command of a graph: it uses bytes on a queue of the capture.
struct command {
    unsigned queue;
    std::size_t low, size;
    unsigned block;
};

/// Plays captures on two queues. Checks that two blocks share bytes only if one queue freed and allocated them in
/// order.
struct capture {
    capture(pool_type& of, std::byte* base, std::mt19937& by) : pool{of}, first{base}, random{by} {}

    void play(int steps) {
        pool.begin_capture();
        freed_on.assign(bytes, none);
        for (int i = 0; i != steps; ++i) {
            const auto queue = static_cast<unsigned>(random() % 2);
            if (random() % 2 == 0) {
                const std::size_t size = unit * (1 + random() % 12);
                const auto given = pool.allocate({size, 1}, queue);
                if (!given) continue;
                const auto low = static_cast<std::size_t>(static_cast<std::byte*>(given.address) - first);
                for (std::size_t at = low; at != low + size; ++at)
                    if (freed_on[at] != none && freed_on[at] != queue) ++races;
                live.push_back({queue, low, size, ++blocks});
                graph.push_back(live.back());
            } else if (!live.empty()) {
                const std::size_t which = random() % live.size();
                const command held = live[which];
                const bool shared = random() % 4 == 0;
                if (shared) CHECK(pool.used_on(first + held.low, 1 - held.queue));
                CHECK(pool.deallocate(first + held.low, held.queue));
                for (std::size_t at = held.low; at != held.low + held.size; ++at)
                    freed_on[at] = shared ? both : held.queue;
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            }
        }
    }

    static constexpr unsigned none = ~0U, both = none - 1;
    pool_type& pool;
    std::byte* first;
    std::mt19937& random;
    std::vector<unsigned> freed_on;  // the queue that freed a byte in this capture
    std::vector<command> live, graph;
    unsigned blocks = 0, races = 0;
};

/// Launches a graph on several queues, and gives its bytes to other work afterwards. Returns the number of races.
unsigned races_of_launches(unsigned seed, bool tells) {
    std::mt19937 random{seed};
    simulated::queues device{4};
    simulated::bytes uses{bytes};
    memory_type memory{simulated::timeline{&device}};
    const auto whole = memory.allocate({bytes, 1}, 3u);
    auto* const base = static_cast<std::byte*>(whole.address);
    unsigned number = 0, races = 0;
    const auto use = [&](unsigned queue, std::size_t low, std::size_t size, unsigned block) {
        races += uses.use(device, queue, device.submit(queue), low, size, block) ? 0 : 1;
    };
    use(3, 0, bytes, ++number);  // pending work on all bytes, when the capture begins
    CHECK(memory.deallocate(whole.address, 3u));
    {
        pool_type pool{memory};
        capture one{pool, base, random};
        one.play(30);
        const std::size_t held = pool.size();
        for (unsigned launches = 0; launches != 6; ++launches) {
            const auto queue = static_cast<unsigned>(random() % 3);
            for (unsigned other = 0; other != 3; ++other) {  // launches of one graph run one after the other
                simulated::clocks after = device.before[other];
                after[other] = device.submitted[other];
                simulated::join(device.before[queue], after);
            }
            const unsigned command = device.submit(queue);
            for (const auto& each : one.graph)
                races += uses.use(device, queue, command, each.low, each.size, 1'000'000) ? 0 : 1;
            if (tells) CHECK(pool.launched(queue));
        }
        CHECK(pool.size() == held);
    }
    for (unsigned block = 0; block != 20; ++block) {
        const auto queue = static_cast<unsigned>(random() % 4);
        const std::size_t size = unit * (1 + random() % 200);
        const auto given = memory.allocate({size, 1}, queue);
        REQUIRE(given);
        use(queue, static_cast<std::size_t>(static_cast<std::byte*>(given.address) - base), size, ++number);
        CHECK(memory.deallocate(given.address, queue));
    }
    return races;
}

}  // namespace

TEST_CASE("graph_pool: in a capture, only the queue that freed bytes gets them again") {
    std::size_t reused = 0;
    for (unsigned seed = 0; seed != 60; ++seed) {
        std::mt19937 random{seed};
        simulated::queues device{3};
        memory_type memory{simulated::timeline{&device}};
        const auto whole = memory.allocate({bytes, 1});
        auto* const base = static_cast<std::byte*>(whole.address);
        CHECK(memory.deallocate(whole.address));
        {
            pool_type pool{memory};
            capture one{pool, base, random};
            for (int captures = 0; captures != 3; ++captures) one.play(40);
            CHECK(one.races == 0);
            std::size_t total = 0;
            for (const command& each : one.graph) total += each.size;
            if (total > pool.size()) ++reused;
            CHECK(device.records + device.waits + device.host_waits == 0);
        }
        CHECK(memory.allocate({bytes, 1}));  // all bytes are back
    }
    CHECK(reused > 30);
}

TEST_CASE("graph_pool: its bytes have no pending work, and return behind the queues that launched the graph") {
    unsigned races = 0, untold = 0;
    for (unsigned seed = 0; seed != 30; ++seed) {
        races += races_of_launches(seed, true);
        untold += races_of_launches(seed, false);
    }
    CHECK(races == 0);
    CHECK(untold > 0);  // the clocks show launches that the pool does not know
}

TEST_CASE("graph_pool: a later capture reuses the bytes of an earlier one") {
    simulated::queues device{2};
    memory_type memory{simulated::timeline{&device}};
    pool_type pool{memory};
    pool.begin_capture();
    const auto kept = pool.allocate({unit, 1}, 0u), first = pool.allocate({30 * unit, 1}, 0u);
    CHECK(pool.deallocate(first.address, 0u));
    CHECK(pool.block_at(kept.address).size == unit);
    CHECK(!pool.block_at(first.address));
    pool.begin_capture();
    const auto second = pool.allocate({30 * unit, 1}, 1u);  // another queue
    CHECK(second.address == first.address);
    CHECK(pool.size() == 40 * unit);
    std::size_t live = 0;
    pool.for_each_block([&](void*, std::size_t size) { live += size; });
    CHECK(live == 31 * unit);
}

TEST_CASE("graph_pool: work before a capture on the queue that captures does not disturb it") {
    simulated::queues device{1};
    memory_type memory{simulated::timeline{&device}};
    const auto block = memory.allocate({bytes, 1}, 0u);
    device.submit(0);
    CHECK(memory.deallocate(block.address, 0u));
    pool_type pool{memory};
    pool.begin_capture();
    CHECK(device.records == 1);
    device.fails_in = 1;  // the queue captures: the driver refuses a record, and waits on the host once
    CHECK(pool.allocate({unit, 1}, 0u));
    CHECK(device.records == 1);
    CHECK(device.host_waits == 1);
    device.fails_in = -1;
}

TEST_CASE("graph_pool: without memory, states the reason") {
    simulated::queues device{1};
    memory_type memory{simulated::timeline{&device}};
    pool_type pool{memory};
    pool.begin_capture();
    CHECK(!pool.allocate({2 * bytes, 1}, 0u));
    CHECK(pool.diagnose({2 * bytes, 1}, 0u).reason != allot::refusal::none);
    CHECK(pool.diagnose({unit, 1}, 0u).reason == allot::refusal::none);
    CHECK(!pool.deallocate(nullptr, 0u));
    CHECK(!pool.used_on(nullptr, 0u));
    CHECK(pool.launched(0u));  // it holds no region
}

TEST_CASE("graph_pool: queues beyond ordered_options::queues are refused, and none loses a block") {
    simulated::queues device{9};
    memory_type memory{simulated::timeline{&device}};
    pool_type pool{memory};
    pool.begin_capture();
    std::vector<void*> held;
    for (unsigned queue = 0; queue != 8; ++queue) held.push_back(pool.allocate({unit, 1}, queue).address);
    CHECK(!pool.allocate({unit, 1}, 8u));
    CHECK(!pool.used_on(held[0], 8u));
    CHECK(pool.diagnose({unit, 1}, 0u).reason == allot::refusal::none);  // of a queue that has a number
    CHECK(pool.allocate({unit, 1}, 0u));
    pool.begin_capture();
    CHECK(pool.allocate({unit, 1}, 8u));
    for (unsigned queue = 0; queue != 7; ++queue) CHECK(pool.deallocate(held[queue], queue));
}

TEST_CASE("graph_pool: after a queue too many, bytes that another queue freed are still pending") {
    simulated::queues device{9};
    memory_type memory{simulated::timeline{&device}};
    pool_type pool{memory};
    pool.begin_capture();
    const allot::layout most{200 * unit, 1};
    void* const whole = pool.allocate(most, 0u).address;
    for (unsigned queue = 1; queue != 8; ++queue) REQUIRE(pool.allocate({unit, 1}, queue));
    REQUIRE(pool.deallocate(whole, 0u));
    CHECK(!pool.allocate(most, 1u));  // the memory has no further region
    CHECK(pool.diagnose(most, 1u).reason == allot::refusal::pending);
    CHECK(!pool.allocate({unit, 1}, 8u));
    CHECK(pool.diagnose({unit, 1}, 8u).reason == allot::refusal::over_limit);
    CHECK(pool.diagnose(most, 1u).reason == allot::refusal::pending);
    CHECK(pool.diagnose(most, 1u).device_error == 0);
    CHECK(pool.diagnose(most, 0u).reason == allot::refusal::none);
}

TEST_CASE("graph_pool: a launch on a queue that was detached meanwhile counts again") {
    simulated::queues device{3};
    memory_type memory{simulated::timeline{&device}};
    {
        pool_type pool{memory};
        pool.begin_capture();
        REQUIRE(pool.allocate({unit, 1}, 0u));
        device.submit(0);
        CHECK(pool.launched(0u));
        device.run(0);
        CHECK_EQ(memory.detach(0u), 0);
        const auto other = memory.allocate({unit, 1}, 1u);  // the queue 1 gets the number that 0 had
        REQUIRE(memory.deallocate(other.address, 1u));
        device.submit(0);
        CHECK(pool.launched(0u));
    }
    REQUIRE(memory.allocate({bytes, 1}, 2u));  // the bytes of the pool, too
    device.submit(2);
    CHECK(device.is_before(0, 2, 2));
}
