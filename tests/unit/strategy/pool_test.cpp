#include <allot/strategy/pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace {

using allot::pool_options;
using allot::pool_store;

template <pool_store Store>
constexpr bool serves_every_slot_once() {
    using pool = allot::pool<pool_options{.slot = 10, .count = 70, .align = 4, .store = Store}>;
    pool strategy;
    if (!strategy.insert({1, 1000})) return false;  // 83 slots of 12 bytes would fit; 70 are managed
    std::array<typename pool::allocation_type, 70> allocations{};
    for (auto& allocation : allocations) {
        allocation = strategy.allocate({10, 4});
        if (!allocation || allocation.where.offset % 4 != 0) return false;
    }
    if (strategy.allocate({1, 1})) return false;
    for (std::size_t i = 1; i != 70; ++i) {
        if (allocations[i].where.offset != allocations[i - 1].where.offset + 12) return false;
    }
    strategy.deallocate(allocations[40]);
    strategy.deallocate(allocations[20]);
    if (strategy.remove({1, 1000})) return false;
    const auto again = strategy.allocate({12, 1});  // the lowest slot, which is also the newest
    if (again.where.offset != allocations[20].where.offset) return false;
    strategy.deallocate(again);
    for (std::size_t i = 0; i != 70; ++i) {
        if (i != 20 && i != 40) strategy.deallocate(allocations[i]);
    }
    return strategy.remove({1, 1000}) && !strategy.allocate({1, 1});
}
static_assert(serves_every_slot_once<pool_store::bitmap>());
static_assert(serves_every_slot_once<pool_store::index_stack>());

template <std::size_t Most, std::size_t Recent>
struct bitmap_slots {
    static constexpr std::size_t most = Most, recent = Recent;
};

}  // namespace

TEST_CASE("pool: diagnose distinguishes too large, misaligned and exhausted") {
    allot::pool<pool_options{.slot = 64, .count = 2, .align = 16}> strategy;
    REQUIRE(strategy.insert({0, 1000}));
    CHECK(strategy.diagnose({65, 1}) == allot::diagnosis{allot::refusal::over_limit, 64});
    CHECK(strategy.diagnose({64, 32}) == allot::diagnosis{allot::refusal::misaligned, 64});
    CHECK(strategy.allocate({64, 16}).where.offset == 0);
    CHECK(strategy.allocate({1, 16}).where.offset == 64);
    CHECK_FALSE(strategy.allocate({1, 1}));
    CHECK(strategy.diagnose({1, 1}) == allot::diagnosis{allot::refusal::exhausted, 0});
}

TEST_CASE_TEMPLATE("pool: allocate_at returns exactly the given slot if it is free", store,
                   std::integral_constant<pool_store, pool_store::bitmap>,
                   std::integral_constant<pool_store, pool_store::atomic_bitmap>) {
    using pool = allot::pool<pool_options{.slot = 10, .count = 200, .align = 4, .store = store::value}>;
    static_assert(allot::positional<pool>);
    static_assert(
        !allot::positional<allot::pool<pool_options{.slot = 10, .count = 200, .store = pool_store::index_stack}>>);
    pool strategy;
    REQUIRE(strategy.insert({101, 12 * 130 + 5}));  // slots from 104 on
    const allot::extent last{104 + 12 * 129, 12};
    const auto taken = strategy.allocate_at(last);
    CHECK(taken.where == last);
    CHECK_FALSE(strategy.allocate_at(last));
    CHECK(strategy.allocate_at({104 + 12 * 70, 1}).where == allot::extent{104 + 12 * 70, 1});
    for (const allot::extent no : {allot::extent{104 + 12 * 130, 1},
                                   {104 + 12 * 199, 1},
                                   {92, 1},
                                   {0, 1},
                                   {105, 1},
                                   {104, 13},
                                   {~std::size_t{0}, 1},
                                   {104, ~std::size_t{0}},
                                   last}) {
        CHECK_FALSE(strategy.allocate_at(no));
        CHECK(strategy.diagnose_at(no).reason == allot::refusal::not_free);
    }
    CHECK_FALSE(strategy.allocate_at({104, 0}));
    CHECK(strategy.diagnose_at({104, 0}).reason == allot::refusal::empty_layout);
    CHECK(strategy.diagnose_at({104, 12}).reason == allot::refusal::none);
    std::size_t left = 0;
    while (const auto allocation = strategy.allocate({1, 1})) {
        CHECK(allocation.where.offset != last.offset);
        CHECK(allocation.where.offset != 104 + 12 * 70);
        ++left;
    }
    CHECK(left == 128);
    CHECK(strategy.diagnose_at({104, 12}).reason == allot::refusal::not_free);
    strategy.deallocate(taken);
    CHECK(strategy.diagnose_at(last).reason == allot::refusal::none);
    CHECK(strategy.allocate({1, 1}).where.offset == last.offset);  // the summary marks the word again
}

