// Policies of eviction: which page each one selects, and any of them under random calls.
#include "played.hpp"

#include <allot/page_cache.hpp>

#include <set>

namespace {

using namespace tests;
using allot::no_page;
using allot::detail::page_record;

/// Pages of a policy, without a cache.
template <class Policy>
struct policed {
    explicit policed(std::uint32_t count) : records(count), words(count * Policy::words_per_page), uses{records} {
        policy.open(words);
        for (std::uint32_t page = 0; page != count; ++page) records[page].key = {page * 7919U, page * (1U << 20U)};
    }
    void release(std::uint32_t page) {
        records[page].released_at = ++now;
        policy.insert(uses, page);
    }
    /// A sequence finds the page and releases it.
    void find(std::uint32_t page) {
        policy.erase(uses, page);
        ++records[page].hits;
        release(page);
    }
    std::uint32_t evict() {
        const std::uint32_t page = policy.victim(uses, [](std::uint32_t) { return true; });
        if (page == no_page) return page;
        policy.evict(uses, page);
        records[page].mark = 0;
        records[page].hits = 0;
        return page;
    }
    std::vector<std::uint32_t> evict_all() {
        std::vector<std::uint32_t> order;
        for (std::uint32_t page = evict(); page != no_page; page = evict()) order.push_back(page);
        CHECK_EQ(policy.count(), 0);
        return order;
    }
    void follow(std::uint32_t parent, std::uint32_t child) { records[parent].child = child; }

    std::vector<page_record> records;
    std::vector<std::uint32_t> words;
    allot::page_uses uses;
    Policy policy;
    std::uint32_t now = 0;
};
using pages = std::vector<std::uint32_t>;

/// Every page is counted, visited and evicted once; a page that is not accepted is not selected.
template <class Policy>
void judge(unsigned seed) {
    policed<Policy> of{40};
    std::mt19937 random{seed};
    std::set<std::uint32_t> in;
    for (int i = 0; i != 1000; ++i) {
        const auto page = static_cast<std::uint32_t>(random() % 40);
        if (in.contains(page) && random() % 2 == 0) {
            of.find(page);
        } else if (in.contains(page)) {
            of.policy.erase(of.uses, page);
            in.erase(page);
        } else if (random() % 4 != 0) {
            of.records[page].priority = random() % 16;
            of.release(page);
            in.insert(page);
        } else {
            const auto accept = [&](std::uint32_t each) { return each % 3 == seed % 3; };
            const std::uint32_t found = of.policy.victim(of.uses, accept);
            const bool any = std::ranges::any_of(in, accept);
            REQUIRE_EQ(found != no_page, any);
            if (!any) continue;
            REQUIRE(accept(found));
            REQUIRE(in.contains(found));
            of.policy.evict(of.uses, found);
            of.records[found].mark = 0;
            of.records[found].hits = 0;
            in.erase(found);
        }
        std::set<std::uint32_t> seen;
        of.policy.for_each(of.uses, [&](std::uint32_t each) { REQUIRE(seen.insert(each).second); });
        REQUIRE_EQ(seen, in);
        REQUIRE_EQ(of.policy.count(), in.size());
    }
}

template <class Policy>
void play_policy() {
    constexpr allot::page_group one[] = {{.page_bytes = 6, .page_tokens = 3}};
    constexpr allot::page_group two[] = {{.page_bytes = 4, .page_tokens = 2},
                                         {.page_bytes = 6, .page_tokens = 2, .window = 5}};
    for (unsigned seed = 0; seed != 4; ++seed) {
        judge<Policy>(seed);
        using cache = allot::page_cache<allot::page_pool<64>, Policy, byte_copier>;
        played<cache> with{{.bytes = 84, .groups = one, .sequences = 5, .sequence_pages = 20}};
        play(with, seed, 300, 1);
        played<cache> mixed{{.bytes = 132, .groups = two, .sequences = 5, .sequence_pages = 20}};
        play(mixed, seed, 300, 1);
    }
}

/// Evicts the page that was released last, and notes the uses of each released page.
class noting_eviction : public allot::lru_eviction {
public:
    struct note {
        unsigned hits, mark;
        bool leaf;
        bool operator==(const note&) const = default;
    };
    inline static std::vector<note> notes;

