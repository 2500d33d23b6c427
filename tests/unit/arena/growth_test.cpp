// Arenas that grow: the size and time of device requests, released regions, marks over several regions, and limits.
#include "helpers.hpp"

#include <doctest/doctest.h>

namespace {

using namespace helpers;
using allot::growth_options;
using allot::refusal;
namespace growth = allot::growth;

template <class Arena>
std::vector<std::size_t> region_sizes(const Arena& arena) {
    std::vector<std::size_t> sizes;
    for (const auto& region : arena.regions())
        if (region) sizes.push_back(region.size);
    return sizes;
}
using sizes = std::vector<std::size_t>;

/// Regions at one address, which is never accessed.
struct invented_addresses : allot::traits_of<allot::host::heap> {
    static constexpr bool host_accessible = false;
    using error = int;
    explicit invented_addresses(std::size_t address) : base{reinterpret_cast<void*>(address)} {}
    [[nodiscard]] allot::acquired<invented_addresses> acquire(allot::layout wanted) noexcept {
        return allot::region<void*>{base, wanted.size, wanted.align};
    }
    void release(allot::region<void*>) noexcept {}
    void* base;
};

/// A heap that returns twice the requested size.
struct generous_heap : allot::traits_of<allot::host::heap> {
    using error = allot::host::heap::error;
    [[nodiscard]] allot::acquired<generous_heap> acquire(allot::layout wanted) noexcept {
        const auto given = allot::host::heap{}.acquire({wanted.size * 2, wanted.align});
        return given ? allot::acquired<generous_heap>{*given} : allot::acquired<generous_heap>::failure(given.error());
    }
    void release(allot::region<void*> held) noexcept { allot::host::heap{}.release(held); }
};

/// Handles whose regions grow in place.
struct growing_handles : handles<> {
    using handles<>::handles;
    allot::acquired<growing_handles> acquire(allot::layout wanted) noexcept {
        const auto given = handles<>::acquire(wanted);
        return given ? allot::acquired<growing_handles>{*given}
                     : allot::acquired<growing_handles>::failure(given.error());
    }
    allot::acquired<growing_handles> resize(allot::region<address_model::address> held, std::size_t size) noexcept {
        held.size = size;
        return held;
    }
};

/// Handles whose regions start inside a buffer.
struct inner_handles : handles<> {
    using handles<>::handles;
    allot::acquired<inner_handles> acquire(allot::layout wanted) noexcept {
        const auto given = handles<>::acquire(wanted);
        if (!given) return allot::acquired<inner_handles>::failure(given.error());
        auto region = *given;
        region.base.offset = 4096;
        return region;
    }
};

/// A side table that compares the extents of freed blocks with the allocated ones.
struct comparing : allot::best_fit<side_table> {
    using base = allot::best_fit<side_table>;
    [[nodiscard]] base::allocation_type allocate(base::layout_type wanted) noexcept {
        const auto given = base::allocate(wanted);
        live.push_back(given.where);
        return given;
    }
    void deallocate(base::allocation_type given) noexcept {
        freed_as_allocated += std::erase(live, given.where);
        base::deallocate(given);
    }
    std::vector<base::extent_type> live;
    std::size_t freed_as_allocated = 0;
};

using down_narrow = allot::bump<allot::bump_options{}, std::uint16_t>;
using four_by_1000 = growth::fixed<growth_options{.step = 1000, .regions = 4}>;

}  // namespace

TEST_CASE("growth: every policy has its documented steps") {
    static_assert(growth::none<>::next(5) == 0);
    static_assert(growth::fixed<growth_options{.step = 7}>::next(0) == 7 &&
                  growth::fixed<growth_options{.step = 7}>::next(99) == 7);
    using geometric = growth::geometric<growth_options{.step = 8}>;
    static_assert(geometric::next(0) == 8 && geometric::next(8) == 8 && geometric::next(16) == 16 &&
                  geometric::next(32) == 32);
    static_assert(geometric::next(most) == most);
}

TEST_CASE_TEMPLATE("growth: no region is acquired before a request needs it", Strategy, up, down, allot::best_fit<>) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    CHECK(from.acquired == 0);
    CHECK(arena.size() == 0);
    CHECK(arena.diagnose({100, 16}).reason == refusal::none);
    CHECK(from.acquired == 0);
    CHECK(arena.trim() == 0);
}

