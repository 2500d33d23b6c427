// Threads share one arena. Each has a cache of freed blocks, so that few calls lock the arena.
#include <allot/allot.hpp>
#include <allot/compose/thread_local_caches.hpp>

#include <cstdio>
#include <thread>
#include <vector>

using namespace allot::literals;
using arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using shared = allot::per_thread<allot::counted<arena>>;  // `counted` shows the calls that reach the arena

// Allocates and frees lists of numbers. Returns whether each request was served.
template <class Memory>
static bool work(Memory& memory) {
    bool good = true;
    for (std::size_t i = 0; i != 10'000; ++i) {
        const auto block = memory.allocate({.size = 16 + i % 500});
        good = good && block;
        memory.deallocate(block);
    }
    return good;
}

int main() {
    bool good[4]{};

    // One cache for each thread, passed to the functions of the thread.
    shared memory{allot::counted<arena>{arena{{}, 1_MiB}}};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i != 2; ++i)
            threads.emplace_back([&, i] {
                allot::thread_cache mine{memory};
                good[i] = work(mine);
            });
    }
    const allot::allocator_statistics all = memory.statistics();
    std::printf("40,000 calls of threads, %zu requests of the arena, %zu live blocks\n", all.requests, all.count);

    // The same with thread-local storage: every thread calls the memory itself.
    allot::thread_local_caches<shared> simple{allot::counted<arena>{arena{{}, 1_MiB}}};
    {
        std::vector<std::jthread> threads;
        for (int i = 2; i != 4; ++i) threads.emplace_back([&, i] { good[i] = work(simple); });
    }
    const bool freed = all.count == 0 && simple.statistics().count == 0;
    return freed && all.requests < 1000 && good[0] && good[1] && good[2] && good[3] ? 0 : 1;
}
