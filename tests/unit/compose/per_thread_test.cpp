// per_thread and thread_cache in one thread. tests/unit/threads/per_thread_test.cpp has several threads.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace {

using allot::per_thread_options;

template <std::size_t Bytes = 65536>
using scratch = allot::arena<allot::host::static_storage<Bytes, 64>, allot::best_fit<>>;
using counted = allot::counted<scratch<>>;
constexpr per_thread_options small{
    .smallest = 32, .largest = 1024, .align = 16, .bytes = 2048, .batch = 4, .batches = 4};

template <class Arena, per_thread_options Options = per_thread_options{}>
using shared = allot::per_thread<Arena, allot::spin_lock, Options>;

}  // namespace

TEST_CASE("per_thread: the newest freed block of a size is allocated again, without a call of the allocator") {
    shared<counted> memory;
    allot::thread_cache mine{memory};
    const auto first = mine.allocate({.size = 100}), second = mine.allocate({.size = 100});
    REQUIRE(first);
    REQUIRE(second);
    mine.deallocate(first);
    mine.deallocate(second);
    const std::size_t before = memory.statistics().requests;
    CHECK(mine.allocate({.size = 112}).address == second.address);  // 97 to 112 bytes are one list
    CHECK(mine.allocate({.size = 97}).address == first.address);
    CHECK(memory.statistics().requests == before);
    CHECK(memory.statistics().count >= 2);
}

TEST_CASE("per_thread: random calls return blocks that overlap no other, and keep at most the bytes of the options") {
    shared<counted, small> memory;
    {
        allot::thread_cache mine{memory}, other{memory};
        std::vector<decltype(memory)::block_type> live;
        std::vector<unsigned char> marks;
        std::mt19937 random{7};
        for (int step = 0; step != 20'000; ++step) {
            auto& by = random() % 3 == 0 ? other : mine;
            if (live.size() < 60 && random() % 2 == 0) {
                const std::size_t size = 1 + random() % (step % 10 == 0 ? 2000 : 500), align = 1U << random() % 8;
                const auto fresh = by.allocate({size, align});
                if (!fresh) continue;
                CHECK(fresh.size == size);
                CHECK(allot::raw_pointer::position(fresh.address) % align == 0);
                CHECK(memory.capacity(fresh) >= size);
                CHECK(memory.owns(fresh));
                marks.push_back(static_cast<unsigned char>(step));
                std::memset(fresh.address, marks.back(), size);
                live.push_back(fresh);
            } else if (!live.empty()) {
                const std::size_t which = random() % live.size();
                std::swap(live[which], live.back());
                std::swap(marks[which], marks.back());
                bool kept = true;
                for (std::size_t i = 0; i != live.back().size; ++i)
                    kept &= static_cast<unsigned char*>(live.back().address)[i] == marks.back();
                CHECK(kept);
                by.deallocate(live.back());
                live.pop_back();
                marks.pop_back();
            }
            std::size_t used = 0;  // at most 25 % more for the sizes of lists, and 32 for the smallest list
            for (const auto& each : live) used += each.size + each.size / 4 + 32;
            CHECK(memory.statistics().used <= used + 3 * small.bytes);
        }
        for (const auto& each : live) mine.deallocate(each);
    }
    memory.flush();
    CHECK(memory.statistics().count == 0);
    CHECK(memory.statistics().used == 0);
}