TEST_CASE_TEMPLATE("growth: a first size of 0 acquires nothing, and no request counts as refused", Strategy, up, down,
                   allot::best_fit<>) {
    allot::arena<allot::host::heap, Strategy, growth::geometric<growth_options{.step = 1000}>> arena{{}, 0};
    CHECK(arena.size() == 0);
    CHECK(arena.diagnose({10, 1}).reason == refusal::none);
    CHECK(arena.allocate({10, 1}));
}

TEST_CASE_TEMPLATE("growth: a region has the policy's size or that of the request", Strategy, up, down,
                   allot::best_fit<>) {
    supply from;
    allot::arena<handles<>, Strategy, growth::geometric<growth_options{.step = 1024, .regions = 8}>> arena{
        handles<>{from}};
    for (int i = 0; i != 7; ++i) REQUIRE(arena.allocate({1024, 16}));
    CHECK(region_sizes(arena) == sizes{1024, 1024, 2048, 4096});
    REQUIRE(arena.allocate({100'000, 16}));
    CHECK(region_sizes(arena) == sizes{1024, 1024, 2048, 4096, 100'000});
    CHECK(arena.size() == from.bytes_held);
}

TEST_CASE_TEMPLATE("growth: the number of regions is a limit that diagnose reports", Strategy, up, down,
                   allot::best_fit<>) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    for (int i = 0; i != 4; ++i) REQUIRE(arena.allocate({1000, 16}));
    CHECK_FALSE(arena.allocate({1000, 16}));
    CHECK(from.acquired == 4);
    CHECK(arena.diagnose({1000, 16}).reason == refusal::over_limit);
}

TEST_CASE_TEMPLATE("growth: the limit in bytes is kept and reported by diagnose", Strategy, up, down,
                   allot::best_fit<>) {
    supply from;
    allot::arena<handles<>, Strategy, growth::fixed<growth_options{.step = 1000, .limit = 2500, .regions = 8}>> arena{
        handles<>{from}};
    REQUIRE(arena.allocate({1000, 16}));
    REQUIRE(arena.allocate({1000, 16}));
    REQUIRE(arena.allocate({400, 16}));  // of the remaining 500
    CHECK(region_sizes(arena) == sizes{1000, 1000, 500});
    CHECK_FALSE(arena.allocate({101, 1}));
    CHECK(arena.diagnose({101, 1}).reason == refusal::over_limit);
    CHECK(arena.allocate({90, 1}));
    CHECK(from.bytes_held == 2500);
}

TEST_CASE_TEMPLATE("growth: the limit in bytes is kept with a device of large granularity", Strategy, up, down,
                   allot::best_fit<>) {
    supply from;
    allot::arena<handles<4096>, Strategy, growth::fixed<growth_options{.step = 4096, .limit = 6000, .regions = 8}>>
        arena{handles<4096>{from}};
    REQUIRE(arena.allocate({4096, 16}));
    CHECK_FALSE(arena.allocate({1000, 16}));
    CHECK(arena.diagnose({1000, 16}).reason == refusal::over_limit);
    CHECK(from.bytes_held <= 6000);
}

TEST_CASE_TEMPLATE("growth: diagnose reports the device's code", Strategy, up, down, allot::best_fit<>) {
    for (std::size_t refused_from = 0; refused_from != 4; ++refused_from) {
        supply from{.regions = refused_from};
        allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
        for (std::size_t i = 0; i != refused_from; ++i) REQUIRE(arena.allocate({1000, 16}));
        CHECK_FALSE(arena.allocate({1000, 16}));
        CHECK(arena.diagnose({1000, 16}).reason == refusal::device_refused);
        CHECK(arena.diagnose({1000, 16}).device_error == supply::used_up);
        CHECK(arena.size() == refused_from * 1000);
        from.regions = 1;  // the arena grows again once memory is available
        CHECK(arena.allocate({1000, 16}));
    }
}

TEST_CASE_TEMPLATE("growth: diagnose reports none for a request that fits after another one failed", Strategy, up, down,
                   allot::best_fit<>) {
    supply from{.largest = 2000};
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    REQUIRE(arena.allocate({100, 16}));
    CHECK_FALSE(arena.allocate({3000, 16}));
    CHECK(arena.diagnose({3000, 16}).device_error == supply::too_large);
    CHECK(arena.diagnose({100, 16}).reason == refusal::none);
    CHECK(arena.allocate({100, 16}));
}

TEST_CASE_TEMPLATE("growth: an alignment above that of the first base is misaligned", Strategy, up, down,
                   allot::best_fit<>) {
    supply from{.align = 64};
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    CHECK_FALSE(arena.allocate({100, 128}));  // the arena has no region: the device is called and fails
    CHECK(arena.diagnose({100, 128}).reason == refusal::device_refused);
    CHECK(arena.diagnose({100, 128}).device_error == supply::unaligned);
    REQUIRE(arena.allocate({100, 64}));
    CHECK_FALSE(arena.allocate({100, 128}));
    CHECK(arena.diagnose({100, 128}).reason == refusal::misaligned);
    CHECK(from.acquired == 1);
}

TEST_CASE("growth: every block is aligned in regions of different alignment") {
    supply from{.align = 64};
    allot::arena<handles<>, allot::best_fit<>, four_by_1000> arena{handles<>{from}};
    REQUIRE(arena.allocate({900, 64}));
    from.align = 32;  // the next buffer would have a smaller alignment than the blocks may request
    CHECK_FALSE(arena.allocate({900, 64}));
    CHECK(arena.diagnose({900, 64}).reason == refusal::device_refused);
    from.align = 4096;
    const auto block = arena.allocate({900, 64});
    REQUIRE(block);
    CHECK(block.address.offset % 64 == 0);
}

TEST_CASE("growth: no region is acquired if the side table is full") {
    supply from;
    using few_records = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 4}>;
    allot::arena<handles<>, few_records, growth::fixed<growth_options{.step = 1024, .regions = 8}>> arena{
        handles<>{from}};
    int served = 0;
    while (arena.allocate({16, 16})) ++served;
    CHECK(served > 0);
    const std::size_t held = from.held, acquired = from.acquired;
    for (int i = 0; i != 5; ++i) CHECK_FALSE(arena.allocate({16, 16}));
    CHECK(arena.diagnose({16, 16}).reason == refusal::out_of_records);
    CHECK(from.held == held);
    CHECK(from.acquired == acquired);
    CHECK(from.held == 1);
}

TEST_CASE("growth: a request larger than a segment fails with a reason") {
    supply from;
    allot::arena<handles<>, allot::best_fit<side_table, std::uint32_t>,
                 growth::fixed<growth_options{.step = 1024, .regions = 64}>>
        arena{handles<>{from}};
    const allot::layout large{std::size_t{1} << 27, 16};  // 64 regions share 2^32 offsets
    CHECK_FALSE(arena.allocate(large));
    CHECK(from.held == 0);
    CHECK(arena.diagnose(large).reason == refusal::over_limit);
    CHECK(arena.allocate({1000, 16}));
}

// ── released regions
// ──────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("growth: an alignment above half a segment is misaligned") {
    constexpr std::size_t half = most / 128 + 1;  // with 64 regions
    using fixed = growth::fixed<growth_options{.step = 4096, .regions = 64}>;
    allot::arena<invented_addresses, allot::best_fit<>, fixed> arena{invented_addresses{half}};
    const auto block = arena.allocate({100, half});
    REQUIRE(block);
    CHECK(allot::raw_pointer::position(block.address) == half);  // and therefore not a multiple of 2 * half
    arena.deallocate(block);
    CHECK_FALSE(arena.allocate({100, 2 * half}));
    CHECK(arena.diagnose({100, 2 * half}).reason == refusal::misaligned);
    CHECK(arena.size() == 4096);
}

TEST_CASE_TEMPLATE("trim: exactly the regions without a live block are released", Strategy, allot::best_fit<side_table>,
                   allot::best_fit<>) {
    supply from;
    {
        allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
        std::vector<typename decltype(arena)::block_type> blocks;
        for (int i = 0; i != 4; ++i) blocks.push_back(arena.allocate({1000, 16}));
        CHECK(arena.trim() == 0);
        arena.deallocate(blocks[1]);
        arena.deallocate(blocks[2]);
        CHECK(arena.trim() == 2000);
        CHECK(from.held == 2);
        CHECK(arena.owns(blocks[0]));
        CHECK_FALSE(arena.owns(blocks[1]));
        CHECK(arena.owns(blocks[3]));
        CHECK(arena.trim() == 0);
        blocks[1] = arena.allocate({500, 16});
        CHECK(arena.owns(blocks[1]));
        CHECK(from.held == 3);
        arena.deallocate(blocks[0]);
        arena.deallocate(blocks[1]);
        arena.deallocate(blocks[3]);
        CHECK(arena.trim() == 3000);
        CHECK(arena.size() == 0);
        CHECK(from.held == 0);
        CHECK(arena.allocate({1000, 16}));
    }
    CHECK(from.held == 0);
}

TEST_CASE("trim: in-band regions of the host heap are released and acquired again") {
    allot::arena<allot::host::heap, allot::best_fit<in_band>, growth::fixed<growth_options{.step = 512, .regions = 8}>>
        arena;
    for (int round = 0; round != 50; ++round) {
        std::vector<decltype(arena)::block_type> blocks;
        for (std::size_t i = 0; i != 20; ++i) {
            blocks.push_back(arena.allocate({100, 16}));
            REQUIRE(blocks.back());
        }
        for (std::size_t i = 0; i != 20; ++i) arena.deallocate(blocks[(i * 7) % 20]);
        const std::size_t held = arena.size();
        CHECK(arena.trim() == held);
    }
}

TEST_CASE_TEMPLATE("trim: after reset every region of a bump arena is released", Strategy, up, down) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    for (int i = 0; i != 4; ++i) REQUIRE(arena.allocate({1000, 16}));
    CHECK(arena.trim() == 0);
    arena.reset();
    CHECK(arena.trim() == 4000);
    CHECK(from.held == 0);
    CHECK(arena.size() == 0);
    CHECK(arena.allocate({1000, 16}));
}

TEST_CASE_TEMPLATE("reset: every region of a bump arena is usable again in the same order", Strategy, up, down) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    for (int round = 0; round != 5; ++round) {
        for (int i = 0; i != 4; ++i) {
            const auto block = arena.allocate({1000, 16});
            REQUIRE(block);
            CHECK(block.address.handle == i + 1);
        }
        CHECK_FALSE(arena.allocate({1, 1}));
        arena.reset();
    }
    CHECK(from.acquired == 4);
}