TEST_CASE("pool: a bitmap with several summary words returns the lowest free slot") {
    constexpr std::size_t count = 2 * 4096 + 65;  // the last summary word has two words, the last word one slot
    allot::pool<pool_options{.slot = 4, .count = count, .align = 4, .store = pool_store::bitmap}> strategy;
    REQUIRE(strategy.insert({0, 4 * count}));
    const auto all_in_order = [&strategy] {
        std::size_t in_order = 0;
        while (strategy.allocate({4, 4}).where.offset == 4 * in_order) ++in_order;
        return in_order == count;  // then fails: the offset of an empty allocation is 0
    };
    CHECK(all_in_order());
    constexpr std::size_t free[] = {3, 4095, 4096 + 63, 2 * 4096 - 1};
    for (const std::size_t slot : free) strategy.deallocate({{4 * slot, 4}, {}});
    for (const std::size_t slot : {std::size_t{4096 + 64}, count - 1}) strategy.deallocate({{4 * slot, 4}, {}});
    CHECK(strategy.allocate_at({4 * (4096 + 64), 4}));
    for (const std::size_t slot : free) CHECK(strategy.allocate({1, 1}).where.offset == 4 * slot);
    CHECK(strategy.allocate_at({4 * (count - 1), 4}));
    CHECK(strategy.diagnose({4, 4}).reason == allot::refusal::exhausted);
    for (std::size_t slot = count; slot-- != 0;) strategy.deallocate({{4 * slot, 4}, {}});
    CHECK(all_in_order());
}

TEST_CASE_TEMPLATE("pool: a bitmap of one word, or of a little more, returns the lowest free slot", slots,
                   std::integral_constant<std::size_t, 1>, std::integral_constant<std::size_t, 7>,
                   std::integral_constant<std::size_t, 32>, std::integral_constant<std::size_t, 33>,
                   std::integral_constant<std::size_t, 64>, std::integral_constant<std::size_t, 65>) {
    constexpr std::size_t count = slots::value;
    using pool = allot::pool<pool_options{.slot = 12, .count = count, .align = 4, .store = pool_store::bitmap}>;
    static_assert(count > 64 ||
                  sizeof(pool) == 3 * sizeof(std::size_t) + (count > 32 && sizeof(std::size_t) == 4 ? 4 : 0));
    pool first, strategy;
    REQUIRE(first.insert({120, 12 * count + 5}));
    std::vector<bool> taken(count);
    const auto lowest = [&] {
        return static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    };
    REQUIRE(first.allocate({12, 4}).where.offset == 120);
    taken[0] = true;
    strategy = std::move(first);
    CHECK_FALSE(first.allocate({1, 1}));
    std::uint32_t random = 1;
    for (int round = 0; round != 5000; ++round) {
        random = random * 1664525 + 1013904223;
        const std::size_t any = (random >> 8) % count, at = 120 + 12 * any;
        CAPTURE(round);
        if (random >> 30 == 0) {
            REQUIRE(static_cast<bool>(strategy.allocate_at({at, 12})) == !taken[any]);
            taken[any] = true;
        } else if (taken[any]) {
            strategy.deallocate({{at, 12}, {}});
            taken[any] = false;
        } else {
            const std::size_t expected = lowest();
            REQUIRE(strategy.allocate({12, 4}).where.offset == 120 + 12 * expected);
            taken[expected] = true;
        }
        REQUIRE((strategy.diagnose({12, 4}).reason == allot::refusal::exhausted) == (lowest() == count));
    }
    while (lowest() != count) {
        taken[lowest()] = true;
        REQUIRE(strategy.allocate({1, 1}));
    }
    CHECK_FALSE(strategy.allocate({1, 1}));
    CHECK_FALSE(strategy.remove({120, 12 * count + 5}));
    for (std::size_t i = 0; i != count; ++i) strategy.deallocate({{120 + 12 * i, 12}, {}});
    CHECK(strategy.remove({120, 12 * count + 5}));
    CHECK_FALSE(strategy.allocate({1, 1}));
}

