#include <allot/adapt/memory_resource.hpp>
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using allot::up_to;
using allot::when_full;
template <std::size_t Slot>
using pool = allot::arena<allot::host::static_storage<Slot * 8, 64>, allot::pool<allot::pool_options{.slot = Slot}>>;
using scratch = allot::arena<allot::host::static_storage<16384>, allot::best_fit<>>;
using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
using beside = allot::arena<allot::host::static_storage<4096>,
                            allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>>;

}  // namespace

TEST_CASE("segregated: each size reaches its branch, and a full branch fails although others have memory") {
    pool<64> small;
    pool<256> middle;
    scratch large;
    allot::segregated memory{up_to<64>(small), up_to<256>(middle), large};
    using block = decltype(memory)::block_type;
    static_assert(std::is_empty_v<decltype(memory)::metadata_type>);
    static_assert(sizeof(block) == sizeof(pool<64>::block_type));
    for (const auto& [size, branch] : {std::pair{1, 0}, {63, 0}, {64, 0}, {65, 1}, {256, 1}, {257, 2}, {5000, 2}}) {
        const block held = memory.allocate({.size = static_cast<std::size_t>(size), .align = 8});
        REQUIRE(held);
        CHECK(memory.branch_of(held) == static_cast<std::size_t>(branch));
        CHECK(small.owns({held.address, held.size, {}}) == (branch == 0));
        CHECK(middle.owns({held.address, held.size, {}}) == (branch == 1));
        CHECK(large.owns({held.address, held.size, {}}) == (branch == 2));
        CHECK(memory.owns(held));
        CHECK(memory.capacity(held) >= held.size);
        memory.deallocate(held);
    }
    std::vector<block> all;
    while (const block held = memory.allocate({.size = 40, .align = 8})) all.push_back(held);
    CHECK(all.size() == 8);
    CHECK(memory.diagnose({.size = 40, .align = 8}).reason == refusal::exhausted);
    CHECK(memory.diagnose({.size = 65, .align = 8}).reason == refusal::none);
    CHECK_FALSE(memory.allocate({.size = 0}));
    CHECK_FALSE(memory.allocate({.size = 70, .align = 3}));
    for (const block& each : all) memory.deallocate(each);
    CHECK(memory.allocate({.size = 40, .align = 8}));
    CHECK(memory.size() == small.size() + middle.size() + large.size());
    memory.deallocate({});
}

TEST_CASE("segregated: with when_full::next the following branches serve what a branch cannot") {
    pool<64> small;
    pool<256> middle;
    scratch large;
    allot::segregated memory{up_to<64, when_full::next>(small), up_to<256>(middle), large};
    using block = decltype(memory)::block_type;
    static_assert(sizeof(decltype(memory)::metadata_type) == 1);
    std::vector<std::size_t> served(3);
    std::vector<block> all;
    while (const block held = memory.allocate({.size = 64, .align = 8})) {
        ++served[memory.branch_of(held)];
        all.push_back(held);
    }
    CHECK(served == std::vector<std::size_t>{8, 8, 0});  // the second branch does not fall on
    CHECK(memory.allocate({.size = 300}));
    CHECK(memory.diagnose({.size = 64, .align = 8}).reason == refusal::exhausted);
    for (const block& each : all) memory.deallocate(each);
    CHECK(small.diagnose({.size = 64, .align = 8}).reason == refusal::none);
    CHECK(middle.diagnose({.size = 64, .align = 8}).reason == refusal::none);
    // An alignment that the pool does not have.
    const block aligned = memory.allocate({.size = 64, .align = 256});
    CHECK_FALSE(aligned);
}

