// address_cache without a heap, which only raises its limits. tests/unit/compose/address_heap_test.cpp has both.
#include <allot/compose/address_cache.hpp>

#include <doctest/doctest.h>

#include <initializer_list>

TEST_CASE("address_cache: without a heap it keeps nothing and has nothing") {
    static constinit allot::address_cache<> cache;
    alignas(16) char block[64];
    for (const std::size_t size : {0U, 1U, 24U, 25U, 1032U, 1033U, 100'000U}) CHECK(cache.take(size) == nullptr);
    for (const std::size_t capacity : {24U, 40U, 1032U, 1048U, 100'000U}) CHECK_FALSE(cache.keep(block, capacity));
    CHECK(cache.kept() == 0);
}

TEST_CASE("address_cache: the largest capacity is one of a record in band") {
    static_assert(allot::address_cache<>::largest == (sizeof(void*) == 8 ? 1032 : 1028));
    static_assert(allot::address_cache<allot::address_cache_options{.largest = 100}>::largest <= 100);
    static_assert(sizeof(allot::address_cache<>) <= 1100);
    CHECK((allot::address_cache<>::largest + sizeof(void*)) % (2 * sizeof(void*)) == 0);
}
