#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace allot::literals;
using allot::layout;
using allot::refusal;
using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

}  // namespace

TEST_CASE("retrying: the function frees blocks until the request fits, and is not called otherwise") {
    scratch arena;
    std::vector<scratch::block_type> cache;
    int calls = 0;
    allot::retrying memory{arena, [&](layout wanted) noexcept {
                               CHECK(wanted.size == 1000);
                               ++calls;
                               if (cache.empty()) return false;
                               arena.deallocate(cache.back());
                               cache.pop_back();
                               return true;
                           }};
    for (int i = 0; i != 10; ++i) cache.push_back(memory.allocate({.size = 350}));
    for (const auto& each : cache) REQUIRE(each);
    CHECK(calls == 0);
    const auto block = memory.allocate({.size = 1000});
    CHECK(block);
    CHECK(cache.size() == 10 - static_cast<std::size_t>(calls));
    CHECK(calls >= 1);
    CHECK(calls <= 3);
    memory.deallocate(block);
}

TEST_CASE("retrying: a request fails if nothing is freed, or after the given number of attempts") {
    scratch arena;
    int calls = 0;
    allot::retrying memory{arena, [&](layout) noexcept {
                               ++calls;
                               return true;
                           }};
    CHECK_FALSE(memory.allocate({.size = 5000}));
    CHECK(calls == 8);
    CHECK(memory.diagnose({.size = 5000}).reason == refusal::exhausted);

    calls = 0;
    auto refuses = [&](layout) noexcept {
        ++calls;
        return false;
    };
    allot::retrying<scratch&, decltype(refuses)&, allot::retrying_options{.attempts = 3}> other{arena, refuses};
    CHECK_FALSE(other.allocate({.size = 5000}));
    CHECK(calls == 1);
    CHECK_FALSE(other.allocate({.size = 0}));
    CHECK_FALSE(other.allocate({.size = 8, .align = 3}));
    CHECK(calls == 1);  // no memory helps an invalid layout
}

TEST_CASE("retrying: regions without blocks are released before the function is called") {
    allot::arena<allot::host::heap, allot::best_fit<>,
                 allot::growth::fixed<allot::growth_options{.step = 4_KiB, .limit = 16_KiB}>>
        arena;
    int calls = 0;
    allot::retrying memory{arena, [&](layout) noexcept {
                               ++calls;
                               return false;
                           }};
    std::vector<decltype(arena)::block_type> blocks;
    while (const auto block = arena.allocate({.size = 3000})) blocks.push_back(block);
    CHECK(blocks.size() == 4);
    for (const auto& each : blocks) memory.deallocate(each);
    CHECK_FALSE(arena.allocate({.size = 12_KiB}));  // four regions are held, and none is large enough
    const auto large = memory.allocate({.size = 12_KiB});
    CHECK(large);
    CHECK(calls == 0);
    memory.deallocate(large);
}

TEST_CASE("retrying: the function may trim and free in turn, so that space for a larger region is released") {
    using grows = allot::arena<allot::host::heap, allot::best_fit<>,
                               allot::growth::fixed<allot::growth_options{.step = 4_KiB, .limit = 16_KiB}>>;
    grows arena;
    std::vector<grows::block_type> cache;
    while (const auto block = arena.allocate({.size = 3000})) cache.push_back(block);
    allot::retrying memory{arena, [&](layout) noexcept {
                               if (cache.empty()) return false;
                               arena.deallocate(cache.back());
                               cache.pop_back();
                               return true;
                           }};
    CHECK(memory.allocate({.size = 10_KiB}));
    CHECK(cache.size() <= 2);
}

TEST_CASE("retrying: a paged allocator over it undoes a partial request") {
    allot::counted<scratch> rows;
    scratch tables;
    int calls = 0;
    allot::retrying memory{rows, [&](layout) noexcept {
                               ++calls;
                               return false;
                           }};
    allot::paged<decltype(memory)&, scratch&, allot::pointer_table<64>> paged{memory, tables};
    CHECK_FALSE(paged.allocate({.size = 64 * 100}));
    CHECK(calls == 1);
    CHECK(rows.statistics().count == 0);
    CHECK(paged.allocate({.size = 64 * 10}));
}
