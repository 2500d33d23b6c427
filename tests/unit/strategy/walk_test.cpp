// for_each_hole and for_each_block of strategies and arenas, compared with a model that knows every block.
#include <allot/allot.hpp>
#include <allot/arena/hardening.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace {

using allot::arena;
using allot::best_fit_options;
using allot::node_store;
using allot::pool_options;
using allot::pool_store;

/// Requests and frees blocks at random, and checks after each step that no hole overlaps another hole or a live block,
/// that every hole of a size yields a block of that size, and that all blocks are listed.
template <class Memory>
void check_walk(Memory& memory, std::size_t largest, unsigned seed) {
    using block = typename Memory::block_type;
    std::mt19937 random{seed};
    std::vector<block> live;
    for (int step = 0; step != 400; ++step) {
        if (live.empty() || random() % 5 < 3) {
            const block fresh =
                memory.allocate({.size = 1 + random() % largest, .align = std::size_t{1} << random() % 5});
            if (fresh) live.push_back(fresh);
        } else if (Memory::reclaims == allot::reclaim::any) {
            std::swap(live[random() % live.size()], live.back());
            memory.deallocate(live.back());
            live.pop_back();
        } else if (Memory::reclaims == allot::reclaim::lifo) {
            memory.deallocate(live.back());
            live.pop_back();
        } else if (Memory::reclaims == allot::reclaim::fifo) {
            memory.deallocate(live.front());
            live.erase(live.begin());
        }
        std::map<std::uintptr_t, std::size_t> taken;  // start to size
        for (const block& each : live) taken[reinterpret_cast<std::uintptr_t>(each.address)] = each.size;
        std::size_t largest_hole = 0;
        memory.for_each_hole([&](void* at, std::size_t size) {
            const auto from = reinterpret_cast<std::uintptr_t>(at);
            CHECK(size != 0);
            const auto above = taken.upper_bound(from);
            if (above != taken.end()) CHECK(from + size <= above->first);
            if (above != taken.begin()) CHECK(std::prev(above)->first + std::prev(above)->second <= from);
            taken[from] = size;
            largest_hole = std::max(largest_hole, size);
        });
        if constexpr (allot::block_walkable_allocator<Memory>) {
            std::size_t count = 0;
            memory.for_each_block([&](void* at, std::size_t size) {
                ++count;
                const auto known = std::ranges::find(live, at, &block::address);
                REQUIRE(known != live.end());
                CHECK(size == memory.capacity(*known));
            });
            CHECK(count == live.size());
        }
        if (step % 16 == 0) {
            CHECK(memory.diagnose({.size = 1, .align = 1}).largest_hole == largest_hole);
            if (largest_hole != 0) {
                const block whole = memory.allocate({.size = largest_hole, .align = 1});
                CHECK(whole);
                if (Memory::reclaims == allot::reclaim::never || Memory::reclaims == allot::reclaim::fifo)
                    live.push_back(whole);
                else memory.deallocate(whole);
            }
        }
    }
}

template <class Strategy>
using on_heap = arena<allot::host::heap, Strategy>;

constexpr best_fit_options beside{.store = node_store::side_table},
    few{.store = node_store::side_table, .records = 200};

}  // namespace

TEST_CASE_TEMPLATE("holes and blocks of an arena: they do not overlap, and the largest hole can be allocated", Strategy,
                   allot::best_fit<>, allot::best_fit<beside>, allot::best_fit<few>, allot::deferred<allot::best_fit<>>,
                   allot::bump<>, allot::bump<allot::bump_options{.direction = allot::direction::up}>, allot::stack<>,
                   allot::stack<allot::stack_options{.large = 100}>, allot::ring<>) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        on_heap<Strategy> memory{{}, 5003};
        check_walk(memory, 300, seed);
    }
}

TEST_CASE_TEMPLATE("holes of a pool: the free slots", Store, std::integral_constant<pool_store, pool_store::in_band>,
                   std::integral_constant<pool_store, pool_store::bitmap>,
                   std::integral_constant<pool_store, pool_store::index_stack>,
                   std::integral_constant<pool_store, pool_store::atomic_bitmap>) {
    on_heap<allot::pool<pool_options{.slot = 48, .count = 70, .align = 16, .store = Store::value}>> memory{{}, 48 * 67};
    check_walk(memory, 48, 7);
}

