#include "../arena/helpers.hpp"

#include <allot/object/reallocate.hpp>

#include <doctest/doctest.h>

namespace {

using namespace allot::literals;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

template <class Block>
void number(const Block& block) {
    auto* const bytes = static_cast<unsigned char*>(block.address);
    for (std::size_t i = 0; i != block.size; ++i) bytes[i] = static_cast<unsigned char>(i);
}
template <class Block>
bool is_numbered(const Block& block, std::size_t size) {
    const auto* const bytes = static_cast<const unsigned char*>(block.address);
    for (std::size_t i = 0; i != size; ++i)
        if (bytes[i] != static_cast<unsigned char>(i)) return false;
    return true;
}

}  // namespace

TEST_CASE("reallocate: resizes in place where the allocator can") {
    heap_arena memory{{}, 4_KiB};
    auto block = memory.allocate({100});
    number(block);
    void* const at = block.address;
    REQUIRE(allot::reallocate(memory, block, {1000}));
    CHECK(block.address == at);
    CHECK(block.size == 1000);
    REQUIRE(allot::reallocate(memory, block, {50}));
    CHECK(block.address == at);
    CHECK(block.size == 50);
    CHECK(is_numbered(block, 50));
    memory.deallocate(block);
    CHECK(memory.allocate({4000}));
}

TEST_CASE("reallocate: copies where the next bytes are in use, and frees the old block") {
    heap_arena memory{{}, 4_KiB};
    auto block = memory.allocate({100});
    const auto next = memory.allocate({100});
    number(block);
    const auto before = block;
    REQUIRE(allot::reallocate(memory, block, {300}));
    CHECK(block.address != before.address);
    CHECK(is_numbered(block, 100));
    CHECK(memory.allocate({96}).address == before.address);
    CHECK(memory.owns(next));
}

TEST_CASE("reallocate: a larger alignment moves the block") {
    heap_arena memory{{}, 64_KiB};
    auto first = memory.allocate({16});
    auto block = memory.allocate({100, 16});
    if (helpers::is_aligned(block.address, 1024)) block = memory.allocate({100, 16});
    number(block);
    REQUIRE(allot::reallocate(memory, block, {100, 1024}));
    CHECK(helpers::is_aligned(block.address, 1024));
    CHECK(is_numbered(block, 100));
    CHECK(first);
}

TEST_CASE("reallocate: an empty block is allocated") {
    heap_arena memory{{}, 4_KiB};
    heap_arena::block_type block;
    REQUIRE(allot::reallocate(memory, block, {100}));
    CHECK(block.size == 100);
    heap_arena::block_type none;
    CHECK_FALSE(allot::reallocate(memory, none, {8_KiB}));
    CHECK_FALSE(none);
}

TEST_CASE("reallocate: on failure nothing changes") {
    heap_arena memory{{}, 4_KiB};
    auto block = memory.allocate({100});
    number(block);
    const auto before = block;
    for (const allot::layout bad : {allot::layout{8_KiB}, allot::layout{helpers::most}, allot::layout{0},
                                    allot::layout{200, 3}, allot::layout{200, 0}}) {
        CHECK_FALSE(allot::reallocate(memory, block, bad));
        CHECK(block == before);
        CHECK(is_numbered(block, 100));
    }
}

TEST_CASE("reallocate: an allocator that cannot resize copies") {
    SUBCASE("a pool, up to the size of its slot") {
        allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 64}>> memory{{}, 128};
        auto block = memory.allocate({10});
        number(block);
        REQUIRE(allot::reallocate(memory, block, {60}));
        CHECK(is_numbered(block, 10));
        CHECK_FALSE(allot::reallocate(memory, block, {65}));
        CHECK(block.size == 60);
        CHECK(helpers::room_for(memory, {64}) == 1);
    }
    SUBCASE("a bump, whose old bytes stay in use") {
        allot::arena<allot::host::heap, allot::bump<>> memory{{}, 4_KiB};
        auto block = memory.allocate({100});
        number(block);
        REQUIRE(allot::reallocate(memory, block, {200}));
        CHECK(is_numbered(block, 100));
    }
    SUBCASE("naive, with metadata") {
        allot::naive<allot::host::heap> memory;
        auto block = memory.allocate({100});
        number(block);
        REQUIRE(allot::reallocate(memory, block, {200, 64}));
        CHECK(is_numbered(block, 100));
        memory.deallocate(block);
    }
}

TEST_CASE("reallocate: in a hardened arena, no misuse") {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, helpers::debug, helpers::noted> memory{
        {}, 4_KiB};
    auto block = memory.allocate({100});
    const auto next = memory.allocate({100});
    REQUIRE(allot::reallocate(memory, block, {500}));
    REQUIRE(allot::reallocate(memory, block, {20}));
    memory.deallocate(block);
    memory.deallocate(next);
    CHECK(helpers::noted::take().empty());
}

TEST_CASE("reallocate: memory without pointers by a function that copies") {
    helpers::supply supply;
    using arena = allot::arena<helpers::handles<>, allot::best_fit<>>;
    using address = arena::address_model::address;
    arena memory{helpers::handles<>{supply}, 1000};
    std::vector<std::size_t> copied;
    long answer = 0;
    const auto copy = [&](address from, address to, std::size_t bytes) {
        CHECK(from.offset != to.offset);
        copied.push_back(bytes);
        return answer;
    };
    auto block = memory.allocate({100});
    REQUIRE(allot::reallocate(memory, block, {200}, copy));  // in place
    CHECK(copied.empty());
    const auto next = memory.allocate({100});
    REQUIRE(allot::reallocate(memory, block, {300}, copy));
    CHECK(copied == std::vector<std::size_t>{200});
    CHECK(next);

    answer = 7;  // the copy fails
    const auto hole = memory.allocate({200}), behind = memory.allocate({16});
    REQUIRE(hole.address.offset < block.address.offset);
    REQUIRE(behind.address.offset > block.address.offset);
    const auto before = block;
    const std::size_t room = helpers::room_for(memory, {16});
    CHECK_FALSE(allot::reallocate(memory, block, {350}, copy));
    CHECK(block == before);
    CHECK(helpers::room_for(memory, {16}) == room);
    CHECK_FALSE(allot::reallocate(memory, block, {100, 128}, copy));  // the base is aligned to 64
    CHECK(block == before);
}
