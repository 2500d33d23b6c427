#include <allot/adapt/std_allocator.hpp>
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace {

using allot::block_cache_options;

template <class Strategy, std::size_t Bytes = 16384>
using scratch = allot::arena<allot::host::static_storage<Bytes, 64>, Strategy>;
using side_table = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>;

// Memory that the host cannot access, one region per block. The device counts its calls.
struct numbered {
    using address_model = allot::handle_offset<int>;
    using error = int;
    static constexpr bool host_accessible = false;
    static constexpr auto offsets = allot::offset_use::carried;
    static constexpr std::size_t min_align = 64;
    static constexpr std::size_t granularity = 1;
    static constexpr auto dl_device = allot::dl_device_type::ext_dev;
    static inline int next = 0, held = 0;
    static inline std::size_t left = 0;
    [[nodiscard]] allot::acquired<numbered> acquire(allot::layout wanted) noexcept {
        if (wanted.size > left) return allot::acquired<numbered>::failure(-61);
        left -= wanted.size;
        ++held;
        return allot::region<address_model::address>{{++next, 0}, wanted.size, 64};
    }
    void release(allot::region<address_model::address> back) noexcept {
        left += back.size;
        --held;
    }
};

// The size of the list of a size: a power of two between 2^6 and 2^12, and three sizes at equal distances between two.
std::size_t list_size(std::size_t size) {
    for (std::size_t power = 64; power != 4096; power *= 2)
        for (std::size_t step = 0; step != 4; ++step)
            if (const std::size_t list = power + step * power / 4; size <= list) return list;
    return size <= 4096 ? 4096 : size;
}

}  // namespace

TEST_CASE("block_cache: random calls allocate the newest kept block of the same list, as a model") {
    scratch<side_table, 65536> arena;
    allot::counted<scratch<side_table, 65536>&> below{arena};
    allot::block_cache<decltype(below)&, block_cache_options{.largest = 4096, .bytes = 6000}> memory{below};
    using block = decltype(memory)::block_type;
    std::map<std::size_t, std::vector<void*>> kept;
    std::size_t bytes = 0, count = 0;
    std::vector<block> live;
    std::mt19937 random{4};
    int reused = 0;
    for (int step = 0; step != 4000; ++step) {
        if (live.size() < 20 && random() % 2 == 0) {
            const std::size_t size = 1 + random() % (step % 10 == 0 ? 6000 : 700);
            const std::size_t before = below.statistics().requests;
            const block fresh = memory.allocate({size, 16});
            REQUIRE(fresh);
            CHECK(fresh.size == size);
            CHECK(memory.capacity(fresh) >= size);
            auto& list = kept[list_size(size)];
            if (list.empty()) {
                CHECK(below.statistics().requests == before + 1);
            } else {
                CHECK(below.statistics().requests == before);
                CHECK(fresh.address == list.back());
                list.pop_back();
                bytes -= list_size(size);
                --count;
                ++reused;
            }
            std::memset(fresh.address, 0x77, size);
            live.push_back(fresh);
        } else if (!live.empty()) {
            std::swap(live[random() % live.size()], live.back());
            const block held = live.back();
            live.pop_back();
            memory.deallocate(held);
            if (const std::size_t list = list_size(held.size); held.size <= 4096 && bytes + list <= 6000) {
                kept[list].push_back(held.address);
                bytes += list;
                ++count;
            }
        }
        CHECK(memory.kept() == bytes);
        CHECK(below.statistics().count == live.size() + count);
        std::size_t listed = 0;
        memory.for_each_block([&](void* address, std::size_t) {
            ++listed;
            CHECK(std::any_of(live.begin(), live.end(), [&](const block& one) { return one.address == address; }));
        });
        CHECK(listed == live.size());
    }
    CHECK(reused > 500);
    memory.flush();
    CHECK(below.statistics().count == live.size());
}

TEST_CASE("block_cache: a resize inside a list keeps the block, and a later deallocation finds its list") {
    allot::block_cache<allot::counted<scratch<side_table>>> memory;
    auto block = memory.allocate({.size = 100});
    void* const address = block.address;
    REQUIRE(memory.resize(block, 110));  // the list of 112
    CHECK(block.size == 110);
    CHECK(memory.statistics().used == 112);
    REQUIRE(memory.resize(block, 200));
    CHECK(memory.statistics().used == 224);
    REQUIRE(memory.resize(block, 1));
    CHECK(memory.statistics().used == 64);
    CHECK(!memory.resize(block, 0));
    CHECK(!memory.resize(block, 1'000'000));
    CHECK(block.size == 1);
    memory.deallocate(block);
    CHECK(memory.kept() == 64);
    block = memory.allocate({.size = 64});
    CHECK(block.address == address);
    memory.deallocate(block);
    decltype(block) none;
    CHECK(!memory.resize(none, 5));
    memory.deallocate({});
    CHECK(memory.kept() == 64);
}

