// A lock-free pool, used by several threads concurrently, and by a thread and a signal handler that interrupts it at
// any instruction.
#include "interrupted.hpp"

#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using namespace allot::literals;
constexpr allot::pool_options shared{.slot = 64, .count = 100, .store = allot::pool_store::atomic_bitmap};
using packets = allot::arena<allot::host::static_storage<100 * 64>, allot::pool<shared>>;
static_assert(allot::concurrent<packets::strategy_type> && !allot::concurrent<allot::best_fit<>>);

/// Holds up to `most` slots, fills each with its own number, and frees the oldest first.
class holder {
public:
    holder(packets& from, unsigned char number) : from_{from}, number_{number} {}

    /// Allocates a slot. Frees one instead if the pool is empty or the holder is full.
    void step() noexcept {
        if (held_ != most) {
            if (const auto block = from_.allocate({.size = 64})) {
                std::memset(block.address, number_, 64);
                blocks_[(first_ + held_++) % most] = block;
                ++taken;
                return;
            }
        }
        give_oldest();
    }
    void give_all() noexcept {
        while (held_ != 0) give_oldest();
    }

    std::size_t taken = 0;
    bool wrong = false;  // another holder wrote to a slot

private:
    static constexpr std::size_t most = 40;

    void give_oldest() noexcept {
        if (held_ == 0) return;
        const auto block = blocks_[first_];
        for (std::size_t i = 0; i != 64; ++i) wrong |= static_cast<const unsigned char*>(block.address)[i] != number_;
        from_.deallocate(block);
        first_ = (first_ + 1) % most;
        --held_;
    }

    packets& from_;
    unsigned char number_;
    packets::block_type blocks_[most]{};
    std::size_t first_ = 0, held_ = 0;
};

/// Returns whether every slot is free: exactly all of them can be allocated.
[[nodiscard]] bool has_all_slots(packets& pool) {
    std::vector<packets::block_type> all;
    while (const auto block = pool.allocate({.size = 64})) all.push_back(block);
    for (const auto& block : all) pool.deallocate(block);
    return all.size() == 100;
}

holder* interrupting = nullptr;
void on_interrupt() noexcept {
    interrupting->step();
    interrupting->step();
}

}  // namespace

TEST_CASE("concurrent pool: threads never share a slot and never lose one") {
    packets pool;
    std::vector<holder> holders;
    for (unsigned char i = 1; i != 5; ++i) holders.emplace_back(pool, i);
    {
        std::vector<std::jthread> threads;
        for (holder& mine : holders)
            threads.emplace_back([&mine] {
                for (std::size_t i = 0; i != 20'000; ++i) mine.step();
                mine.give_all();
            });
    }
    std::size_t taken = 0;
    for (const holder& each : holders) {
        CHECK_FALSE(each.wrong);
        taken += each.taken;
    }
    CHECK(taken > 1000);
    CHECK(has_all_slots(pool));
}

TEST_CASE("concurrent pool: a signal handler allocates and frees during calls of its thread") {
    packets pool;
    holder thread{pool, 1}, interrupt{pool, 2};
    interrupting = &interrupt;
    interrupted::run(on_interrupt, [&] { thread.step(); });
    thread.give_all();
    interrupt.give_all();
    CHECK_FALSE(thread.wrong);
    CHECK_FALSE(interrupt.wrong);
    CHECK(has_all_slots(pool));
}

TEST_CASE("concurrent pool: only one thread succeeds to allocate at a given slot") {
    packets pool;
    std::atomic<int> got = 0;
    for (int round = 0; round != 200; ++round) {
        got = 0;
        {
            std::vector<std::jthread> threads;
            for (int i = 0; i != 3; ++i)
                threads.emplace_back([&] {
                    if (pool.allocate_at({64 * 99, 64})) ++got;
                });
        }
        if (got != 1) FAIL_CHECK("allocated by ", got.load());
        pool.deallocate({static_cast<std::byte*>(pool.regions()[0].base) + 64 * 99, 64, {}});
    }
    CHECK(has_all_slots(pool));
}
