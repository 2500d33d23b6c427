#include <allot/allot.hpp>

#include <doctest/doctest.h>

namespace {

using namespace allot::literals;
using fast_arena = allot::arena<allot::host::static_storage<1_KiB>, allot::best_fit<>>;
using slow_arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;

template <class Strategy>
using window = allot::arena<allot::host::static_storage<64>, Strategy>;
template <class First, class Second>
constexpr allot::reclaim back = allot::fallback<window<First>, window<Second>>::reclaims;
static_assert(back<allot::best_fit<>, allot::best_fit<>> == allot::reclaim::any);
static_assert(back<allot::bump<>, allot::best_fit<>> == allot::reclaim::any);
static_assert(back<allot::best_fit<>, allot::bump<>> == allot::reclaim::any);
static_assert(back<allot::bump<>, allot::bump<>> == allot::reclaim::never);
static_assert(back<allot::stack<>, allot::best_fit<>> == allot::reclaim::lifo);
static_assert(back<allot::best_fit<>, allot::ring<>> == allot::reclaim::fifo);
static_assert(back<allot::bump<>, allot::stack<>> == allot::reclaim::lifo);
static_assert(back<allot::stack<>, allot::stack<>> == allot::reclaim::lifo);
static_assert(back<allot::stack<>, allot::ring<>> == allot::reclaim::never);
static_assert(back<allot::ring<>, allot::stack<>> == allot::reclaim::never);

}  // namespace

TEST_CASE("fallback: prefers the first allocator, and deallocates each block in its allocator") {
    fast_arena fast;
    slow_arena slow;
    allot::fallback memory{fast, slow};
    static_assert(std::same_as<decltype(memory), allot::fallback<fast_arena&, slow_arena&>>);
    static_assert(allot::allocator<decltype(memory)>);

    const auto first = memory.allocate({.size = 600});
    const auto second = memory.allocate({.size = 600});
    CHECK(memory.is_from_first(first));
    CHECK_FALSE(memory.is_from_first(second));
    CHECK(fast.owns({first.address, first.size, {}}));
    CHECK(slow.owns({second.address, second.size, {}}));
    memory.deallocate(first);
    CHECK(memory.is_from_first(memory.allocate({.size = 700})));
    memory.deallocate(second);
    CHECK(slow.trim() > 0);
    CHECK(slow.size() == 0);
}

TEST_CASE("fallback: owns allocators that are passed as rvalues") {
    allot::fallback memory{slow_arena{}, slow_arena{}};
    static_assert(std::same_as<decltype(memory), allot::fallback<slow_arena, slow_arena>>);
    const auto block = memory.allocate({.size = 100});
    CHECK(memory.is_from_first(block));
    memory.deallocate(block);
    memory.deallocate({});
}

TEST_CASE("fallback: diagnose reports the reason of the second, with the largest hole of both") {
    alignas(16) std::byte bytes[256];
    allot::arena<allot::host::buffer, allot::bump<>> small{allot::host::buffer{bytes}};
    fast_arena large;
    allot::fallback memory{large, small};
    CHECK(memory.diagnose({.size = 100}).reason == allot::refusal::none);
    const auto error = memory.diagnose({.size = 2000});
    CHECK(error.reason == allot::refusal::exhausted);
    CHECK(error.largest_hole > 256);
    CHECK_FALSE(memory.allocate({.size = 2000}));
    CHECK_FALSE(memory.allocate({.size = 0}));
    CHECK_FALSE(memory.allocate({.size = 8, .align = 3}));
}

TEST_CASE("fallback: fallbacks can be nested") {
    alignas(16) std::byte bytes[256];
    allot::arena<allot::host::buffer, allot::bump<>> first{allot::host::buffer{bytes}};
    fast_arena second;
    slow_arena third;
    allot::fallback two{first, second};
    allot::fallback memory{two, third};
    for (const std::size_t size : {200_B, 800_B, 8_KiB}) {
        const auto block = memory.allocate({.size = size});
        REQUIRE(block);
        CHECK(block.size == size);
        memory.deallocate(block);
    }
    CHECK(third.trim() > 0);
}