TEST_CASE("block_cache: alignments") {
    allot::block_cache<scratch<side_table>> memory;
    REQUIRE(memory.allocate({.size = 16}));
    const auto small = memory.allocate({.size = 100, .align = 1});
    CHECK(allot::raw_pointer::position(small.address) % 16 == 0);
    memory.deallocate(small);
    const bool aligned = allot::raw_pointer::position(small.address) % 256 == 0;
    const auto large = memory.allocate({.size = 100, .align = 256});
    REQUIRE(large);
    CHECK(allot::raw_pointer::position(large.address) % 256 == 0);
    CHECK((large.address == small.address) == aligned);
    memory.deallocate(large);
    CHECK(memory.allocate({.size = 100, .align = 128}).address == large.address);
    CHECK(!memory.allocate({.size = 100, .align = 3}));
    CHECK(memory.diagnose({.size = 100, .align = 3}).reason == allot::refusal::bad_alignment);
    CHECK(memory.diagnose({.size = 0}).reason == allot::refusal::empty_layout);
    CHECK(!memory.allocate({.size = 0}));
}

TEST_CASE("block_cache: a refused request frees all kept blocks, and a driver is not called for kept sizes") {
    numbered::left = 4096;
    {
        allot::block_cache memory{allot::naive<numbered>{}};
        const auto a = memory.allocate({.size = 1000});
        const auto b = memory.allocate({.size = 1000});
        REQUIRE(b);
        CHECK(numbered::held == 2);
        memory.deallocate(a);
        memory.deallocate(b);
        CHECK(numbered::held == 2);
        const auto again = memory.allocate({.size = 900});
        CHECK(again.address == b.address);
        CHECK(numbered::next == 2);
        CHECK(memory.allocate({.size = 900, .align = 64}).address.handle ==
              3);  // the alignment of handles is not known
        memory.deallocate(again);
        CHECK(memory.kept() != 0);
        CHECK(memory.diagnose({.size = 10}).reason == allot::refusal::none);
        const auto large = memory.allocate({.size = 3000});
        REQUIRE(large);
        CHECK(memory.kept() == 0);
        CHECK(numbered::held == 2);
        CHECK(!memory.allocate({.size = 3000}));
        CHECK(memory.diagnose({.size = 3000}).reason == allot::refusal::device_refused);
        memory.deallocate(large);
        allot::block_cache moved{std::move(memory)};
        CHECK(memory.kept() == 0);
        CHECK(moved.kept() >= 3000);
    }
    CHECK(numbered::held == 1);  // a live block is not freed by the destructor
}

TEST_CASE("block_cache: over a bump, freed blocks are reused; mark, rollback and reset free the kept ones") {
    allot::block_cache<scratch<allot::bump<>, 1024>, block_cache_options{.blocks = 2}> memory;
    for (int i = 0; i != 100; ++i) {
        const auto block = memory.allocate({.size = 64});
        REQUIRE(block);
        memory.deallocate(block);
    }
    const auto a = memory.allocate({.size = 64}), b = memory.allocate({.size = 64}), c = memory.allocate({.size = 64});
    memory.deallocate(a);
    memory.deallocate(b);
    memory.deallocate(c);
    CHECK(memory.kept() == 128);
    const auto mark = memory.mark();
    CHECK(memory.kept() == 0);
    const auto d = memory.allocate({.size = 500});
    memory.deallocate(d);
    memory.rollback(mark);
    CHECK(memory.kept() == 0);
    CHECK(memory.allocate({.size = 500}).address == d.address);
    memory.reset();
    CHECK(memory.allocate({.size = 1024}));
}

TEST_CASE("block_cache: containers, compositions and trim") {
    using grows = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::geometric<>>;
    grows arena;
    {
        allot::block_cache memory{arena};
        for (int round = 0; round != 3; ++round) {
            std::vector<int, allot::std_allocator<int, decltype(memory)>> values{memory};
            for (int i = 0; i != 1000; ++i) values.push_back(i);
        }
        CHECK(memory.kept() != 0);
        CHECK(arena.trim() == 0);
        CHECK(memory.trim() != 0);
        CHECK(arena.size() == 0);
        memory.deallocate(memory.allocate({.size = 5}));
    }
    CHECK(arena.trim() != 0);

    scratch<side_table, 512> fast;
    allot::block_cache both{allot::fallback{fast, arena}};
    const auto a = both.allocate({.size = 300}), b = both.allocate({.size = 300});
    both.deallocate(a);
    both.deallocate(b);
    CHECK(both.allocate({.size = 300}).address == b.address);
    CHECK(both.allocate({.size = 300}).address == a.address);
}