TEST_CASE("per_thread: a request fails only after the blocks of all caches and of the transfer lists were freed") {
    shared<counted> memory;
    allot::thread_cache mine{memory}, other{memory};
    std::vector<counted::block_type> held;
    while (const auto block = other.allocate({.size = 100})) held.push_back(block);
    REQUIRE(held.size() > 300);
    for (const auto& each : held) other.deallocate(each);
    REQUIRE(memory.statistics().count != 0);
    const auto large = mine.allocate({.size = 60'000});
    REQUIRE(large);
    CHECK(memory.statistics().count == 1);
    mine.deallocate(large);
    held.clear();
    while (const auto block = mine.allocate({.size = 2000})) held.push_back(block);
    CHECK(mine.diagnose({.size = 2000}).reason != allot::refusal::none);
    mine.deallocate(held.back());
    CHECK(other.diagnose({.size = 2040}).reason == allot::refusal::none);
    CHECK(other.allocate({.size = 2040}).address == held.back().address);
}

TEST_CASE("per_thread: flush and the end of a cache free what it keeps, and trim what all keep") {
    shared<counted> memory;
    {
        allot::thread_cache mine{memory};
        mine.deallocate(mine.allocate({.size = 100}));
        CHECK(memory.statistics().count != 0);
        mine.flush();
        CHECK(memory.statistics().count == 0);
        mine.deallocate(mine.allocate({.size = 200}));
        CHECK(memory.flush());
        CHECK_FALSE(memory.flush());
        CHECK(memory.statistics().count == 0);
        mine.deallocate(mine.allocate({.size = 300}));
        CHECK(memory.statistics().count != 0);
    }
    CHECK(memory.statistics().count == 0);

    using growing = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::fixed<>>;
    shared<growing> grown{growing{{}, 4096}};
    allot::thread_cache mine{grown};
    const std::size_t before = grown.size();
    mine.deallocate(mine.allocate({.size = 30'000}));
    CHECK(grown.size() > before);
    CHECK(mine.trim() > 0);
    CHECK(grown.size() <= before);
}

TEST_CASE("per_thread: batches pass from one cache to another without the allocator") {
    shared<counted, small> memory;
    allot::thread_cache from{memory}, to{memory};
    std::vector<counted::block_type> held;
    for (int i = 0; i != 40; ++i) held.push_back(from.allocate({.size = 32}));
    for (const auto& each : held) to.deallocate(each);
    const auto before = memory.statistics();
    int known = 0;
    for (int i = 0; i != 16; ++i) {
        const auto again = from.allocate({.size = 32});
        for (const auto& each : held) known += each.address == again.address;
    }
    CHECK(known >= 12);  // the cache may still have had a batch
    CHECK(memory.statistics().requests == before.requests);
}

TEST_CASE("per_thread: calls without a cache, and blocks that a cache frees") {
    shared<counted> memory;
    allot::thread_cache mine{memory};
    const auto direct = memory.allocate({.size = 90});
    REQUIRE(direct);
    mine.deallocate(direct);
    CHECK(mine.allocate({.size = 96}).address == direct.address);
    memory.deallocate({direct.address, 96, direct.metadata});
    CHECK(memory.statistics().count == 0);
}

TEST_CASE("per_thread: wrong layouts and empty blocks") {
    shared<scratch<>> memory;
    allot::thread_cache mine{memory};
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    for (const allot::layout wrong : {allot::layout{0, 16},
                                      {0, 0},
                                      {16, 0},
                                      {16, 3},
                                      {most, 16},
                                      {most - 7, 1},
                                      {16, most / 2 + 1},
                                      {70'000, 16}}) {
        CHECK_FALSE(mine.allocate(wrong));
        CHECK_FALSE(memory.allocate(wrong));
        CHECK(mine.diagnose(wrong).reason != allot::refusal::none);
    }
    mine.deallocate({});
    memory.deallocate({});
    CHECK(mine.capacity({}) == 0);
    CHECK(mine.allocate({.size = 60'000}));
}

TEST_CASE("per_thread: a resize inside a list keeps the block, and a later deallocation finds its list") {
    shared<counted> memory;
    allot::thread_cache mine{memory};
    auto block = memory.allocate({.size = 100});  // a cache would also allocate the memory behind it
    void* const address = block.address;
    REQUIRE(mine.resize(block, 110));
    CHECK(block.size == 110);
    REQUIRE(mine.resize(block, 300));
    CHECK(block.size == 300);
    CHECK(block.address == address);
    CHECK_FALSE(mine.resize(block, 0));
    CHECK_FALSE(mine.resize(block, 1'000'000));
    mine.deallocate(block);
    CHECK(mine.allocate({.size = 310}).address == address);
    decltype(block) none;
    CHECK_FALSE(mine.resize(none, 5));
}

TEST_CASE("per_thread: the smallest options") {
    constexpr per_thread_options one{
        .smallest = 64, .largest = 64, .steps = 1, .align = 64, .bytes = 64, .batch = 1, .batches = 1};
    counted below;
    allot::per_thread<counted&, allot::spin_lock, one> memory{below};
    {
        allot::thread_cache mine{memory};
        const auto first = mine.allocate({.size = 1, .align = 1}), second = mine.allocate({.size = 64});
        CHECK(allot::raw_pointer::position(first.address) % 64 == 0);
        mine.deallocate(first);
        mine.deallocate(second);
        CHECK(below.statistics().count <= 3);  // one block in the cache and one in the transfer lists, and one more
        CHECK(mine.allocate({.size = 2}));
        mine.deallocate(mine.allocate({.size = 65}));
    }
    memory.flush();
    CHECK(below.statistics().count == 1);
}

TEST_CASE("per_thread: a block above the largest list enters the lists by a resize only with their alignment") {
    using large = allot::arena<allot::host::static_storage<262144, 64>,
                               allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
    shared<large, per_thread_options{.align = 64}> memory;
    allot::thread_cache mine{memory};
    const auto first = mine.allocate({.size = 40001, .align = 1});  // at a multiple of 64
    auto next = mine.allocate({.size = 40001, .align = 1});
    REQUIRE(next);
    REQUIRE(allot::raw_pointer::position(next.address) % 64 != 0);
    CHECK_FALSE(mine.resize(next, 1000));
    CHECK_FALSE(memory.resize(next, 32768));
    CHECK(next.size == 40001);
    CHECK(mine.resize(next, 40000));
    CHECK(mine.resize(next, 32769));
    mine.deallocate(next);
    auto shrunk = first;
    CHECK(mine.resize(shrunk, 1000));
    CHECK(shrunk.size == 1000);
    CHECK(mine.resize(shrunk, 40001));  // and back
    CHECK(mine.resize(shrunk, 1000));
    mine.deallocate(shrunk);
    const auto again = mine.allocate({.size = 1000, .align = 64});
    CHECK(again.address == first.address);
    for (int i = 0; i != 20; ++i) {
        const auto fresh = mine.allocate({.size = 1000, .align = 64});
        REQUIRE(fresh);
        CHECK(allot::raw_pointer::position(fresh.address) % 64 == 0);
    }
}

TEST_CASE(
    "per_thread: random requests and resizes around the largest list return aligned blocks that overlap no other") {
    using large = allot::arena<allot::host::static_storage<65536, 64>,
                               allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;
    shared<large, small> memory;
    allot::thread_cache mine{memory};
    std::vector<decltype(memory)::block_type> live;
    std::mt19937 random{11};
    const auto some_size = [&] { return 1 + random() % 3000; };
    for (int step = 0; step != 10'000; ++step) {
        if (live.size() < 20 && random() % 2 == 0) {
            const std::size_t size = some_size(), align = 1U << random() % 7;
            const auto fresh = mine.allocate({size, align});
            if (!fresh) continue;
            CHECK(allot::raw_pointer::position(fresh.address) % align == 0);
            live.push_back(fresh);
        } else if (!live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            std::memset(live.back().address, 1, live.back().size);
            if (random() % 2 == 0 && mine.resize(live.back(), some_size())) continue;
            mine.deallocate(live.back());
            live.pop_back();
        }
    }
    for (const auto& each : live) mine.deallocate(each);
}