    void insert(allot::page_uses& of, std::uint32_t page) noexcept {
        notes.push_back({of.hits(page), of.mark(page), of.is_leaf(page)});
        of.set_mark(page, 5);
        lru_eviction::insert(of, page);
    }
    template <class Accept>
    [[nodiscard]] std::uint32_t victim(allot::page_uses& of, Accept accept) const noexcept {
        std::uint32_t newest = no_page;
        for_each(of, [&](std::uint32_t page) { newest = accept(page) ? page : newest; });
        return newest;
    }
};
using noted = std::vector<noting_eviction::note>;

/// Starts a sequence of a prompt, names its pages of three tokens, and returns the notes of its release.
template <class Cache>
noted notes_of(played<Cache>& with, const tokens& prompt) {
    const std::size_t which = with.members.size();
    REQUIRE_EQ(with.start(prompt), allot::page_refusal::none);
    const auto known = static_cast<std::ptrdiff_t>(with.members[which].all.size());
    REQUIRE_EQ(with.append(which, {prompt.begin() + known, prompt.end()}), allot::page_refusal::none);
    REQUIRE_EQ(with.name(which, 99), allot::page_refusal::none);
    noting_eviction::notes.clear();
    REQUIRE_EQ(with.release(which), allot::page_refusal::none);
    with.check();
    return noting_eviction::notes;
}

constexpr allot::page_group of_three[] = {{.page_bytes = 6, .page_tokens = 3}};

}  // namespace

TEST_CASE("eviction: any policy keeps every page once, in a cache too") {
    play_policy<allot::lru_eviction>();
    play_policy<allot::reuse_eviction>();
    play_policy<allot::priority_eviction<>>();
    play_policy<allot::priority_eviction<5>>();
    play_policy<allot::s3_fifo_eviction<>>();
    play_policy<allot::s3_fifo_eviction<10>>();
    play_policy<allot::s3_fifo_eviction<0>>();
    play_policy<allot::leaf_first_eviction<allot::s3_fifo_eviction<10>, 2>>();
    play_policy<allot::leaf_first_eviction<allot::priority_eviction<>>>();
}

TEST_CASE("lru_eviction: pages leave in the order of their release") {
    policed<allot::lru_eviction> of{4};
    for (const std::uint32_t page : {2U, 0U, 3U, 1U}) of.release(page);
    of.find(0);
    CHECK_EQ(of.evict_all(), pages{2, 3, 1, 0});
}

TEST_CASE("reuse_eviction: ages count less for pages that were found, and more for ends of prompts") {
    policed<allot::reuse_eviction> of{8};
    of.follow(0, 1);
    of.release(0);            // at 1, with a successor
    of.release(1);            // at 2, an end
    CHECK_EQ(of.evict(), 1);  // 4 × 1 > 1 × 2
    of.release(2);            // at 3
    of.release(3);            // at 4
    CHECK_EQ(of.evict(), 2);  // 4 × 2 > 1 × 4
    CHECK_EQ(of.evict(), 3);  // 4 × 1 = 1 × 4, and an end leaves first
    CHECK_EQ(of.evict(), 0);
    of.release(4);  // at 5
    of.find(4);
    of.find(4);  // at 7, twice
    of.follow(5, 6);
    of.release(5);            // at 8
    CHECK_EQ(of.evict(), 5);  // 1 ÷ 1 = 2 ÷ 2, and a page that was found less leaves first
    of.release(5);            // at 9
    CHECK_EQ(of.evict(), 4);  // 3 ÷ 2 > 1
    CHECK_EQ(of.evict_all(), pages{5});
}

TEST_CASE("priority_eviction: a lower priority leaves first, or an older page after some steps") {
    const auto fill = [](auto& of) {
        const unsigned priorities[] = {3, 0, 15, 0, 1, 3};
        for (std::uint32_t page = 0; page != 6; ++page) {
            of.records[page].priority = priorities[page] & 15U;
            of.release(page);
        }
    };
    policed<allot::priority_eviction<>> strict{6};
    fill(strict);
    CHECK_EQ(strict.evict_all(), pages{1, 3, 4, 0, 5, 2});
    policed<allot::priority_eviction<2>> aged{6};
    fill(aged);  // released at 1 to 6; as if at 7, 2, 33, 4, 7, 12
    CHECK_EQ(aged.evict_all(), pages{1, 3, 4, 0, 5, 2});
    policed<allot::priority_eviction<1>> old{6};
    fill(old);  // as if at 4, 2, 18, 4, 6, 9
    CHECK_EQ(old.evict_all(), pages{1, 3, 0, 4, 5, 2});
    policed<allot::priority_eviction<0>> equal{6};
    fill(equal);
    CHECK_EQ(equal.evict_all(), pages{0, 1, 2, 3, 4, 5});
}

TEST_CASE("s3_fifo_eviction: pages that are used once leave early, and come back into the main queue") {
    policed<allot::s3_fifo_eviction<10>> of{12};
    for (std::uint32_t page = 0; page != 10; ++page) of.release(page);
    of.find(0);
    of.find(1);
    CHECK_EQ(of.evict(), 2);  // the small queue is 3 4 … 9 0 1
    for (const std::uint32_t page : {3U, 4U, 5U, 6U, 7U, 8U, 9U}) CHECK_EQ(of.evict(), page);
    of.release(2);  // its key is remembered, so it is in the main queue
    of.release(10);
    CHECK_EQ(of.evict(), 10);  // 0 and 1 move to the main queue
    of.release(11);
    CHECK_EQ(of.evict(), 11);
    CHECK_EQ(of.evict_all(), pages{2, 0, 1});
}

