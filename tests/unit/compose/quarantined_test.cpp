#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include "noted_misuse.hpp"
#include "numbered.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace {

using allot::misuse;
using allot::quarantine_options;
using noted::bytes_of, noted::note, noted::scratch;

using side_table = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;
template <class Allocator, quarantine_options Options = quarantine_options{}>
using quarantined = allot::quarantined<Allocator, Options, note>;

}  // namespace

TEST_CASE("quarantined: random calls free the blocks in order, above the limit, as a model") {
    scratch<side_table, 16384> arena;
    allot::counted<scratch<side_table, 16384>&> below{arena};
    quarantined<decltype(below)&, quarantine_options{.bytes = 1000}> memory{below};
    using block = decltype(memory)::block_type;
    std::vector<block> live;
    std::deque<block> waiting;
    std::mt19937 random{9};
    std::size_t waits = 0;
    for (int step = 0; step != 4000; ++step) {
        const std::size_t size = 1 + random() % 300;
        if (live.empty() || random() % 2 == 0) {
            const auto fresh = memory.allocate({size, 8});
            if (!fresh) {
                waiting.clear();
                waits = 0;
            } else {
                const bool flushed = memory.waiting() != waits;  // the request failed first
                if (flushed) {
                    CHECK(memory.waiting() == 0);
                    waiting.clear();
                    waits = 0;
                }
                live.push_back(fresh);
            }
        } else {
            std::swap(live[random() % live.size()], live.back());
            memory.deallocate(live.back());
            waiting.push_back(live.back());
            waits += live.back().size;
            live.pop_back();
            for (; waits > 1000; waiting.pop_front()) waits -= waiting.front().size;
        }
        CHECK(memory.waiting() == waits);
        CHECK(below.statistics().count == live.size() + waiting.size());
        for (const block& one : waiting) CHECK(bytes_of(one)[one.size - 1] == 0xDD);
        std::size_t listed = 0;
        memory.for_each_block([&](void* address, std::size_t) {
            ++listed;
            CHECK(std::any_of(live.begin(), live.end(), [&](const block& one) { return one.address == address; }));
        });
        CHECK(listed == live.size());
    }
    CHECK(note::take() == 0);
}

TEST_CASE("quarantined: a write to a waiting block is reported when the block is freed") {
    quarantined<scratch<allot::best_fit<>>> memory;
    for (const std::size_t at : std::initializer_list<std::size_t>{0, 50, 98}) {
        const auto block = memory.allocate({.size = 99});
        memory.deallocate(block);
        CHECK(memory.flush());
        CHECK(note::take() == 0);
        const auto again = memory.allocate({.size = 99});
        memory.deallocate(again);
        bytes_of(again)[at] = 1;
        CHECK(memory.waiting() == 99);
        CHECK(memory.flush());
        CHECK(!memory.flush());
        CHECK(note::take() == 1);
        CHECK(note::last == misuse::written_after_free);
        CHECK(note::position == allot::raw_pointer::position(again.address));
        CHECK(note::size == 99);
    }
    quarantined<scratch<allot::best_fit<>>, quarantine_options{.fill = false}> plain;
    const auto block = plain.allocate({.size = 9});
    std::memset(block.address, 5, 9);
    plain.deallocate(block);
    CHECK(bytes_of(block)[8] == 5);
    CHECK(plain.flush());
    CHECK(note::take() == 0);
}

TEST_CASE("quarantined: a request that fails frees the waiting blocks, and so does its diagnosis") {
    quarantined<scratch<side_table, 1000>> memory;
    auto block = memory.allocate({.size = 900, .align = 1});
    memory.deallocate(block);
    CHECK(memory.diagnose({.size = 100, .align = 1}).reason == allot::refusal::none);
    CHECK(memory.waiting() == 900);
    CHECK(memory.diagnose({.size = 500, .align = 1}).reason == allot::refusal::none);
    CHECK(memory.waiting() == 0);
    block = memory.allocate({.size = 900, .align = 1});
    memory.deallocate(block);
    const auto placed = memory.allocate_at({100, 33});
    REQUIRE(placed);
    CHECK(memory.waiting() == 0);
    memory.deallocate(placed);
    CHECK(memory.diagnose_at({100, 33}).reason == allot::refusal::none);
    CHECK(memory.diagnose_at({990, 11}).reason == allot::refusal::not_free);
    CHECK(!memory.allocate({.size = 1001, .align = 1}));
    memory.deallocate({});
    CHECK(memory.waiting() == 0);
}

