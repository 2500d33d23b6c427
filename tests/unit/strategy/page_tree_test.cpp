// page_tree by one thread, compared with a model that knows every page.
#include <allot/strategy/page_tree.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using allot::page_tree;
using allot::page_tree_options;
using allot::refusal;

/// A number of the caller's processor that the test sets.
struct chosen_processor {
    static inline std::size_t number = 0;
    std::size_t operator()() const noexcept { return number; }
};

/// The pages that are in use, by the number of a page from offset 0 on.
class known_pages {
public:
    known_pages(std::uint64_t page, std::uint64_t from, std::uint64_t end)
        : page_{page}, from_{from / page}, used_(static_cast<std::size_t>(end / page - from_)) {}

    [[nodiscard]] std::uint64_t first() const { return from_; }
    [[nodiscard]] std::uint64_t last() const { return from_ + used_.size(); }
    [[nodiscard]] bool is_free(std::uint64_t at, std::uint64_t count) const {
        if (at < from_ || count > used_.size() || at - from_ > used_.size() - count) return false;
        for (std::uint64_t i = at; i != at + count; ++i)
            if (used_[static_cast<std::size_t>(i - from_)]) return false;
        return true;
    }
    [[nodiscard]] bool has(std::uint64_t count, std::uint64_t align) const {
        for (std::uint64_t at = (from_ + align - 1) / align * align; at < last(); at += align)
            if (is_free(at, count)) return true;
        return false;
    }
    [[nodiscard]] std::uint64_t count_free() const {
        std::uint64_t sum = 0;
        for (const bool each : used_) sum += !each;
        return sum;
    }
    void set(std::uint64_t offset, std::uint64_t size, bool used) {
        for (std::uint64_t i = 0; i != size / page_; ++i)
            used_[static_cast<std::size_t>(offset / page_ - from_ + i)] = used;
    }

private:
    std::uint64_t page_, from_;
    std::vector<bool> used_;
};

