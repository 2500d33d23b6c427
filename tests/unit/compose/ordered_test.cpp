#include <allot/compose/ordered.hpp>
#include <allot/host/buffer.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/host/virtual_memory.hpp>

#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using allot::refusal, allot::wait_policy;
using simulated::queues, simulated::timeline;

constexpr std::size_t size = 4096;

template <allot::ordered_options Options = allot::ordered_options{}>
using fixed = allot::ordered<allot::arena<allot::host::static_storage<size>, allot::best_fit<>>, timeline, Options>;

unsigned calls_of(const queues& device) { return device.records + device.waits + device.barriers + device.host_waits; }

}  // namespace

TEST_CASE("ordered: bytes of a queue are given out again at once, to another queue behind a wait") {
    queues device{2};
    {
        fixed<> memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1);
        const auto block = memory.allocate({size, 16}, first);
        REQUIRE(block);
        CHECK(memory.owns(block));
        CHECK(memory.capacity(block) == size);
        device.submit(0);
        memory.deallocate(block, first);
        const auto again = memory.allocate({size, 16}, first);
        CHECK(again.address == block.address);
        memory.deallocate(again, first);
        CHECK(calls_of(device) == 0);

        const auto other = memory.allocate({size, 16}, second);
        CHECK(other.address == block.address);
        CHECK(device.records == 1);
        CHECK(device.waits == 1);
        CHECK(device.is_before(0, device.submitted[0], 1));
        memory.deallocate(other, second);

        // The second queue knows the first one up to its point: no further call for older bytes.
        const auto half = memory.allocate({size, 16}, second);
        CHECK(calls_of(device) == 2);
        memory.deallocate(half, second);
    }
    CHECK(device.live_points == 0);
}

TEST_CASE("ordered: adjacent holes of different queues join, and a block waits only for its own bytes") {
    queues device{3};
    fixed<> memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    std::vector<fixed<>::block_type> blocks;
    for (unsigned i = 0; i != 4; ++i) blocks.push_back(memory.allocate({size / 4, 16}, id[i % 2]));
    for (unsigned i = 0; i != 4; ++i) {
        device.submit(i % 2);
        memory.deallocate(blocks[i], id[i % 2]);
    }
    const auto own = memory.allocate({size / 4, 16}, id[1]);  // in the middle of a hole of four segments
    CHECK(own);
    CHECK(calls_of(device) == 0);
    memory.deallocate(own, id[1]);

    const auto quarter = memory.allocate({size / 4, 16}, id[2]);
    CHECK(device.waits == 1);
    const auto rest = memory.allocate({3 * size / 4, 16}, id[2]);
    CHECK(rest);
    CHECK(device.waits == 2);
    CHECK(device.records == 2);
    memory.deallocate(quarter, id[2]);
    memory.deallocate(rest, id[2]);
}

TEST_CASE("ordered: queues that are not in order wait for themselves by a barrier") {
    queues device{2, false};
    fixed<> memory{timeline{&device}};
    const auto first = memory.attach(0);
    auto block = memory.allocate({size, 16}, first);
    const unsigned command = device.submit(0);
    memory.deallocate(block, first);
    block = memory.allocate({size, 16}, first);
    REQUIRE(block);
    CHECK(device.barriers == 1);
    CHECK(device.is_before(0, command, 0));
    memory.deallocate(block, first);
}

TEST_CASE("ordered: a use on another queue delays the bytes, and so does a set of queues") {
    for (const bool by_used_on : {true, false}) {
        queues device{3};
        fixed<> memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1), third = memory.attach(2);
        const auto block = memory.allocate({size, 16}, first);
        device.submit(0);
        device.submit(1);
        if (by_used_on) {
            memory.used_on(block, second);
            memory.deallocate(block, first);
        } else {
            memory.deallocate(block, {first, second});
        }
        const auto again = memory.allocate({size, 16}, third);
        CHECK(again);
        CHECK(device.waits == 2);
        CHECK(device.is_before(0, 1, 2));
        CHECK(device.is_before(1, 1, 2));
        memory.deallocate(again, third);
    }
}