TEST_CASE("holes and blocks of a page_tree: the free pages") {
    on_heap<allot::page_tree<allot::page_tree_options{.page = 32, .count = 70, .largest_order = 2}>> memory{{},
                                                                                                            32 * 67};
    check_walk(memory, 128, 7);
}

TEST_CASE("holes of an arena with several regions: those of every region, also after trim") {
    using side = allot::best_fit<beside>;
    using growth = allot::growth::fixed<allot::growth_options{.step = 1000, .regions = 4}>;
    const auto run = [](auto memory) {
        const auto a = memory.allocate({.size = 900}), b = memory.allocate({.size = 800}),
                   c = memory.allocate({.size = 700});
        REQUIRE(a);
        REQUIRE(b);
        REQUIRE(c);
        const auto sizes = [&] {
            std::size_t free = 0, used = 0;
            memory.for_each_hole([&](void*, std::size_t size) { free += size; });
            memory.for_each_block([&](void*, std::size_t size) { used += size; });
            return std::pair{free, used};
        };
        CHECK(sizes().second >= 2400);
        memory.deallocate(b);
        const auto before = sizes();
        CHECK(before.first >= 800);
        CHECK(before.second >= 1600);
        const std::size_t released = memory.trim();
        CHECK(released != 0);
        const auto after = sizes();
        CHECK(after.first < before.first);
        CHECK(after.second == before.second);
        memory.deallocate(a);
        memory.deallocate(c);
        static_cast<void>(memory.trim());
        CHECK(sizes() == std::pair<std::size_t, std::size_t>{});
    };
    run(arena<allot::host::heap, side, growth>{});
    run(arena<allot::host::heap, allot::best_fit<>, growth>{});
}

TEST_CASE("holes of an arena that uses regions one by one: the rest of the current region, and spare regions") {
    using growth = allot::growth::fixed<allot::growth_options{.step = 1000, .regions = 4}>;
    arena<allot::host::heap, allot::bump<>, growth> memory;
    REQUIRE(memory.allocate({.size = 1000, .align = 1}));
    REQUIRE(memory.allocate({.size = 600, .align = 1}));
    const auto free = [&] {
        std::size_t sum = 0;
        memory.for_each_hole([&](void*, std::size_t size) { sum += size; });
        return sum;
    };
    CHECK(free() == memory.size() - 1000 - 600 - (memory.regions()[0].size - 1000));
    memory.reset();
    CHECK(free() == memory.size());
}

TEST_CASE("a side table: a removed extent is not listed, also when its records are used again") {
    allot::best_fit<beside> strategy;
    using extent = allot::extent;
    const extent one{0, 100}, two{1000, 200};
    const auto list = [&](extent where) {
        std::vector<extent> found;
        strategy.for_each_hole(where, [&](extent e) { found.push_back(e); });
        return found;
    };
    REQUIRE(strategy.insert(one));
    REQUIRE(strategy.insert(two));
    REQUIRE(strategy.remove(one));
    CHECK(list(one).empty());
    CHECK(list(two) == std::vector{two});
    const auto block = strategy.allocate({10, 1});
    CHECK(list(one).empty());
    CHECK(list(two) == std::vector{extent{1010, 190}});
    const auto second = strategy.allocate({20, 1});
    strategy.deallocate(block);
    CHECK(list(one).empty());
    CHECK(list(two) == std::vector{extent{1000, 10}, extent{1030, 170}});
    REQUIRE(strategy.insert(one));
    CHECK(list(one) == std::vector{one});
    strategy.deallocate(second);
    REQUIRE(strategy.remove(two));
    CHECK(list(two).empty());
    CHECK(list(one) == std::vector{one});
}

TEST_CASE("blocks of a hardened arena: their requested sizes") {
    arena<allot::host::heap, allot::stack<>, allot::growth::none<>,
          allot::arena_options{.hardening = allot::hardening::checked}>
        memory{{}, 1000};
    const auto a = memory.allocate({.size = 33}), b = memory.allocate({.size = 7});
    std::vector<std::pair<void*, std::size_t>> found;
    memory.for_each_block([&](void* at, std::size_t size) { found.emplace_back(at, size); });
    CHECK(found == std::vector<std::pair<void*, std::size_t>>{{a.address, 33}, {b.address, 7}});
}
