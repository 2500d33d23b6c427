#include "../arena/helpers.hpp"
#include "counted.hpp"

#include <allot/object/make.hpp>
#include <allot/object/scoped_mark.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

using namespace allot::literals;
using objects::counted;
using heap_arena = allot::arena<allot::host::heap, allot::best_fit<>>;

struct point {
    int x, y;
};
struct alignas(128) vector_register {
    std::byte bytes[128];
};
struct shape {
    virtual ~shape() = default;
    [[nodiscard]] virtual int corners() const = 0;
};
struct square final : shape {
    explicit square(counted::numbers& seen) : member{seen} {}
    [[nodiscard]] int corners() const override { return 4; }
    counted member;
};
struct plain_base {};
struct plain_derived : plain_base {};

template <class T>
using owner = allot::unique_ptr<T, heap_arena>;
static_assert(std::is_convertible_v<owner<square>, owner<shape>>);
static_assert(std::is_convertible_v<owner<point>, owner<const point>>);
static_assert(!std::is_convertible_v<owner<plain_derived>, owner<plain_base>>);  // no virtual destructor
static_assert(!std::is_convertible_v<owner<shape>, owner<square>>);
static_assert(sizeof(owner<point>) == 2 * sizeof(void*) + sizeof(heap_arena::block_type));

}  // namespace

TEST_CASE("make: constructs from arguments, and destroy frees the block") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {16});
    counted::numbers seen;
    auto* const object = allot::make<counted>(memory, seen);
    REQUIRE(object != nullptr);
    CHECK(seen.alive == 1);
    allot::destroy(memory, object);
    CHECK(seen.alive == 0);
    CHECK(helpers::room_for(memory, {16}) == free);
    allot::destroy(memory, static_cast<counted*>(nullptr));  // no effect

    auto* const text = allot::make<std::string>(memory, std::size_t{100}, 'x');
    REQUIRE(text != nullptr);
    CHECK(text->size() == 100);
    allot::destroy(memory, text);

    const auto* const constant = allot::make<const int>(memory, 7);
    REQUIRE(constant != nullptr);
    CHECK(*constant == 7);
    allot::destroy(memory, constant);
}

TEST_CASE("make: aggregates, values without arguments, and overaligned types") {
    heap_arena memory{{}, 4_KiB};
    auto* const at = allot::make<point>(memory, 3, 4);
    REQUIRE(at != nullptr);
    CHECK(at->x == 3);
    CHECK(at->y == 4);
    allot::destroy(memory, at);
    auto* const zero = allot::make<point>(memory);  // the bytes of `at` again, value-initialized
    REQUIRE(zero != nullptr);
    CHECK(zero->x == 0);
    CHECK(zero->y == 0);
    auto* const wide = allot::make<vector_register>(memory);
    REQUIRE(wide != nullptr);
    CHECK(helpers::is_aligned(wide, 128));
    allot::destroy(memory, wide);
    allot::destroy(memory, zero);
}

TEST_CASE("make: an aggregate is initialized from the values of its first members") {
    struct point {
        int x;
        double y;
        int z = 7;
    };
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> memory;
    const auto first = allot::make_unique<point>(memory, 1);
    REQUIRE(first);
    CHECK(first->x == 1);
    CHECK(first->y == 0);
    CHECK(first->z == 7);
    const auto copy = allot::make_unique<point>(memory, *first);
    REQUIRE(copy);
    CHECK(copy->x == 1);
}

TEST_CASE("make: arguments are forwarded, moves stay moves") {
    heap_arena memory{{}, 4_KiB};
    auto inner = allot::make_unique<int>(memory, 5);
    const int* const was = inner.get();
    auto* const outer = allot::make<owner<int>>(memory, std::move(inner));
    REQUIRE(outer != nullptr);
    CHECK(inner == nullptr);
    CHECK(outer->get() == was);
    allot::destroy(memory, outer);
}

