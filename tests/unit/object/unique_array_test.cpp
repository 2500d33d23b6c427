#include "../arena/helpers.hpp"
#include "counted.hpp"

#include <allot/object/make.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <ranges>
#include <span>

namespace {

using namespace allot::literals;
using objects::counted;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using floats = allot::unique_array<float, heap_arena>;

static_assert(!std::is_copy_constructible_v<floats> && std::is_nothrow_move_constructible_v<floats>);
static_assert(std::ranges::contiguous_range<floats> && std::ranges::sized_range<floats>);
static_assert(sizeof(floats) == 2 * sizeof(void*) + sizeof(heap_arena::block_type));

}  // namespace

TEST_CASE("unique_array: elements are value-initialized, in memory that was used before") {
    heap_arena memory{{}, 4_KiB};
    const auto used = memory.allocate({400});
    std::memset(used.address, 0xff, used.size);
    memory.deallocate(used);
    const auto values = allot::make_array<float>(memory, 100);
    REQUIRE(values);
    CHECK(values.size() == 100);
    CHECK(std::ranges::all_of(values, [](float value) { return value == 0; }));
    values[99] = 2;
    CHECK(*(values.end() - 1) == 2);
    CHECK(values.data() == values.begin());
    CHECK(values.end() - values.begin() == 100);
}

TEST_CASE("unique_array: converts to std::span") {
    heap_arena memory{{}, 4_KiB};
    auto values = allot::make_array<int>(memory, 3);
    std::ranges::copy(std::vector{1, 2, 3}, values.begin());
    const std::span<int> writable = values;
    const std::span<const int> constant = std::as_const(values);
    CHECK(writable.data() == values.data());
    CHECK(constant.size() == 3);
    CHECK(constant[2] == 3);
    const allot::unique_array<int, heap_arena> none;
    const std::span<const int> empty = none;
    CHECK(empty.empty());
}

TEST_CASE("unique_array: is empty for no elements, for too many, and without memory") {
    heap_arena memory{{}, 4_KiB};
    CHECK_FALSE(allot::make_array<int>(memory, 0));
    CHECK_FALSE(allot::make_array<int>(memory, 2000));
    const std::size_t wraps_to_16 = helpers::most / sizeof(std::uint64_t) + 3;
    for (const std::size_t many : {helpers::most, helpers::most / 8 + 1, wraps_to_16}) {
        const auto none = allot::make_array<std::uint64_t>(memory, many);
        CHECK_FALSE(none);
        CHECK(none.size() == 0);
        CHECK(none.data() == nullptr);
        CHECK(none.begin() == none.end());
    }
}

TEST_CASE("unique_array: elements are destroyed in reverse, and the block is freed") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {16});
    counted::current = {};
    {
        auto objects = allot::make_array<counted>(memory, 3);
        CHECK(counted::current.alive == 3);
        objects = allot::make_array<counted>(memory, 2);
        CHECK(counted::current.destroyed == std::vector{3, 2, 1});
        auto moved = std::move(objects);
        CHECK_FALSE(objects);
        CHECK(objects.size() == 0);
        CHECK(moved.size() == 2);
        moved.reset();
        moved.reset();
        CHECK(counted::current.alive == 0);
    }
    CHECK(counted::current.destroyed == std::vector{3, 2, 1, 5, 4});
    CHECK(helpers::room_for(memory, {16}) == free);
}

TEST_CASE("unique_array: a constructor that throws destroys the elements before it and frees the block") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {16});
    counted::current = {.throw_at = 3};
    CHECK_THROWS_AS(static_cast<void>(allot::make_array<counted>(memory, 5)), counted::failure);
    CHECK(counted::current.made == 2);
    CHECK(counted::current.alive == 0);
    CHECK(helpers::room_for(memory, {16}) == free);
}

TEST_CASE("unique_array: overaligned elements, and blocks with metadata") {
    struct alignas(64) line {
        std::byte bytes[64];
    };
    allot::naive<allot::host::heap> memory;
    const auto lines = allot::make_array<line>(memory, 10);
    REQUIRE(lines);
    CHECK(helpers::is_aligned(lines.data(), 64));
}
