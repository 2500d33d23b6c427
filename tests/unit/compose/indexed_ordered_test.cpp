#include <allot/compose/indexed_ordered.hpp>
#include <allot/host/static_storage.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace {

constexpr std::size_t unit = 16, bytes = 60 * unit;
using arena_type = allot::arena<allot::host::static_storage<bytes>, allot::best_fit<>>;

template <unsigned Queues, allot::wait_policy Waits = allot::wait_policy::insert>
using memory_of =
    allot::indexed_ordered<allot::ordered<arena_type, simulated::timeline,
                                          allot::ordered_options{.queues = Queues, .waits = Waits, .external = 2}>,
                           allot::spin_lock>;

/// Queues of a device that use blocks by address, checked by the vector clocks of the device.
template <class Memory>
struct program {
    explicit program(unsigned queues) : device{queues}, memory{simulated::timeline{&device}} {
        const auto whole = memory.allocate({bytes, 1});
        base = static_cast<std::byte*>(whole.address);
        CHECK(memory.deallocate(whole.address));
    }
    struct live {
        std::byte* at;
        std::size_t size;
        unsigned number;
        std::vector<unsigned> queues;  // that use it; the block is freed on the first one
    };
    void use(live& block, unsigned queue) {
        const unsigned command = device.submit(queue);
        const auto low = static_cast<std::size_t>(block.at - base);
        races += uses.use(device, queue, command, low, block.size, block.number) ? 0 : 1;
    }
    void play_once(std::mt19937& random) {
        const auto queues = static_cast<unsigned>(device.in_order.size());
        const auto queue = static_cast<unsigned>(random() % queues), what = static_cast<unsigned>(random() % 10);
        if (what < 4) {
            const std::size_t size = unit * (1 + random() % 20) - random() % 3;
            const auto given = memory.allocate({size, 1}, queue);
            if (!given) return static_cast<void>(++refused);
            blocks.push_back({static_cast<std::byte*>(given.address), size, ++count, {queue}});
            use(blocks.back(), queue);
        } else if (what == 9) {
            device.run(queue);
        } else if (!blocks.empty()) {
            const std::size_t which = random() % blocks.size();
            live& block = blocks[which];
            if (what < 6) {
                if (!memory.used_on(block.at, queue)) return static_cast<void>(++unmarked);
                simulated::clocks after = device.before[block.queues.front()];  // the program orders the two queues
                after[block.queues.front()] = device.submitted[block.queues.front()];
                simulated::join(device.before[queue], after);
                block.queues.push_back(queue);
                use(block, queue);
            } else if (what < 7) {
                use(block, block.queues[random() % block.queues.size()]);
            } else if (memory.deallocate(block.at, block.queues.front())) {
                blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
            } else {
                ++kept;
            }
        }
    }

    simulated::queues device;
    Memory memory;
    simulated::bytes uses{bytes};
    std::byte* base = nullptr;
    std::vector<live> blocks;
    unsigned count = 0, races = 0, refused = 0, unmarked = 0, kept = 0;
};

template <class Memory>
unsigned races_of(unsigned queues, unsigned seeds, bool ignores_waits = false, bool fails = false) {
    unsigned races = 0, served = 0, points = 0;
    for (unsigned seed = 0; seed != seeds; ++seed) {
        std::mt19937 random{seed};
        program<Memory> one{queues};
        one.device.ignores_waits = ignores_waits;
        for (int i = 0; i != 120; ++i) {
            if (fails && random() % 4 == 0) one.device.fails_in = static_cast<int>(random() % 3);
            one.play_once(random);
            one.device.fails_in = -1;
        }
        if (!fails) CHECK(one.kept == 0);
        for (auto& each : one.blocks) CHECK(one.memory.deallocate(each.at, each.queues.front()));
        one.device.run_all();
        CHECK(one.memory.synchronize() == 0);
        const auto whole = one.memory.allocate({bytes, 1});
        CHECK(whole);
        CHECK(one.memory.deallocate(whole.address));
        races += one.races;
        served += one.count;
        points += one.device.records;
    }
    CHECK(served > 10 * seeds);
    CHECK(points > 0);
    return races;
}

}  // namespace

TEST_CASE("indexed_ordered: no use races with a use of an earlier block, with more queues than numbers") {
    CHECK(races_of<memory_of<4>>(3, 60) == 0);
    CHECK(races_of<memory_of<3>>(5, 100) == 0);
    CHECK(races_of<memory_of<1>>(4, 60) == 0);
    CHECK(races_of<memory_of<2, allot::wait_policy::never>>(5, 60) == 0);
}

