#include "counted.hpp"

#include <allot/object/typed_pool.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using objects::counted;

struct packet {
    std::uint8_t bytes[120];
    std::uint16_t length = 0;
};
struct alignas(64) line {
    std::byte bytes[64];
};
using packets = allot::typed_pool<packet, 4>;

static_assert(packets::capacity() == 4);
static_assert(sizeof(packets::owner) == 2 * sizeof(void*));
static_assert(!std::is_copy_constructible_v<packets> && !std::is_move_constructible_v<packets>);
static_assert(sizeof(allot::typed_pool<packet, 1000>) <= 1000 * (sizeof(packet) + 4) + 128);

template <class Pool>
std::size_t fill(Pool& pool, std::vector<typename Pool::owner>& held) {
    while (auto object = pool.make()) held.push_back(std::move(object));
    return held.size();
}

}  // namespace

TEST_CASE_TEMPLATE("typed_pool: holds exactly as many objects as stated", pool_type, packets,
                   allot::typed_pool<char, 9>, allot::typed_pool<line, 3>, allot::typed_pool<void*, 100>,
                   allot::typed_pool<packet, 1>, allot::typed_pool<packet, 65, allot::pool_store::bitmap>,
                   allot::typed_pool<packet, 5, allot::pool_store::atomic_bitmap>) {
    using object = typename pool_type::element_type;
    static pool_type pool;
    for (int round = 0; round != 3; ++round) {
        std::vector<typename pool_type::owner> held;
        CHECK(fill(pool, held) == pool.capacity());
        CHECK(pool.diagnose().reason == allot::refusal::exhausted);
        for (const auto& each : held) {
            CHECK(reinterpret_cast<std::uintptr_t>(each.get()) % alignof(object) == 0);
            CHECK(pool.owns(each.get()));
        }
        const object* const freed = held.back().get();
        held.pop_back();
        CHECK(pool.diagnose().reason == allot::refusal::none);
        const auto again = pool.make();
        CHECK(again.get() == freed);
    }
    object other{};
    CHECK_FALSE(pool.owns(&other));
    CHECK_FALSE(pool.owns(nullptr));
}

TEST_CASE("typed_pool: forwards arguments, and the owner destroys its object") {
    counted::numbers seen;
    allot::typed_pool<counted, 2> pool;
    {
        const auto first = pool.make(seen);
        auto second = pool.make(seen);
        CHECK(pool.make(seen) == nullptr);
        CHECK(seen.alive == 2);
        CHECK(seen.made == 2);
        second.reset();
        CHECK(seen.alive == 1);
    }
    CHECK(seen.alive == 0);
}

TEST_CASE("typed_pool: an object released from its owner is destroyed by the pool") {
    counted::numbers seen;
    allot::typed_pool<counted, 1> pool;
    counted* const given_away = pool.make(seen).release();
    REQUIRE(given_away != nullptr);
    CHECK(seen.alive == 1);
    CHECK(pool.make(seen) == nullptr);
    pool.destroy(given_away);
    pool.destroy(nullptr);  // no effect
    CHECK(seen.alive == 0);
    CHECK(pool.make(seen) != nullptr);
}

TEST_CASE("typed_pool: a constructor that throws frees the slot") {
    counted::numbers seen{.throw_at = 1};
    allot::typed_pool<counted, 1> pool;
    for (int i = 0; i != 3; ++i) CHECK_THROWS_AS(static_cast<void>(pool.make(seen)), counted::failure);
    seen.throw_at = 0;
    CHECK(pool.make(seen) != nullptr);
}

TEST_CASE("typed_pool: aggregates are initialized by braces") {
    static packets pool;
    const auto filled = pool.make(packet{{1, 2}, 2});
    REQUIRE(filled != nullptr);
    CHECK(filled->bytes[1] == 2);
    const auto fresh = pool.make();
    REQUIRE(fresh != nullptr);
    CHECK(fresh->length == 0);
}
