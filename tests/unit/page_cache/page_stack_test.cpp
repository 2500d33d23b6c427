// The pages of a cache whose number is known at run time.
#include <allot/page_cache.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

constexpr std::uint32_t first_of_three() {
    std::uint32_t words[3]{};
    allot::page_stack pages;
    pages.open(words);
    if (!pages.insert({0, 3})) return 9;
    const auto one = pages.allocate({1, 1}), two = pages.allocate({1, 1});
    pages.deallocate(one);
    return two.where.offset * 10 + pages.allocate({1, 1}).where.offset;
}
static_assert(first_of_three() == 10);

}  // namespace

TEST_CASE("page_stack: every page is handed out once, and again after it is free") {
    for (const std::uint32_t count : {1U, 2U, 63U, 64U, 1001U}) {
        std::vector<std::uint32_t> words(count);
        allot::page_stack pages;
        pages.open(words);
        REQUIRE(pages.insert({0, count}));
        std::vector<bool> taken(count);
        for (int round = 0; round != 2; ++round) {
            for (std::uint32_t i = 0; i != count; ++i) {
                const auto page = pages.allocate({1, 1});
                REQUIRE(page);
                REQUIRE_LT(page.where.offset, count);
                REQUIRE_FALSE(taken[page.where.offset]);
                REQUIRE(pages.is_used(page.where.offset));
                taken[page.where.offset] = true;
            }
            CHECK_FALSE(pages.allocate({1, 1}));
            CHECK(pages.diagnose({1, 1}) == allot::diagnosis{allot::refusal::exhausted, 0});
            for (std::uint32_t i = 0; i != count; ++i) {
                pages.deallocate({{i, 1}, {}});
                CHECK_FALSE(pages.is_used(i));
            }
            taken.assign(count, false);
        }
    }
}

TEST_CASE("page_stack: requests and extents that it does not support are refused") {
    std::uint32_t words[4]{};
    allot::page_stack pages;
    CHECK_FALSE(pages.insert({0, 1}));  // without memory
    CHECK_FALSE(pages.allocate({1, 1}));
    pages.open(words);
    CHECK_FALSE(pages.insert({0, 0}));
    CHECK_FALSE(pages.insert({1, 3}));
    CHECK_FALSE(pages.insert({0, 5}));
    REQUIRE(pages.insert({0, 4}));
    CHECK_FALSE(pages.insert({0, 4}));
    CHECK_FALSE(pages.allocate({0, 1}));
    CHECK_FALSE(pages.allocate({2, 1}));
    CHECK_FALSE(pages.allocate({1, 2}));
    CHECK(pages.diagnose({0, 1}).reason == allot::refusal::empty_layout);
    CHECK(pages.diagnose({1, 3}).reason == allot::refusal::bad_alignment);
    CHECK(pages.diagnose({2, 1}).reason == allot::refusal::over_limit);
    CHECK(pages.diagnose({1, 2}).reason == allot::refusal::misaligned);
    CHECK(pages.diagnose({1, 1}) == allot::diagnosis{allot::refusal::none, 1});
    CHECK_FALSE(pages.is_used(4));
    CHECK_EQ(allot::page_stack::bytes_for(7, {1, 1}), 7);
    CHECK_EQ(allot::page_stack::bytes_for(7, {2, 1}), 0);
}

TEST_CASE("page_stack: walks list free and allocated pages in ascending order") {
    std::uint32_t words[5]{};
    allot::page_stack pages;
    pages.open(words);
    REQUIRE(pages.insert({0, 5}));
    for (int i = 0; i != 4; ++i) REQUIRE(pages.allocate({1, 1}));
    pages.deallocate({{2, 1}, {}});
    pages.deallocate({{0, 1}, {}});
    std::vector<std::uint32_t> holes, blocks;
    pages.for_each_hole({0, 5}, [&](auto at) { holes.push_back(at.offset); });
    pages.for_each_block({0, 5}, [&](auto at) { blocks.push_back(at.offset); });
    CHECK(holes == std::vector<std::uint32_t>{0, 2, 4});
    CHECK(blocks == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("page_stack: a cache takes four bytes for each page from its records") {
    using at_run_time = allot::page_cache<allot::page_stack>;
    using at_compile_time = allot::page_cache<allot::page_pool<4096>>;
    const allot::page_cache_limits limits{.bytes = 1000};
    CHECK_EQ(at_run_time::bytes_for(limits), at_compile_time::bytes_for(limits) + 4000);
    CHECK_EQ(at_run_time::bytes_for({.bytes = 0}), 0);
    CHECK_LT(sizeof(at_run_time), 1024);
    std::vector<std::byte> records(at_run_time::bytes_for(limits));
    at_run_time cache{limits, records};
    REQUIRE(cache);
    const auto begun = cache.start({});
    REQUIRE(begun);
    CHECK(cache.append(begun->sequence, 16 * 1000).value() == 1000);
    CHECK(cache.append(begun->sequence, 1).error() == allot::page_refusal::out_of_pages);
    CHECK(cache.check() == allot::page_cache_fault::none);
}