TEST_CASE("make: nullptr when the allocation failed, and nothing is constructed") {
    allot::arena<allot::host::static_storage<64>, allot::bump<>> memory;
    counted::numbers seen;
    CHECK(allot::make<vector_register>(memory) == nullptr);
    while (allot::make<counted>(memory, seen) != nullptr) {}
    const int made = seen.made;
    CHECK(allot::make<counted>(memory, seen) == nullptr);
    CHECK(seen.made == made);
    const auto none = allot::make_unique<counted>(memory, seen);
    CHECK(none == nullptr);
    CHECK(seen.made == made);
    CHECK(none.get_deleter().allocator() == nullptr);
}

TEST_CASE("make: a constructor that throws frees the block") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {16});
    counted::numbers seen{.throw_at = 1};
    CHECK_THROWS_AS(static_cast<void>(allot::make<counted>(memory, seen)), counted::failure);
    CHECK_THROWS_AS(static_cast<void>(allot::make_unique<counted>(memory, seen)), counted::failure);
    CHECK(seen.alive == 0);
    CHECK(helpers::room_for(memory, {16}) == free);
}

TEST_CASE("make: in a hardened arena, a double destroy is reported") {
    allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, helpers::checked, helpers::noted> memory{
        {}, 4_KiB};
    auto* const number = allot::make<int>(memory, 1);
    REQUIRE(number != nullptr);
    allot::destroy(memory, number);
    CHECK(helpers::noted::take().empty());
    allot::destroy(memory, number);
    CHECK(helpers::noted::take().size() == 1);
}

TEST_CASE("make_unique: destroys the object and frees its block, with metadata too") {
    counted::numbers seen;
    SUBCASE("no metadata") {
        heap_arena memory{{}, 4_KiB};
        const std::size_t free = helpers::room_for(memory, {16});
        {
            const auto object = allot::make_unique<counted>(memory, seen);
            REQUIRE(object != nullptr);
            CHECK(object.get_deleter().block().address == object.get());
            CHECK(seen.alive == 1);
        }
        CHECK(helpers::room_for(memory, {16}) == free);
    }
    SUBCASE("a stack's metadata") {
        allot::arena<allot::host::heap, allot::stack<>> memory{{}, 1_KiB};
        {
            const auto first = allot::make_unique<counted>(memory, seen);
            const auto second = allot::make_unique<vector_register>(memory);
            CHECK(second != nullptr);
        }
        CHECK(memory.allocate({1_KiB, 1}));
    }
    SUBCASE("naive's metadata: the sanitizer reports a leak") {
        allot::naive<allot::host::heap> memory;
        auto first = allot::make_unique<counted>(memory, seen);
        auto second = allot::make_unique<counted>(memory, seen);
        first = std::move(second);
        CHECK(seen.alive == 1);
    }
    CHECK(seen.made > 0);
    CHECK(seen.alive == 0);
}

TEST_CASE("make_unique: an owner of a derived class becomes the owner of its base") {
    heap_arena memory{{}, 4_KiB};
    const std::size_t free = helpers::room_for(memory, {16});
    counted::numbers seen;
    {
        owner<shape> any = allot::make_unique<square>(memory, seen);
        REQUIRE(any != nullptr);
        CHECK(any->corners() == 4);
        any = nullptr;
        CHECK(seen.alive == 0);
        any = allot::make_unique<square>(memory, seen);
        CHECK(seen.alive == 1);
    }
    CHECK(seen.alive == 0);
    CHECK(helpers::room_for(memory, {16}) == free);
}

TEST_CASE("allocate_zeroed: every byte is zero, also of memory that was used before") {
    heap_arena memory{{}, 4_KiB};
    const auto used = memory.allocate({1000});
    std::memset(used.address, 0xff, used.size);
    memory.deallocate(used);
    const auto block = allot::allocate_zeroed(memory, {.size = 1000, .align = 32});
    REQUIRE(block);
    CHECK(helpers::all_bytes(block.address, 1000, 0));
    memory.deallocate(block);
    CHECK_FALSE(allot::allocate_zeroed(memory, {8_KiB}));
    CHECK_FALSE(allot::allocate_zeroed(memory, {0}));
    CHECK_FALSE(allot::allocate_zeroed(memory, {8, 3}));
}