/// Plays random calls of several processors, and compares each with the model.
template <page_tree_options Options, class Offset>
class comparison {
    using tree_type = page_tree<Options, Offset, chosen_processor>;
    using extent = typename tree_type::extent_type;
    static constexpr std::uint64_t page = Options.page, largest = page << Options.largest_order;

public:
    comparison(extent where, unsigned seed) : where_{where}, random_{seed}, known_{page, 0, 0} {
        REQUIRE(tree_->insert(where));
        const std::uint64_t first = (where.offset + page - 1) / page * page, lost = first % largest / page;
        std::uint64_t count = (where.offset + where.size - first) / page;
        if (count > Options.count - lost) count = Options.count - lost;
        known_ = known_pages{page, first, first + count * page};
    }
    void play(int steps) {
        for (int i = 0; i != steps; ++i) {
            chosen_processor::number = random_() % 7;
            switch (random_() % 8) {
                case 0:
                case 1:
                case 2:
                case 3: allocate(); break;
                case 4: allocate_at(); break;
                default: deallocate();
            }
            if (i % 64 == 0) compare();
        }
        if (!live_.empty()) CHECK_FALSE(tree_->remove(where_));
        while (!live_.empty()) deallocate();
        compare();
        CHECK(tree_->remove(where_));
        CHECK_FALSE(tree_->remove(where_));
        CHECK_FALSE(tree_->allocate({1, 1}));
        CHECK(tree_->insert(where_));
    }

private:
    struct block {
        typename tree_type::allocation_type allocation;
        std::uint64_t size;
    };
    [[nodiscard]] static std::uint64_t rounded(std::uint64_t size) {
        std::uint64_t pages = page;
        while (pages < size) pages *= 2;
        return pages;
    }
    void enter(typename tree_type::allocation_type fresh) {
        const std::uint64_t size = rounded(fresh.where.size);
        CHECK(tree_->capacity(fresh) == size);
        CHECK(fresh.where.offset % size == 0);
        REQUIRE(known_.is_free(fresh.where.offset / page, size / page));
        known_.set(fresh.where.offset, size, true);
        live_.push_back({fresh, size});
    }
    void allocate() {
        const std::uint64_t most = std::uint64_t{2} * (page << random_() % (Options.largest_order + 1));
        const std::uint64_t size = random_() % most,
                            align = std::uint64_t{1} << random_() % (std::bit_width(largest) + 1);
        const auto wanted = typename tree_type::layout_type{static_cast<Offset>(size), static_cast<Offset>(align)};
        const allot::diagnosis expected = tree_->diagnose(wanted);
        const auto fresh = tree_->allocate(wanted);
        refusal reason = refusal::none;
        if (wanted.size == 0) reason = refusal::empty_layout;
        else if (wanted.align == 0) reason = refusal::bad_alignment;
        else if (size > largest) reason = refusal::over_limit;
        else if (align > largest) reason = refusal::misaligned;
        else if (rounded(size) / page > known_.count_free()) reason = refusal::exhausted;
        else if (!known_.has(rounded(size) / page, std::max(rounded(size), align) / page)) reason = refusal::fragmented;
        CHECK(expected.reason == reason);
        CHECK(static_cast<bool>(fresh) == (reason == refusal::none));
        if (!fresh) return;
        CHECK(fresh.where.size == size);
        CHECK(fresh.where.offset % align == 0);
        enter(fresh);
    }
    void allocate_at() {
        const std::uint64_t number = known_.first() + random_() % (known_.last() - known_.first() + 2);
        const std::uint64_t size = 1 + random_() % largest, at = number * page + (random_() % 8 == 0 ? 1 : 0);
        if (at > std::numeric_limits<Offset>::max()) return;
        const extent wanted{static_cast<Offset>(at), static_cast<Offset>(size)};
        const bool possible = at % rounded(size) == 0 && known_.is_free(at / page, rounded(size) / page);
        CHECK(tree_->diagnose_at(wanted).reason == (possible ? refusal::none : refusal::not_free));
        const auto fresh = tree_->allocate_at(wanted);
        CHECK(static_cast<bool>(fresh) == possible);
        if (fresh) enter(fresh);
    }
    void deallocate() {
        if (live_.empty()) return;
        std::swap(live_[random_() % live_.size()], live_.back());
        const block freed = live_.back();
        live_.pop_back();
        tree_->deallocate(freed.allocation);
        known_.set(freed.allocation.where.offset, freed.size, false);
    }
    /// Compares the holes with the model: all free pages, in blocks that cannot be larger.
    void compare() {
        std::uint64_t from = 0, sum = 0, most = 0;
        bool sound = true;
        tree_->for_each_hole(where_, [&](extent hole) {
            sound &= hole.offset >= from && hole.offset % hole.size == 0 && hole.size <= largest &&
                     known_.is_free(hole.offset / page, hole.size / page);
            const std::uint64_t twice = std::uint64_t{2} * hole.size;
            if (twice <= largest) sound &= !known_.is_free(hole.offset / twice * twice / page, twice / page);
            from = std::uint64_t{hole.offset} + hole.size;
            sum += hole.size;
            most = std::max<std::uint64_t>(most, hole.size);
        });
        CHECK(sound);
        CHECK(sum == known_.count_free() * page);
        CHECK(tree_->diagnose({1, 1}).largest_hole == most);
        if constexpr (Options.largest_order == 0) {
            std::size_t blocks = 0;
            tree_->for_each_block(where_, [&](extent held) {
                sound &= held.size == page && !known_.is_free(held.offset / page, 1);
                ++blocks;
            });
            CHECK(sound);
            CHECK(blocks == live_.size());
        }
    }

    extent where_;
    std::mt19937 random_;
    std::unique_ptr<tree_type> tree_ = std::make_unique<tree_type>();
    known_pages known_;
    std::vector<block> live_;
};

template <page_tree_options Options, class Offset = std::size_t>
void compare(std::initializer_list<allot::basic_extent<Offset>> extents, int steps = 1500) {
    unsigned seed = 0;
    for (const auto& each : extents) comparison<Options, Offset>{each, ++seed}.play(steps);
}

}  // namespace

TEST_CASE("page_tree: every call agrees with a model of the pages") {
    compare<page_tree_options{.page = 4096, .count = 1}>({{0, 4096}, {4095, 8192}});
    compare<page_tree_options{.page = 1, .count = 63, .processors = 1}>({{0, 63}, {17, 100}});
    compare<page_tree_options{.page = 16, .count = 130, .processors = 2}>({{0, 2080}, {9, 1999}, {1 << 20, 5000}});
    compare<page_tree_options{.page = 64, .count = 100, .largest_order = 3}>(
        {{0, 6400}, {64 * 7, 6400}, {64 * 9 + 1, 3000}});
    compare<page_tree_options{.page = 4096, .count = 300, .largest_order = 6, .processors = 2}>(
        {{0, 300 * 4096}, {63 * 4096, 300 * 4096}, {64 * 4096 - 1, 150 * 4096}});
    compare<page_tree_options{.page = 32, .count = 1000, .largest_order = 7, .processors = 3}>(
        {{0, 32'000}, {4064, 32'000}});
    compare<page_tree_options{.page = 4096, .count = 5000, .largest_order = 9, .processors = 5}>(
        {{sizeof(std::size_t) == 8 ? ~std::size_t{0} / 4096 / 4096 + 1 : std::size_t{1} << 30, 5000 * 4096},
         {4096 * 511, 5000 * 4096}});
    compare<page_tree_options{
        .page = 1, .count = 20'000, .largest_order = 2 * (sizeof(std::size_t) == 8 ? 6 : 5), .processors = 1}>(
        {{0, 20'000}, {4096 * 3 + 5, 20'000}});
}