TEST_CASE_TEMPLATE("reset: regions that wait for their use are holes with the bytes that one request can get", Strategy,
                   allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 64}>,
                   allot::bump<allot::bump_options{.limit_align = 64}>) {
    allot::arena<allot::host::heap, Strategy, growth::fixed<growth_options{.step = 1000}>> arena;
    REQUIRE(arena.allocate({.size = 300, .align = 1}));
    REQUIRE(arena.allocate({.size = 1900, .align = 1}));
    const auto expect_same = [&] {
        std::uint64_t largest = 0;
        arena.for_each_hole([&](void*, std::size_t size) { largest = std::max<std::uint64_t>(largest, size); });
        CHECK(arena.diagnose({.size = 1}).largest_hole == largest);
        return static_cast<std::size_t>(largest);
    };
    expect_same();
    arena.reset();
    const std::size_t largest = expect_same(), held = arena.size();
    CHECK(largest >= 1900);
    REQUIRE(arena.allocate({.size = 300, .align = 1}));
    CHECK(expect_same() == largest);
    CHECK(arena.allocate({.size = largest, .align = 1}));
    CHECK(arena.size() == held);
}

TEST_CASE_TEMPLATE("reset: every region is usable again at the limit in bytes", Strategy, up, down) {
    supply from;
    allot::arena<handles<>, Strategy, growth::fixed<growth_options{.step = 1000, .limit = 4000, .regions = 8}>> arena{
        handles<>{from}};
    for (int round = 0; round != 3; ++round) {
        for (int i = 0; i != 4; ++i) {
            CHECK(arena.diagnose({1000, 16}).reason == refusal::none);
            REQUIRE(arena.allocate({1000, 16}));
        }
        CHECK_FALSE(arena.allocate({1000, 16}));
        arena.reset();
    }
    CHECK(from.acquired == 4);
}