TEST_CASE("ordered: a wait of the program makes known all that the other queue comes after") {
    queues device{3};
    fixed<> memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    const auto use_and_free = [&](unsigned queue) {
        const auto block = memory.allocate({size / 2, 16}, id[queue]);
        device.submit(queue);
        memory.deallocate(block, id[queue]);
    };
    const auto whole = [&](unsigned queue) {
        const auto block = memory.allocate({size, 16}, id[queue]);
        memory.deallocate(block, id[queue]);
        return static_cast<bool>(block);
    };
    use_and_free(0);
    const unsigned before = calls_of(device);
    memory.follows(id[1], id[0]);  // for example after cudaStreamWaitEvent
    CHECK(whole(1));
    memory.follows(id[2], id[1]);  // which comes after queue 0, too
    CHECK(whole(2));
    CHECK(calls_of(device) == before);

    // Work that is submitted later is not known.
    use_and_free(0);
    const unsigned later = calls_of(device);
    CHECK(whole(2));
    CHECK(calls_of(device) == later + 2);

    memory.follows(id[1], allot::queue_id{});
    memory.follows(allot::queue_id{}, id[1]);
    memory.follows(id[1], fixed<>::host);
    memory.follows(id[1], id[1]);
    CHECK(whole(2));
    CHECK(calls_of(device) == later + 2);
    CHECK(whole(1));
    CHECK(calls_of(device) == later + 4);
}

TEST_CASE("ordered: work that the host waited for is done for all queues") {
    constexpr allot::ordered_options never{.waits = wait_policy::never};
    queues device{3};
    fixed<never> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    const auto block = memory.allocate({size, 16}, first);
    device.submit(0);
    memory.deallocate(block, first);
    CHECK(!memory.allocate({size, 16}, second));
    const unsigned before = calls_of(device);
    device.run(0);
    memory.follows(fixed<never>::host, first);  // for example after cudaStreamSynchronize
    const auto other = memory.allocate({size, 16}, second);
    CHECK(other);
    memory.deallocate(other, fixed<never>::host);
    CHECK(memory.allocate({size, 16}, fixed<never>::host));
    CHECK(calls_of(device) == before);
}

TEST_CASE("ordered: a barrier of the program lets a queue that is not in order take its own bytes") {
    queues device{1, false};
    fixed<> memory{timeline{&device}};
    const auto queue = memory.attach(0);
    auto block = memory.allocate({size, 16}, queue);
    device.submit(0);
    memory.deallocate(block, queue);
    device.before[0][0] = device.submitted[0];  // the program's barrier
    memory.follows(queue, queue);
    block = memory.allocate({size, 16}, queue);
    CHECK(block);
    CHECK(device.barriers == 0);
    device.submit(0);
    memory.deallocate(block, queue);
    CHECK(memory.allocate({size, 16}, queue));
    CHECK(device.barriers == 1);
}

TEST_CASE("ordered: a block that is freed on a queue that is not attached waits for all queues") {
    queues device{2};
    fixed<> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto block = memory.allocate({size, 16}, first);
    device.submit(0);
    device.submit(1);
    memory.deallocate(block, allot::queue_id{});
    block = memory.allocate({size, 16}, second);
    CHECK(block);
    CHECK(device.waits == 1);
    memory.deallocate(block, allot::queue_id{77});
    CHECK_FALSE(memory.allocate({16, 16}, allot::queue_id{}));
    CHECK_FALSE(memory.allocate({16, 16}, allot::queue_id{9}));
    CHECK(memory.diagnose({16, 16}, allot::queue_id{}).reason == refusal::over_limit);
    memory.used_on({}, first);  // an empty block
    memory.deallocate(fixed<>::block_type{}, first);
}