TEST_CASE("segregated: the metadata is that of the branch, at random against a model") {
    grows first;
    beside second;
    scratch third;
    allot::segregated memory{up_to<100, when_full::next>(second), allot::aligned_up_to<16>(first), third};
    using block = decltype(memory)::block_type;
    struct known {
        block held;
        int value;
    };
    std::vector<known> live;
    std::mt19937 random{4};
    std::vector<int> served(3), resized(3);
    for (int step = 0; step != 20'000; ++step) {
        if (live.empty() || random() % 7 < 3) {
            const allot::layout wanted{1 + random() % 300, std::size_t{1} << random() % 7};
            const bool expected = memory.diagnose(wanted).reason == refusal::none;
            const block held = memory.allocate(wanted);
            CHECK(static_cast<bool>(held) == expected);
            if (!held) continue;
            const std::size_t branch = memory.branch_of(held);
            if (branch == 1) CHECK(wanted.align <= 16);
            if (branch == 0) CHECK(wanted.size <= 100);
            ++served[branch];
            std::memset(held.address, step & 0xFF, held.size);
            live.push_back({held, step & 0xFF});
        } else if (known& one = live[random() % live.size()]; random() % 3 == 0) {
            const std::size_t size = 1 + random() % 200, before = one.held.size, branch = memory.branch_of(one.held);
            if (memory.resize(one.held, size)) {
                CHECK(one.held.size == size);
                CHECK(memory.branch_of(one.held) == branch);
                ++resized[branch];
                std::memset(one.held.address, one.value, size);
            } else {
                CHECK(one.held.size == before);
            }
        } else {
            bool kept = true;
            for (std::size_t i = 0; i != one.held.size; ++i)
                kept = kept && static_cast<unsigned char*>(one.held.address)[i] == one.value;
            REQUIRE(kept);
            memory.deallocate(one.held);
            std::swap(one, live.back());
            live.pop_back();
        }
    }
    for (const int each : served) CHECK(each > 50);
    for (const int each : resized) CHECK(each > 50);
    for (const known& each : live) memory.deallocate(each.held);
    CHECK(memory.trim() > 0);
    CHECK(first.size() == 0);
    CHECK(second.diagnose({.size = 4096, .align = 1}).reason == refusal::none);
    CHECK(third.diagnose({.size = 16000, .align = 1}).reason == refusal::none);
}

TEST_CASE("segregated: without a number in the block, a resize stays within the sizes of its branch") {
    scratch small, large;
    allot::segregated memory{up_to<100>(small), large};
    auto block = memory.allocate({.size = 50});
    CHECK(memory.resize(block, 100));
    CHECK_FALSE(memory.resize(block, 101));
    CHECK_FALSE(memory.resize(block, 0));
    CHECK(block.size == 100);
    auto other = memory.allocate({.size = 200});
    CHECK_FALSE(memory.resize(other, 100));
    CHECK(memory.resize(other, 101));
    memory.deallocate(block);
    memory.deallocate(other);
    CHECK(small.diagnose({.size = 16000}).reason == refusal::none);
    CHECK(large.diagnose({.size = 16000}).reason == refusal::none);
}

TEST_CASE("segregated: reset and rollback apply to all branches, and a paged allocator undoes a request") {
    using stack = allot::arena<allot::host::static_storage<1024>, allot::stack<>>;
    using bump = allot::arena<allot::host::static_storage<1024>, allot::bump<>>;
    stack a;
    bump b;
    allot::segregated memory{up_to<64>(a), b};
    static_assert(decltype(memory)::reclaims == allot::reclaim::lifo);
    const auto first = memory.allocate({.size = 10}), other = memory.allocate({.size = 100});
    const auto mark = memory.mark();
    const auto second = memory.allocate({.size = 10}), more = memory.allocate({.size = 100});
    memory.rollback(mark);
    CHECK(memory.allocate({.size = 10}) == second);
    CHECK(memory.allocate({.size = 100}) == more);
    memory.reset();
    CHECK(memory.allocate({.size = 10}) == first);
    CHECK(memory.allocate({.size = 100}) == other);

    pool<64> rows_pool;
    grows rest, tables;
    allot::segregated rows{up_to<32>(rest), rows_pool};
    allot::paged<decltype(rows)&, grows&, allot::pointer_table<64>> paged{rows, tables};
    CHECK_FALSE(paged.allocate({.size = 64 * 9}));
    CHECK(tables.size() == 0);
    CHECK(paged.allocate({.size = 64 * 8}));
}

TEST_CASE("segregated: owned branches, counters, walks, a lock and std::pmr") {
    allot::segregated memory{up_to<32>(allot::counted{grows{}}), allot::counted{grows{}}};
    const auto one = memory.allocate({.size = 10, .align = 8}), two = memory.allocate({.size = 1000});
    REQUIRE((one && two));
    CHECK(memory.statistics().used == 1010);
    CHECK(memory.statistics().count == 2);
    std::size_t blocks = 0;
    memory.for_each_block([&](auto, std::size_t) { ++blocks; });
    CHECK(blocks == 2);
    std::size_t holes = 0;
    memory.for_each_hole([&](auto, std::size_t) { ++holes; });
    CHECK(holes == memory.statistics().holes);

    allot::synchronized<decltype(memory)&, allot::no_lock> locked{memory};
    allot::memory_resource resource{locked};
    std::pmr::vector<std::pmr::string> words{&resource};
    for (int i = 0; i != 200; ++i) words.emplace_back("a word that is longer than the buffer of a string");
    CHECK(memory.statistics().count > 200);
    words = std::pmr::vector<std::pmr::string>{&resource};
    CHECK(memory.statistics().count == 2);

    auto moved = std::move(memory);
    moved.deallocate(one);
    moved.deallocate(two);
    CHECK(moved.statistics().count == 0);
}