TEST_CASE_TEMPLATE("rollback: a mark in an earlier region is valid", Strategy, up, down) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    REQUIRE(arena.allocate({500, 4}));
    const auto first_mark = arena.mark();
    std::vector<allot::handle_offset<int>::address> addresses;
    for (int i = 0; i != 5; ++i) addresses.push_back(arena.allocate({400, 4}).address);
    const auto second_mark = arena.mark();
    const auto beyond = arena.allocate({600, 4});
    REQUIRE(beyond);
    arena.rollback(second_mark);
    CHECK(arena.allocate({600, 4}).address == beyond.address);
    arena.rollback(first_mark);
    for (const auto& address : addresses) CHECK(arena.allocate({400, 4}).address == address);
    CHECK(from.acquired <= 4);
    arena.rollback(first_mark);
    CHECK(arena.trim() == (from.acquired - 1) * 1000);
    CHECK(from.held == 1);
    CHECK(arena.allocate({400, 4}).address == addresses[0]);
}

TEST_CASE_TEMPLATE("rollback: a mark of an arena without regions is valid", Strategy, up, down) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    const auto mark = arena.mark();
    for (int round = 0; round != 10; ++round) {
        for (int i = 0; i != 2; ++i) REQUIRE(arena.allocate({1000, 16}));
        arena.rollback(mark);
    }
    CHECK(from.acquired == 2);
    CHECK(arena.trim() == 2000);
    CHECK(from.held == 0);
    CHECK(arena.allocate({1000, 16}));
}