TEST_CASE("page_tree: narrow offsets, also up to the last one") {
    compare<page_tree_options{.page = 16, .count = 4096, .largest_order = 8}, std::uint16_t>(
        {{0, 65'535}, {65'535 - 5000, 5000}, {1, 333}});
    compare<page_tree_options{.page = 1, .count = 255, .largest_order = 7}, std::uint8_t>({{0, 255}, {100, 155}});
    compare<page_tree_options{.page = 1 << 16, .count = 5000, .largest_order = 2}, std::uint32_t>(
        {{~0U - (70U << 16), 70U << 16}});
    compare<page_tree_options{.page = 8, .count = 100, .largest_order = 4}>({{~std::size_t{0} - 1000, 1000}});
}

TEST_CASE("page_tree: an extent that it cannot manage is rejected and changes nothing") {
    page_tree<page_tree_options{.page = 16, .count = 10, .largest_order = 3}> tree;
    CHECK(tree.diagnose({1, 1}).reason == refusal::exhausted);
    CHECK_FALSE(tree.insert({0, 0}));
    CHECK_FALSE(tree.insert({0, 15}));
    CHECK_FALSE(tree.insert({1, 30}));
    CHECK_FALSE(tree.insert({~std::size_t{0} - 10, 100}));
    CHECK_FALSE(tree.allocate({1, 1}));
    CHECK_FALSE(tree.remove({0, 160}));
    REQUIRE(tree.insert({48, 32}));  // two pages
    CHECK_FALSE(tree.insert({160, 160}));
    CHECK_FALSE(tree.remove({48, 48}));
    CHECK(tree.allocate({16, 16}).where.offset == 48);
    CHECK(tree.allocate({1, 1}).where.offset == 64);
    CHECK_FALSE(tree.allocate({1, 1}));
}

TEST_CASE("page_tree: bytes_for is exact") {
    using tree_type = page_tree<page_tree_options{.page = 16, .count = 600, .largest_order = 8, .processors = 3}>;
    int asked = 0;
    for (const std::size_t size : {1u, 16u, 17u, 100u, 1000u, 2048u, 4096u})
        for (const std::size_t align : {1u, 16u, 32u, 512u, 4096u})
            for (const std::size_t count : {1u, 2u, 3u, 4u, 30u, 600u}) {
                const std::size_t bytes = tree_type::bytes_for(count, {size, align});
                if (bytes == 0) continue;
                for (const std::size_t less : {0u, 1u}) {
                    tree_type tree;
                    static_cast<void>(tree.insert({4096 * 7, bytes - less}));
                    std::size_t held = 0;
                    while (tree.allocate({size, align})) ++held;
                    CHECK(held == count - less);
                    ++asked;
                }
            }
    CHECK(asked > 100);
    CHECK(tree_type::bytes_for(601, {16, 1}) == 0);
    CHECK(tree_type::bytes_for(600, {16, 1}) == 9600);
    CHECK(tree_type::bytes_for(1, {4097, 1}) == 0);
    CHECK(tree_type::bytes_for(1, {1, 8192}) == 0);
    CHECK(tree_type::bytes_for(0, {1, 1}) == 0);
    CHECK(tree_type::bytes_for(~std::size_t{0}, {4096, 1}) == 0);
}

TEST_CASE("page_tree: a moved tree keeps its blocks, and the other has no pages") {
    using tree_type = page_tree<page_tree_options{.page = 16, .count = 200, .largest_order = 7, .processors = 2}>;
    static_assert(!std::is_copy_constructible_v<tree_type> && !std::is_copy_assignable_v<tree_type>);
    tree_type tree;
    REQUIRE(tree.insert({0, 3200}));
    const auto small = tree.allocate({16, 16}), large = tree.allocate({2048, 16});
    REQUIRE(small);
    REQUIRE(large);
    tree_type moved{std::move(tree)};
    CHECK_FALSE(tree.allocate({1, 1}));
    moved.deallocate(small);
    moved.deallocate(large);
    REQUIRE(tree.insert({8192, 160}));
    tree = std::move(moved);
    CHECK_FALSE(moved.allocate({1, 1}));
    std::size_t pages = 0;
    while (tree.allocate({1, 1})) ++pages;
    CHECK(pages == 200);
}