TEST_CASE("ordered: the host gets bytes whose work is done, and frees them without a point") {
    queues device{1};
    fixed<> memory{timeline{&device}};
    const auto queue = memory.attach(0);
    auto block = memory.allocate({size, 16}, queue);
    device.submit(0);
    memory.deallocate(block, queue);
    block = memory.allocate({size, 16}, fixed<>::host);
    CHECK(device.done[0] == 1);
    CHECK(device.host_waits == 1);
    memory.deallocate(block, fixed<>::host);
    const unsigned before = calls_of(device);
    block = memory.allocate({size, 16}, queue);
    CHECK(block);
    CHECK(calls_of(device) == before);
    memory.deallocate(block, queue);
}

TEST_CASE("ordered: a use by the host keeps bytes until it ends") {
    queues device{2};
    fixed<allot::ordered_options{.external = 2}> memory{timeline{&device}};
    const auto queue = memory.attach(0);
    auto block = memory.allocate({size, 16}, queue);
    const allot::host_use reading = memory.begin_host_use(), writing = memory.begin_host_use();
    REQUIRE(reading);
    REQUIRE(writing);
    CHECK_FALSE(memory.begin_host_use());
    CHECK_FALSE(memory.deallocate(block, allot::host_use{}));
    CHECK_FALSE(memory.deallocate(block, allot::host_use{99}));
    CHECK(memory.deallocate(block, reading));
    CHECK_FALSE(memory.allocate({16, 16}, queue));
    CHECK(memory.diagnose({16, 16}, queue).reason == refusal::pending);
    memory.end_host_use(writing);
    CHECK_FALSE(memory.allocate({16, 16}, queue));
    memory.end_host_use(reading);
    memory.end_host_use(reading);  // once more has no effect
    block = memory.allocate({size, 16}, queue);
    CHECK(block);
    CHECK(calls_of(device) == 0);
    memory.deallocate(block, queue);
}

TEST_CASE("ordered: external points delay bytes, and are released when they pass") {
    queues device{3};
    {
        fixed<allot::ordered_options{.external = 2}> memory{timeline{&device}};
        const auto queue = memory.attach(0);
        std::vector<fixed<>::block_type> blocks;
        for (unsigned i = 0; i != 4; ++i) blocks.push_back(memory.allocate({size / 4, 16}, queue));
        timeline driver{&device};
        const auto point_on = [&](unsigned other) {
            device.submit(other);
            timeline::point_type point;
            driver.record(other, point);
            return point;
        };
        auto point = point_on(1);
        CHECK(memory.deallocate(blocks[0], point));
        CHECK_FALSE(point.is_held);
        point = point_on(2);
        CHECK(memory.deallocate(blocks[1], point));
        point = point_on(2);
        CHECK_FALSE(memory.deallocate(blocks[2], point));  // two are pending
        CHECK(point.is_held);
        device.run(1);
        CHECK(memory.deallocate(blocks[2], point));
        const auto first = memory.allocate({size / 4, 16}, queue);
        CHECK(first.address == blocks[0].address);
        CHECK(device.waits == 0);
        const auto rest = memory.allocate({size / 2, 16}, queue);
        CHECK(rest);
        CHECK(device.waits == 2);
        memory.deallocate(first, queue);
        memory.deallocate(rest, queue);
        memory.deallocate(blocks[3], queue);
    }
    CHECK(device.live_points == 0);
}

TEST_CASE("ordered: a queue that leaves keeps its bytes pending, and its number is used again") {
    queues device{3};
    fixed<allot::ordered_options{.queues = 2}> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    CHECK_FALSE(memory.attach(2));
    const auto kept = memory.allocate({size / 2, 16}, second);
    memory.used_on(kept, first);
    auto block = memory.allocate({size / 2, 16}, first);
    const unsigned command = device.submit(0);
    memory.deallocate(block, first);
    CHECK(memory.detach(first) == 0);
    CHECK(memory.detach(first) == 0);  // once more has no effect
    CHECK_FALSE(memory.allocate({16, 16}, first));
    CHECK_FALSE(memory.attach(2));  // the last point of the first queue is pending
    block = memory.allocate({size / 2, 16}, second);
    CHECK(block);
    CHECK(device.is_before(0, command, 1));
    memory.deallocate(block, second);
    device.run(0);
    const auto third = memory.attach(2);
    REQUIRE(third);
    CHECK(third == first);
    memory.deallocate(kept, second);
    block = memory.allocate({size, 16}, third);
    CHECK(block);
    memory.deallocate(block, third);
}