TEST_CASE("leaf_first_eviction: pages with a cached successor leave last") {
    policed<allot::leaf_first_eviction<allot::priority_eviction<>, 2>> of{4};
    of.records[2].priority = 9;
    for (std::uint32_t page = 0; page != 3; ++page) of.release(page);
    of.follow(0, 1);
    of.follow(1, 2);
    CHECK_EQ(of.evict(), 2);
    of.follow(1, no_page);
    CHECK_EQ(of.evict(), 1);
    of.follow(0, 3);
    CHECK_EQ(of.evict(), 0);  // no page is a leaf
}

TEST_CASE("page_uses: hits and the mark of a page belong to its contents") {
    using cache = allot::page_cache<allot::page_pool<64>, noting_eviction, byte_copier>;
    played<cache> with{{.bytes = 12, .groups = of_three, .sequences = 2, .sequence_pages = 2}};
    const tokens one{1, 1, 1};
    CHECK_EQ(notes_of(with, one), noted{{0, 0, true}});
    CHECK_EQ(notes_of(with, one), noted{{1, 5, true}});
    REQUIRE_EQ(with.start(one), allot::page_refusal::none);
    REQUIRE_EQ(with.truncate(0, 2), allot::page_refusal::none);
    REQUIRE_EQ(with.append(0, {2}), allot::page_refusal::none);  // other contents in the same page
    REQUIRE_EQ(with.name(0, 1), allot::page_refusal::none);
    noting_eviction::notes.clear();
    REQUIRE_EQ(with.release(0), allot::page_refusal::none);
    CHECK_EQ(noting_eviction::notes, noted{{0, 0, true}});
}

TEST_CASE("page_uses: a sequence counts once, also if a page of a slower tier does not come back") {
    using cache = allot::page_cache<allot::page_pool<64>, noting_eviction, byte_copier, 1>;
    constexpr std::uint64_t slower[] = {60};
    played<cache> with{{.bytes = 12, .groups = of_three, .slower = slower, .sequences = 2, .sequence_pages = 2}};
    const tokens two{1, 1, 1, 2, 2, 2};
    notes_of(with, two);
    notes_of(with, two);
    CHECK_EQ(notes_of(with, two), noted{{2, 5, true}, {2, 5, false}});
    REQUIRE_EQ(with.start(two), allot::page_refusal::none);
    REQUIRE_EQ(with.truncate(0, 3), allot::page_refusal::none);  // the second page is cached
    REQUIRE_EQ(with.append(0, {3}), allot::page_refusal::none);  // and goes to the slower tier
    REQUIRE_EQ(with.release(0), allot::page_refusal::none);
    with.refused_copies = 1;
    REQUIRE_EQ(with.start(two), allot::page_refusal::none);
    CHECK_EQ(with.members[0].all.size(), 3);
    noting_eviction::notes.clear();
    REQUIRE_EQ(with.release(0), allot::page_refusal::none);
    CHECK_EQ(noting_eviction::notes, noted{{4, 5, true}});
}

TEST_CASE("page_uses: a page that outlives the page before it follows the next page of the same contents") {
    using cache = allot::page_cache<allot::page_pool<64>, noting_eviction, byte_copier>;
    played<cache> with{{.bytes = 18, .groups = of_three, .sequences = 2, .sequence_pages = 2}};
    const tokens two{1, 1, 1, 2, 2, 2};
    const auto outlive = [&] {
        REQUIRE_EQ(with.start({}), allot::page_refusal::none);
        REQUIRE_EQ(with.append(0, {3, 3, 3, 3}), allot::page_refusal::none);  // the newest page is evicted
        REQUIRE_EQ(with.release(0), allot::page_refusal::none);
        CHECK_EQ(with.cache.match({.contents = contents_of(two, 3)}).pages, 0);
    };
    CHECK_EQ(notes_of(with, two), noted{{0, 0, true}, {0, 0, false}});
    outlive();
    CHECK_EQ(with.cache.counts().cached, 1);
    REQUIRE_EQ(with.start({}), allot::page_refusal::none);
    REQUIRE_EQ(with.append(0, {1, 1, 1}), allot::page_refusal::none);
    REQUIRE_EQ(with.name(0, 1), allot::page_refusal::none);
    REQUIRE_EQ(with.release(0), allot::page_refusal::none);
    CHECK_EQ(notes_of(with, two), noted{{1, 5, true}, {1, 5, false}});  // found
    outlive();
    CHECK_EQ(notes_of(with, two), noted{{1, 5, true}, {0, 0, false}});  // named
}
