// page_cache, one property each: prefixes, windows, page sizes, pins, and every refusal.
#include "played.hpp"

#include <allot/page_cache/page_stack.hpp>
#include <allot/page_cache/priority_eviction.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/page_tree.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>

namespace {

using namespace tests;
using allot::no_page;
using allot::page_cache_fault;
using allot::page_refusal;
using cache_type = allot::page_cache<allot::page_pool<64>>;
using copied_type = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, byte_copier>;

constexpr allot::page_cache_limits small{.bytes = 8, .sequences = 3, .sequence_pages = 6};
constexpr allot::page_content prompt[] = {{.hash = {0, 1}}, {.hash = {0, 2}}, {.hash = {0, 3}}, {.hash = {0, 4}}};

/// A cache and its records.
template <class Cache = cache_type>
struct owned {
    explicit owned(const allot::page_cache_limits& limits) : records(Cache::bytes_for(limits)), cache{limits, records} {
        REQUIRE(cache);
    }
    std::vector<std::byte> records;
    Cache cache;

    /// A sequence with named pages.
    typename Cache::sequence_type sequence(allot::page_request request, std::uint32_t page_tokens = 16) {
        const auto begun = cache.start(request);
        REQUIRE(begun);
        const auto pages = static_cast<std::uint32_t>(request.contents.size());
        REQUIRE(cache.append(begun->sequence, pages * page_tokens - begun->tokens));
        REQUIRE(cache.name(begun->sequence, request.contents.subspan(begun->tokens / page_tokens)));
        return begun->sequence;
    }
    void cached(allot::page_request request, std::uint32_t page_tokens = 16) {
        CHECK_EQ(cache.release(sequence(request, page_tokens)), page_refusal::none);
    }
};

}  // namespace

TEST_CASE("page_cache: a prompt is found as far as its pages are cached") {
    owned<> of{small};
    of.cached({.contents = std::span{prompt}.first(3)});
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 3);
    CHECK_EQ(of.cache.match({.contents = prompt}).tokens, 48);
    CHECK_EQ(of.cache.match({.contents = std::span{prompt}.first(2)}).pages, 2);
    CHECK_EQ(of.cache.match({.contents = std::span{prompt}.subspan(1)}).pages,
             0);  // the same pages after another start
    CHECK_EQ(of.cache.match({.contents = prompt, .salt = {0, 1}}).pages, 0);
    CHECK_EQ(of.cache.match({}).pages, 0);
    const allot::page_content other[] = {prompt[0], prompt[3], prompt[2]};
    CHECK_EQ(of.cache.match({.contents = other}).pages, 1);
    const auto first = of.cache.start({.contents = prompt}), second = of.cache.start({.contents = prompt});
    REQUIRE(first);
    REQUIRE(second);
    CHECK_EQ(first->tokens, 48);
    CHECK_EQ(of.cache.counts().used, 3);
    CHECK(std::ranges::equal(of.cache.pages(first->sequence), of.cache.pages(second->sequence)));
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: salts that are small numbers separate users") {
    for (std::uint64_t user = 0; user != 20; ++user)
        for (const std::uint64_t first : {0U, 1U, 2U, 17U}) {
            owned<> of{small};
            const allot::page_content contents[] = {{.hash = {0, first}}, {.hash = {0, 17}}};
            of.cached({.contents = contents, .salt = {0, user}});
            for (std::uint64_t other = 0; other != 20; ++other) {
                CHECK_EQ(of.cache.match({.contents = contents, .salt = {0, other}}).pages, user == other ? 2 : 0);
                if (user != other)
                    CHECK_EQ(of.cache.match({.contents = std::span{contents}.subspan(1), .salt = {0, other}}).pages, 0);
            }
        }
}

TEST_CASE("page_cache: equal pages that two sequences compute become one page") {
    owned<> of{small};
    const auto first = of.cache.start({}), second = of.cache.start({});
    REQUIRE(of.cache.append(first->sequence, 40));
    REQUIRE(of.cache.append(second->sequence, 40));
    CHECK_EQ(of.cache.counts().used, 6);
    CHECK_EQ(*of.cache.name(first->sequence, std::span{prompt}.first(2)), 0);
    CHECK_EQ(*of.cache.name(second->sequence, std::span{prompt}.first(2)), 2);
    CHECK_EQ(of.cache.counts().used, 4);
    CHECK_EQ(of.cache.pages(first->sequence)[1], of.cache.pages(second->sequence)[1]);
    CHECK_NE(of.cache.pages(first->sequence)[2], of.cache.pages(second->sequence)[2]);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: the least recently released prompt is evicted, its last page first") {
    owned<> of{small};
    const allot::page_content other[] = {{.hash = {1, 1}}, {.hash = {1, 2}}, {.hash = {1, 3}}, {.hash = {1, 4}}};
    of.cached({.contents = prompt});
    of.cached({.contents = other});
    CHECK_EQ(of.cache.counts().cached, 8);
    const auto more = of.cache.start({});
    REQUIRE(of.cache.append(more->sequence, 16));
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 3);
    CHECK_EQ(of.cache.match({.contents = other}).pages, 4);
    REQUIRE(of.cache.append(more->sequence, 64));
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 0);
    CHECK_EQ(of.cache.match({.contents = other}).pages, 3);
    CHECK_EQ(of.cache.evictions(), 5);
    of.cache.clear();
    CHECK_EQ(of.cache.counts().cached, 0);
    CHECK_EQ(of.cache.counts().used, 5);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