TEST_CASE_TEMPLATE("pool: a bitmap agrees with a set of slots, for each number of slots", slots, bitmap_slots<64, 1>,
                   bitmap_slots<65, 1>, bitmap_slots<200, 1>, bitmap_slots<64, 8>, bitmap_slots<65, 2>,
                   bitmap_slots<200, 8>, bitmap_slots<130, 131>) {
    constexpr std::size_t most = slots::most, recent = slots::recent, slot = 7, start = 13;
    using pool = allot::pool<pool_options{
        .slot = slot, .count = most, .align = 1, .store = pool_store::bitmap, .recent = recent}>;
    std::uint32_t random = 1;
    const auto below = [&random](std::size_t n) {
        random = random * 1664525 + 1013904223;
        return (random >> 8) % n;
    };
    using sorted = std::vector<std::size_t>;  // a std::set needs a library that targets without a system lack
    const auto any_of = [&](const sorted& from) { return from[below(from.size())]; };
    const auto move_slot = [](std::size_t index, sorted& from, sorted& to) {
        from.erase(std::lower_bound(from.begin(), from.end(), index));
        to.insert(std::lower_bound(to.begin(), to.end(), index), index);
    };
    const auto at = [](std::size_t index) { return start + slot * index; };
    for (std::size_t count = 1; count <= most; ++count) {
        CAPTURE(count);
        pool strategy;
        const allot::extent whole{start, slot * count + below(slot)};
        REQUIRE(strategy.insert(whole));
        sorted free, live;
        for (std::size_t i = 0; i != count; ++i) free.push_back(i);
        for (int round = 0; round != 24; ++round) {
            // Frees and allocates until a number of slots is in use that changes from round to round.
            const std::size_t wanted = below(count + 1);
            for (std::size_t bursts = below(4);; --bursts) {
                const std::size_t to = bursts == 0 ? wanted : below(count + 1);
                while (live.size() < to) {
                    const std::size_t chosen = below(4) == 0 ? any_of(free) : count;
                    const auto given = chosen != count ? strategy.allocate_at({at(chosen), slot})
                                                       : strategy.allocate({1 + below(slot), 1});
                    REQUIRE(given);
                    REQUIRE(given.where.offset >= start);
                    REQUIRE((given.where.offset - start) % slot == 0);
                    const std::size_t found = (given.where.offset - start) / slot;
                    const auto place = std::find(free.begin(), free.end(), found);
                    REQUIRE(place != free.end());
                    if (chosen != count) REQUIRE(found == chosen);
                    else REQUIRE(static_cast<std::size_t>(place - free.begin()) < recent);  // one of the lowest
                    move_slot(found, free, live);
                }
                while (live.size() > to) {
                    const std::size_t out = any_of(live);
                    strategy.deallocate({{at(out), slot}, {}});
                    move_slot(out, live, free);
                }
                if (bursts == 0) break;
            }
            std::vector<std::size_t> holes, blocks;
            strategy.for_each_hole(whole, [&](allot::extent hole) { holes.push_back(hole.offset); });
            strategy.for_each_block(whole, [&](allot::extent block) { blocks.push_back(block.offset); });
            REQUIRE(std::equal(holes.begin(), holes.end(), free.begin(), free.end(),
                               [&](std::size_t hole, std::size_t index) { return hole == at(index); }));
            REQUIRE(std::equal(blocks.begin(), blocks.end(), live.begin(), live.end(),
                               [&](std::size_t block, std::size_t index) { return block == at(index); }));
            REQUIRE((strategy.diagnose({slot, 1}).reason == allot::refusal::exhausted) == free.empty());
            for (const std::size_t index : live) REQUIRE_FALSE(strategy.allocate_at({at(index), 1}));
            if (!live.empty()) REQUIRE_FALSE(strategy.remove(whole));
            if (round % 8 == 7) {
                pool other = std::move(strategy);
                REQUIRE_FALSE(strategy.allocate({1, 1}));
                strategy = std::move(other);
            }
        }
        for (const std::size_t index : live) strategy.deallocate({{at(index), slot}, {}});
        REQUIRE(strategy.remove(whole));
        REQUIRE_FALSE(strategy.allocate({1, 1}));
    }
}