TEST_CASE("ordered: a driver that fails loses nothing") {
    for (int fails_in = 0; fails_in != 6; ++fails_in) {
        queues device{3};
        {
            fixed<> memory{timeline{&device}};
            const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
            std::vector<fixed<>::block_type> blocks;
            for (unsigned i = 0; i != 4; ++i) blocks.push_back(memory.allocate({size / 4, 16}, id[i % 2]));
            for (unsigned i = 0; i != 4; ++i) {
                device.submit(i % 2);
                memory.deallocate(blocks[i], id[i % 2]);
            }
            device.fails_in = fails_in;
            auto block = memory.allocate({size, 16}, id[2]);
            const bool failed = !block;
            CHECK(failed == (fails_in < 4));  // two points and two waits
            if (failed) {
                CHECK(memory.diagnose({size, 16}, id[2]).reason == refusal::device_refused);
                CHECK(memory.diagnose({size, 16}, id[2]).device_error != 0);
                device.fails_in = -1;
                block = memory.allocate({size, 16}, id[2]);
            }
            device.fails_in = -1;
            CHECK(block);
            CHECK(device.is_before(0, 2, 2));
            CHECK(device.is_before(1, 2, 2));
            CHECK(memory.diagnose({16, 16}, id[2]).reason == refusal::exhausted);
            memory.deallocate(block, id[2]);
        }
        CHECK(device.live_points == 0);
    }
}

TEST_CASE("ordered: after a failed call of the driver, diagnose answers only requests that need a wait with it") {
    queues device{2};
    fixed<> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    const auto block = memory.allocate({size / 2, 16}, first);
    memory.deallocate(block, first);
    device.fails_in = 0;
    CHECK(memory.detach(second) != 0);
    CHECK(memory.diagnose({size, 16}, second).reason == refusal::device_refused);
    CHECK(memory.diagnose({size, 16}, first).reason == refusal::none);  // its own bytes
    CHECK(memory.diagnose({16, 16}, second).reason == refusal::none);   // bytes that nobody used
    CHECK(memory.allocate({16, 16}, second));
}

TEST_CASE("ordered: without waits, diagnose answers with a failed call of the driver until the next request") {
    queues device{2};
    fixed<allot::ordered_options{.waits = wait_policy::never}> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    const auto block = memory.allocate({size, 16}, first);
    device.submit(0);
    memory.deallocate(block, first);
    device.fails_in = 0;
    CHECK_FALSE(memory.allocate({size, 16}, second));
    CHECK(memory.diagnose({size, 16}, second).reason == refusal::device_refused);
    CHECK_FALSE(memory.allocate({size, 16}, second));  // the driver records the point
    CHECK(memory.diagnose({size, 16}, second).reason == refusal::pending);
}

TEST_CASE("ordered: a queue that cannot be replaced changes no answer of diagnose") {
    queues device{2};
    fixed<> memory{timeline{&device}};
    const auto first = memory.attach(0);
    const auto block = memory.allocate({size, 16}, first);
    memory.deallocate(block, first);
    device.fails_in = 0;
    CHECK(memory.replace(first, 1) != 0);
    const auto second = memory.attach(1);
    CHECK(memory.diagnose({size, 16}, second).reason == refusal::none);
    CHECK(memory.allocate({size, 16}, second));
}

TEST_CASE("ordered: a lost device is answered, and memory returns after abandon") {
    queues device{2};
    {
        fixed<> memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1);
        auto block = memory.allocate({size, 16}, first);
        device.submit(0);
        memory.deallocate(block, first);
        device.lost = true;
        CHECK_FALSE(memory.allocate({size, 16}, second));
        CHECK(memory.diagnose({size, 16}, second).reason == refusal::device_refused);
        CHECK(memory.synchronize() != 0);
        memory.abandon();
        block = memory.allocate({size, 16}, second);
        CHECK(block);
        memory.deallocate(block, second);
    }
    CHECK(device.live_points == 0);
}

