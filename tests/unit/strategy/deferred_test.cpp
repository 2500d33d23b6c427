#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>

namespace {

using in_band = allot::best_fit<allot::best_fit_options{.store = allot::node_store::in_band}>;

alignas(16) std::byte bytes[4096];
constexpr std::size_t most = sizeof bytes - 3 * sizeof(std::size_t);  // in one block

template <class Strategy>
void insert_bytes(Strategy& strategy) {
    REQUIRE(strategy.insert({reinterpret_cast<std::uintptr_t>(bytes), sizeof bytes}));
}

}  // namespace

TEST_CASE("deferred: the next request of a size takes the block that was freed last") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    const auto first = strategy.allocate({40, 8}), second = strategy.allocate({40, 8}),
               third = strategy.allocate({100, 8});
    strategy.deallocate(first);
    strategy.deallocate(second);
    CHECK(strategy.allocate({72, 8}).where.offset > third.where.offset);  // the two have not joined
    CHECK(strategy.allocate({38, 8}).where.offset == second.where.offset);
    CHECK(strategy.allocate({40, 2 * sizeof(std::size_t)}).where.offset == first.where.offset);  // as every block
}

TEST_CASE("deferred: alignments above two words are passed to the strategy") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    strategy.deallocate(strategy.allocate({40, 8}));
    CHECK(strategy.allocate({40, 256}).where.offset % 256 == 0);
}

TEST_CASE("deferred: waiting blocks join before a request fails") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    allot::allocation_of<in_band> blocks[32]{};
    for (auto& block : blocks) block = strategy.allocate({100, 8});
    for (const auto& block : blocks) strategy.deallocate(block);
    CHECK(strategy.allocate({most, 8}));
    CHECK(strategy.diagnose({1, 1}).reason == allot::refusal::exhausted);
}

TEST_CASE("deferred: queries join the waiting blocks first") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    const auto first = strategy.allocate({100, 8}), second = strategy.allocate({100, 8});
    const auto size = second.where.offset + 100 - first.where.offset;
    strategy.deallocate(second);
    CHECK(strategy.resize(first, size));  // into the waiting block above
    strategy.deallocate({{first.where.offset, size}, {}});
    CHECK(strategy.diagnose({most, 8}).reason == allot::refusal::none);
    strategy.deallocate(strategy.allocate({100, 8}));
    CHECK(strategy.diagnose_at({first.where.offset, size}).reason == allot::refusal::none);
    strategy.deallocate(strategy.allocate({100, 8}));
    CHECK(strategy.allocate_at({first.where.offset, size}).where.offset == first.where.offset);
}

TEST_CASE("deferred: a move transfers the waiting blocks") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    const auto block = strategy.allocate({40, 8});
    strategy.deallocate(block);
    allot::deferred<in_band> moved{std::move(strategy)};
    CHECK(moved.allocate({40, 8}).where.offset == block.where.offset);
    CHECK_FALSE(strategy.allocate({40, 8}));  // NOLINT: a moved-from object is empty
}

TEST_CASE("deferred: large blocks do not wait") {
    allot::deferred<in_band, allot::deferred_options{.largest = 64}> strategy;
    insert_bytes(strategy);
    const auto first = strategy.allocate({80, 8}), second = strategy.allocate({80, 8});
    strategy.deallocate(first);
    strategy.deallocate(second);
    CHECK(strategy.allocate({160, 8}).where.offset == first.where.offset);
}

TEST_CASE("deferred: a resize that fails joins only the adjacent block") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    allot::allocation_of<in_band> blocks[16]{};
    for (auto& block : blocks) block = strategy.allocate({100, 8});
    for (const int i : {2, 4, 6, 8, 9}) strategy.deallocate(blocks[i]);
    CHECK_FALSE(strategy.resize(blocks[10], 200));  // the next block is in use
    CHECK_FALSE(strategy.resize(blocks[5], 1000));  // the next block waits and is too small
    for (const int i : {9, 8, 4, 2}) CHECK(strategy.allocate({100, 8}).where.offset == blocks[i].where.offset);
}