// PR 27631 of SGLang: an eviction freed pages that a request still used.
TEST_CASE("page_cache: a page in use is never evicted") {
    owned<> of{small};
    const auto kept = of.sequence({.contents = prompt});
    const auto greedy = of.cache.start({});
    REQUIRE(of.cache.append(greedy->sequence, 64));
    CHECK_EQ(error_of(of.cache.append(greedy->sequence, 1)), page_refusal::out_of_pages);
    CHECK_EQ(of.cache.tokens(greedy->sequence), 64);
    of.cache.clear();
    CHECK_EQ(of.cache.counts().used, 8);
    CHECK_EQ(of.cache.pages(kept).size(), 4);
    CHECK_EQ(of.cache.evictions(), 0);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

// Issue 35270 of SGLang: a page that two entries shared was counted twice as evictable.
TEST_CASE("page_cache: a shared page is counted once") {
    owned<> of{small};
    const auto first = of.sequence({.contents = prompt}), second = of.sequence({.contents = prompt});
    CHECK_EQ(of.cache.counts().used, 4);
    CHECK_EQ(of.cache.release(first), page_refusal::none);
    CHECK_EQ(of.cache.counts().used, 4);
    CHECK_EQ(of.cache.counts().cached, 0);
    CHECK_EQ(of.cache.release(second), page_refusal::none);
    CHECK_EQ(of.cache.counts().cached, 4);
    CHECK_EQ(of.cache.counts().free, 4);
    CHECK_EQ(of.cache.release(second), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.counts().cached, 4);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

// PR 37560 of SGLang: indices of two spaces were mixed. No call accepts an index of a page, and a sequence of another
// type of cache does not compile.
template <class Cache, class Sequence>
concept accepts = requires(Cache& cache, Sequence sequence) { cache.release(sequence); };
static_assert(accepts<cache_type, cache_type::sequence_type>);
static_assert(!accepts<cache_type, std::uint32_t> && !accepts<cache_type, copied_type::sequence_type>);
static_assert(!std::is_constructible_v<cache_type::sequence_type, std::uint32_t, std::uint32_t>);

TEST_CASE("page_cache: calls after release are refused and change nothing") {
    owned<> of{small};
    const auto ended = of.sequence({.contents = prompt});
    CHECK_EQ(of.cache.release(ended), page_refusal::none);
    const auto next = of.sequence({.contents = prompt});  // in the same record
    CHECK_EQ(error_of(of.cache.append(ended, 1)), page_refusal::not_a_sequence);
    CHECK_EQ(error_of(of.cache.name(ended, {})), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.truncate(ended, 0), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.pin(ended), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.unpin(ended), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.release(ended), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.release({}), page_refusal::not_a_sequence);
    CHECK(of.cache.pages(ended).empty());
    CHECK_EQ(of.cache.tokens(ended), 0);
    std::array<std::uint32_t, 8> read{};
    CHECK_EQ(error_of(of.cache.read_pages(ended, read)), page_refusal::not_a_sequence);
    CHECK_EQ(error_of(of.cache.read_pages({}, read)), page_refusal::not_a_sequence);
    CHECK_EQ(of.cache.pages(next).size(), 4);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: limits of sequences and tokens") {
    owned<> of{small};
    const auto one = of.cache.start({});
    CHECK_EQ(error_of(of.cache.append(one->sequence, 97)), page_refusal::too_long);
    CHECK_EQ(error_of(of.cache.append(one->sequence, 0xFFFF'FFFF)), page_refusal::too_long);
    CHECK_EQ(*of.cache.append(one->sequence, 96), 6);
    CHECK_EQ(error_of(of.cache.append(one->sequence, 1)), page_refusal::too_long);
    CHECK_EQ(*of.cache.append(one->sequence, 0), 0);
    CHECK_EQ(of.cache.truncate(one->sequence, 97), page_refusal::not_full);
    CHECK_EQ(of.cache.truncate(one->sequence, 47), page_refusal::none);
    CHECK_EQ(error_of(of.cache.name(one->sequence, std::span{prompt}.first(3))), page_refusal::not_full);
    CHECK_EQ(*of.cache.name(one->sequence, std::span{prompt}.first(2)), 0);
    CHECK_EQ(error_of(of.cache.name(one->sequence, std::span{prompt}.subspan(2, 1))), page_refusal::not_full);
    CHECK_EQ(error_of(of.cache.start({.model = 1})), page_refusal::not_a_model);
    CHECK_EQ(of.cache.match({.model = 1}).pages, 0);
    REQUIRE(of.cache.start({}));
    REQUIRE(of.cache.start({}));
    CHECK_EQ(error_of(of.cache.start({})), page_refusal::out_of_sequences);
    CHECK(of.cache.pages(one->sequence, 1).empty());
    CHECK_EQ(of.cache.counts(1).free, 0);
}

TEST_CASE("page_cache: a priority above 15 is 15") {
    owned<allot::page_cache<allot::page_pool<64>, allot::priority_eviction<>>> of{{.bytes = 2}};
    const auto high = std::span{prompt}.first(1), low = std::span{prompt}.subspan(1, 1);
    of.cached({.contents = high, .priority = 16});
    of.cached({.contents = low, .priority = 14});
    const auto one = of.cache.start({});
    REQUIRE(of.cache.append(one->sequence, 1));
    CHECK_EQ(of.cache.match({.contents = high}).pages, 1);
    CHECK_EQ(of.cache.match({.contents = low}).pages, 0);
}

TEST_CASE("page_cache: tokens are counted up to 2^32 - 1, in pages of any number of tokens") {
    constexpr std::uint32_t most = 0xFFFF'FFFF;
    const allot::page_group groups[] = {{.page_tokens = 3'000'000'000}};
    owned<> of{{.bytes = 8, .groups = groups, .sequences = 1, .sequence_pages = 2}};
    const auto one = of.cache.start({});
    CHECK_EQ(*of.cache.append(one->sequence, 2'000'000'000), 1);
    CHECK_EQ(*of.cache.append(one->sequence, 1'000'000'000), 0);
    CHECK_EQ(*of.cache.append(one->sequence, most - 3'000'000'000), 1);
    CHECK_EQ(of.cache.tokens(one->sequence), most);
    CHECK_EQ(error_of(of.cache.append(one->sequence, 1)), page_refusal::too_long);
    CHECK_EQ(of.cache.pages(one->sequence).size(), 2);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: limits that are invalid") {
    constexpr allot::page_group none[] = {{.page_bytes = 0}}, no_tokens[] = {{.page_tokens = 0}},
                                late[] = {{.model = 1}}, apart[] = {{}, {.model = 1}, {}},
                                unequal[] = {{.page_tokens = 2}, {.page_tokens = 3}},
                                coprime[] = {{.page_bytes = 0xFFFF'FFFB},
                                             {.page_bytes = 0xFFFF'FFFD},
                                             {.page_bytes = 0xFFFF'FFFF}},
                                nine[9]{};
    const auto bytes = [](const allot::page_cache_limits& limits) { return cache_type::bytes_for(limits); };
    CHECK_EQ(bytes({.bytes = 0}), 0);
    CHECK_EQ(bytes({.bytes = 65}), 0);  // more pages than the strategy manages
    CHECK_EQ(bytes({.bytes = std::uint64_t{1} << 40}), 0);
    CHECK_EQ(bytes({.bytes = 8, .groups = {}}), 0);
    for (const std::span<const allot::page_group> groups :
         {std::span<const allot::page_group>{none}, {no_tokens}, {late}, {apart}, {unequal}, {coprime}, {nine}})
        CHECK_EQ(bytes({.bytes = 8, .groups = groups}), 0);
    CHECK_EQ(bytes({.bytes = 8, .sequences = 0}), 0);
    CHECK_EQ(bytes({.bytes = 8, .sequence_pages = 0}), 0);
    CHECK_EQ(bytes({.bytes = 8, .sequences = 0xFFFF'FFFE, .sequence_pages = 0xFFFF'FFFF}), 0);

    constexpr allot::page_group many_tokens[] = {{.page_tokens = 4096}};
    using counted_type = allot::page_cache<allot::page_stack>;
    if constexpr (sizeof(std::size_t) == 4) {  // records that exceed the address space
        CHECK_EQ(counted_type::bytes_for({.bytes = 3'000'000'000}), 0);
        CHECK_EQ(counted_type::bytes_for({.bytes = 1 << 20, .groups = many_tokens, .compare_tokens = true}), 0);
    } else {
        CHECK_GT(counted_type::bytes_for({.bytes = 3'000'000'000}), 180'000'000'000U);
        CHECK_GT(counted_type::bytes_for({.bytes = 1 << 20, .groups = many_tokens, .compare_tokens = true}),
                 std::uint64_t{1} << 34U);
    }

    alignas(16) std::array<std::byte, 8192> records{};
    const auto constructs = [](const allot::page_cache_limits& limits, std::span<std::byte> of) {
        return static_cast<bool>(cache_type{limits, of});
    };
    const std::span all{records};
    CHECK_FALSE(constructs({.bytes = 0}, all));
    CHECK_FALSE(constructs(small, all.first(cache_type::bytes_for(small) - 1)));
    CHECK_FALSE(constructs(small, all.subspan(1)));
    CHECK(constructs(small, all.first(cache_type::bytes_for(small))));
    cache_type refused{{.bytes = 0}, records};
    CHECK_EQ(error_of(refused.start({})), page_refusal::bad_limits);
    CHECK_EQ(refused.match({.contents = prompt}).pages, 0);
    CHECK_EQ(refused.check(), page_cache_fault::none);
    CHECK_EQ(refused.counts().free, 0);
}

TEST_CASE("page_cache: truncated tokens give their pages back, and a named page that is written again has no name") {
    owned<> of{small};
    const auto kept = of.sequence({.contents = prompt});
    REQUIRE(of.cache.append(kept, 20));
    CHECK_EQ(of.cache.truncate(kept, 64), page_refusal::none);
    CHECK_EQ(of.cache.counts().free, 4);
    CHECK_EQ(of.cache.truncate(kept, 40), page_refusal::none);
    CHECK_EQ(of.cache.counts().cached, 1);
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 4);
    REQUIRE(of.cache.append(kept, 8));  // writes into page 2
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 2);
    REQUIRE(of.cache.name(kept, std::span{prompt}.subspan(2, 1)));
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 4);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
    SUBCASE("which needs a copy if another sequence uses the page") {
        const auto other = of.cache.start({.contents = prompt});
        CHECK_EQ(of.cache.truncate(kept, 33), page_refusal::none);
        CHECK_EQ(error_of(of.cache.append(kept, 1)), page_refusal::not_copied);
        CHECK_EQ(of.cache.release(other->sequence), page_refusal::none);
        REQUIRE(of.cache.append(kept, 1));
    }
    SUBCASE("which needs a copy if the page is pinned") {
        CHECK_EQ(of.cache.pin(kept), page_refusal::none);
        CHECK_EQ(of.cache.truncate(kept, 33), page_refusal::none);
        CHECK_EQ(error_of(of.cache.append(kept, 1)), page_refusal::not_copied);
    }
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

constexpr allot::page_group of_three[] = {{.page_bytes = 6, .page_tokens = 3}};
constexpr allot::page_cache_limits with_copies{.bytes = 48, .groups = of_three, .sequences = 4, .sequence_pages = 5};

TEST_CASE("page_cache: a fork shares pages until one sequence writes") {
    played<copied_type> with{with_copies};
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, {1, 2, 3, 4}), page_refusal::none);
    REQUIRE_EQ(with.fork(0), page_refusal::none);
    CHECK_EQ(with.cache.counts().used, 2);
    with.refused_copies = 1;
    CHECK_EQ(with.append(1, {5}), page_refusal::not_copied);
    CHECK_EQ(with.cache.counts().used, 2);
    REQUIRE_EQ(with.append(1, {5}), page_refusal::none);
    CHECK_EQ(with.cache.counts().used, 3);
    REQUIRE_EQ(with.append(0, {6, 7}), page_refusal::none);  // the only user now
    CHECK_EQ(with.cache.counts().used, 3);
    with.check();
    REQUIRE_EQ(with.fork(1), page_refusal::none);
    REQUIRE_EQ(with.fork(1), page_refusal::none);
    CHECK_EQ(with.fork(1), page_refusal::out_of_sequences);
    REQUIRE_EQ(with.append(2, {8, 9, 10, 11, 12, 13, 14}), page_refusal::none);
    CHECK_EQ(with.append(3, {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}), page_refusal::too_long);
    CHECK_EQ(with.append(3, {8, 9, 10, 11, 12, 13}),
             page_refusal::out_of_pages);  // two pages and a copy, and two are free
    CHECK_EQ(with.cache.counts().free, 2);
    with.check();
    CHECK_EQ(with.release(1), page_refusal::none);
    CHECK_EQ(with.cache.counts().used, 6);
}

TEST_CASE("page_cache: sequences that share a page must give it the same contents") {
    played<copied_type> with{with_copies};
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, {1, 2, 3, 4, 5, 6}), page_refusal::none);
    REQUIRE_EQ(with.fork(0), page_refusal::none);
    const auto& cache = with.cache;
    REQUIRE_EQ(*with.cache.name(with.members[0].sequence, std::span{prompt}.first(1)), 0);
    CHECK_EQ(error_of(with.cache.name(with.members[1].sequence, std::span{prompt}.subspan(1, 1))),
             page_refusal::other_contents);
    CHECK_EQ(*with.cache.name(with.members[1].sequence, std::span{prompt}.first(1)), 0);
    CHECK_EQ(cache.match({.contents = prompt}).pages, 1);
    with.check();
}

// Inverts the functions of page_key.hpp, to find a hash that gives other tokens the key of a page.
[[nodiscard]] constexpr std::uint64_t inverse(std::uint64_t of) {
    std::uint64_t made = of;
    for (int i = 0; i != 6; ++i) made *= 2 - of * made;
    return made;
}
[[nodiscard]] constexpr std::uint64_t unmixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 33U)) * inverse(0xC4CE'B9FE'1A85'EC53U);
    bits = (bits ^ (bits >> 33U)) * inverse(0xFF51'AFD7'ED55'8CCDU);
    return bits ^ (bits >> 33U);
}
[[nodiscard]] constexpr allot::page_key key_before(allot::page_key after, std::uint32_t token) {
    const std::uint64_t mixed = after.low - after.high;
    const std::uint64_t low = ((unmixed(mixed) ^ token) - 1) * inverse(0x9E37'79B9'7F4A'7C15U);
    const std::uint64_t high = (unmixed(after.high) - mixed) ^ token;
    return {(high - std::rotl(low, 32)) * inverse(0xD1B5'4A32'D192'ED03U), low};
}
[[nodiscard]] constexpr allot::page_key hash_between(allot::page_key before, allot::page_key after) {
    const std::uint64_t mixed = after.low - after.high;
    return {(unmixed(after.high) - mixed) ^ (before.high * 0xD1B5'4A32'D192'ED03U + std::rotl(before.low, 32)),
            unmixed(mixed) ^ (before.low * 0x9E37'79B9'7F4A'7C15U + 1)};
}

TEST_CASE("page_cache: pages whose key belongs to other tokens have no name, in forks neither") {
    using allot::detail::chain_keys;
    const tokens one{1, 1, 1}, two{2, 2, 2};
    const allot::page_key root = allot::detail::root_key(0, {});
    const allot::page_content named{.hash = {0, 1}, .tokens = one};
    allot::page_key key = chain_keys(root, named);
    for (const std::uint32_t token : two) key = key_before(key, token);
    const allot::page_content forged{.hash = hash_between(root, key), .tokens = two};
    REQUIRE_EQ(chain_keys(root, forged), chain_keys(root, named));
    const allot::page_content after[] = {forged, {.hash = {0, 2}, .tokens = one}};

    const auto bytes = [](bool compare) {
        return allot::page_cache_limits{
            .bytes = 60, .groups = of_three, .sequences = 4, .sequence_pages = 5, .compare_tokens = compare};
    };
    owned<copied_type> trusting{bytes(false)}, of{bytes(true)};
    trusting.cached({.contents = {&named, 1}}, 3);
    CHECK_EQ(trusting.cache.match({.contents = {&forged, 1}}).pages, 1);
    of.cached({.contents = {&named, 1}}, 3);
    CHECK_EQ(of.cache.match({.contents = {&forged, 1}}).pages, 0);
    CHECK_EQ(of.cache.match({.contents = {&named, 1}}).pages, 1);
    const auto unnamed = of.cache.start({.contents = after});
    REQUIRE(of.cache.append(unnamed->sequence, 6));
    CHECK_EQ(*of.cache.name(unnamed->sequence, {&forged, 1}), 0);
    const auto forked = of.cache.fork(unnamed->sequence);
    for (const auto& each : {unnamed->sequence, *forked}) {
        CHECK_EQ(*of.cache.name(each, std::span{after}.subspan(1)), 0);
        CHECK_EQ(of.cache.release(each), page_refusal::none);
    }
    CHECK_EQ(of.cache.counts().cached, 1);
    const allot::page_content behind[] = {named, after[1]};
    CHECK_EQ(of.cache.match({.contents = behind}).pages, 1);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

constexpr allot::page_group all_and_last[] = {{.page_bytes = 4, .page_tokens = 2},
                                              {.page_bytes = 6, .page_tokens = 2, .window = 5}};
constexpr allot::page_cache_limits windowed{.bytes = 120, .groups = all_and_last, .sequences = 4, .sequence_pages = 9};

TEST_CASE("page_cache: pages behind a window are released when tokens are appended") {
    owned<> of{windowed};
    const auto one = of.cache.start({});
    REQUIRE(of.cache.append(one->sequence, 9));
    CHECK_EQ(of.cache.counts(1).used, 5);  // all are needed to compute the tokens
    REQUIRE(of.cache.append(one->sequence, 1));
    // Token 9 reads tokens 5 to 9.
    CHECK_EQ(of.cache.counts(0).used, 5);
    CHECK_EQ(of.cache.counts(1).used, 3);
    const auto table = of.cache.pages(one->sequence, 1);
    CHECK_EQ(table[1], no_page);
    CHECK_NE(table[2], no_page);
    CHECK_EQ(of.cache.truncate(one->sequence, 7), page_refusal::behind_window);  // token 7 reads token 3
    CHECK_EQ(of.cache.truncate(one->sequence, 8), page_refusal::none);           // token 8 reads token 4
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: a prefix needs the last pages of a window only") {
    owned<> of{windowed};
    of.cached({.contents = prompt}, 2);
    const auto again = of.cache.start({.contents = prompt});
    CHECK_EQ(again->tokens, 8);
    CHECK_EQ(of.cache.counts(0).used, 4);
    CHECK_EQ(of.cache.counts(1).used, 2);  // token 8 reads tokens 4 to 8
    const auto table = of.cache.pages(again->sequence, 1);
    CHECK_EQ(table[1], no_page);
    CHECK_NE(table[2], no_page);
    CHECK_EQ(of.cache.truncate(again->sequence, 6), page_refusal::behind_window);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: names after a truncation continue those before, in every group") {
    owned<> of{windowed};
    const auto one = of.sequence({.contents = prompt}, 2);
    REQUIRE_EQ(of.cache.truncate(one, 4), page_refusal::none);
    REQUIRE(of.cache.append(one, 4));
    const allot::page_content other[] = {prompt[0], prompt[1], prompt[3], prompt[2]};
    REQUIRE(of.cache.name(one, std::span{other}.subspan(2)));
    CHECK_EQ(of.cache.match({.contents = other}).pages, 4);
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 4);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: pages after a page without a known key have no names") {
    constexpr allot::page_group last_tokens[] = {{.page_bytes = 2, .page_tokens = 2, .window = 2}};
    owned<> of{{.bytes = 16, .groups = last_tokens, .sequences = 4, .sequence_pages = 9}};
    const allot::page_content other[] = {{.hash = {0, 5}}, {.hash = {0, 6}}};
    const auto one = of.sequence({.contents = prompt}, 2);
    REQUIRE(of.cache.append(one, 2));
    REQUIRE(of.cache.name(one, std::span{other}.first(1)));
    REQUIRE(of.cache.append(one, 2));                           // token 10 reads token 9, and page 3 is released
    REQUIRE_EQ(of.cache.truncate(one, 9), page_refusal::none);  // in page 4, whose key came from page 3
    REQUIRE(of.cache.append(one, 1));
    REQUIRE(of.cache.name(one, std::span{other}.subspan(1)));
    CHECK_EQ(of.cache.release(one), page_refusal::none);
    CHECK_EQ(of.cache.match({.contents = std::span{other}.subspan(1)}).pages, 0);
    CHECK_EQ(of.cache.match({.contents = prompt}).pages, 4);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: an evicted page goes to slower tiers and comes back") {
    using tiered = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, byte_copier, 2>;
    constexpr std::uint64_t slower[] = {18, 12};
    const allot::page_cache_limits limits{
        .bytes = 24, .groups = of_three, .slower = slower, .sequences = 4, .sequence_pages = 5};
    CHECK_EQ(tiered::bytes_for(with_copies), 0);  // without the sizes of the tiers
    played<tiered> with{limits};
    const tokens one{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, one), page_refusal::none);
    REQUIRE_EQ(with.name(0, 4), page_refusal::none);
    REQUIRE_EQ(with.release(0), page_refusal::none);
    const auto use_all = [&](std::uint32_t token) {
        REQUIRE_EQ(with.start({}), page_refusal::none);
        REQUIRE_EQ(with.append(with.members.size() - 1, tokens(12, token)), page_refusal::none);
        with.check();
    };
    use_all(2);
    CHECK_EQ(with.cache.counts(0, 1).cached, 3);
    CHECK_EQ(with.cache.counts(0, 2).cached, 1);
    CHECK_EQ(with.cache.counts(0, 3).free, 0);
    const auto contents = contents_of(one, 3);
    CHECK_EQ(with.cache.match({.contents = contents}).pages, 4);
    SUBCASE("if there is room") {
        REQUIRE_EQ(with.release(0), page_refusal::none);
        REQUIRE_EQ(with.start(one), page_refusal::none);
        CHECK_EQ(with.members[0].all.size(), 12);
        CHECK_EQ(with.cache.counts().used, 4);
    }
    SUBCASE("unless pages are in use") {
        REQUIRE_EQ(with.start(one), page_refusal::none);
        CHECK_EQ(with.members[1].all.size(), 0);
    }
    SUBCASE("unless it cannot be copied") {
        REQUIRE_EQ(with.release(0), page_refusal::none);
        with.refused_copies = 1;
        REQUIRE_EQ(with.start(one), page_refusal::none);
        CHECK_EQ(with.members[0].all.size(), 0);
        REQUIRE_EQ(with.release(0), page_refusal::none);
        REQUIRE_EQ(with.start(one), page_refusal::none);
        CHECK_EQ(with.members[0].all.size(), 12);
    }
    SUBCASE("until all tiers are cleared") {
        with.cache.clear();
        CHECK_EQ(with.cache.match({.contents = contents}).pages, 0);
        CHECK_EQ(with.cache.counts(0, 1).free, 3);
    }
    with.check();
}

/// Pages in an array, and a slower tier in a file.
struct file_copier {
    char* pages;
    std::FILE* file;
    bool operator()(allot::page_place from, allot::page_place to) const noexcept {
        const long at = static_cast<long>(from.tier == 0 ? to.offset : from.offset);
        if (std::fseek(file, at, SEEK_SET) != 0) return false;
        if (from.tier == 0) return std::fwrite(pages + from.offset, static_cast<std::size_t>(from.bytes), 1, file) == 1;
        return std::fread(pages + to.offset, static_cast<std::size_t>(from.bytes), 1, file) == 1;
    }
};

TEST_CASE("page_cache: evicted pages go to a file and come back") {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
    REQUIRE(file);
    char pages[8]{};
    using filed = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, file_copier, 1>;
    constexpr allot::page_group group[] = {{.page_bytes = 4, .page_tokens = 1}};
    constexpr std::uint64_t slower[] = {40};
    const allot::page_cache_limits limits{
        .bytes = 8, .groups = group, .slower = slower, .sequences = 1, .sequence_pages = 2};
    std::vector<std::byte> records(filed::bytes_for(limits));
    filed cache{limits, records, file_copier{pages, file.get()}};
    for (int round = 0; round != 2; ++round)
        for (char user = 'a'; user != 'f'; ++user) {
            const allot::page_request request{.contents = std::span{prompt}.first(2),
                                              .salt = {0, static_cast<unsigned char>(user)}};
            const auto begun = cache.start(request);
            REQUIRE(begun);
            CHECK_EQ(begun->tokens, round == 0 ? 0 : 2);
            REQUIRE(cache.append(begun->sequence, 2 - begun->tokens));
            const auto table = cache.pages(begun->sequence);
            if (round == 0) {
                for (const std::uint32_t page : table) std::memset(pages + page * 4, user, 4);
                REQUIRE(cache.name(begun->sequence, request.contents));
            }
            for (const std::uint32_t page : table)
                CHECK_EQ(std::string_view{pages + page * 4, 4}, std::string(4, user));
            cache.release(begun->sequence);
        }
    CHECK_EQ(cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: a prompt ends before a page that does not come back") {
    using tiered = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, byte_copier, 1>;
    constexpr std::uint64_t slower[] = {60};
    played<tiered> with{{.bytes = 24, .groups = of_three, .slower = slower, .sequences = 4, .sequence_pages = 5}};
    const tokens one{1, 1, 1, 1, 1, 1, 1, 1, 1};
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, one), page_refusal::none);
    REQUIRE_EQ(with.name(0, 3), page_refusal::none);
    REQUIRE_EQ(with.release(0), page_refusal::none);
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, tokens(6, 2)), page_refusal::none);  // the last page leaves
    REQUIRE_EQ(with.release(0), page_refusal::none);
    with.refused_copies = 1;
    REQUIRE_EQ(with.start(one), page_refusal::none);
    CHECK_EQ(with.members[0].all.size(), 6);
    with.check();
    REQUIRE_EQ(with.release(0), page_refusal::none);
    REQUIRE_EQ(with.start(one), page_refusal::none);
    CHECK_EQ(with.members[0].all.size(), 9);
    with.check();
}

TEST_CASE("page_cache: a page that cannot be copied to a slower tier is lost") {
    using tiered = allot::page_cache<allot::page_pool<64>, allot::lru_eviction, byte_copier, 1>;
    constexpr std::uint64_t slower[] = {60};
    played<tiered> with{{.bytes = 12, .groups = of_three, .slower = slower, .sequences = 4, .sequence_pages = 5}};
    const tokens one{1, 1, 1, 1, 1, 1};
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, one), page_refusal::none);
    REQUIRE_EQ(with.name(0, 2), page_refusal::none);
    REQUIRE_EQ(with.release(0), page_refusal::none);
    with.refused_copies = 1;
    REQUIRE_EQ(with.start({}), page_refusal::none);
    REQUIRE_EQ(with.append(0, {2, 2, 2, 2}), page_refusal::none);
    CHECK_EQ(with.cache.counts(0, 1).cached, 1);
    CHECK_EQ(with.cache.match({.contents = contents_of(one, 3)}).pages, 1);
    with.check();
}

TEST_CASE("page_cache: a large page is cut for one group and given back whole") {
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 1},
                                         {.page_bytes = 6, .page_tokens = 1, .model = 1}};
    owned<> of{{.bytes = 30, .groups = two, .sequences = 4, .sequence_pages = 9}};  // 2 large pages of 12 bytes
    CHECK_EQ(of.cache.counts(0).free, 6);
    CHECK_EQ(of.cache.counts(1).free, 4);
    const auto small_pages = of.cache.start({}), wide = of.cache.start({.model = 1});
    REQUIRE(of.cache.append(small_pages->sequence, 4));  // cuts both large pages
    CHECK_EQ(error_of(of.cache.append(wide->sequence, 1)), page_refusal::out_of_pages);
    CHECK_EQ(of.cache.truncate(small_pages->sequence, 3), page_refusal::none);
    CHECK_EQ(*of.cache.append(wide->sequence, 2), 2);
    CHECK_EQ(error_of(of.cache.append(wide->sequence, 1)), page_refusal::out_of_pages);
    CHECK_EQ(error_of(of.cache.append(small_pages->sequence, 1)), page_refusal::out_of_pages);
    CHECK_EQ(of.cache.counts(0).free, 0);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
    // The indices count pages of the group, so that the offset is the index times the page size.
    CHECK_EQ(of.cache.pages(small_pages->sequence, 0)[2] / 3, 1 - of.cache.pages(wide->sequence, 1)[0] / 2);
}

TEST_CASE("page_cache: a group takes the memory of another one if its pages are older") {
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 1},
                                         {.page_bytes = 6, .page_tokens = 1, .model = 1}};
    owned<> of{{.bytes = 24, .groups = two, .sequences = 4, .sequence_pages = 9}};
    of.cached({.contents = std::span{prompt}.first(2)}, 1);
    of.cached({.contents = std::span{prompt}.first(2), .model = 1}, 1);
    SUBCASE("of the other group") {
        const auto wide = of.cache.start({.model = 1});
        REQUIRE(of.cache.append(wide->sequence, 1));
        CHECK_EQ(of.cache.match({.contents = prompt, .model = 0}).pages, 0);
        CHECK_EQ(of.cache.match({.contents = prompt, .model = 1}).pages, 2);
    }
    SUBCASE("and its own otherwise") {
        const auto narrow = of.cache.start({});
        REQUIRE(of.cache.append(narrow->sequence, 2));  // one page of its large page is free
        CHECK_EQ(of.cache.match({.contents = prompt, .model = 0}).pages, 1);
        CHECK_EQ(of.cache.match({.contents = prompt, .model = 1}).pages, 2);
    }
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: pinned pages stay") {
    owned<> of{small};
    const auto pinned = of.sequence({.contents = std::span{prompt}.first(3)});
    CHECK_EQ(of.cache.unpin(pinned), page_refusal::not_pinned);
    CHECK_EQ(of.cache.pin(pinned), page_refusal::none);
    CHECK_EQ(of.cache.pin(pinned), page_refusal::none);
    CHECK_EQ(of.cache.unpin(pinned), page_refusal::none);
    CHECK_EQ(of.cache.release(pinned), page_refusal::none);
    of.cache.clear();
    CHECK_EQ(of.cache.counts().cached, 3);
    const auto greedy = of.cache.start({});
    REQUIRE(of.cache.append(greedy->sequence, 80));
    CHECK_EQ(error_of(of.cache.append(greedy->sequence, 1)), page_refusal::out_of_pages);
    const auto again = of.cache.start({.contents = prompt});
    CHECK_EQ(again->tokens, 48);
    CHECK_EQ(of.cache.unpin(again->sequence), page_refusal::none);
    CHECK_EQ(of.cache.release(again->sequence), page_refusal::none);
    CHECK_EQ(*of.cache.append(greedy->sequence, 16), 1);
    for (int i = 0; i != 255; ++i) REQUIRE_EQ(of.cache.pin(greedy->sequence), page_refusal::none);  // no named page
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: 255 pins of a page are the most") {
    owned<> of{small};
    const auto pinned = of.sequence({.contents = prompt});
    for (int i = 0; i != 255; ++i) REQUIRE_EQ(of.cache.pin(pinned), page_refusal::none);
    CHECK_EQ(of.cache.pin(pinned), page_refusal::pinned_too_often);
    for (int i = 0; i != 255; ++i) REQUIRE_EQ(of.cache.unpin(pinned), page_refusal::none);
    CHECK_EQ(of.cache.unpin(pinned), page_refusal::not_pinned);
}

TEST_CASE("page_cache: readers of tables get copies, or the reason why not") {
    owned<> of{small};
    const auto sequence = of.sequence({.contents = prompt});
    std::array<std::uint32_t, 4> read{};
    CHECK_EQ(*of.cache.read_pages(sequence, read), 4);
    CHECK(std::ranges::equal(read, of.cache.pages(sequence)));
    CHECK_EQ(error_of(of.cache.read_pages(sequence, std::span{read}.first(3))), page_refusal::too_long);
    CHECK_EQ(error_of(of.cache.read_pages(sequence, read, 1)), page_refusal::not_a_model);
}

TEST_CASE("page_cache: every kind of damage to the records is found") {
    using allot::detail::page_record;
    owned<> of{small};
    const auto sequence = of.sequence({.contents = prompt});
    of.cached({.contents = std::span{prompt}.first(2), .salt = {0, 1}});
    auto* const pages = reinterpret_cast<page_record*>(of.records.data());  // the first array
    const std::uint32_t used = of.cache.pages(sequence)[1],
                        cached =
                            of.cache.pages(of.sequence({.contents = std::span{prompt}.first(1), .salt = {0, 1}}))[0];
    REQUIRE_EQ(of.cache.check(), page_cache_fault::none);
    const auto found_after = [&](std::uint32_t page, auto change) {
        const page_record before = pages[page];
        change(pages[page]);
        const page_cache_fault found = of.cache.check();
        pages[page] = before;
        return found;
    };
    const std::uint32_t idle = pages[cached].child;
    CHECK_EQ(found_after(used, [](page_record& page) { ++page.count; }), page_cache_fault::references);
    CHECK_EQ(found_after(idle, [](page_record& page) { page.count = 1; }), page_cache_fault::counts);
    CHECK_EQ(found_after(used, [](page_record& page) { page.state = {}; }), page_cache_fault::counts);
    CHECK_EQ(found_after(idle, [](page_record& page) { ++page.pins; }), page_cache_fault::lists);
    CHECK_EQ(found_after(used, [](page_record& page) { ++page.key.low; }), page_cache_fault::keys);
    CHECK_EQ(found_after(used, [](page_record& page) { page.parent = no_page; }), page_cache_fault::tree);
    CHECK_EQ(of.cache.check(), page_cache_fault::none);
}

TEST_CASE("page_cache: every reason and every fault has a text of its own") {
    std::vector<std::string_view> texts;
    for (int i = 0; i <= static_cast<int>(page_refusal::changing); ++i)
        texts.emplace_back(to_string(static_cast<page_refusal>(i)));
    for (int i = 0; i <= static_cast<int>(page_cache_fault::references); ++i)
        texts.emplace_back(to_string(static_cast<page_cache_fault>(i)));
    std::ranges::sort(texts);
    CHECK_EQ(std::ranges::adjacent_find(texts), texts.end());
    CHECK_EQ(std::ranges::count(texts, "unknown"), 0);
}
