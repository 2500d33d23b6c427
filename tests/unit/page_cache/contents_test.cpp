// Random calls on page caches of many shapes: the bytes that tables name are those of contiguous memory.
#include "played.hpp"

#include <allot/page_cache/page_stack.hpp>
#include <allot/page_cache/reuse_eviction.hpp>
#include <allot/strategy/page_tree.hpp>

namespace {

using namespace tests;

template <class Pages, class Eviction = allot::lru_eviction>
void play_limits(const allot::page_cache_limits& limits, std::uint32_t models, bool weak = false) {
    for (unsigned seed = 0; seed != 8; ++seed) {
        played<allot::page_cache<Pages, Eviction, byte_copier>> with{limits, weak};
        play(with, seed, 300, models);
    }
}
template <class Eviction = allot::lru_eviction>
void play_shapes() {
    constexpr allot::page_group one[] = {{.page_bytes = 12, .page_tokens = 3}};
    constexpr allot::page_group windows[] = {{.page_bytes = 8, .page_tokens = 4},
                                             {.page_bytes = 12, .page_tokens = 4, .window = 6},
                                             {.page_bytes = 20, .page_tokens = 4, .window = 1}};
    constexpr allot::page_group models[] = {{.page_bytes = 6, .page_tokens = 2},
                                            {.page_bytes = 4, .page_tokens = 1, .window = 5, .model = 1},
                                            {.page_bytes = 9, .page_tokens = 3, .model = 2},
                                            {.page_bytes = 6, .page_tokens = 3, .window = 3, .model = 2}};
    constexpr allot::page_group windowed[] = {{.page_bytes = 5, .page_tokens = 1, .window = 4}};
    for (const std::uint64_t pages : {5U, 13U, 40U}) {
        using pool = allot::page_pool<2048>;
        play_limits<pool, Eviction>({.bytes = pages * 12, .groups = one, .sequences = 5, .sequence_pages = 20}, 1);
        play_limits<pool, Eviction>({.bytes = pages * 5, .groups = windowed, .sequences = 4, .sequence_pages = 31}, 1);
        play_limits<pool, Eviction>({.bytes = pages * 120 / 3, .groups = windows, .sequences = 5, .sequence_pages = 9},
                                    1);
        play_limits<pool, Eviction>({.bytes = pages * 36 / 2, .groups = models, .sequences = 5, .sequence_pages = 21},
                                    3);
    }
}

}  // namespace

TEST_CASE("page_cache: tables name the bytes of contiguous memory") { play_shapes(); }

TEST_CASE("page_cache: tables name the bytes of contiguous memory if all hashes are equal") {
    constexpr allot::page_group one[] = {{.page_bytes = 12, .page_tokens = 3}};
    for (const std::uint64_t pages : {5U, 17U})
        play_limits<allot::page_pool<17>>(
            {.bytes = pages * 12, .groups = one, .sequences = 5, .sequence_pages = 20, .compare_tokens = true}, 1,
            true);
}

TEST_CASE("page_cache: tables name the bytes of contiguous memory over a tree of pages") {
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 2},
                                         {.page_bytes = 6, .page_tokens = 2, .window = 5}};
    using tree = allot::page_tree<allot::page_tree_options{.page = 1, .count = 64}, std::uint32_t>;
    play_limits<tree>({.bytes = 300, .groups = two, .sequences = 5, .sequence_pages = 20}, 1);
}

TEST_CASE("page_cache: tables name the bytes of contiguous memory over a number of pages from run time") {
    constexpr allot::page_group one[] = {{.page_bytes = 12, .page_tokens = 3}};
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 2},
                                         {.page_bytes = 6, .page_tokens = 2, .window = 5}};
    play_limits<allot::page_stack>({.bytes = 13 * 12, .groups = one, .sequences = 5, .sequence_pages = 20}, 1);
    play_limits<allot::page_stack, allot::reuse_eviction>(
        {.bytes = 300, .groups = two, .sequences = 5, .sequence_pages = 20}, 1);
}

TEST_CASE("page_cache: pages that come back from slower tiers have their bytes") {
    constexpr allot::page_group one[] = {{.page_bytes = 6, .page_tokens = 3}};
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 2},
                                         {.page_bytes = 6, .page_tokens = 2, .window = 5}};
    constexpr std::uint64_t slower[] = {60, 132};
    using pool = allot::page_pool<64>;
    for (unsigned seed = 0; seed != 8; ++seed) {
        played<allot::page_cache<pool, allot::lru_eviction, byte_copier, 1>> single{
            {.bytes = 48, .groups = one, .slower = std::span{slower}.first(1), .sequences = 5, .sequence_pages = 20}};
        play(single, seed, 300, 1);
        played<allot::page_cache<pool, allot::reuse_eviction, byte_copier, 2>> both{
            {.bytes = 96, .groups = two, .slower = slower, .sequences = 5, .sequence_pages = 20}};
        play(both, seed, 300, 1);
    }
}

TEST_CASE("page_cache: a page does not come back beside a page of other tokens with the same key") {
    const std::uint32_t first[] = {1, 2}, second[] = {3, 4};
    const allot::page_content one{.hash = {11, 22}, .tokens = first};
    const allot::page_content other{.hash = {0x9ca7151ded160571, 0x4703741fe79e1529}, .tokens = second};
    const allot::page_key root = allot::detail::root_key(0, {});
    REQUIRE(allot::detail::chain_keys(root, one) == allot::detail::chain_keys(root, other));

    const auto copy = [](allot::page_place, allot::page_place) noexcept { return true; };
    using cache_type = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, decltype(copy), 1>;
    constexpr allot::page_group groups[] = {{.page_bytes = 4, .page_tokens = 2}};
    constexpr std::uint64_t slower[] = {64};
    const allot::page_cache_limits limits{
        .bytes = 16, .groups = groups, .slower = slower, .sequences = 8, .sequence_pages = 8, .compare_tokens = true};
    std::vector<std::byte> records(cache_type::bytes_for(limits));
    cache_type cache{limits, records, copy};
    const auto keep = [&](const allot::page_content& content) {
        const auto started = cache.start({.contents = {&content, 1}}).value();
        CHECK(started.tokens == 0);
        CHECK(cache.append(started.sequence, 2));
        CHECK(cache.name(started.sequence, {&content, 1}));
        cache.release(started.sequence);
    };
    keep(other);
    const auto all = cache.start({}).value();
    CHECK(cache.append(all.sequence, 8));  // the page leaves the memory
    cache.release(all.sequence);
    keep(one);
    const auto again = cache.start({.contents = {&other, 1}}).value();
    CHECK(again.tokens == 0);
    CHECK(cache.check() == allot::page_cache_fault::none);
    CHECK(cache.match({.contents = {&one, 1}}).tokens == 2);
    cache.release(again.sequence);
    CHECK(cache.check() == allot::page_cache_fault::none);
}
