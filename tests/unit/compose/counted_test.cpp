#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <random>
#include <vector>

namespace {
using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;
}

TEST_CASE("counted: the counters of random calls equal those of a model") {
    allot::counted<scratch> memory;
    using block = decltype(memory)::block_type;
    std::mt19937 random{11};
    std::vector<block> live;
    allot::allocator_statistics model;
    for (int step = 0; step != 2000; ++step) {
        const std::size_t size = random() % 400;
        switch (random() % 4) {
            case 0:
            case 1: {
                const block fresh = memory.allocate({.size = size, .align = 8});
                ++model.requests;
                if (!fresh) {
                    ++model.refusals;
                    break;
                }
                live.push_back(fresh);
                ++model.count;
                model.used += size;
                break;
            }
            case 2:
                if (live.empty()) break;
                std::swap(live[random() % live.size()], live.back());
                memory.deallocate(live.back());
                model.used -= live.back().size;
                --model.count;
                live.pop_back();
                break;
            default:
                if (live.empty()) break;
                const std::size_t before = live.back().size;
                if (memory.resize(live.back(), size)) model.used = model.used - before + size;
                CHECK(live.back().size == (live.back().size == before ? before : size));
        }
        model.peak = std::max(model.peak, model.used);
        const allot::allocator_statistics now = memory.statistics();
        CHECK(now.used == model.used);
        CHECK(now.count == model.count);
        CHECK(now.peak == model.peak);
        CHECK(now.requests == model.requests);
        CHECK(now.refusals == model.refusals);
        CHECK(now.largest_hole == memory.diagnose({.size = 1}).largest_hole);
        CHECK(now.fragmentation() >= 0);
        CHECK(now.fragmentation() < 1);
    }
    memory.deallocate({});
    CHECK(memory.statistics().count == model.count);
    memory.restart_peak();
    CHECK(memory.statistics().peak == model.used);
}

TEST_CASE("counted: the wrappers of a counted allocator restart its peak") {
    using arena = allot::arena<allot::host::static_storage<1000>, allot::best_fit<>>;
    allot::counted<arena> counted;
    allot::limited limited{counted, 900};
    allot::indexed memory{limited};
    const auto first = memory.allocate({.size = 300, .align = 8});
    const auto second = memory.allocate({.size = 77, .align = 8});
    REQUIRE(first);
    REQUIRE(second);
    memory.deallocate(first.address);
    CHECK(memory.statistics().peak == 377);
    memory.restart_peak();
    CHECK(memory.statistics().peak == 77);
    memory.deallocate(second);
    CHECK(memory.statistics().peak == 77);
}

TEST_CASE("counted: reset and rollback restore the counters, and keep the peak") {
    allot::counted<allot::arena<allot::host::static_storage<1000>, allot::stack<>>> memory;
    const auto a = memory.allocate({.size = 100, .align = 1});
    REQUIRE(a);
    const auto mark = memory.mark();
    REQUIRE(memory.allocate({.size = 333, .align = 1}));
    REQUIRE(!memory.allocate({.size = 900, .align = 1}));
    memory.rollback(mark);
    auto now = memory.statistics();
    CHECK(now.used == 100);
    CHECK(now.count == 1);
    CHECK(now.peak == 433);
    CHECK(now.requests == 3);
    CHECK(now.refusals == 1);
    CHECK(now.free == 900);
    CHECK(now.holes == 1);
    CHECK(now.fragmentation() == 0);
    memory.reset();
    now = memory.statistics();
    CHECK(now.used == 0);
    CHECK(now.count == 0);
    CHECK(now.free == 1000);
}

TEST_CASE("counted: compositions add the counters of their parts") {
    scratch first, second;
    allot::counted<scratch&> fast{first}, slow{second};
    allot::fallback both{fast, slow};
    const auto large = both.allocate({.size = 3000}), other = both.allocate({.size = 3500});
    REQUIRE(large);
    REQUIRE(other);
    const auto sum = both.statistics();
    CHECK(sum.used == 6500);
    CHECK(sum.count == 2);
    CHECK(sum.requests == 3);
    CHECK(sum.refusals == 1);
    CHECK(sum.holes == fast.statistics().holes + slow.statistics().holes);
    CHECK(sum.largest_hole == std::max(fast.statistics().largest_hole, slow.statistics().largest_hole));

    allot::synchronized<allot::counted<scratch>, std::mutex> shared;
    REQUIRE(shared.allocate({.size = 5}));
    CHECK(shared.statistics().used == 5);
    static_assert(!allot::counting_allocator<scratch>);
}

TEST_CASE("counted: a moved-from object counts from 0") {
    allot::counted<allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>> first;
    const auto block = first.allocate({.size = 100});
    REQUIRE(block);
    auto second{std::move(first)};
    CHECK(first.statistics().used == 0);
    CHECK(first.statistics().count == 0);
    CHECK(second.statistics().used == 100);
    second.deallocate(block);
    CHECK(second.statistics().used == 0);
    CHECK(second.statistics().peak == 100);
}

TEST_CASE("counted: a misused block that a hardened arena reports does not change the counters") {
    struct ignore {
        void operator()(allot::misuse, std::size_t, std::size_t) const noexcept {}
    };
    allot::counted<allot::arena<allot::host::static_storage<1000>, allot::best_fit<>, allot::growth::none<>,
                                allot::arena_options{.hardening = allot::hardening::checked}, ignore>>
        memory;
    auto block = memory.allocate({.size = 100});
    memory.deallocate(block);
    memory.deallocate(block);
    CHECK(memory.statistics().used == 0);
    CHECK(memory.statistics().count == 0);

    allot::counted<allot::arena<allot::host::static_storage<1000>, allot::stack<>, allot::growth::none<>,
                                allot::arena_options{.hardening = allot::hardening::checked}, ignore>>
        stack;
    const auto first = stack.allocate({.size = 100}), second = stack.allocate({.size = 10});
    stack.deallocate(first);  // reported: not the newest
    CHECK(stack.statistics().used == 110);
    CHECK(stack.statistics().count == 2);
    stack.deallocate(second);
    stack.deallocate(first);
    CHECK(stack.statistics().used == 0);
}
