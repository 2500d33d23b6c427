#include <allot/strategy/ring.hpp>

#include <doctest/doctest.h>

namespace {

constexpr bool goes_round() {
    allot::ring<> strategy;
    if (!strategy.insert({10, 100})) return false;
    auto oldest = strategy.allocate({40, 1});
    auto middle = strategy.allocate({40, 1});
    if (strategy.allocate({21, 1})) return false;
    strategy.deallocate(oldest);
    const auto wrapped = strategy.allocate({30, 1});  // 20 bytes are left at the end, so the ring wraps
    if (wrapped.where != allot::extent{10, 30} || strategy.allocate({11, 1}) || !strategy.allocate({10, 1}))
        return false;
    strategy.deallocate(middle);  // the wrapped block is now the oldest, and the end is free again
    return strategy.allocate({60, 1}).where == allot::extent{50, 60};
}
static_assert(goes_round());

}  // namespace

TEST_CASE("ring: deallocate frees only the oldest block") {
    allot::ring<> strategy;
    REQUIRE(strategy.insert({0, 30}));
    const auto first = strategy.allocate({10, 1});
    const auto second = strategy.allocate({10, 1});
    strategy.deallocate(second);
    CHECK_FALSE(strategy.allocate({11, 1}));
    strategy.deallocate(first);
    CHECK(strategy.allocate({10, 1}).where.offset == 20);
    CHECK(strategy.allocate({10, 1}).where.offset == 0);
    CHECK_FALSE(strategy.allocate({1, 1}));  // `second` stays until reset
    strategy.reset();
    CHECK(strategy.allocate({30, 1}).where == allot::extent{0, 30});
}

TEST_CASE("ring: an empty ring uses the whole extent again") {
    allot::ring<> strategy;
    REQUIRE(strategy.insert({0, 100}));
    for (int round = 0; round != 10; ++round) {
        const auto block = strategy.allocate({70, 1});
        REQUIRE(block);
        strategy.deallocate(block);
    }
    CHECK(strategy.allocate({100, 1}));
    CHECK(strategy.diagnose({1, 1}).reason == allot::refusal::exhausted);
}

TEST_CASE("ring: rollback frees newer blocks, also across the end and to an empty ring") {
    allot::ring<> strategy;
    REQUIRE(strategy.insert({7, 100}));
    const auto empty = strategy.mark();
    const auto old = strategy.allocate({60, 1}), next = strategy.allocate({20, 1});
    REQUIRE((old && next));
    const auto two = strategy.mark();
    CHECK(strategy.allocate({13, 8}));
    strategy.rollback(two);
    CHECK(strategy.allocate({20, 1}).where.offset == 87);
    strategy.rollback(two);
    strategy.deallocate(old);
    const auto one = strategy.mark();
    CHECK(strategy.allocate({59, 1}).where.offset == 7);  // wraps
    CHECK_FALSE(strategy.allocate({2, 1}));
    strategy.rollback(one);
    CHECK(strategy.allocate({20, 1}).where.offset == 87);
    CHECK(strategy.allocate({60, 1}).where.offset == 7);
    strategy.rollback(one);
    strategy.deallocate(next);
    CHECK(strategy.allocate({33, 1}));
    strategy.rollback(empty);
    CHECK(strategy.allocate({100, 1}).where.offset == 7);
}

TEST_CASE("ring: after reset no block is live and the next block is the oldest") {
    allot::ring<> strategy;
    REQUIRE(strategy.insert({0, 100}));
    const auto forgotten = strategy.allocate({30, 1});
    REQUIRE(strategy.allocate({30, 1}));
    strategy.reset();
    CHECK_FALSE(strategy.takes_back(forgotten));
    const auto block = strategy.allocate({70, 1});
    CHECK(strategy.takes_back(block));
    strategy.deallocate(block);
    CHECK(strategy.allocate({100, 1}).where == allot::extent{0, 100});
}

TEST_CASE("ring: an earlier wrap position has no effect on an unwrapped ring") {
    allot::ring<> strategy;
    REQUIRE(strategy.insert({0, 100}));
    const auto a = strategy.allocate({40, 1}), b = strategy.allocate({40, 1});  // up to 80
    strategy.deallocate(a);
    const auto c = strategy.allocate({30, 1});  // wraps
    REQUIRE(c.where.offset == 0);
    strategy.deallocate(b);
    const auto d = strategy.allocate({50, 1});
    REQUIRE(d.where == allot::extent{30, 50});  // up to 80 again
    strategy.deallocate(c);
    const auto e = strategy.allocate({10, 1});
    strategy.deallocate(d);
    CHECK(strategy.takes_back(e));
    CHECK(strategy.allocate({80, 1}).where.offset == 0);
}
