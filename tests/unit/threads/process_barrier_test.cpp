// process_barrier: of two threads that write and then read, at least one reads the value of the other.
#include <allot/host/process_barrier.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

TEST_CASE("process_barrier: two threads never both miss the write of the other") {
    using barrier = allot::host::process_barrier;
    if (!barrier::heavy()) {
        MESSAGE("skipped: the system has no barrier of the process");
        return;
    }
    constexpr int rounds = 1'000;
    alignas(64) std::atomic<int> often{0};
    alignas(64) std::atomic<int> rarely{0};
    alignas(64) std::atomic<int> round{0};
    std::atomic<int> seen_by_light = 0, done = 0;
    std::jthread other{[&] {
        for (int i = 1; i <= rounds; ++i) {
            while (round.load(std::memory_order_acquire) != i) std::this_thread::yield();
            often.store(i, std::memory_order_relaxed);
            barrier::light();
            seen_by_light.store(rarely.load(std::memory_order_relaxed), std::memory_order_relaxed);
            done.store(i, std::memory_order_release);
        }
    }};
    int missed = 0;
    for (int i = 1; i <= rounds; ++i) {
        round.store(i, std::memory_order_release);
        rarely.store(i, std::memory_order_relaxed);
        const bool good = barrier::heavy();
        const int seen = often.load(std::memory_order_relaxed);
        while (done.load(std::memory_order_acquire) != i) std::this_thread::yield();
        missed += !good || (seen != i && seen_by_light.load(std::memory_order_relaxed) != i);
    }
    CHECK(missed == 0);
}