TEST_CASE("indexed_ordered: calls of the driver that fail lose no use") {
    CHECK(races_of<memory_of<2>>(5, 100, false, true) == 0);
    CHECK(races_of<memory_of<3>>(4, 100, false, true) == 0);
}

TEST_CASE("indexed_ordered: the clocks show a driver that loses its waits") {
    CHECK(races_of<memory_of<3>>(5, 60, true) > 0);
}

TEST_CASE("indexed_ordered: a new queue waits on the device for the queue that was named least recently") {
    simulated::queues device{4};
    memory_of<2> memory{simulated::timeline{&device}};
    const auto first = memory.allocate({100, 1}, 0u), second = memory.allocate({100, 1}, 1u);
    device.submit(0);
    device.submit(1);
    CHECK(memory.allocate({100, 1}, 0u));  // queue 1 is now the one that was named least recently
    CHECK(device.records == 0);
    const auto third = memory.allocate({100, 1}, 2u);
    REQUIRE(third);
    CHECK(device.records == 1);
    CHECK(device.host_waits == 0);
    CHECK(device.is_before(1, 1, 2));
    CHECK(!device.is_before(0, 1, 2));
    CHECK(memory.deallocate(first.address, 0u));
    CHECK(memory.deallocate(second.address, 1u));
    CHECK(memory.deallocate(third.address, 2u));
}

TEST_CASE("indexed_ordered: a queue that uses a live block keeps its number") {
    simulated::queues device{3};
    memory_of<1> memory{simulated::timeline{&device}};
    const auto block = memory.allocate({100, 1}, 0u);
    REQUIRE(memory.used_on(block.address, 0u));
    CHECK(!memory.allocate({100, 1}, 1u));
    CHECK(memory.diagnose({100, 1}, 1u).reason == allot::refusal::over_limit);
    CHECK(!memory.used_on(block.address, 1u));
    device.submit(1);
    CHECK(memory.deallocate(block.address, 1u));  // behind a point of queue 1, and after queue 0
    CHECK(device.records == 1);
    const auto again = memory.allocate({bytes, 1}, 1u);
    CHECK(again);
    CHECK(device.waits + device.host_waits > 0);
}

TEST_CASE("indexed_ordered: an address without a live block changes nothing") {
    simulated::queues device{1};
    memory_of<1> memory{simulated::timeline{&device}};
    const auto block = memory.allocate({100, 1}, 0u);
    auto* const inside = static_cast<std::byte*>(block.address) + 99;
    CHECK(memory.block_containing(inside).address == block.address);
    CHECK(!memory.block_containing(inside + 1));
    CHECK(memory.block_at(block.address).size == 100);
    CHECK(!memory.block_at(inside));
    CHECK(!memory.deallocate(inside));
    CHECK(!memory.deallocate(nullptr, 0u));
    CHECK(!memory.used_on(inside, 0u));
    CHECK(memory.deallocate(block.address));
    CHECK(!memory.deallocate(block.address));
    CHECK(!memory.deallocate(block.address, 0u));
    std::size_t live = 0;
    memory.for_each_block([&](void*, std::size_t) { ++live; });
    CHECK(live == 0);
    CHECK(!memory.allocate({bytes + 1, 1}));
    CHECK(memory.diagnose({bytes + 1, 1}).reason == allot::refusal::exhausted);
    CHECK(memory.diagnose({bytes, 1}).reason == allot::refusal::none);
}

TEST_CASE("indexed_ordered: a queue is detached before its handle names another one") {
    simulated::queues device{2};
    memory_of<2> memory{simulated::timeline{&device}};
    const auto block = memory.allocate({bytes, 1}, 0u);
    device.submit(0);
    CHECK(memory.deallocate(block.address, 0u));
    CHECK(memory.detach(0) == 0);
    CHECK(memory.detach(0) == 0);  // it is not attached
    CHECK(memory.allocate({bytes, 1}, 0u));
    CHECK(device.waits == 1);  // the queue with this handle is another one
    device.lost = true;
    memory.abandon();
    device.lost = false;
}

TEST_CASE("indexed_ordered: queues of a lost device are destroyed after abandon") {
    simulated::queues device{4};
    memory_of<2> memory{simulated::timeline{&device}};
    const auto first = memory.allocate({100, 1}, 0u), second = memory.allocate({100, 1}, 1u);
    device.submit(0);
    device.submit(1);
    CHECK(memory.deallocate(first.address, 0u));
    device.lost = true;
    memory.abandon();
    device.lost = false;
    CHECK(memory.allocate({100, 1}, 2u));
    CHECK(memory.allocate({100, 1}, 3u));  // each gets a number without a point of the queue that had it
    CHECK(device.records + device.waits + device.host_waits == 0);
    CHECK(memory.deallocate(second.address, 2u));
}