namespace {

/// Allocates and frees at random, and requests the largest hole that the cache states, which must succeed.
template <class Cache>
void judge_largest_holes() {
    std::mt19937 random{7};
    for (int round = 0; round != 60; ++round) {
        Cache memory{{{}, 2048 + 8 * (random() % 300)}};
        std::vector<allot::block_of<Cache>> live;
        for (int i = 0; i != 30; ++i) {
            if (const auto block = memory.allocate({1 + random() % 200, std::size_t{1} << (random() % 6)}))
                live.push_back(block);
            if (!live.empty() && random() % 3 == 0) {
                const std::size_t at = random() % live.size();
                memory.deallocate(live[at]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
        }
        memory.flush();
        std::size_t largest = 0;
        memory.for_each_hole([&](const auto&, std::size_t size) { largest = std::max(largest, size); });
        const auto stated = static_cast<std::size_t>(memory.diagnose({1 << 20, 1}).largest_hole);
        for (const std::size_t size : {largest, stated}) {
            if (size == 0) continue;
            const auto block = memory.allocate({size, 1});
            CAPTURE(size);
            CHECK(block);
            memory.deallocate(block);
            memory.flush();
        }
        CHECK(stated >= largest);
        if (largest != 0) CHECK(largest >= 64);
    }
}

}  // namespace

TEST_CASE("block_cache: the size of a hole is what one request can get") {
    using in_band = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>>;
    using beside = allot::arena<allot::host::heap,
                                allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>,
                                allot::growth::none<>>;
    judge_largest_holes<allot::block_cache<in_band>>();
    judge_largest_holes<allot::block_cache<beside>>();
    judge_largest_holes<allot::block_cache<in_band, allot::block_cache_options{.largest = 256, .steps = 1}>>();
    judge_largest_holes<allot::block_cache<beside, allot::block_cache_options{.smallest = 128, .align = 64}>>();
}

TEST_CASE("block_cache: a diagnosis states the largest hole also if a kept block is allocated") {
    allot::block_cache<allot::arena<allot::host::heap, side_table, allot::growth::none<>>> memory{{{}, 4096}};
    const auto first = memory.allocate({.size = 100});
    const std::uint64_t rest = memory.diagnose({.size = 1}).largest_hole;
    CHECK(rest >= 3072);
    memory.deallocate(first);
    CHECK(memory.diagnose({.size = 100}) == allot::diagnosis{.largest_hole = rest});
    CHECK(memory.kept() == 112);
    const auto kept = memory.allocate({.size = 100});
    while (memory.allocate({.size = 200})) continue;
    while (memory.allocate({.size = 1})) continue;
    memory.deallocate(kept);
    CHECK(memory.diagnose({.size = 100}) == allot::diagnosis{.largest_hole = 112});
    CHECK(memory.allocate({.size = 100}).address == kept.address);
}

TEST_CASE("block_cache: a block above the largest list enters the lists by a resize only with their alignment") {
    using arena = scratch<side_table>;
    allot::block_cache<arena, block_cache_options{.largest = 1024, .align = 64}> memory;
    const auto first = memory.allocate({.size = 2001, .align = 1});  // at a multiple of 64
    auto next = memory.allocate({.size = 2001, .align = 1});
    REQUIRE(next);
    REQUIRE(allot::raw_pointer::position(next.address) % 64 != 0);
    CHECK_FALSE(memory.resize(next, 1000));
    CHECK(next.size == 2001);
    CHECK(memory.resize(next, 2000));
    memory.deallocate(next);
    auto shrunk = first;
    CHECK(memory.resize(shrunk, 1000));
    memory.deallocate(shrunk);
    CHECK(memory.kept() == 1024);
    CHECK(memory.allocate({.size = 1000, .align = 64}).address == first.address);
    const auto fresh = memory.allocate({.size = 1000, .align = 64});
    REQUIRE(fresh);
    CHECK(allot::raw_pointer::position(fresh.address) % 64 == 0);
}

TEST_CASE("block_cache: a block of a handle enters the lists by a resize if its offset and its buffer are aligned") {
    const int before = numbered::held;
    numbered::left = 65536;
    {
        using arena = allot::arena<numbered, side_table>;
        allot::block_cache<arena, block_cache_options{.largest = 1024, .align = 64}> aligned{arena{{}, 16384}};
        auto first = aligned.allocate({.size = 2001, .align = 1}), next = aligned.allocate({.size = 2001, .align = 1});
        REQUIRE(next);
        CHECK(aligned.resize(first, 1000));
        CHECK_FALSE(aligned.resize(next, 1000));
        aligned.deallocate(first);
        aligned.deallocate(next);
        // The buffers are aligned to 64.
        allot::block_cache<arena, block_cache_options{.largest = 1024, .align = 128}> beyond{arena{{}, 16384}};
        auto large = beyond.allocate({.size = 2001, .align = 1});
        REQUIRE(large);
        CHECK_FALSE(beyond.resize(large, 1000));
        beyond.deallocate(large);
    }
    CHECK(numbered::held == before);
}