TEST_CASE("ordered: a queue of a lost device leaves without a call of the driver") {
    queues device{3};
    fixed<allot::ordered_options{.queues = 2}> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto block = memory.allocate({size / 2, 16}, first);
    const auto other = memory.allocate({size / 2, 16}, second);
    device.submit(0);
    device.submit(1);
    memory.deallocate(block, first);
    memory.deallocate(other, second);
    memory.abandon(first);
    memory.abandon(first);  // once more has no effect
    CHECK(calls_of(device) == 0);
    CHECK_FALSE(memory.allocate({16, 16}, first));
    block = memory.allocate({size / 2, 16}, second);  // in order with all that the first queue may have waited for
    CHECK(block.address == other.address);
    const auto used = memory.allocate({size / 2, 16}, second);
    CHECK(used);
    CHECK(calls_of(device) == 0);
    CHECK_FALSE(memory.attach(2));  // the first queue may have waited for the second one
    device.run(1);
    const auto third = memory.attach(2);
    CHECK(third == first);
    memory.deallocate(used, second);
    CHECK(memory.allocate({size / 2, 16}, third));
    CHECK(device.is_before(1, 1, 2));
}

TEST_CASE("ordered: bytes of a queue that is abandoned wait for the work that it waited for") {
    const auto check = [](auto abandon) {
        queues device{4};
        fixed<allot::ordered_options{.queues = 4}> memory{timeline{&device}};
        const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2), memory.attach(3)};
        auto block = memory.allocate({size, 16}, id[0]);
        const unsigned command = device.submit(0);
        memory.deallocate(block, id[0]);
        for (const unsigned queue : {1u, 2u}) {
            block = memory.allocate({size, 16}, id[queue]);  // behind a wait, which does not pass
            REQUIRE(block);
            memory.deallocate(block, id[queue]);
        }
        abandon(memory, id);
        const unsigned records = device.records;
        block = memory.allocate({size, 16}, id[3]);
        REQUIRE(block);
        CHECK(device.is_before(0, command, 3));
        CHECK(device.records == records + 1);
        memory.deallocate(block, id[3]);
        CHECK(memory.synchronize() == 0);
        CHECK(device.done[0] == command);
        CHECK(memory.attach(1) == id[1]);
    };
    check([](auto& memory, const allot::queue_id* id) {
        memory.abandon(id[1]);
        memory.abandon(id[2]);
    });
    check([](auto& memory, const allot::queue_id* id) {
        memory.abandon(id[2]);
        memory.abandon(id[1]);
    });
}

TEST_CASE("ordered: a failed answer about a point has no effect on later requests") {
    queues device{3};
    fixed<allot::ordered_options{.queues = 2}> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto block = memory.allocate({size, 16}, first);
    device.submit(0);
    memory.deallocate(block, first);
    memory.cover();
    device.lost = true;
    CHECK_FALSE(memory.allocate({size, 16}, second));
    device.lost = false;
    block = memory.allocate({size, 16}, second);
    CHECK(block);
    CHECK(device.is_before(0, 1, 1));
    memory.deallocate(block, first);
    device.lost = true;
    memory.poll();
    memory.abandon(first);
    device.lost = false;
    device.run_all();
    memory.poll();
    const auto third = memory.attach(2);
    REQUIRE(third == first);
    block = memory.allocate({size, 16}, third);
    device.submit(2);
    memory.deallocate(block, third);
    CHECK(memory.allocate({size, 16}, second));  // behind a wait for the new queue with the number of the first one
}

