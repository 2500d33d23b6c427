// thread_local_caches: threads whose caches end in any order with their allocators.
#include "exchanged.hpp"

#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;

constexpr allot::per_thread_options small{.smallest = 32, .largest = 2048, .bytes = 8192, .batch = 8, .batches = 3};
using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using counted = allot::counted<arena>;
using shared = allot::per_thread<counted, allot::spin_lock, small>;
using shared_below = allot::per_thread<counted&, allot::spin_lock, small>;
using memory_type = allot::thread_local_caches<shared>;
static_assert(allot::allocator<memory_type>);

/// Frees a block when the thread ends, after its caches, because it was created before them.
struct frees_late {
    memory_type* from = nullptr;
    memory_type::block_type held{};
    frees_late() = default;
    frees_late(const frees_late&) = delete;
    frees_late& operator=(const frees_late&) = delete;
    ~frees_late() {
        if (from == nullptr) return;
        from->deallocate(held);
        from->deallocate(from->allocate({.size = 50}));
    }
};
thread_local frees_late late;

}  // namespace

TEST_CASE("thread_local_caches: threads exchange blocks, and give them back at their end") {
    memory_type memory{counted{arena{{}, 1_MiB}}};
    const auto itself = [](auto& of) -> auto& { return of; };
    bool good = false;
    std::jthread{[&] { good = exchanged::play(memory, 4, 3'000, itself); }}.join();
    CHECK(good);
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("thread_local_caches: the newest freed block of a size is allocated again, of the same allocator") {
    memory_type one{counted{arena{{}, 64_KiB}}}, two{counted{arena{{}, 64_KiB}}};
    for (int round = 0; round != 10; ++round) {
        const auto a = one.allocate({.size = 100}), b = two.allocate({.size = 100});
        CHECK(one.owns(a));
        CHECK(two.owns(b));
        CHECK_FALSE(one.owns(b));
        one.deallocate(a);
        two.deallocate(b);
        const std::size_t before = one.statistics().requests;
        CHECK(one.allocate({.size = 100}).address == a.address);
        CHECK(two.allocate({.size = 100}).address == b.address);
        CHECK(one.statistics().requests == before);
        one.deallocate(a);
        two.deallocate(b);
    }
}

TEST_CASE("thread_local_caches: an allocator ends before the threads that used it, and frees their blocks") {
    counted below{arena{{}, 1_MiB}};
    std::optional<allot::thread_local_caches<shared_below>> memory;
    std::atomic<int> turn = 0, waiting = 0;
    bool good[3]{};
    std::vector<std::jthread> threads;
    for (bool& mine : good)
        threads.emplace_back([&] {
            mine = true;
            for (int round = 1; round != 6; ++round) {
                while (turn != round) std::this_thread::yield();
                const auto held = memory->allocate({.size = 100});
                mine = mine && held && memory->owns(held);
                memory->deallocate(held);
                ++waiting;
            }
            while (turn != 6) std::this_thread::yield();
        });
    for (int round = 1; round != 6; ++round) {
        memory.emplace(below);
        waiting = 0;
        turn = round;
        while (waiting != 3) std::this_thread::yield();
        CHECK(below.statistics().count != 0);
        memory.reset();
        CHECK(below.statistics().count == 0);
    }
    turn = 6;
    threads.clear();
    for (const bool each : good) CHECK(each);
}

TEST_CASE("thread_local_caches: an allocator and threads that used it end at the same time") {
    for (int round = 0; round != 100; ++round) {
        counted below{arena{{}, 64_KiB}};
        std::optional<allot::thread_local_caches<shared_below>> memory{std::in_place, below};
        std::atomic<int> waiting = 0;
        std::vector<std::jthread> threads;
        for (int i = 0; i != 3; ++i)
            threads.emplace_back([&] {
                memory->deallocate(memory->allocate({.size = 100}));
                ++waiting;
            });
        while (waiting != 3) std::this_thread::yield();
        memory.reset();
        if (below.statistics().count != 0) FAIL_CHECK("blocks are live: ", below.statistics().count);
    }
}

TEST_CASE("thread_local_caches: calls at the end of a thread, after its caches have ended") {
    memory_type memory{counted{arena{{}, 64_KiB}}};
    std::jthread{[&] {
        late.from = &memory;
        late.held = memory.allocate({.size = 100});
    }}.join();
    CHECK(memory.statistics().count == 0);
    CHECK(memory.statistics().requests >= 2);
}

TEST_CASE(
    "thread_local_caches: a block above the largest list enters the lists by a resize only with their alignment") {
    using side_table = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
    using packed = allot::arena<allot::host::heap, side_table>;
    allot::thread_local_caches<allot::per_thread<packed, allot::spin_lock, small>> memory{packed{{}, 64_KiB}};
    const auto first = memory.allocate({.size = 2049, .align = 1});
    auto next = memory.allocate({.size = 2049, .align = 1});
    REQUIRE(next);
    REQUIRE(allot::raw_pointer::position(next.address) % 16 != 0);
    CHECK_FALSE(memory.resize(next, 1000));
    memory.deallocate(next);
    memory.deallocate(first);
    const auto fresh = memory.allocate({.size = 1000});
    REQUIRE(fresh);
    CHECK(allot::raw_pointer::position(fresh.address) % 16 == 0);
    memory.deallocate(fresh);
}
