#include "../arena/helpers.hpp"

#include <allot/object/unique_block.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using namespace allot::literals;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;
using owner = allot::unique_block<heap_arena>;

static_assert(!std::is_copy_constructible_v<owner> && !std::is_copy_assignable_v<owner>);
static_assert(std::is_nothrow_move_constructible_v<owner> && std::is_nothrow_move_assignable_v<owner>);
static_assert(sizeof(owner) == sizeof(void*) + sizeof(heap_arena::block_type));
// No storage and no code at run time for an owner that is empty from the start.
constexpr bool is_empty_at_compile_time() {
    owner none;
    owner moved{std::move(none)};
    return !moved && moved.size() == 0 && moved.allocator() == nullptr;
}
static_assert(is_empty_at_compile_time());

}  // namespace

TEST_CASE("unique_block: deallocates its block at the end of the scope") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {64, 16});
    {
        const auto block = allot::allocate_unique(memory, {.size = 1000, .align = 64});
        REQUIRE(block);
        CHECK(block.size() == 1000);
        CHECK(block.address() == block.get().address);
        CHECK(block.allocator() == &memory);
        CHECK(helpers::is_aligned(block.address(), 64));
        CHECK(helpers::room_for(memory, {64, 16}) < free);
    }
    CHECK(helpers::room_for(memory, {64, 16}) == free);
}

TEST_CASE("unique_block: is empty when the allocation failed") {
    heap_arena memory{{}, 4_KiB};
    for (const allot::layout bad :
         {allot::layout{5_KiB, 16}, allot::layout{0, 16}, allot::layout{16, 3}, allot::layout{16, 0}}) {
        auto none = allot::allocate_unique(memory, bad);
        CHECK_FALSE(none);
        CHECK(none.size() == 0);
        none.reset();  // no effect
        CHECK_FALSE(none.release());
    }
}

TEST_CASE("unique_block: a move transfers the block and frees that of the target") {
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 64}>> memory{{}, 128};
    auto first = allot::allocate_unique(memory, {64});
    auto second = allot::allocate_unique(memory, {64});
    REQUIRE(first);
    REQUIRE(second);
    CHECK_FALSE(memory.allocate({64}));
    void* const kept = first.address();
    second = std::move(first);
    CHECK_FALSE(first);
    CHECK(second.address() == kept);
    CHECK(helpers::room_for(memory, {64}) == 1);
    auto& self = second;
    second = std::move(self);  // keeps its block
    CHECK(second.address() == kept);
    auto third{std::move(second)};
    CHECK_FALSE(second);
    CHECK(third.address() == kept);
}

TEST_CASE("unique_block: a move between allocators of one type frees each block where it is from") {
    heap_arena one{{}, 4_KiB}, other{{}, 4_KiB};
    const std::size_t free = helpers::room_for(one, {64});
    auto first = allot::allocate_unique(one, {1000});
    auto second = allot::allocate_unique(other, {500});
    first = std::move(second);
    CHECK(first.allocator() == &other);
    CHECK(helpers::room_for(one, {64}) == free);
    CHECK(helpers::room_for(other, {64}) < free);
}

TEST_CASE("unique_block: release gives up ownership, and reset frees once") {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, helpers::checked, helpers::noted> memory{
        {}, 4_KiB};
    auto block = allot::allocate_unique(memory, {100});
    const auto released = block.release();
    CHECK_FALSE(block);
    CHECK(memory.check(released));
    block.reset();
    CHECK(memory.check(released));
    memory.deallocate(released);
    auto again = allot::allocate_unique(memory, {100});
    again.reset();
    again.reset();
    CHECK(helpers::noted::take().empty());
}

TEST_CASE("unique_block: works for blocks with metadata, for handles, and for rows behind a table") {
    SUBCASE("metadata of a stack") {
        allot::arena<allot::host::heap, allot::stack<>> memory{{}, 1_KiB};
        {
            const auto first = allot::allocate_unique(memory, {100});
            const auto second = allot::allocate_unique(memory, {100, 64});
            CHECK(second);
        }  // in reverse order, as a stack needs
        CHECK(memory.allocate({1_KiB, 1}));
    }
    SUBCASE("metadata of naive, and of a fallback") {
        allot::naive<allot::host::heap> slow;
        allot::arena<allot::host::static_storage<256>, allot::bump<>> fast;
        allot::fallback both{fast, slow};
        const auto first = allot::allocate_unique(both, {200});
        const auto second = allot::allocate_unique(both, {200});
        REQUIRE(first);
        REQUIRE(second);
        CHECK_FALSE(first.get().metadata.from_second);
        CHECK(second.get().metadata.from_second);  // freed by the second, or the sanitizer reports a leak
    }
    SUBCASE("handles") {
        helpers::supply supply;
        {
            allot::naive<helpers::handles<>> memory{helpers::handles<>{supply}};
            const auto block = allot::allocate_unique(memory, {100});
            CHECK(block.address().handle == 1);
            CHECK(supply.held == 1);
            const auto second = allot::allocate_unique(memory, {100, 128});  // more than this supply has
            CHECK_FALSE(second);
        }
        CHECK(supply.held == 0);
    }
    SUBCASE("rows behind a table") {
        using slots = allot::pool<allot::pool_options{.slot = 64, .align = 64}>;
        allot::arena<allot::host::heap, slots> rows{{}, 1_KiB};
        heap_arena tables{{}, 4_KiB};
        allot::paged<decltype(rows)&, decltype(tables)&, allot::pointer_table<64>> memory{rows, tables};
        const std::size_t free = helpers::room_for(rows, {64});
        {
            const auto block = allot::allocate_unique(memory, {200});
            CHECK(block.size() == 200);
            CHECK(helpers::room_for(rows, {64}) == free - 4);
        }
        CHECK(helpers::room_for(rows, {64}) == free);
    }
}
