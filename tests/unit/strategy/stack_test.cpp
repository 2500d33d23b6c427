#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

namespace {

constexpr bool gives_back_in_opposite_order() {
    allot::stack<> strategy;
    if (!strategy.insert({3, 100})) return false;
    const auto first = strategy.allocate({10, 1});
    const auto second = strategy.allocate({10, 16});  // skips to 16
    const auto third = strategy.allocate({10, 1});
    strategy.deallocate(third);
    strategy.deallocate(second);
    if (strategy.allocate({1, 1}).where.offset != first.where.end()) return false;  // the skipped bytes are free again
    strategy.reset();
    return strategy.allocate({100, 1}).where == allot::extent{3, 100};
}
static_assert(gives_back_in_opposite_order());

using two_ended = allot::stack<allot::stack_options{.large = 50}>;

}  // namespace

TEST_CASE("stack: deallocate ignores a block that is not the newest") {
    allot::stack<> strategy;
    REQUIRE(strategy.insert({0, 100}));
    const auto first = strategy.allocate({10, 1});
    const auto second = strategy.allocate({10, 1});
    strategy.deallocate(first);
    CHECK(strategy.allocate({10, 1}).where.offset == 20);
    strategy.reset();
    CHECK(strategy.allocate({10, 1}).where == first.where);
    CHECK(strategy.allocate({10, 1}).where == second.where);
}

TEST_CASE("stack: large blocks form an independent stack at the top") {
    two_ended strategy;
    REQUIRE(strategy.insert({0, 200}));
    const auto small = strategy.allocate({10, 1});
    const auto large = strategy.allocate({50, 64});
    CHECK(small.where.offset == 0);
    CHECK(large.where == allot::extent{128, 50});
    CHECK_FALSE(strategy.allocate({119, 1}));
    const auto mark = strategy.mark();
    REQUIRE(strategy.allocate({118, 1}));
    CHECK(strategy.diagnose({1, 1}).reason == allot::refusal::exhausted);
    strategy.rollback(mark);
    strategy.deallocate(small);  // the newest of the lower end, but not of both
    strategy.deallocate(large);
    CHECK(strategy.allocate({200, 1}).where == allot::extent{0, 200});
}
