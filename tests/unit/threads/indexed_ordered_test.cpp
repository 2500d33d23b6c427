// One memory in the order of queues that several threads share by addresses, as libraries do.
#include <allot/compose/indexed_ordered.hpp>
#include <allot/host/job_queue.hpp>
#include <allot/host/static_storage.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t size = 64 * 1024;
using arena_type = allot::arena<allot::host::static_storage<size>, allot::best_fit<>>;
using ordered_type = allot::ordered<arena_type, allot::host::job_timeline, allot::ordered_options{.queues = 2}>;

}  // namespace

TEST_CASE_TEMPLATE("indexed_ordered: threads share a memory by addresses", lock, allot::spin_lock, std::mutex) {
    allot::host::job_queue queues[3];
    allot::indexed_ordered<ordered_type, lock> memory{allot::host::job_timeline{}};
    std::vector<int> wrong(3);
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != 3; ++t)
            threads.emplace_back([&memory, &mine = wrong[t], queue = &queues[t], value = static_cast<int>(t + 1)] {
                for (std::size_t i = 0; i != 1500; ++i) {
                    const auto block = memory.allocate({i * 37 % 3000 + 1, 16}, queue);
                    if (!block) continue;
                    std::memset(block.address, value, block.size);
                    for (std::size_t b = 0; b != block.size; ++b)
                        mine += static_cast<const unsigned char*>(block.address)[b] != value;
                    mine += !memory.deallocate(block.address, queue);
                }
            });
    }
    for (const int each : wrong) CHECK(each == 0);
    const auto whole = memory.allocate({size, 16});
    CHECK(whole);
    CHECK(memory.deallocate(whole.address));
}
