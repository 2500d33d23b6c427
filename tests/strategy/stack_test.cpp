#include <allot/strategy/stack.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace {

constexpr bool gives_back_in_opposite_order() {
    allot::stack<> strategy;
    if (!strategy.insert({3, 100})) return false;
    const auto first = strategy.allocate({10, 1});
    const auto second = strategy.allocate({10, 16});  // skips to 16
    const auto third = strategy.allocate({10, 1});
    strategy.deallocate(third);
    strategy.deallocate(second);
    if (strategy.allocate({1, 1}).where.offset != first.where.end()) return false;  // what was skipped is back
    strategy.reset();
    return strategy.allocate({100, 1}).where == allot::extent{3, 100};
}
static_assert(gives_back_in_opposite_order());

using two_ended = allot::stack<allot::stack_options{.large = 50}>;

}  // namespace

TEST_CASE("stack leaves a block that is not the newest where it is") {
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

TEST_CASE("a two-ended stack puts large blocks at the top, and each end is a stack of its own") {
    two_ended strategy;
    REQUIRE(strategy.insert({0, 200}));
    const auto small = strategy.allocate({10, 1});
    const auto large = strategy.allocate({50, 64});
    CHECK(small.where.offset == 0);
    CHECK(large.where == allot::extent{128, 50});
    CHECK_FALSE(strategy.allocate({119, 1}));
    const auto mark = strategy.mark();
    REQUIRE(strategy.allocate({118, 1}));
    CHECK(strategy.diagnose({1, 1}).why == allot::refusal::exhausted);
    strategy.rollback(mark);
    strategy.deallocate(small);  // the newest of the lower end, though not of both
    strategy.deallocate(large);
    CHECK(strategy.allocate({200, 1}).where == allot::extent{0, 200});
}

TEST_CASE("stack: what was moved from serves nothing, until it is given offsets") {
    static_assert(!std::is_copy_constructible_v<allot::stack<>> && !std::is_copy_assignable_v<allot::stack<>>);
    allot::stack<> strategy;
    REQUIRE(strategy.insert({100, 50}));
    CHECK(strategy.allocate({10, 1}));
    allot::stack<> moved{std::move(strategy)};
    for (int i = 0; i != 2; ++i) {
        CHECK(strategy.diagnose({1, 1}).why == allot::refusal::exhausted);
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
