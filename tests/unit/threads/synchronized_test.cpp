// One allocator that several threads share through a lock.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
using memory = allot::arena<allot::host::static_storage<64_KiB>, allot::best_fit<>>;

}  // namespace

TEST_CASE_TEMPLATE("synchronized: threads share an arena", lock, allot::spin_lock, std::mutex) {
    allot::synchronized<memory, lock> shared;
    const auto hole = [&] { return shared.diagnose({.size = 1}).largest_hole; };
    const auto largest = hole();
    std::vector<int> wrong(3);
    {
        std::vector<std::jthread> threads;
        for (int& mine : wrong)
            threads.emplace_back([&shared, &mine, number = &mine - wrong.data() + 1] {
                std::vector<memory::block_type> held;
                for (std::size_t i = 0; i != 4000; ++i) {
                    if (const auto block =
                            shared.allocate({.size = i * 37 % 300 + 1, .align = std::size_t{1} << i % 7})) {
                        std::memset(block.address, static_cast<int>(number), block.size);
                        held.push_back(block);
                    }
                    if (held.size() < 20) continue;
                    const auto oldest = held[i % 20];
                    held[i % 20] = held.back();
                    held.pop_back();
                    for (std::size_t b = 0; b != oldest.size; ++b)
                        mine += static_cast<const unsigned char*>(oldest.address)[b] != number;
                    shared.deallocate(oldest);
                }
                for (const auto& block : held) shared.deallocate(block);
            });
    }
    for (const int each : wrong) CHECK(each == 0);
    CHECK(hole() == largest);
}
