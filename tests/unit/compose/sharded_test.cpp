// sharded in one thread, whose number the test sets. tests/unit/threads/sharded_test.cpp has several threads.
#include "noted_misuse.hpp"

#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace allot::literals;

std::size_t processor = 0;
struct set_processor {
    [[nodiscard]] std::size_t operator()() const noexcept { return processor; }
};
/// A thread that moves to processor 0 after each question.
struct moving_processor {
    [[nodiscard]] std::size_t operator()() const noexcept { return std::exchange(processor, 0); }
};

using arena = allot::arena<allot::host::static_storage<4096, 64>, allot::best_fit<>>;
template <class Arena>
using locked = allot::synchronized<allot::counted<Arena>, allot::no_lock>;
using three = allot::sharded<locked<arena>, 3, set_processor>;
static_assert(allot::allocator<three>);

}  // namespace

TEST_CASE("sharded: a request goes to the shard of the caller, and a deallocation to that of the block") {
    three memory;
    for (std::size_t i = 0; i != 7; ++i) {
        processor = i;
        const auto block = memory.allocate({.size = 100});
        REQUIRE(block);
        CHECK(block.metadata.shard == i % 3);
        std::size_t at = 0;
        memory.for_each_part([&](const auto& each) { CHECK(each.owns({block.address, 100, {}}) == (at++ == i % 3)); });
        CHECK(memory.owns(block));
        processor = i + 1;
        memory.deallocate(block);
        CHECK(memory.statistics().count == 0);
    }
    processor = 0;
}

TEST_CASE("sharded: a request goes to the next shard if one is full, and fails if all are full") {
    three memory;
    processor = 1;
    std::vector<std::size_t> shards;
    std::vector<three::block_type> held;
    while (const auto block = memory.allocate({.size = 1000})) {
        shards.push_back(block.metadata.shard);
        held.push_back(block);
    }
    CHECK(shards == std::vector<std::size_t>{1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0});
    CHECK(memory.diagnose({.size = 1000}).reason == allot::refusal::exhausted);
    CHECK(memory.statistics().count == 12);
    CHECK(memory.statistics().used == 12'000);
    memory.deallocate(held[9]);
    CHECK(memory.diagnose({.size = 1000}).reason == allot::refusal::none);
    const auto again = memory.allocate({.size = 1000});
    CHECK(again.address == held[9].address);
    CHECK(again.metadata.shard == 0);
    // Most free bytes are in the third shard, but the request of the second one asks for more.
    memory.deallocate(held[4]);
    memory.deallocate(held[5]);
    CHECK(memory.diagnose({.size = 3000}).largest_hole >= 2000);
    CHECK(memory.diagnose({.size = 3000}).reason != allot::refusal::none);
    processor = 0;
}

TEST_CASE("sharded: diagnose asks each shard once, also if the thread moves to another processor meanwhile") {
    allot::sharded<locked<arena>, 3, moving_processor> memory;
    for (std::size_t i = 0; i != 8; ++i) {
        processor = 1 + i / 4;
        REQUIRE(memory.allocate({.size = 1000}).metadata.shard == 1 + i / 4);
    }
    processor = 1;  // and 0 when it is asked again
    CHECK(memory.diagnose({.size = 1000}).reason == allot::refusal::none);
    processor = 0;
}

TEST_CASE("sharded: random calls return blocks that overlap no other") {
    three memory;
    std::vector<three::block_type> live;
    std::mt19937 random{3};
    for (int step = 0; step != 5'000; ++step) {
        processor = random();
        if (random() % 2 == 0) {
            const auto fresh = memory.allocate({.size = 1 + random() % 500, .align = 1U << random() % 7});
            if (!fresh) continue;
            std::memset(fresh.address, static_cast<int>(fresh.size % 251), fresh.size);
            live.push_back(fresh);
        } else if (!live.empty()) {
            auto& last = live[random() % live.size()];
            std::swap(last, live.back());
            bool kept = true;
            for (std::size_t i = 0; i != live.back().size; ++i)
                kept &= static_cast<unsigned char*>(live.back().address)[i] == live.back().size % 251;
            CHECK(kept);
            memory.deallocate(live.back());
            live.pop_back();
        }
        CHECK(memory.statistics().count == live.size());
    }
    std::map<void*, std::size_t> listed;
    memory.for_each_block([&](void* address, std::size_t size) { listed[address] = size; });
    CHECK(listed.size() == live.size());
    for (const auto& each : live) CHECK(listed[each.address] >= each.size);
    for (const auto& each : live) memory.deallocate(each);
    std::size_t holes = 0;
    memory.for_each_hole([&](void*, std::size_t) { ++holes; });
    CHECK(holes == 3);
    processor = 0;
}

TEST_CASE("sharded: each allocator is made by its number, and abilities are those of the allocators") {
    using growing = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
    using shared = allot::sharded<locked<growing>, 2, set_processor>;
    std::vector<std::size_t> numbers;
    shared memory{[&](std::size_t number) {
        numbers.push_back(number);
        return locked<growing>{allot::counted<growing>{growing{{}, 4_KiB * (number + 1)}}};
    }};
    CHECK(numbers == std::vector<std::size_t>{0, 1});
    CHECK(memory.size() >= 12_KiB);
    auto block = memory.allocate({.size = 100});
    REQUIRE(memory.resize(block, 300));
    CHECK(block.size == 300);
    CHECK(memory.capacity(block) >= 300);
    CHECK_FALSE(memory.resize(block, 0));
    shared::block_type none;
    CHECK_FALSE(memory.resize(none, 10));
    CHECK(memory.capacity(none) == 0);
    memory.deallocate(none);
    memory.deallocate(block);
    CHECK(memory.trim() >= 12_KiB);
    CHECK(memory.size() == 0);

    using bumps = allot::sharded<
        allot::synchronized<allot::arena<allot::host::static_storage<256>, allot::bump<>>, allot::no_lock>, 2,
        set_processor>;
    bumps frames;
    while (frames.allocate({.size = 50})) {}
    frames.reset();
    CHECK(frames.allocate({.size = 200}));
    CHECK(frames.allocate({.size = 200}));
    static_assert(!allot::resettable_allocator<shared> && !allot::trimmable_allocator<bumps>);
    static_assert(!allot::positional_allocator<shared> && !allot::markable_allocator<bumps>);
}

TEST_CASE("sharded: a hardened shard checks its blocks") {
    using hardened = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
                                  allot::arena_options{.hardening = allot::hardening::checked}, noted::note>;
    using one = allot::synchronized<hardened, allot::no_lock>;
    allot::sharded<one, 2, set_processor> memory{[](std::size_t) { return one{hardened{{}, 4_KiB}}; }};
    const auto block = memory.allocate({.size = 100});
    CHECK(memory.check(block));
    CHECK(memory.is_live(block));
    memory.deallocate(block);
    CHECK_FALSE(memory.is_live(block));
    CHECK(noted::note::take() == 0);
    memory.deallocate(block);
    CHECK(noted::note::take() == 1);
}

TEST_CASE("sharded: per_thread over shards frees each block to its shard") {
    three below;
    allot::per_thread<three&, allot::no_lock, allot::per_thread_options{.largest = 1024, .bytes = 2048, .batch = 2}>
        memory{below};
    {
        allot::thread_cache mine{memory};
        std::vector<three::block_type> held;
        while (const auto block = mine.allocate({.size = 200})) held.push_back(block);
        CHECK(held.size() > 45);
        for (const auto& each : held) mine.deallocate(each);
    }
    CHECK(below.statistics().count == 0);
}
