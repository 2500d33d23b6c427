// Moves of strategies without records.
#include <allot/strategy/bump.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>

TEST_CASE_TEMPLATE("bump, stack and ring: a moved-from strategy has no offsets until insert", Strategy, allot::bump<>,
                   allot::bump<allot::bump_options{.direction = allot::direction::up}>, allot::stack<>, allot::ring<>) {
    static_assert(!std::is_copy_constructible_v<Strategy> && !std::is_copy_assignable_v<Strategy>);
    Strategy strategy;
    REQUIRE(strategy.insert({100, 50}));
    CHECK(strategy.allocate({10, 1}));
    Strategy moved{std::move(strategy)};
    for (int i = 0; i != 2; ++i) {
        CHECK(strategy.diagnose({1, 1}).reason == allot::refusal::exhausted);
        CHECK_FALSE(strategy.allocate({1, 1}));
        strategy.reset();
    }
    CHECK_FALSE(moved.insert({100, 50}));
    CHECK_FALSE(moved.allocate({41, 1}));
    CHECK(moved.allocate({40, 1}));
    moved.reset();
    CHECK(moved.allocate({50, 1}));
    REQUIRE(strategy.insert({200, 7}));
    strategy = std::move(moved);
    CHECK_FALSE(moved.allocate({1, 1}));
    strategy.reset();
    CHECK(strategy.allocate({50, 1}).where.offset == 100);
}