TEST_CASE_TEMPLATE("growth: a bump arena skips a spare region that is too small and uses it after reset", Strategy, up,
                   down) {
    supply from;
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    for (int i = 0; i != 3; ++i) REQUIRE(arena.allocate({1000, 16}));
    arena.reset();
    REQUIRE(arena.allocate({1000, 16}));
    const auto large = arena.allocate({5000, 16});
    REQUIRE(large);
    CHECK(large.address.handle == 4);
    arena.reset();
    for (int i = 0; i != 8; ++i) REQUIRE(arena.allocate({1000, 8}));  // one, one, one and five
    CHECK_FALSE(arena.allocate({1000, 16}));
    CHECK(from.acquired == 4);
}

TEST_CASE("arena: the destructor releases every region") {
    supply from;
    {
        allot::arena<handles<>, up, four_by_1000> one{handles<>{from}};
        allot::arena<handles<>, allot::best_fit<>, four_by_1000> two{handles<>{from}};
        allot::arena<handles<>, up> three{handles<>{from}, 100};
        for (int i = 0; i != 3; ++i) {
            REQUIRE(one.allocate({1000, 16}));
            REQUIRE(two.allocate({1000, 16}));
        }
        CHECK(from.held == 7);
    }
    CHECK(from.held == 0);
    CHECK(from.bytes_held == 0);
}

TEST_CASE_TEMPLATE("growth: a region that is larger than requested is used up to the limit", strategy,
                   allot::best_fit<>, allot::best_fit<allot::best_fit_options{.records = 8}>, allot::bump<>) {
    using limited = growth::fixed<growth_options{.step = 8192, .limit = 8192}>;
    allot::arena<generous_heap, strategy, limited> arena;
    CHECK(arena.diagnose({.size = 8000}).reason == refusal::none);
    CHECK(arena.allocate({.size = 8000}));
    CHECK_FALSE(arena.allocate({.size = 1000}));
    CHECK(arena.diagnose({.size = 1000}).reason == refusal::over_limit);
}

// ── after a failure, and records for the last hole ───────────────────────────────────────────────────────────────────

namespace {

/// A heap with a limited total size.
struct scarce_heap : allot::traits_of<allot::host::heap> {
    using error = allot::host::heap::error;
    explicit scarce_heap(std::size_t& bytes_left) : left{&bytes_left} {}
    [[nodiscard]] allot::acquired<scarce_heap> acquire(allot::layout wanted) noexcept {
        ++asked;
        if (wanted.size > *left) return allot::acquired<scarce_heap>::failure(error::no_memory);
        const auto given = allot::host::heap{}.acquire(wanted);
        if (!given) return allot::acquired<scarce_heap>::failure(given.error());
        *left -= wanted.size;
        return *given;
    }
    void release(allot::region<void*> held) noexcept {
        *left += held.size;
        allot::host::heap{}.release(held);
    }
    std::size_t* left;
    int asked = 0;
};

}  // namespace

