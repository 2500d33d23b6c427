#include <allot/arena/hardening.hpp>
#include <allot/compose/ordered.hpp>
#include <allot/host/static_storage.hpp>

#include "noted_misuse.hpp"
#include "simulated_queues.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

// What ordered does over pool, page_tree, bump, stack and ring. ordered_schedules_test.cpp checks the order of uses.

namespace {

using allot::refusal, allot::wait_policy;
using simulated::queues, simulated::timeline;

template <class Strategy, std::size_t Size = 1024, allot::ordered_options Options = allot::ordered_options{},
          allot::arena_options Arena = allot::arena_options{}, class OnMisuse = allot::abort_on_misuse>
using memory_of = allot::ordered<
    allot::arena<allot::host::static_storage<Size, 1024>, Strategy, allot::growth::none<>, Arena, OnMisuse>, timeline,
    Options>;
using slots = allot::pool<allot::pool_options{.slot = 64, .count = 4, .store = allot::pool_store::bitmap}>;
using pages = allot::page_tree<allot::page_tree_options{.page = 64, .count = 16, .largest_order = 4}>;
constexpr allot::ordered_options never{.waits = wait_policy::never};

unsigned calls_of(const queues& device) { return device.records + device.waits + device.barriers + device.host_waits; }

}  // namespace

TEST_CASE("ordered over a pool: a queue takes its newest slot, then a free one, and waits for the oldest of another") {
    queues device{2};
    memory_of<slots> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    std::vector<decltype(memory.allocate({1, 1}, first))> held;
    for (int i = 0; i != 3; ++i) held.push_back(memory.allocate({60, 16}, first));
    for (const auto& each : held) memory.deallocate(each, first);
    CHECK(memory.allocate({64, 16}, first).address == held[2].address);
    const auto fresh = memory.allocate({64, 16}, second);
    for (const auto& each : held) CHECK(fresh.address != each.address);
    CHECK(calls_of(device) == 0);
    CHECK(memory.allocate({64, 16}, second).address == held[0].address);
    CHECK(device.records == 1);
    CHECK(device.waits == 1);
    // The point covers the frees before it.
    CHECK(memory.allocate({64, 16}, second).address == held[1].address);
    CHECK(calls_of(device) == 2);
    CHECK_FALSE(memory.allocate({64, 16}, first));
    CHECK(memory.diagnose({64, 16}, first).reason == refusal::exhausted);
    CHECK(memory.diagnose({65, 16}, first).reason == refusal::over_limit);
    CHECK(memory.diagnose({64, 32}, first).reason == refusal::misaligned);
    CHECK(memory.diagnose({0, 1}, first).reason == refusal::empty_layout);
    CHECK_FALSE(memory.allocate({0, 1}, first));
    CHECK_FALSE(memory.allocate({8, 3}, first));
}

TEST_CASE("ordered over a pool: reports list pending slots as holes, and not as blocks") {
    queues device{2};
    memory_of<slots, 256, never> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    const auto kept = memory.allocate({64, 1}, first), live = memory.allocate({64, 1}, first);
    for (int i = 0; i != 2; ++i) CHECK(memory.allocate({64, 1}, first));
    device.submit(0);
    memory.deallocate(kept, first);
    unsigned holes = 0, blocks = 0;
    memory.arena().for_each_hole([&](void* at, std::size_t bytes) {
        ++holes;
        CHECK(at == kept.address);
        CHECK(bytes == 64);
    });
    memory.arena().for_each_block([&](void* at, std::size_t) {
        ++blocks;
        CHECK(at != kept.address);
    });
    CHECK(holes == 1);
    CHECK(blocks == 3);
    CHECK(memory.capacity(live) == 64);
    CHECK_FALSE(memory.allocate({64, 1}, second));
    CHECK(memory.diagnose({64, 1}, second).reason == refusal::pending);
    CHECK(memory.diagnose({64, 1}, second).largest_hole == 64);
    CHECK(memory.diagnose({64, 1}, first).reason == refusal::none);
    device.run_all();
    CHECK(memory.allocate({64, 1}, second).address == kept.address);
}

