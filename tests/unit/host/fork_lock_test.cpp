// fork_lock: exclusion, sleeping threads, and forks.
#include <allot/host/fork_lock.hpp>

#include <doctest/doctest.h>

#include "../../in_child.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace {
using allot::host::fork_lock;
}

TEST_CASE("fork_lock: one thread has it at a time") {
    fork_lock lock;
    int count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i)
        threads.emplace_back([&] {
            for (int n = 0; n != 20'000; ++n) {
                while (!lock.lock()) {}
                ++count;
                lock.unlock();
            }
        });
    for (std::thread& each : threads) each.join();
    CHECK(count == 80'000);
    CHECK_FALSE(lock.is_locked());
}

TEST_CASE("fork_lock: it knows its owner") {
    fork_lock lock;
    CHECK_FALSE(lock.is_mine());
    REQUIRE(lock.lock());
    CHECK(lock.is_mine());
    CHECK_FALSE(lock.try_lock());
    bool mine = true, taken = true;
    std::thread{[&] {
        mine = lock.is_mine();
        taken = lock.try_lock();
    }}.join();
    CHECK_FALSE(mine);
    CHECK_FALSE(taken);
    lock.unlock();
    CHECK_FALSE(lock.is_mine());
    CHECK(lock.try_lock());
    lock.unlock();
}

TEST_CASE("fork_lock: threads that wait return without it when a thread takes it for a fork") {
    fork_lock lock;
    REQUIRE(lock.lock());
    std::atomic<int> refused{0};
    std::vector<std::thread> waiting;
    for (int i = 0; i != 3; ++i)
        waiting.emplace_back([&] {
            while (lock.lock()) lock.unlock();  // some get it before the forking thread
            ++refused;
        });
    std::atomic<bool> taken{false}, done{false};
    std::thread forker{[&] {
        lock.lock_for_fork();
        taken = true;
        while (!done) std::this_thread::yield();
        lock.unlock_after_fork();
    }};
    lock.unlock();
    for (std::thread& each : waiting) each.join();
    CHECK(refused == 3);
    CHECK_FALSE(lock.lock());
    done = true;
    forker.join();
    CHECK(taken);
    CHECK(lock.lock());
    lock.unlock();
}

TEST_CASE("fork_lock: forks of two threads follow each other") {
    fork_lock lock;
    int inside = 0;
    bool good = true;
    const auto fork_often = [&] {
        for (int i = 0; i != 2000; ++i) {
            lock.lock_for_fork();
            good = good && ++inside == 1;
            --inside;
            lock.unlock_after_fork();
        }
    };
    std::thread other{fork_often};
    fork_often();
    other.join();
    CHECK(good);
}

TEST_CASE("fork_lock: a child releases the lock of its parent, or gives up that of another thread") {
    fork_lock lock, of_other;
    std::atomic<bool> locked{false}, done{false};
    std::thread other{[&] {
        static_cast<void>(of_other.lock());
        locked = true;
        while (!done) std::this_thread::yield();
        of_other.unlock();
    }};
    while (!locked) std::this_thread::yield();
    lock.lock_for_fork();
    CHECK(processes::in_child([&] {
              lock.unlock_after_fork();
              const bool free = lock.lock();
              const bool lost = of_other.is_locked() && !of_other.is_mine();
              of_other.lock_forever();
              return free && lost && !of_other.lock() ? 0 : 1;
          }) == 0);
    lock.unlock_after_fork();
    done = true;
    other.join();
    CHECK(lock.lock());
    lock.unlock();
}