TEST_CASE("deferred: resize joins the adjacent waiting block at any depth of its list") {
    alignas(16) static std::byte many_bytes[64 * 1024];
    for (const std::size_t others : {0U, 1U, 2U, 31U, 32U, 33U, 200U}) {
        allot::deferred<in_band> strategy;
        REQUIRE(strategy.insert({reinterpret_cast<std::uintptr_t>(many_bytes), sizeof many_bytes}));
        allot::allocation_of<in_band> blocks[402]{};
        for (auto& block : blocks) block = strategy.allocate({100, 8});
        for (std::size_t i = 0; i <= others; ++i) strategy.deallocate(blocks[2 * i + 1]);
        const auto size = blocks[1].where.offset + 100 - blocks[0].where.offset;
        REQUIRE(strategy.resize(blocks[0], size));
        blocks[0].where.size = size;
        CHECK_FALSE(strategy.resize(blocks[0], size + 100));
        for (std::size_t i = 1; i <= others; ++i)  // all other blocks are available
            CHECK(strategy.allocate({100, 8}).where.offset <= blocks[2 * others + 1].where.offset);
        for (std::size_t i = 0; i != 402; ++i)
            if (i != 1) strategy.deallocate(blocks[i]);
        CHECK(strategy.remove({reinterpret_cast<std::uintptr_t>(many_bytes), sizeof many_bytes}));
    }
}

TEST_CASE("deferred: several blocks are cut from a hole at once") {
    allot::deferred<in_band> strategy;
    insert_bytes(strategy);
    constexpr std::size_t words = 3 * sizeof(std::size_t);  // a record and these are two granules
    const auto first = strategy.allocate({words, 8}), other = strategy.allocate({100, 8}),
               second = strategy.allocate({words, 8});
    CHECK(second.where.offset - first.where.offset == 4 * sizeof(std::size_t));  // the waiting block above the first
    CHECK(other.where.offset > second.where.offset);
    for (const auto& block : {first, other, second}) strategy.deallocate(block);
    CHECK(strategy.allocate({most, 8}));
}

TEST_CASE("deferred: a block beside a hole joins it at once") {
    using strategy_type = allot::deferred<in_band, allot::deferred_options{.largest = 600}>;
    const auto joins_large = [](bool large_above, std::size_t small) {
        strategy_type strategy;
        insert_bytes(strategy);
        allot::allocation_of<in_band> large, other;
        if (!large_above) large = strategy.allocate({900, 8});
        const auto freed = strategy.allocate({small, 8});
        if (large_above) large = strategy.allocate({900, 8});
        other = strategy.allocate({small < 500 ? 500U : 250U, 8});  // keeps the rest of the memory away
        strategy.deallocate(large);                                 // does not wait
        strategy.deallocate(freed);
        const auto lowest = large_above ? freed.where.offset : large.where.offset;
        return strategy.allocate({900 + small, 8}).where.offset == lowest && other;
    };
    CHECK(joins_large(false, 590));
    CHECK(joins_large(true, 590));        // it looks at the block above
    CHECK_FALSE(joins_large(true, 200));  // it does not, for a smaller block
}