TEST_CASE("ordered over a page_tree: pending blocks are divided and joined, and each page keeps its own use") {
    queues device{3};
    memory_of<pages> memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    auto whole = memory.allocate({1024, 1}, id[0]);
    REQUIRE(whole);
    CHECK(memory.capacity(whole) == 1024);
    memory.deallocate(whole, id[0]);

    // Parts of the whole, without a call.
    const auto half = memory.allocate({512, 1}, id[0]), quarter = memory.allocate({200, 256}, id[0]);
    REQUIRE(half);
    REQUIRE(quarter);
    CHECK(calls_of(device) == 0);
    CHECK(memory.diagnose({512, 1}, id[0]).reason == refusal::exhausted);
    CHECK(memory.diagnose({512, 1}, id[0]).largest_hole == 256);
    const auto odd = memory.allocate({64, 1}, id[0]), next = memory.allocate({128, 1}, id[0]);
    CHECK(memory.diagnose({128, 1}, id[0]).reason == refusal::exhausted);
    memory.deallocate(next, id[0]);
    CHECK(memory.diagnose({256, 1}, id[0]).reason == refusal::exhausted);
    CHECK(memory.diagnose({128, 128}, id[0]).reason == refusal::none);
    memory.deallocate(odd, id[0]);
    CHECK(calls_of(device) == 0);
    CHECK(memory.diagnose({1025, 1}, id[0]).reason == refusal::over_limit);
    memory.deallocate(half, id[1]);
    memory.deallocate(quarter, id[2]);

    // The upper half has bytes of two queues. The lower half waits for one.
    const auto again = memory.allocate({512, 1}, id[0]);
    CHECK(again.address == half.address);
    CHECK(device.waits == 1);
    const auto other = memory.allocate({512, 1}, id[0]);
    REQUIRE(other);
    CHECK(device.waits == 2);
    CHECK_FALSE(memory.allocate({1, 1}, id[0]));
    CHECK(memory.diagnose({1, 1}, id[0]).reason == refusal::exhausted);
    memory.deallocate(again, id[0]);
    memory.deallocate(other, id[0]);
    whole = memory.allocate({1024, 1024}, id[0]);
    CHECK(whole);
    CHECK(device.waits == 2);
    memory.deallocate(whole, allot::queue_id{});  // all queues may use it
    CHECK(memory.allocate({1024, 1}, id[0]));
    CHECK(device.waits == 4);
}

TEST_CASE("ordered over a page_tree: random requests with alignments get each place that is not live") {
    queues device{3};
    using memory_type = memory_of<pages>;
    memory_type memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    simulated::bytes uses{16};
    std::vector<bool> is_live(16);
    struct owned {
        memory_type::block_type held;
        unsigned queue, number;
        std::size_t at, pages;
    };
    std::vector<owned> live;
    std::mt19937 random{7};
    const auto use = [&](const owned& one) {
        const unsigned command = device.submit(one.queue);
        CHECK(uses.use(device, one.queue, command, one.at, one.pages, one.number));
    };
    for (unsigned step = 0; step != 3000; ++step) {
        const auto queue = static_cast<unsigned>(random() % 3);
        if (random() % 8 == 0) device.run(queue);
        if (random() % 2 == 0 && !live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            use(live.back());
            memory.deallocate(live.back().held, id[live.back().queue]);
            for (std::size_t i = 0; i != live.back().pages; ++i) is_live[live.back().at + i] = false;
            live.pop_back();
            continue;
        }
        const std::size_t size = 1 + random() % 300, align = std::size_t{1} << random() % 10;
        const std::size_t count = std::bit_ceil((size + 63) / 64), apart = std::max(count, align / 64);
        bool fits = false;
        for (std::size_t at = 0; at < 16; at += apart)
            fits = fits || std::find(is_live.begin() + static_cast<std::ptrdiff_t>(at),
                                     is_live.begin() + static_cast<std::ptrdiff_t>(at + count),
                                     true) == is_live.begin() + static_cast<std::ptrdiff_t>(at + count);
        const refusal reason = memory.diagnose({size, align}, id[queue]).reason;
        const auto free = static_cast<std::size_t>(std::count(is_live.begin(), is_live.end(), false));
        CHECK(reason == (fits ? refusal::none : free < count ? refusal::exhausted : refusal::fragmented));
        const auto given = memory.allocate({size, align}, id[queue]);
        CHECK(static_cast<bool>(given) == fits);
        if (!given) continue;
        const auto at = reinterpret_cast<std::uintptr_t>(given.address);
        CHECK(at % align == 0);
        live.push_back({given, queue, step, at % 1024 / 64, count});
        for (std::size_t i = 0; i != count; ++i) {
            CHECK_FALSE(is_live[live.back().at + i]);
            is_live[live.back().at + i] = true;
        }
        use(live.back());
    }
}