TEST_CASE("page_tree: processors take pages of different cache lines") {
    page_tree<page_tree_options{.page = 1, .count = 64 * 64 * 4, .processors = 2}, std::size_t, chosen_processor> tree;
    REQUIRE(tree.insert({0, 64 * 64 * 4}));
    std::vector<std::size_t> lines[2];
    for (int i = 0; i != 300; ++i)
        for (const std::size_t processor : {0u, 1u}) {
            chosen_processor::number = processor;
            const auto page = tree.allocate({1, 1});
            REQUIRE(page);
            lines[processor].push_back(page.where.offset / 512);  // pages of the bits in a cache line
        }
    for (const std::size_t each : lines[0]) CHECK(std::find(lines[1].begin(), lines[1].end(), each) == lines[1].end());
}

TEST_CASE("page_tree: single pages fill words that are partly used, so that large blocks remain") {
    page_tree<page_tree_options{.page = 1, .count = 4096, .largest_order = 6, .processors = 1}, std::size_t,
              chosen_processor>
        tree;
    REQUIRE(tree.insert({0, 4096}));
    std::vector<decltype(tree.allocate({1, 1}))> held;
    for (int i = 0; i != 2048; ++i) held.push_back(tree.allocate({1, 1}));
    for (std::size_t i = 0; i < 2048; i += 2) tree.deallocate(held[i]);
    for (int i = 0; i != 1024; ++i) REQUIRE(tree.allocate({1, 1}));
    int large = 0;
    while (tree.allocate({64, 1})) ++large;
    CHECK(large == 32);
}

/// Atomics whose hints are lost: every other load of one returns that nothing is free.
struct lossy_atomics {
    using word = std::size_t;
    template <class T>
    using deciding = std::atomic<T>;
    template <class T>
    struct hint : std::atomic<T> {
        static inline unsigned loads = 0;
        [[nodiscard]] T load(std::memory_order order) const noexcept {
            return std::is_same_v<T, word> && ++loads % 2 == 0 ? T{0} : std::atomic<T>::load(order);
        }
    };
};

TEST_CASE("page_tree: a request finds every free block, although hints are lost") {
    constexpr auto shape = allot::detail::page_words_shape::of(10'000, 8, 3);
    using words_type = allot::detail::page_words<shape, lossy_atomics>;
    const auto words = std::make_unique<words_type>();
    words->open(0, 9984);
    std::mt19937 random{1};
    struct block {
        std::size_t page;
        unsigned order;
    };
    std::vector<block> held;
    std::size_t taken = 0, refused = 0;
    for (int i = 0; i != 3'000; ++i) {
        if (random() % 4 != 0) {
            block fresh{0, static_cast<unsigned>(random() % 9)};
            const bool possible = words->has(fresh.order, fresh.order);
            const bool done = words->take(random() % 3, fresh.order, fresh.order, fresh.page);
            REQUIRE(done == possible);
            if (done) held.push_back(fresh);
            ++(done ? taken : refused);
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            words->give(random() % 3, held.back().page, held.back().order);
            held.pop_back();
        }
    }
    CHECK(taken > 500);
    CHECK(refused > 100);
    for (const block& each : held) words->give(0, each.page, each.order);
    CHECK(words->count_free() == 9984);
}

/// Returns the bits for every page, without 64 bytes for every processor.
template <page_tree_options Options>
constexpr double bits_per_page =
    8.0 * (sizeof(page_tree<Options>) - 64 * Options.processors) / static_cast<double>(Options.count);

TEST_CASE("page_tree: at most 1.3 bits for every page beside the slots of the processors, 1.6 with 32-bit words") {
    constexpr bool wide = sizeof(std::size_t) == 8;
    constexpr double most = wide ? 1.3 : 1.6;
    CHECK(bits_per_page<page_tree_options{.count = 1 << 14, .processors = 1}> < most);
    CHECK(bits_per_page<page_tree_options{.count = 1 << 16, .largest_order = 9, .processors = 32}> < most);
    CHECK(bits_per_page<page_tree_options{.count = 1 << 16, .largest_order = 9, .processors = 256}> < most);
    CHECK(sizeof(page_tree<page_tree_options{.count = 1 << 20, .largest_order = 9}>) * 8 <
          (1 << 20) / 20 * (wide ? 23 : 31));
}
