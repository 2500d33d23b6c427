// per_thread with several threads, which pass blocks to each other, end, are canceled, and fork.
// per_thread_model.cpp covers all interleavings of few calls.
#include "exchanged.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;

constexpr allot::per_thread_options small{
    .smallest = 32, .largest = 2048, .align = 16, .bytes = 8192, .batch = 8, .batches = 3};

// The host may use these blocks as memory, but the strategy keeps its records elsewhere.
using in_band = allot::arena<allot::host::heap, allot::best_fit<>>;
using beside =
    allot::arena<allot::host::heap, allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
template <class Arena, class Lock = allot::spin_lock>
using shared = allot::per_thread<allot::counted<Arena>, Lock, small>;

/// A barrier that the system does not support.
struct no_barrier {
    static void light() noexcept {}
    [[nodiscard]] static bool heavy() noexcept { return false; }
};

constexpr auto in_a_cache = [](auto& memory) { return allot::thread_cache{memory}; };

template <class Shared>
[[nodiscard]] std::size_t take_all(Shared& memory, std::size_t size) {
    std::size_t count = 0;
    while (memory.allocate({.size = size})) ++count;
    return count;
}

}  // namespace

TEST_CASE_TEMPLATE("per_thread: threads exchange blocks, and all memory is free at the end", Memory, shared<in_band>,
                   shared<beside>, shared<in_band, std::mutex>) {
    Memory memory{typename Memory::inner_type{{{}, 1_MiB}}};
    CHECK(exchanged::play(memory, 4, 3'000, in_a_cache));
    memory.flush();
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("per_thread: threads that use up the memory free the caches of the others") {
    using memory_type = shared<in_band>;
    memory_type memory{memory_type::inner_type{{{}, 8_KiB}}};
    std::atomic<bool> wrong = false;
    std::atomic<std::size_t> refused = 0;
    {
        std::vector<std::jthread> running;
        for (unsigned i = 0; i != 3; ++i)
            running.emplace_back([&, i] {
                std::minstd_rand random{i + 1};
                allot::thread_cache mine{memory};
                std::vector<memory_type::block_type> held;
                for (int step = 0; step != 2'000; ++step) {
                    const auto fresh = mine.allocate({.size = 1 + random() % 1500});
                    if (fresh) {
                        exchanged::fill(fresh);
                        held.push_back(fresh);
                    }
                    refused += !fresh;
                    if (held.empty() || (fresh && held.size() < 8)) continue;
                    std::swap(held[random() % held.size()], held.back());
                    if (!exchanged::is_filled(held.back())) wrong = true;
                    mine.deallocate(held.back());
                    held.pop_back();
                }
                for (const auto& each : held) mine.deallocate(each);
            });
    }
    CHECK_FALSE(wrong);
    CHECK(refused > 0);
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("per_thread: a thread gets memory that another one keeps while it is idle") {
    using memory_type = shared<in_band>;
    memory_type memory{memory_type::inner_type{{{}, 16_KiB}}};
    std::atomic<int> turn = 0;
    std::jthread other{[&] {
        allot::thread_cache mine{memory};
        memory_type::block_type held[6];
        for (auto& each : held) each = mine.allocate({.size = 1000});
        for (const auto& each : held) mine.deallocate(each);
        turn = 1;
        while (turn != 2) std::this_thread::yield();
        for (auto& each : held) each = mine.allocate({.size = 500});
        for (const auto& each : held) mine.deallocate(each);
    }};
    while (turn != 1) std::this_thread::yield();
    CHECK(memory.statistics().count != 0);
    {
        allot::thread_cache mine{memory};
        const auto large = mine.allocate({.size = 15'000});
        CHECK(large);
        mine.deallocate(large);
    }
    turn = 2;
    other.join();
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("per_thread: without a barrier of the process, other caches keep their blocks") {
    using memory_type = allot::per_thread<allot::counted<in_band>, allot::spin_lock, small, no_barrier>;
    memory_type memory{memory_type::inner_type{{{}, 16_KiB}}};
    allot::thread_cache idle{memory};
    idle.deallocate(idle.allocate({.size = 1000}));
    const std::size_t kept = memory.statistics().count;
    CHECK(kept != 0);
    allot::thread_cache mine{memory};
    CHECK_FALSE(mine.allocate({.size = 15'900}));
    CHECK(memory.statistics().count == kept);
    idle.flush();
    CHECK(mine.allocate({.size = 15'900}));
}

TEST_CASE("per_thread: a canceled thread gives back its blocks") {
    using memory_type = shared<in_band>;
    struct state {
        memory_type memory{memory_type::inner_type{{{}, 1_MiB}}};
        std::atomic<bool> ready = false;
    } all;
    pthread_t thread;
    REQUIRE(::pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                    auto& of = *static_cast<state*>(argument);
                    allot::thread_cache mine{of.memory};
                    mine.deallocate(mine.allocate({.size = 100}));
                    of.ready = true;
                    while (true) ::pthread_testcancel();  // not in a call, where the thread sanitizer loses the order
                },
                &all) == 0);
    while (!all.ready) std::this_thread::yield();
    CHECK(all.memory.statistics().count != 0);
    REQUIRE(::pthread_cancel(thread) == 0);
    REQUIRE(::pthread_join(thread, nullptr) == 0);
    CHECK(all.memory.statistics().count == 0);
}

TEST_CASE("per_thread: the child of a fork frees the caches of threads that it does not have") {
    using memory_type = shared<in_band>;
    memory_type memory{memory_type::inner_type{{{}, 64_KiB}}}, twin{memory_type::inner_type{{{}, 64_KiB}}};
    const std::size_t all = take_all(twin, 1000);
    CHECK(all > 50);
    std::atomic<int> turn = 0;
    std::jthread other{[&] {
        allot::thread_cache mine{memory};
        mine.deallocate(mine.allocate({.size = 1000}));
        turn = 1;
        while (turn != 2) std::this_thread::yield();
    }};
    while (turn != 1) std::this_thread::yield();
    CHECK(memory.statistics().count != 0);
    std::fflush(nullptr);  // a child must not print the same text again
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(take_all(memory, 1000) == all ? 0 : 1);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    turn = 2;
}

TEST_CASE("per_thread: a fork while other threads are in calls") {
    using memory_type = shared<in_band, std::mutex>;
    memory_type memory{memory_type::inner_type{{{}, 256_KiB}}};
    std::atomic<bool> end = false;
    std::vector<std::jthread> others;
    for (unsigned i = 0; i != 2; ++i)
        others.emplace_back([&, i] {
            std::minstd_rand random{i + 1};
            allot::thread_cache mine{memory};
            while (!end) {
                memory_type::block_type held[20];
                for (auto& each : held) each = mine.allocate({.size = 1 + random() % 3000});
                for (const auto& each : held) mine.deallocate(each);
            }
        });
    int failed = 0;
    for (int round = 0; round != 20; ++round) {
        std::fflush(nullptr);  // a child must not print the same text again
        memory.lock();
        const pid_t child = ::fork();
        memory.unlock();
        REQUIRE(child >= 0);
        if (child == 0) {
            // At most 40 blocks of 3,000 bytes are lost with the threads.
            const bool good = take_all(memory, 1000) > 100 && memory.statistics().refusals > 0;
            ::_exit(good ? 0 : 1);
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        failed += status != 0;
    }
    end = true;
    others.clear();
    CHECK(failed == 0);
    CHECK(memory.statistics().count == 0);
}