TEST_CASE("ordered over a ring: a request waits for the bytes that were freed first, and for no others") {
    queues device{3};
    memory_of<allot::ring<>> memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    const auto a = memory.allocate({400, 1}, id[0]), b = memory.allocate({400, 1}, id[1]),
               c = memory.allocate({200, 1}, id[0]);
    REQUIRE(c);
    memory.deallocate(a, id[0]);
    memory.deallocate(b, id[1]);
    const auto d = memory.allocate({400, 1}, id[2]);
    CHECK(d.address == a.address);
    CHECK(device.waits == 1);
    CHECK(device.is_before(0, device.submitted[0], 2));
    const auto e = memory.allocate({300, 1}, id[1]);
    CHECK(e.address == b.address);
    CHECK(device.waits == 1);
    const auto f = memory.allocate({100, 1}, id[1]);
    CHECK(f);
    CHECK(device.waits == 1);
    CHECK_FALSE(memory.allocate({100, 1}, id[1]));
    CHECK(memory.diagnose({100, 1}, id[1]).reason == refusal::exhausted);
}

TEST_CASE("ordered over bump, stack and ring: without waits, a request is refused until the work is done") {
    const auto check = [](auto strategy) {
        queues device{2};
        memory_of<decltype(strategy), 1024, never> memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1);
        const auto block = memory.allocate({1024, 1}, first);
        REQUIRE(block);
        device.submit(0);
        memory.deallocate(block, first);
        memory.reset({allot::queue_id{}});  // a bump frees the block here
        CHECK_FALSE(memory.allocate({1, 1}, second));
        CHECK(memory.diagnose({1, 1}, second).reason == refusal::pending);
        CHECK(memory.diagnose({2000, 1}, second).reason == refusal::exhausted);
        device.run_all();
        CHECK(memory.allocate({1000, 1}, second));
        CHECK(device.waits == 0);
    };
    check(allot::bump<>{});
    check(allot::stack<>{});
    check(allot::ring<>{});
}

TEST_CASE("ordered over each strategy: earlier uses of the bytes remain pending if a block is freed without a use") {
    const auto check = [](auto strategy, bool frees_for_host) {
        for (const bool is_in_order : {true, false}) {
            queues device{3, is_in_order};
            memory_of<decltype(strategy)> memory{timeline{&device}};
            const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
            const auto fill = [&](allot::queue_id queue) {
                std::vector<typename decltype(memory)::block_type> blocks;
                while (const auto block = memory.allocate({64, 1}, queue)) blocks.push_back(block);
                return blocks;
            };
            const auto empty = [&](auto blocks, allot::queue_id queue) {
                if (std::is_same_v<decltype(strategy), allot::stack<>>) std::reverse(blocks.begin(), blocks.end());
                for (const auto& block : blocks) memory.deallocate(block, queue);
            };
            const auto used = fill(id[0]);
            REQUIRE(used.size() >= 4);
            const unsigned command = device.submit(0);
            empty(used, id[0]);
            empty(fill(id[0]), frees_for_host ? memory.host : id[2]);  // no command uses these blocks
            empty(fill(id[1]), frees_for_host ? memory.host : id[2]);
            CHECK(memory.allocate({64, 1}, id[2]));
            CHECK(device.is_before(0, command, 2));
            CHECK(device.done[0] == 0);
            CHECK(memory.allocate({64, 1}, memory.host));
            CHECK(device.done[0] == command);
        }
    };
    for (const bool frees_for_host : {true, false}) {
        check(allot::best_fit<>{}, frees_for_host);
        check(slots{}, frees_for_host);
        check(pages{}, frees_for_host);
        check(allot::stack<>{}, frees_for_host);
        check(allot::ring<>{}, frees_for_host);
    }
}