TEST_CASE("quarantined: limits by blocks, and blocks larger than the limit") {
    quarantined<scratch<side_table, 4096>, quarantine_options{.bytes = 100, .blocks = 3}> memory;
    std::vector<decltype(memory)::block_type> blocks;
    for (int i = 0; i != 5; ++i) blocks.push_back(memory.allocate({.size = 10}));
    for (const auto& each : blocks) memory.deallocate(each);
    CHECK(memory.waiting() == 30);
    const auto large = memory.allocate({.size = 101});
    memory.deallocate(large);
    CHECK(memory.waiting() == 0);
    std::size_t live = 0;
    memory.for_each_block([&](void*, std::size_t) { ++live; });
    CHECK(live == 0);
}

TEST_CASE("quarantined: over a ring, a bump, handles and a growing arena") {
    quarantined<scratch<allot::ring<>, 1000>> queue;
    std::deque<decltype(queue)::block_type> live;
    for (int i = 0; i != 200; ++i) {
        if (live.size() == 3) {
            queue.deallocate(live.front());
            live.pop_front();
        }
        live.push_back(queue.allocate({.size = 150, .align = 1}));
        REQUIRE(live.back());
    }
    const auto mark = queue.mark();
    CHECK(queue.waiting() == 0);
    queue.rollback(mark);
    queue.reset();
    CHECK(queue.allocate({.size = 1000, .align = 1}));

    using bytes = allot::arena<numbered, allot::best_fit<>>;
    quarantined<bytes> handles{bytes{{}, 1000}};
    const auto block = handles.allocate({.size = 1000, .align = 1});
    handles.deallocate(block);
    CHECK(handles.waiting() == 1000);
    CHECK(handles.allocate({.size = 1000, .align = 1}));

    using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
    grows arena;
    {
        quarantined<grows&> refers{arena};
        {
            std::vector<int, allot::std_allocator<int, quarantined<grows&>>> values{refers};
            for (int i = 0; i != 100; ++i) values.push_back(i);
        }
        CHECK(refers.waiting() != 0);
        quarantined<grows&> moved{std::move(refers)};
        CHECK(refers.waiting() == 0);
        CHECK(moved.waiting() != 0);
        CHECK(arena.trim() == 0);
        CHECK(moved.trim() != 0);
        moved.deallocate(moved.allocate({.size = 7}));
    }
    CHECK(arena.trim() != 0);  // the destructor frees the waiting block
    CHECK(arena.size() == 0);
    CHECK(note::take() == 0);
}

TEST_CASE("quarantined: a block that is freed twice reaches the check of the allocator inside") {
    using checked = allot::arena<allot::host::static_storage<1000>, allot::best_fit<>, allot::growth::none<>,
                                 allot::arena_options{.hardening = allot::hardening::checked, .annotate = false}, note>;
    quarantined<checked> hardened;
    const auto block = hardened.allocate({.size = 40});
    hardened.deallocate(block);
    hardened.deallocate(block);
    hardened.flush();
    CHECK(note::take() == 1);
    CHECK(note::last == misuse::not_live);
    hardened.deallocate(block);
    CHECK(hardened.waiting() == 0);
    CHECK(note::take() == 1);

    quarantined<allot::guarded<scratch<allot::best_fit<>>, allot::guard_options{}, note>> guarded;
    const auto damaged = guarded.allocate({.size = 40});
    bytes_of(damaged)[40] ^= 1U;
    guarded.deallocate(damaged);
    CHECK(note::take() == 1);
    CHECK(guarded.waiting() == 0);
    bytes_of(damaged)[40] ^= 1U;
    guarded.deallocate(damaged);
    CHECK(guarded.waiting() == 40);
}