TEST_CASE("deferred: new blocks join old ones while more than the share waits") {
    const auto reuses = [](auto strategy, std::size_t large = 0) {
        alignas(16) static std::byte many_bytes[512 * 1024];
        REQUIRE(strategy.insert({reinterpret_cast<std::uintptr_t>(many_bytes), sizeof many_bytes}));
        CHECK((large == 0 || strategy.allocate({large, 8})));
        allot::allocation_of<in_band> blocks[500]{};
        for (auto& block : blocks) block = strategy.allocate({100, 8});
        for (const auto& block : blocks) strategy.deallocate(block);
        bool reused = false;
        for (int i = 0; i != 500; ++i)
            reused = strategy.allocate({150, 8}).where.offset < blocks[499].where.offset || reused;
        return reused;
    };
    CHECK(reuses(allot::deferred<in_band>{}));
    CHECK_FALSE(reuses(allot::deferred<in_band, allot::deferred_options{.share = 0}>{}));
    using quarter = allot::deferred<in_band, allot::deferred_options{.share = 4, .spare = 0}>;
    CHECK(reuses(quarter{}));
    CHECK(reuses(quarter{}, std::size_t{50'000}));
    CHECK_FALSE(reuses(quarter{}, std::size_t{175'000}));  // all 56,000 freed bytes may wait
}

TEST_CASE("deferred: blocks wait while memory is ample, and join as it fills") {
    alignas(16) static std::byte many_bytes[512 * 1024];
    constexpr std::size_t tight = 160 * 1024, ample = sizeof many_bytes;
    using strategy_type = allot::deferred<in_band, allot::deferred_options{.share = 1000, .spare = 1}>;
    const auto part = [](std::size_t first, std::size_t end) {
        return allot::extent_of<in_band>{reinterpret_cast<std::uintptr_t>(many_bytes) + first, end - first};
    };
    // Returns whether requests of another size take the bytes of freed blocks.
    const auto reuses = [](auto& strategy) {
        allot::allocation_of<in_band> blocks[500]{};  // 56,000 bytes with the records, for words of 8 bytes
        for (auto& block : blocks) block = strategy.allocate({100, 8});
        for (const auto& block : blocks) strategy.deallocate(block);
        bool reused = false;
        for (int i = 0; i != 500; ++i) {  // 80,000 bytes: the free bytes suffice without a join
            const auto given = strategy.allocate({150, 8});
            REQUIRE(given);
            reused = given.where.offset < blocks[499].where.offset || reused;
        }
        return reused;
    };
    const auto reuses_in = [&](auto strategy, std::size_t size) {
        REQUIRE(strategy.insert(part(0, size)));
        return reuses(strategy);
    };
    CHECK(reuses_in(strategy_type{}, tight));
    CHECK_FALSE(reuses_in(strategy_type{}, ample));
    CHECK(reuses_in(allot::deferred<in_band, allot::deferred_options{.share = 1000, .spare = 0}>{}, ample));

    strategy_type shortened, extended, removed;
    REQUIRE(shortened.insert(part(0, ample)));
    REQUIRE(shortened.resize_extent(part(0, ample), tight));
    CHECK(reuses(shortened));
    REQUIRE(extended.insert(part(0, tight)));
    REQUIRE(extended.resize_extent(part(0, tight), ample));
    CHECK_FALSE(reuses(extended));
    REQUIRE(removed.insert(part(0, tight)));
    REQUIRE(removed.insert(part(tight, ample)));
    REQUIRE(removed.remove(part(tight, ample)));
    CHECK(reuses(removed));
}

TEST_CASE("deferred: blocks that were freed since the peak wait, and more blocks join") {
    const auto after = [](auto strategy, std::size_t others, std::size_t size) {
        alignas(16) static std::byte many_bytes[512 * 1024];
        const allot::extent_of<in_band> all{reinterpret_cast<std::uintptr_t>(many_bytes), size};
        REQUIRE(strategy.insert(all));
        allot::allocation_of<in_band> first[500]{}, second[500]{};
        for (auto& block : first) block = strategy.allocate({100, 8});
        const auto large = strategy.capacity(first[0]);
        for (const auto& block : first) strategy.deallocate(block);
        for (std::size_t i = 0; i != others; ++i) second[i] = strategy.allocate({40, 8});
        const auto small = others == 0 ? large : strategy.capacity(second[0]);
        for (std::size_t i = 0; i != others; ++i) strategy.deallocate(second[i]);
        std::size_t waiting = 0;  // of free blocks of these sizes
        strategy.for_each_record(all, [&](auto where, bool is_allocated) {
            if (!is_allocated && (where.size == large || where.size == small))
                waiting += where.size + sizeof where.size;
        });
        return waiting / (large + sizeof large);
    };
    constexpr std::size_t ample = 512 * 1024, tight = 70 * 1024;
    CHECK(after(allot::deferred<in_band>{}, 0, ample) >= 500);  // as many as at the peak
    CHECK(after(allot::deferred<in_band>{}, 0, tight) >= 500);
    CHECK(after(allot::deferred<in_band, allot::deferred_options{.share = 0}>{}, 500, ample) >= 700);
    CHECK(after(allot::deferred<in_band>{}, 500, tight) < 600);  // the peak, a tenth of it, and a few
}

namespace {

alignas(4096) std::byte bytes_after_peak[512 * 1024];
constexpr std::size_t ample_after_peak = sizeof bytes_after_peak, tight_after_peak = 72 * 1024;

/// Allocates and frees 64,000 bytes. Returns the last block.
template <class Strategy>
auto use_and_free(Strategy& strategy) {
    allot::allocation_of<in_band> blocks[64]{};
    for (auto& block : blocks) block = strategy.allocate({1000, 8});
    for (const auto& block : blocks) strategy.deallocate(block);
    return blocks[63];
}
/// Inserts `size` bytes. 64,000 bytes were in use and are free.
template <class Strategy>
void pass_peak(Strategy& strategy, std::size_t size) {
    REQUIRE(strategy.insert({reinterpret_cast<std::uintptr_t>(bytes_after_peak), size}));
    use_and_free(strategy);
}
/// Returns whether two freed blocks of `size` bytes become one hole.
template <class Strategy>
bool joins_two(Strategy& strategy, std::size_t size) {
    const auto first = strategy.allocate({size, 8}), second = strategy.allocate({size, 8}),
               above = strategy.allocate({size, 8});
    REQUIRE(above);
    strategy.deallocate(first);
    strategy.deallocate(second);
    return strategy.allocate({2 * size, 8}).where.offset == first.where.offset;
}

}  // namespace

TEST_CASE("deferred: large blocks wait after a peak while memory is ample for it") {
    allot::deferred<in_band> before, after, tight, huge;
    allot::deferred<in_band, allot::deferred_options{.spare = 0}> never;
    REQUIRE(before.insert({reinterpret_cast<std::uintptr_t>(bytes_after_peak), ample_after_peak}));
    CHECK(joins_two(before, 2000));
    pass_peak(after, ample_after_peak);
    CHECK_FALSE(joins_two(after, 2000));
    pass_peak(tight, tight_after_peak);
    CHECK(joins_two(tight, 2000));
    pass_peak(huge, ample_after_peak);
    CHECK(joins_two(huge, 100'000));  // more than five quarters of the peak
    pass_peak(never, ample_after_peak);
    CHECK(joins_two(never, 2000));
}

TEST_CASE("deferred: a waiting large block serves requests of up to a quarter less") {
    allot::deferred<in_band> strategy;
    pass_peak(strategy, ample_after_peak);
    const auto block = strategy.allocate({2000, 8}), above = strategy.allocate({2000, 8});
    for (const std::size_t size : {2000U, 1990U, 1800U}) {
        strategy.deallocate(block);
        CHECK(strategy.allocate({size, 8}).where.offset == block.where.offset);
        CHECK(strategy.capacity(block) >= 2000);
    }
    strategy.deallocate(block);
    for (const std::size_t size : {2048U, 1400U})
        CHECK(strategy.allocate({size, 8}).where.offset != block.where.offset);
    CHECK(strategy.allocate({1990, 4096}).where.offset % 4096 == 0);
    CHECK(strategy.resize(above, 1000));
    CHECK(strategy.allocate({2000, 8}).where.offset == block.where.offset);
}

TEST_CASE("deferred: blocks beside a hole wait after a peak while memory is ample for it") {
    const auto waits = [](std::size_t size) {
        allot::deferred<in_band> strategy;
        pass_peak(strategy, size);
        const auto block = strategy.allocate({400, 4096});  // above a hole
        const auto usable = strategy.capacity(block);
        strategy.deallocate(block);
        return strategy.allocate({usable, 8}).where.offset == block.where.offset;
    };
    CHECK(waits(ample_after_peak));
    CHECK_FALSE(waits(tight_after_peak));
}

TEST_CASE("deferred: resize joins a waiting large block") {
    allot::deferred<in_band> strategy;
    pass_peak(strategy, ample_after_peak);
    const auto first = strategy.allocate({2000, 8}), second = strategy.allocate({3000, 8}),
               above = strategy.allocate({2000, 8});
    REQUIRE(above);
    strategy.deallocate(second);
    CHECK(strategy.resize(first, 4800));
    CHECK_FALSE(strategy.resize({{first.where.offset, 4800}, {}}, 6000));
}

TEST_CASE("deferred: waiting large blocks join as memory fills") {
    allot::deferred<in_band> strategy;
    pass_peak(strategy, ample_after_peak);
    const auto highest = use_and_free(strategy).where.offset;
    CHECK(strategy.allocate({100, 8}).where.offset > highest);
    bool reused = false;
    for (int i = 0; i != 3000; ++i) {  // 300,000 bytes: the free bytes suffice without a join
        const auto given = strategy.allocate({100, 8});
        REQUIRE(given);
        reused = reused || given.where.offset < highest;
    }
    CHECK(reused);

    allot::deferred<in_band> full;
    pass_peak(full, ample_after_peak);
    use_and_free(full);
    CHECK(full.allocate({ample_after_peak - 3 * sizeof(std::size_t), 8}));

    allot::deferred<in_band, allot::deferred_options{.joins = 1}> bounded;
    pass_peak(bounded, ample_after_peak);
    use_and_free(bounded);
    int requests = 0;
    while (requests != 1000 && !bounded.allocate({ample_after_peak - 3 * sizeof(std::size_t), 8})) ++requests;
    CHECK(requests > 0);
    CHECK(requests < 1000);
}

TEST_CASE("deferred: a request joins no more blocks than permitted") {
    using strategy_type = allot::deferred<in_band, allot::deferred_options{.share = 0, .joins = 3}>;
    static_assert(allot::deferred<in_band>::exact && !strategy_type::exact);
    strategy_type strategy;
    insert_bytes(strategy);
    allot::allocation_of<in_band> blocks[30]{};
    for (auto& block : blocks) block = strategy.allocate({100, 8});
    for (const auto& block : blocks) strategy.deallocate(block);
    int failures = 0;
    while (!strategy.allocate({most, 8})) ++failures;
    CHECK(failures >= 9);  // each joins at most 3 blocks of 30
    CHECK(failures < 200);
}
