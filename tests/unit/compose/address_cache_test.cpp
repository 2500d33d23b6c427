// address_cache without a heap, which only raises its limits, and its lists of medium blocks.
// tests/unit/compose/address_heap_test.cpp has both.
#include <allot/compose/address_cache.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <random>
#include <vector>

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
    static_assert(sizeof(allot::address_cache<>) <= (sizeof(void*) == 8 ? 1100 : 1600));
    CHECK((allot::address_cache<>::largest + sizeof(void*)) % (2 * sizeof(void*)) == 0);
}

TEST_CASE("medium_lists: a block is taken for sizes up to its capacity, and not for much smaller ones") {
    using lists = allot::detail::medium_lists<1024, 8200, 1U << 17U, true>;
    for (const std::size_t size : {0U, 1U, 1024U, 8201U, 100'000U}) CHECK_FALSE(lists::accepts(size));
    alignas(16) static char memory[8200];
    for (std::size_t capacity = 1032; capacity <= 8200; capacity += 16) {
        REQUIRE(lists::accepts(capacity));
        for (std::size_t size = 1025; size <= 8200; ++size) {
            if (size % 97 != 0 && (size < capacity - 20 || size > capacity + 20)) continue;
            lists kept;
            CHECK(kept.has_room(capacity));
            kept.keep(memory, capacity);
            CHECK(lists::is_marked(memory));
            void* const taken = kept.take(size);
            if (size > capacity) REQUIRE(taken == nullptr);
            if (size == capacity) REQUIRE(taken == memory);
            if (taken != nullptr) REQUIRE(capacity <= size + size / 4);
            CHECK(kept.kept() == (taken != nullptr ? 0 : capacity));
            CHECK(lists::is_marked(memory) == (taken == nullptr));
        }
    }
}

TEST_CASE("medium_lists: random blocks are taken once, and never exceed the limit") {
    using lists = allot::detail::medium_lists<1024, 8200, 40'000, false>;
    lists kept;
    std::mt19937 random{1};
    struct block {
        alignas(16) char bytes[64];
        std::size_t capacity;
        bool is_kept;
    };
    std::vector<block> all(200);
    for (block& each : all) each = {{}, 1032 + random() % 449 * 16, false};
    std::size_t bytes = 0, hits = 0, cuts = 0;
    for (int i = 0; i != 20'000; ++i) {
        block& one = all[random() % all.size()];
        if (i % 2 == 0) {
            if (one.is_kept) continue;
            while (!kept.has_room(one.capacity)) {
                ++cuts;
                for (void* each = kept.cut(); each != nullptr;) {
                    auto& freed = *static_cast<block*>(each);
                    each = allot::detail::waiting_block::next(each);
                    REQUIRE(freed.is_kept);
                    freed.is_kept = false;
                    bytes -= freed.capacity;
                }
            }
            kept.keep(&one, one.capacity);
            one.is_kept = true;
            bytes += one.capacity;
        } else if (auto* const taken = static_cast<block*>(kept.take(one.capacity))) {
            REQUIRE(taken->is_kept);
            REQUIRE(taken->capacity >= one.capacity);
            taken->is_kept = false;
            bytes -= taken->capacity;
            ++hits;
        }
        REQUIRE(kept.kept() == bytes);
        REQUIRE(bytes <= 40'000);
    }
    CHECK(hits > 100);
    CHECK(cuts > 100);
    while (kept.cut() != nullptr) {}
    CHECK(kept.kept() == 0);
}