TEST_CASE("growth: a region has the strategy's alignment for every request") {
    using up_to_lines = allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 64}>;
    using down_to_lines = allot::bump<allot::bump_options{.limit_align = 256}>;
    using in_pages = allot::best_fit<allot::best_fit_options{.granule = 4096}>;
    using slots = allot::pool<allot::pool_options{.slot = 70'000, .align = 4096}>;
    const auto three = [](auto arena, std::size_t size) {
        for (int i = 0; i != 3; ++i) {
            CHECK(arena.diagnose({size, 8}).reason == refusal::none);
            CHECK(arena.allocate({size, 8}));
        }
        std::size_t held = 0;
        for (const auto& region : arena.regions()) held += region.size != 0;
        CHECK(held == 3);
    };
    using fixed = growth::fixed<growth_options{.step = 1000, .regions = 4}>;
    three(allot::arena<allot::host::heap, up_to_lines, fixed>{}, 1013);
    three(allot::arena<allot::host::heap, down_to_lines, fixed>{}, 1013);
    three(allot::arena<allot::host::heap, in_pages, fixed>{}, 69'999);
    three(allot::arena<allot::host::heap, slots, fixed>{}, 69'999);
}

TEST_CASE("growth: an upward bump uses all multiples of its alignment in a region") {
    using up_to_lines = allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 64}>;
    allot::arena<allot::host::heap, up_to_lines> arena{{}, 1001};
    CHECK(arena.allocate({900, 8}));
}

TEST_CASE("growth: after a failed step a half, a quarter, an eighth and the least size are requested") {
    constexpr std::size_t room = 40'000;
    using fixed = growth::fixed<growth_options{.step = 64'000, .regions = 8}>;
    std::size_t left = room;
    {
        allot::arena<scarce_heap, allot::best_fit<side_table>, fixed> arena{scarce_heap{left}};
        CHECK(arena.allocate({1000, 8}));
        CHECK(region_sizes(arena) == sizes{32'000});
        CHECK(arena.allocate({31'001, 8}) == typename decltype(arena)::block_type{});
        CHECK(arena.diagnose({31'001, 8}).reason == refusal::device_refused);
        CHECK(arena.size() == 32'000);
        CHECK(arena.allocate({31'000, 8}));
        CHECK(arena.allocate({7'000, 8}));
        CHECK(region_sizes(arena) == sizes{32'000, 8'000});
        CHECK(arena.allocate({1'000, 8}));
        CHECK(arena.device().asked == 2 + 3 + 4);
        CHECK(left == 0);
    }
    CHECK(left == room);
    left = 3'000;  // less than an eighth
    allot::arena<scarce_heap, allot::best_fit<side_table>, fixed> arena{scarce_heap{left}};
    CHECK(arena.allocate({2'999, 1}));
    CHECK(region_sizes(arena) == sizes{2'999});
}

constexpr bool wide = sizeof(std::size_t) > 4;

TEST_CASE("growth: on handles, an alignment above half a segment fails without a device call") {
    supply from{.align = std::size_t{1} << (wide ? 40 : 30)};
    using fixed = growth::fixed<growth_options{.step = 1000, .regions = 64}>;
    allot::arena<handles<>, allot::best_fit<side_table, std::uint32_t>, fixed> arena{handles<>{from}};
    constexpr std::size_t half = std::size_t{1} << 25;
    CHECK(arena.diagnose({16, 2 * half}).reason == refusal::misaligned);
    CHECK_FALSE(arena.allocate({16, 2 * half}));
    CHECK(from.acquired == 0);
    for (int i = 0; i != 20; ++i) CHECK(arena.allocate({16, half}));
}

TEST_CASE("growth: an alignment that does not fit narrow offsets is misaligned") {
    supply from{.align = std::size_t{1} << (wide ? 40 : 30)};
    allot::arena<handles<>, allot::best_fit<side_table, std::uint16_t>> arena{handles<>{from}, 1000};
    allot::arena<handles<>, down_narrow, growth::fixed<growth_options{.step = 1000}>> grows{handles<>{from}};
    for (const std::size_t align : {std::size_t{1} << 16, std::size_t{1} << (wide ? 33 : 20)}) {
        CHECK(arena.diagnose({16, align}).reason == refusal::misaligned);
        CHECK_FALSE(arena.allocate({16, align}));
        CHECK(grows.diagnose({16, align}).reason == refusal::misaligned);
        CHECK_FALSE(grows.allocate({16, align}));
    }
    CHECK(arena.allocate({16, 1 << 15}));
    CHECK(grows.allocate({16, 1 << 15}));
}

TEST_CASE_TEMPLATE("growth: after all regions are released the next base sets the supported alignment", Strategy, up,
                   allot::best_fit<>) {
    supply from{.align = 64};
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    const auto mark = [&] {
        if constexpr (allot::markable<Strategy>) arena.reset();
    };
    const auto block = arena.allocate({100, 16});
    CHECK(arena.diagnose({100, 256}).reason == refusal::misaligned);
    arena.deallocate(block);
    mark();
    CHECK(arena.trim() == 1000);
    from.align = 256;
    CHECK(arena.diagnose({100, 256}).reason == refusal::none);
    CHECK(arena.allocate({100, 256}));
}

TEST_CASE("growth: a size that does not fit the offsets is over the limit without a device call") {
    supply from;
    allot::arena<handles<4>, down_narrow, growth::geometric<growth_options{.step = 777}>> arena{handles<4>{from}};
    for (int i = 0; i != 3; ++i) {
        CHECK(arena.diagnose({65'535, 1}).reason == refusal::over_limit);
        CHECK_FALSE(arena.allocate({65'535, 1}));
        CHECK(from.acquired == 0);
    }
    CHECK(arena.diagnose({65'532, 1}).reason == refusal::none);
    CHECK(arena.allocate({65'532, 1}));
}

TEST_CASE("growth: a device request exceeds the reach of the offsets only if one block needs it") {
    supply from;
    using narrow = allot::best_fit<allot::best_fit_options{}, std::uint8_t>;
    allot::arena<handles<4>, narrow, growth::fixed<growth_options{.step = 4097, .regions = 8}>> arena{handles<4>{from}};
    CHECK(arena.allocate({3, 1}));
    CHECK(arena.size() == 16);  // offsets reach 15
    CHECK(arena.allocate({15, 1}));
    CHECK(arena.size() == 32);
    supply other;
    allot::arena<handles<4>, down_narrow, growth::geometric<growth_options{.step = 777}>> doubled{handles<4>{other}};
    for (int i = 0; i != 100; ++i) CHECK(doubled.allocate({9999, 1}));
    for (const std::size_t size : region_sizes(doubled)) CHECK(size <= 65'532);
}

TEST_CASE_TEMPLATE("growth: a region acquired for an alignment satisfies it with any number of probes", Store,
                   std::integral_constant<allot::node_store, allot::node_store::side_table>,
                   std::integral_constant<allot::node_store, allot::node_store::in_band>) {
    using few = allot::best_fit<allot::best_fit_options{.store = Store::value, .candidates = 1, .probes = 2}>;
    using up_to_90_000 = growth::fixed<growth_options{.step = 4097, .limit = 90'000, .regions = 16}>;
    allot::arena<allot::host::heap, few, up_to_90_000> arena;
    std::vector<decltype(arena.allocate({}))> blocks;
    for (int i = 0; i != 30; ++i) blocks.push_back(arena.allocate({50, 1}));
    for (std::size_t i = 0; i < blocks.size(); i += 2) arena.deallocate(blocks[i]);
    for (int i = 0; i != 3; ++i) {
        const std::size_t size = arena.size();
        const auto reason = arena.diagnose({43, 65'536}).reason;
        const auto block = arena.allocate({43, 65'536});
        CHECK(bool(block) == (reason == refusal::none));
        if (!block) CHECK(arena.size() == size);
        if (i == 0) CHECK(block);
    }
}

TEST_CASE("growth: with few probes a region exceeds its request by less than a quarter") {
    supply from;
    allot::arena<handles<>, allot::best_fit<allot::best_fit_options{.probes = 4}>,
                 growth::fixed<growth_options{.step = 64, .regions = 4}>>
        arena{handles<>{from}};
    for (const std::size_t size : {1001U, 5003U, 100'003U}) {
        const std::size_t before = arena.size();
        CHECK(arena.allocate({size, 16}));
        CHECK(arena.size() - before > size);
        CHECK(arena.size() - before < size + size / 4);
    }
}

TEST_CASE("growth: a region that grows in place has the alignment of the first request") {
    supply from;
    allot::arena<growing_handles, allot::best_fit<>, growth::contiguous<growth_options{.step = 1000}>> arena{
        growing_handles{from}};
    CHECK(arena.diagnose({100, 64}).reason == refusal::none);
    CHECK(arena.allocate({100, 64}));
    CHECK(arena.allocate({3000, 32}));
    CHECK(region_sizes(arena).size() == 1);
    CHECK_FALSE(arena.allocate({100, 128}));
    CHECK(arena.diagnose({100, 128}).reason == refusal::misaligned);
}

TEST_CASE("growth: with few probes no region is acquired for a size that does not fit narrow offsets") {
    supply from;
    allot::arena<handles<>, allot::best_fit<allot::best_fit_options{.probes = 4}, std::uint16_t>,
                 growth::fixed<growth_options{.step = 64, .regions = 2}>>
        arena{handles<>{from}};
    for (const std::size_t size : {58'300U, 60'000U, 65'535U}) {
        CHECK_FALSE(arena.allocate({size, 1}));
        CHECK(arena.diagnose({size, 1}).reason == refusal::over_limit);
    }
    CHECK(from.acquired == 0);
}

TEST_CASE_TEMPLATE("growth: a device error is not reported after a later success", Strategy, up, down,
                   allot::best_fit<>) {
    supply from{.regions = 0};
    allot::arena<handles<>, Strategy, four_by_1000> arena{handles<>{from}};
    CHECK_FALSE(arena.allocate({1000, 16}));
    CHECK(arena.diagnose({1000, 16}).reason == refusal::device_refused);
    from.regions = 9;
    REQUIRE(arena.allocate({1000, 16}));
    CHECK(arena.diagnose({1000, 16}).reason == refusal::none);
    CHECK(arena.allocate({1000, 16}));
}

TEST_CASE("growth: blocks are translated correctly in a region that starts inside a buffer") {
    supply from;
    allot::arena<inner_handles, allot::pool<allot::pool_options{.slot = 64, .count = 8, .align = 16}>> arena{
        inner_handles{from}, 512};
    for (int round = 0; round != 2; ++round) {
        std::vector<decltype(arena)::block_type> blocks;
        while (const auto block = arena.allocate({60, 16})) {
            CHECK(block.address.offset >= 4096);
            CHECK(block.address.offset < 4096 + 512);
            CHECK(block.address.offset % 64 == 0);
            blocks.push_back(block);
        }
        CHECK(blocks.size() == 8);
        for (const auto& block : blocks) arena.deallocate(block);
    }
}

TEST_CASE("growth: a strategy gets back the extents that it gave, in every region") {
    supply from;
    allot::arena<inner_handles, comparing, four_by_1000> arena{inner_handles{from}};
    std::vector<decltype(arena)::block_type> blocks;
    for (int i = 0; i != 8; ++i) blocks.push_back(arena.allocate({400, 16}));
    CHECK(from.held == 4);
    for (const auto& block : blocks) arena.deallocate(block);
    CHECK(arena.strategy().freed_as_allocated == 8);
}

TEST_CASE("growth: shrink_to releases a new region whose base is that of no region") {
    supply from{.acquired = most};  // the first handle is 0
    allot::arena<handles<>, allot::best_fit<>, four_by_1000> arena{handles<>{from}};
    const auto before = arena.held();
    const auto block = arena.allocate({100, 16});
    REQUIRE(block.address == allot::handle_offset<int>::address{});
    CHECK(arena.owns(block));
    CHECK_FALSE(arena.owns({}));
    arena.deallocate(block);
    arena.shrink_to(before);
    CHECK(arena.size() == 0);
    CHECK(from.held == 0);
}

TEST_CASE_TEMPLATE("growth: a first size above the limit acquires nothing, and the limit holds", Strategy,
                   allot::best_fit<>, allot::bump<>,
                   allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table}>) {
    using up_to_5000 = allot::growth::geometric<allot::growth_options{.step = 1000, .limit = 5000}>;
    using growing = allot::arena<allot::host::heap, Strategy, up_to_5000>;
    growing beyond{{}, 5001};
    CHECK(beyond.size() == 0);
    CHECK(beyond.diagnose({.size = 5001}).reason == allot::refusal::over_limit);
    CHECK_FALSE(beyond.allocate({.size = 5001}));
    CHECK(beyond.allocate({.size = 4000}));
    CHECK(beyond.size() <= 5000);
    growing exact{{}, 5000};
    CHECK(exact.size() == 5000);
}