TEST_CASE_TEMPLATE("pool: a moved-from pool has no slots and the target has the free ones", store,
                   std::integral_constant<pool_store, pool_store::bitmap>,
                   std::integral_constant<pool_store, pool_store::index_stack>,
                   std::integral_constant<pool_store, pool_store::atomic_bitmap>) {
    using pool = allot::pool<pool_options{.slot = 24, .count = 5000, .align = 8, .store = store::value}>;
    static_assert(!std::is_copy_constructible_v<pool> && !std::is_copy_assignable_v<pool>);
    pool first;
    REQUIRE(first.insert({8, 24 * 4999 + 11}));
    std::vector<typename pool::allocation_type> live;
    for (int i = 0; i != 37; ++i) live.push_back(first.allocate({23, 8}));
    pool second{std::move(first)};
    CHECK_FALSE(first.allocate({1, 1}));
    CHECK(first.diagnose({1, 1}).reason == allot::refusal::exhausted);
    REQUIRE(first.insert({200'000, 24}));  // usable again
    pool third;
    third = std::move(second);
    CHECK_FALSE(second.allocate({1, 1}));
    std::vector<bool> taken(4999);
    while (const auto allocation = third.allocate({24, 8})) live.push_back(allocation);
    REQUIRE(live.size() == 4999);
    for (const auto& allocation : live) {
        const std::size_t slot = (allocation.where.offset - 8) / 24;
        CHECK_FALSE(taken[slot]);
        taken[slot] = true;
        third.deallocate(allocation);
    }
    CHECK(third.remove({8, 24 * 4999 + 11}));
}

TEST_CASE("pool: an index stack uses the narrowest type that fits the last slot") {
    const auto bytes = []<std::size_t Slot, std::size_t Count>() {
        using pool =
            allot::pool<pool_options{.slot = Slot, .count = Count, .align = 1, .store = pool_store::index_stack}>;
        pool strategy;
        REQUIRE(strategy.insert({1000, Slot * Count}));
        for (std::size_t i = 0; i != Count; ++i) CHECK(strategy.allocate({Slot, 1}).where.offset == 1000 + i * Slot);
        CHECK_FALSE(strategy.allocate({1, 1}));
        strategy.deallocate({{1000 + (Count - 1) * Slot, Slot}, {}});
        CHECK(strategy.allocate({1, 1}).where.offset == 1000 + (Count - 1) * Slot);
        return sizeof(pool) - 3 * sizeof(std::size_t);
    };
    CHECK(bytes.operator()<16, 16>() == 16);        // last slot at 240
    CHECK(bytes.operator()<16, 24>() == 24 * 2);    // last slot at 368
    CHECK(bytes.operator()<0x5555, 4>() == 4 * 2);  // last slot at 65535
    CHECK(bytes.operator()<0x8000, 4>() == 4 * 4);  // last slot at 98304
}

TEST_CASE("pool: in band, several extents are managed and a free one is removable") {
    alignas(64) std::byte low[256], high[512];
    allot::pool<pool_options{.slot = 64, .align = 64, .store = pool_store::in_band}> strategy;
    const auto extent_over = [](std::byte* bytes, std::size_t size) {
        return allot::extent{reinterpret_cast<std::uintptr_t>(bytes), size};
    };
    REQUIRE(strategy.insert(extent_over(low, sizeof low)));
    REQUIRE(strategy.insert(extent_over(high, sizeof high)));
    std::vector<decltype(strategy)::allocation_type> allocations;
    while (const auto allocation = strategy.allocate({64, 64})) allocations.push_back(allocation);
    CHECK(allocations.size() == 12);
    const auto kept = allocations.back();
    allocations.pop_back();
    for (const auto& allocation : allocations) strategy.deallocate(allocation);
    const bool kept_is_low = extent_over(low, sizeof low).contains(kept.where);
    CHECK(strategy.remove(kept_is_low ? extent_over(high, sizeof high) : extent_over(low, sizeof low)));
    CHECK_FALSE(strategy.remove(kept_is_low ? extent_over(low, sizeof low) : extent_over(high, sizeof high)));
    std::size_t left = 0;
    while (strategy.allocate({64, 64})) ++left;
    CHECK(left == (kept_is_low ? 3 : 7));
}

TEST_CASE_TEMPLATE("pool: bytes_for is 0 for a layout that no slot satisfies", store,
                   std::integral_constant<pool_store, pool_store::bitmap>,
                   std::integral_constant<pool_store, pool_store::index_stack>) {
    using pool = allot::pool<pool_options{.slot = 24, .count = 8, .align = 8, .store = store::value}>;
    CHECK(pool::bytes_for(3, {20, 4}) == 72);
    for (const allot::layout each : {allot::layout{0, 8}, {20, 3}, {20, 0}, {25, 8}, {20, 16}})
        CHECK(pool::bytes_for(3, each) == 0);
    CHECK(pool::bytes_for(0, {20, 4}) == 0);
    CHECK(pool::bytes_for(9, {20, 4}) == 0);
}

TEST_CASE("pool: an extent may end at the last offset but not beyond") {
    allot::pool<pool_options{.slot = 24, .count = 8, .align = 8}, std::uint8_t> strategy;
    CHECK_FALSE(strategy.insert({161, 95}));
    REQUIRE(strategy.insert({161, 94}));  // slots from 168 on
    for (const int at : {168, 192, 216}) CHECK(strategy.allocate({24, 8}).where.offset == at);
    CHECK_FALSE(strategy.allocate({1, 1}));
}