TEST_CASE("ordered: diagnose predicts each request, also if the records are used up") {
    constexpr allot::best_fit_options few{.store = allot::node_store::side_table, .records = 6, .granule = 16};
    using small = allot::ordered<allot::arena<allot::host::buffer, allot::best_fit<few>>, timeline>;
    alignas(256) static std::byte bytes[size + 256];
    unsigned out_of_records = 0;
    for (unsigned seed = 0; seed != 600; ++seed) {
        queues device{2};
        small memory{timeline{&device}, allot::host::buffer{bytes + 16 * (seed % 16), size}};
        const allot::queue_id id[] = {memory.attach(0), memory.attach(1)};
        std::vector<small::block_type> blocks;
        std::mt19937 random{seed};
        for (int i = 0; i != 130; ++i) {
            const unsigned queue = random() % 2;
            if (random() % 2 == 0) {
                const allot::layout wanted{1 + random() % 600, std::size_t{1} << random() % 9};
                const refusal predicted = memory.diagnose(wanted, id[queue]).reason;
                const auto block = memory.allocate(wanted, id[queue]);
                CHECK_MESSAGE(static_cast<bool>(block) == (predicted == refusal::none),
                              std::string{to_string(predicted)});
                if (predicted == refusal::out_of_records) ++out_of_records;
                if (!block) continue;
                blocks.push_back(block);
                device.submit(queue);
            } else if (!blocks.empty()) {
                std::swap(blocks[random() % blocks.size()], blocks.back());
                memory.deallocate(blocks.back(), id[queue]);
                blocks.pop_back();
            }
            if (random() % 8 == 0) device.run(queue);
        }
        for (const auto& block : blocks) memory.deallocate(block, id[0]);
        CHECK(memory.allocate({size, 16}, id[1]));
    }
    CHECK(out_of_records > 0);
}

TEST_CASE("ordered: never waits gives bytes only when their work is done") {
    queues device{2};
    fixed<allot::ordered_options{.waits = wait_policy::never}> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto block = memory.allocate({size, 16}, first);
    device.submit(0);
    memory.deallocate(block, first);
    CHECK_FALSE(memory.allocate({size, 16}, second));
    CHECK(memory.diagnose({size, 16}, second).reason == refusal::pending);
    CHECK(device.records == 1);
    CHECK_FALSE(memory.allocate({size, 16}, second));
    CHECK(device.records == 1);
    device.run(0);
    block = memory.allocate({size, 16}, second);
    CHECK(block);
    CHECK(device.waits == 0);
    memory.deallocate(block, second);
}