TEST_CASE("ordered over each strategy: a wait that fails changes nothing") {
    const auto check = [](auto strategy) {
        using strategy_type = decltype(strategy);
        constexpr bool frees_newest_first = std::is_same_v<strategy_type, allot::stack<>>;
        for (int fails_in = 0; fails_in != 4; ++fails_in) {
            queues device{3};
            memory_of<strategy_type> memory{timeline{&device}};
            const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
            std::vector<typename decltype(memory)::block_type> blocks;
            for (unsigned i = 0; i != 16; ++i) {
                const auto block = memory.allocate({64, 1}, id[i % 2]);
                if (!block) break;
                device.submit(i % 2);
                blocks.push_back(block);
            }
            if (frees_newest_first) std::reverse(blocks.begin(), blocks.end());
            const auto kept = blocks.back();
            blocks.pop_back();
            for (const auto& block : blocks) memory.deallocate(block, id[0]);
            device.fails_in = fails_in;
            const auto failed = memory.allocate({64, 1}, id[2]);
            const bool did_fail = !failed;
            device.fails_in = -1;
            if (did_fail) CHECK(memory.diagnose({64, 1}, id[2]).reason == refusal::device_refused);
            else memory.deallocate(failed, id[2]);
            CHECK(did_fail == (fails_in < 2));  // a point and a wait
            CHECK(device.records + device.waits <= (did_fail ? 1u : 2u));
            memory.deallocate(kept, id[1]);
            device.run_all();
            CHECK(memory.synchronize() == 0);
            unsigned count = 0;
            while (memory.allocate({64, 1}, memory.host)) ++count;
            // A ring does not free a block while an older one is live.
            const unsigned unused = std::is_same_v<strategy_type, allot::ring<>> && !did_fail ? 1 : 0;
            CHECK(count + unused == blocks.size() + 1);
        }
    };
    check(allot::best_fit<>{});
    check(slots{});
    check(pages{});
    check(allot::ring<>{});
    check(allot::stack<>{});
}

TEST_CASE("ordered over a bump: reset and rollback name the queues that may still use the blocks") {
    queues device{2};
    memory_of<allot::bump<allot::bump_options{.direction = allot::direction::up}>> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    CHECK(memory.allocate({512, 1}, first));
    const auto half = memory.mark();
    CHECK(memory.allocate({512, 1}, second));
    memory.rollback(half, {second});
    CHECK(memory.allocate({512, 1}, second));
    CHECK(calls_of(device) == 0);
    memory.rollback(half, {second});
    memory.reset({first});
    CHECK(memory.allocate({512, 1}, first));
    CHECK(calls_of(device) == 0);
    CHECK(memory.allocate({512, 1}, first));
    CHECK(device.waits == 1);
    memory.reset({memory.host});
    CHECK(memory.allocate({1024, 1}, second));
    CHECK(device.waits == 2);  // the first queue still uses bytes that it allocated behind a wait
    memory.reset({first, second});
    CHECK(memory.allocate({1024, 1}, second));
    CHECK(device.waits == 3);
}

TEST_CASE("ordered over a bump: a deallocation notes the use of its block for the reset") {
    queues device{3};
    memory_of<allot::bump<allot::bump_options{.direction = allot::direction::up}>> memory{timeline{&device}};
    const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
    const auto a = memory.allocate({512, 1}, id[0]), b = memory.allocate({512, 1}, id[1]);
    memory.deallocate(a, id[0]);
    memory.used_on(b, id[2]);
    memory.deallocate(b, {id[1], id[2]});
    memory.reset({memory.host});
    CHECK(memory.allocate({512, 1}, id[0]));
    CHECK(calls_of(device) == 0);
    CHECK(memory.allocate({512, 1}, id[0]));
    CHECK(device.waits == 2);
}

TEST_CASE("ordered over a stack: a block out of order stays allocated, with its use") {
    queues device{2};
    memory_of<allot::stack<>> memory{timeline{&device}};
    const auto first = memory.attach(0), second = memory.attach(1);
    const auto start = memory.mark();
    const auto low = memory.allocate({512, 1}, first), high = memory.allocate({512, 1}, second);
    memory.deallocate(low, first);
    CHECK_FALSE(memory.allocate({1, 1}, first));
    memory.deallocate(high, second);
    CHECK(memory.allocate({512, 1}, second).address == high.address);
    CHECK(calls_of(device) == 0);
    memory.rollback(start, {second});
    CHECK(memory.allocate({512, 1}, second).address == low.address);
    CHECK(device.waits == 1);
}