TEST_CASE("ordered: an arena grows after a wait or before it, and releases only regions that are done") {
    const auto run = [](auto& memory, queues& device, bool grows) {
        const auto first = memory.attach(0), second = memory.attach(1);
        auto block = memory.allocate({60'000, 16}, first);
        memory.deallocate(block, first);
        const std::size_t held = memory.size();
        block = memory.allocate({held, 16}, first);
        REQUIRE(block);
        device.submit(0);
        memory.deallocate(block, first);
        block = memory.allocate({held, 16}, second);
        REQUIRE(block);
        CHECK((memory.size() > held) == grows);
        CHECK((device.waits == 0) == grows);
        device.submit(1);
        memory.deallocate(block, second);
        CHECK(memory.trim() == 0);
        CHECK(memory.synchronize() == 0);
        CHECK(device.done == device.submitted);
        CHECK(memory.trim() != 0);
        CHECK(memory.size() == 0);
    };
    using growing = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
    queues device{2}, other{2}, third{2};
    allot::ordered<growing, timeline> memory{timeline{&device}, allot::host::heap{}};
    run(memory, device, false);
    allot::ordered<growing, timeline, allot::ordered_options{.grow_first = true}> eager{timeline{&other},
                                                                                        allot::host::heap{}};
    run(eager, other, true);
    using in_place = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
    allot::ordered<in_place, timeline, allot::ordered_options{.grow_first = true}> reserved{
        timeline{&third}, allot::host::virtual_memory{std::size_t{1} << 30}};
    run(reserved, third, true);
}

TEST_CASE("ordered: diagnose predicts that an arena grows instead of waiting") {
    using growing = allot::arena<allot::host::heap, allot::best_fit<>,
                                 allot::growth::fixed<allot::growth_options{.step = size, .limit = 2 * size}>>;
    const auto run = [](auto& memory, auto second) {
        CHECK(memory.diagnose({size / 2, 16}, second).reason == refusal::none);
        const auto block = memory.allocate({size / 2, 16}, second);
        CHECK(block);
        CHECK(memory.diagnose({size, 16}, second).reason == refusal::pending);  // the arena is at its limit
        CHECK_FALSE(memory.allocate({size, 16}, second));
        memory.deallocate(block, second);
    };
    queues device{2}, other{2};
    allot::ordered<growing, timeline> memory{timeline{&device}, allot::host::heap{}, size};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto block = memory.allocate({size - 64, 16}, first);
    REQUIRE(block);
    const allot::host_use reading = memory.begin_host_use();
    REQUIRE(memory.deallocate(block, reading));  // no queue can wait for the host
    run(memory, second);
    memory.end_host_use(reading);

    allot::ordered<growing, timeline, allot::ordered_options{.waits = wait_policy::never}> patient{
        timeline{&other}, allot::host::heap{}, size};
    const auto third = patient.attach(0), fourth = patient.attach(1);
    block = patient.allocate({size - 64, 16}, third);
    REQUIRE(block);
    other.submit(0);
    patient.deallocate(block, third);
    run(patient, fourth);
}

TEST_CASE("ordered: resize waits for the bytes above") {
    queues device{2};
    fixed<> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    auto low = memory.allocate({size / 2, 16}, first);
    const auto high = memory.allocate({size / 2, 16}, second);
    device.submit(1);
    memory.deallocate(high, second);
    CHECK(memory.resize(low, size, first));
    CHECK(low.size == size);
    CHECK(device.waits == 1);
    CHECK(device.is_before(1, 1, 0));
    device.submit(0);
    CHECK(memory.resize(low, size / 4, first));
    const auto rest = memory.allocate({3 * size / 4, 16}, second);
    CHECK(rest);
    CHECK(device.is_before(0, 1, 1));
    CHECK_FALSE(memory.resize(low, size, first));
    CHECK(low.size == size / 4);
    memory.deallocate(low, first);
    memory.deallocate(rest, second);
}

TEST_CASE("ordered: less_memory waits rather than taking a hole that is half as large again") {
    queues device{2};
    fixed<> usual{timeline{&device}};
    fixed<allot::ordered_options{.less_memory = true}> tight{timeline{&device}};
    const auto waits_of = [&](auto& memory) {
        const auto first = memory.attach(0), second = memory.attach(1);
        const auto block = memory.allocate({512, 16}, first), stays = memory.allocate({16, 16}, first);
        memory.deallocate(block, first);
        const unsigned before = device.waits;
        const auto other = memory.allocate({512, 16}, second);
        CHECK((other.address == block.address) == (device.waits != before));
        memory.deallocate(other, second);
        memory.deallocate(stays, first);
        return device.waits - before;
    };
    CHECK(waits_of(usual) == 0);
    CHECK(waits_of(tight) == 1);
}

TEST_CASE("ordered: the destructor waits for pending work before the memory is released") {
    queues device{2};
    {
        fixed<> memory{timeline{&device}};
        const auto first = memory.attach(0);
        const auto block = memory.allocate({64, 16}, first);
        device.submit(0);
        memory.deallocate(block, first);
    }
    CHECK(device.done[0] == 1);
    CHECK(device.live_points == 0);
}

TEST_CASE("ordered: a pending use adds 16 bytes to a record, with any number of queues") {
    static_assert(sizeof(allot::detail::pending_use) == 16);
    const auto bytes_for = []<unsigned Queues>(std::integral_constant<unsigned, Queues>) {
        constexpr std::size_t few = 100, many = 1100;
        return (sizeof(allot::detail::pending_nodes<std::size_t, many, 1, Queues>) -
                sizeof(allot::detail::pending_nodes<std::size_t, few, 1, Queues>)) /
               (many - few);
    };
    constexpr std::size_t links = 16;
    constexpr std::size_t plain = sizeof(std::size_t) + links;
    constexpr std::size_t segment = 24;  // a fixed table has as many segments as records
    CHECK(bytes_for(std::integral_constant<unsigned, 3>{}) == plain + 16 + segment);
    CHECK(bytes_for(std::integral_constant<unsigned, 10>{}) == plain + 16 + segment);
}