TEST_CASE("ordered: hardened arenas report misuse over each strategy") {
    const auto check = [](auto strategy) {
        queues device{2};
        noted::note::take();
        memory_of<decltype(strategy), 1024, allot::ordered_options{},
                  allot::arena_options{.hardening = allot::hardening::checked}, noted::note>
            memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1);
        const auto block = memory.allocate({64, 1}, first);
        memory.deallocate(block, first);
        CHECK(noted::note::take() == 0);
        memory.deallocate(block, second);
        CHECK(noted::note::take() == 1);
        CHECK(memory.allocate({64, 1}, first));
    };
    check(slots{});
    check(pages{});
    check(allot::bump<>{});
    check(allot::stack<>{});
    check(allot::ring<>{});
}

TEST_CASE("ordered: a block that the host still uses also waits for later work of used_on, over each strategy") {
    const auto check = [](auto strategy) {
        queues device{2};
        memory_of<decltype(strategy)> memory{timeline{&device}};
        const auto first = memory.attach(0), second = memory.attach(1);
        const auto before = memory.allocate({64, 1}, second), block = memory.allocate({64, 1}, first);
        memory.used_on(block, second);
        const allot::host_use reading = memory.begin_host_use();
        // Work of the second queue becomes known to the first one, after the use began.
        device.submit(1);
        memory.deallocate(before, second);
        while (device.waits == 0) REQUIRE(memory.allocate({64, 1}, first));
        device.submit(1);  // uses the block
        CHECK(memory.deallocate(block, reading));
        memory.end_host_use(reading);
        CHECK(memory.allocate({64, 1}, first).address == block.address);
        CHECK(device.waits == 2);
        CHECK(device.is_before(1, device.submitted[1], 0));
    };
    check(allot::best_fit<allot::best_fit_options{.granule = 64}>{});
    check(slots{});
    check(pages{});
    check(allot::ring<>{});
}

TEST_CASE("ordered over pool and page_tree: a request waits for the fewest queues") {
    const auto check = [](auto strategy) {
        queues device{3};
        memory_of<decltype(strategy), 256> memory{timeline{&device}};
        const allot::queue_id id[] = {memory.attach(0), memory.attach(1), memory.attach(2)};
        const auto one = memory.allocate({64, 1}, id[1]), both = memory.allocate({64, 1}, id[1]);
        for (int i = 0; i != 2; ++i) REQUIRE(memory.allocate({64, 1}, id[0]));
        device.submit(1);
        device.submit(2);
        memory.deallocate(both, {id[1], id[2]});
        memory.deallocate(one, id[1]);
        CHECK(memory.allocate({64, 1}, id[0]).address == one.address);
        CHECK(device.waits == 1);
        CHECK(memory.allocate({64, 1}, id[0]).address == both.address);
        CHECK(device.waits == 2);
    };
    check(slots{});
    check(pages{});
}

TEST_CASE("ordered over pool and page_tree: uses by the host end in any order") {
    const auto check = [](auto strategy) {
        queues device{1};
        memory_of<decltype(strategy), 256> memory{timeline{&device}};
        const auto queue = memory.attach(0);
        const auto first = memory.allocate({64, 1}, queue), second = memory.allocate({64, 1}, queue);
        for (int i = 0; i != 2; ++i) REQUIRE(memory.allocate({64, 1}, queue));
        const allot::host_use early = memory.begin_host_use(), late = memory.begin_host_use();
        CHECK(memory.deallocate(second, late));
        CHECK(memory.deallocate(first, early));
        CHECK_FALSE(memory.allocate({64, 1}, queue));
        CHECK(memory.diagnose({64, 1}, queue).reason == refusal::pending);
        memory.end_host_use(early);
        CHECK(memory.allocate({64, 1}, queue).address == first.address);
        CHECK_FALSE(memory.allocate({64, 1}, queue));
        memory.end_host_use(late);
        CHECK(memory.allocate({64, 1}, queue).address == second.address);
        CHECK(calls_of(device) == 0);
    };
    check(slots{});
    check(pages{});
}
