// Arenas beyond allocation: host devices, allocate_at, resize, capacity, moves, marks, trim, and the sizes of arenas.
#include "helpers.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace {

using namespace helpers;
using namespace allot::literals;
using allot::refusal;

// ── sizes ──
using bumps = allot::arena<allot::host::heap, allot::bump<>>;
using in_band_fit = allot::arena<allot::host::heap, allot::best_fit<in_band>>;
using automatic_fit = allot::arena<allot::host::heap, allot::best_fit<>>;
static_assert(sizeof(bumps::block_type) == 2 * sizeof(void*));
static_assert(sizeof(in_band_fit::block_type) == 2 * sizeof(void*));
static_assert(sizeof(void*) != 8 || (sizeof(bumps::block_type) == 16 && sizeof(in_band_fit::block_type) == 16));
static_assert(std::same_as<automatic_fit::strategy_type, in_band_fit::strategy_type>);
static_assert(sizeof(allot::arena<allot::host::heap, up, allot::growth::fixed<>>::block_type) == 2 * sizeof(void*));
static_assert(
    sizeof(allot::arena<allot::host::heap, automatic_fit::strategy_type, allot::growth::fixed<>>::block_type) ==
    2 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<bumps::block_type>);
// An arena consists of its strategy and its region. It stores no byte for growth or for checks that are off.
static_assert(sizeof(bumps) <= sizeof(allot::bump<>) + sizeof(allot::region<void*>) + sizeof(void*));
static_assert(!std::is_copy_constructible_v<bumps> && !std::is_copy_assignable_v<bumps>);
// An arena is movable if its device is.
static_assert(std::is_nothrow_move_constructible_v<bumps>);
static_assert(!std::is_move_constructible_v<allot::arena<allot::host::static_storage<1000>, allot::bump<>>>);

template <class Block>
std::size_t position(const Block& block) {
    return allot::raw_pointer::position(block.address);
}

}  // namespace

// ── host devices ─────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("host heap: regions have the requested size and alignment, and invalid layouts fail") {
    allot::host::heap heap;
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        const auto region = heap.acquire({100, align});
        REQUIRE(region);
        CHECK(region->size == 100);
        CHECK(region->align >= align);
        CHECK(is_aligned(region->base, region->align));
        std::memset(region->base, 1, region->size);
        heap.release(*region);
    }
    for (const allot::layout bad : {allot::layout{0, 1}, allot::layout{1, 0}, allot::layout{1, 3}}) {
        const auto region = heap.acquire(bad);
        CHECK_FALSE(region);
        CHECK(region.error() == allot::host::heap::error::no_memory);
    }
}

TEST_CASE("host heap: nearly SIZE_MAX bytes fail at every alignment") {
    allot::host::heap heap;
    for (std::size_t align = 1; align <= 4096; align *= 2) {
        for (const std::size_t size : {most, most - 1, most - 15, most - 4096, most / 2 + 1}) {
            const auto region = heap.acquire({size, align});
            CHECK_FALSE(region);
            CHECK(region.error() == allot::host::heap::error::no_memory);
        }
    }
    CHECK_FALSE(heap.acquire({1, most / 2 + 1}));
}

TEST_CASE("host buffer: all bytes are provided from any base with their alignment") {
    alignas(64) std::byte bytes[256];
    for (std::size_t skip = 0; skip != 64; ++skip) {
        allot::host::buffer device{bytes + skip, 100};
        CHECK(device.capacity() == 100);
        const auto region = device.acquire({100, 1});
        REQUIRE(region);
        CHECK(region->base == bytes + skip);
        CHECK(region->size == 100);
        CHECK(is_aligned(region->base, region->align));
        CHECK(region->align == allot::alignment_of(position(allot::block<void*, int>{bytes + skip, 1, 0})));
    }
}

TEST_CASE("host buffer: the buffer is acquired once at a time") {
    std::byte bytes[64];
    allot::host::buffer device{bytes};
    const auto first = device.acquire({64, 1});
    REQUIRE(first);
    const auto second = device.acquire({1, 1});
    CHECK_FALSE(second);
    CHECK(second.error() == allot::host::window_error::in_use);
    device.release(*first);
    CHECK(device.acquire({64, 1}));
}

TEST_CASE("host buffer: a request that does not fit fails and no region is smaller than requested") {
    alignas(64) std::byte bytes[128];
    for (const allot::layout bad :
         {allot::layout{101, 1}, allot::layout{most, 1}, allot::layout{0, 1}, allot::layout{1, 0}, allot::layout{1, 3},
          allot::layout{1, most / 2 + 1}, allot::layout{90, 64}}) {
        allot::host::buffer device{bytes + 1, 100};
        const auto region = device.acquire(bad);
        CHECK_FALSE(region);
        CHECK(region.error() == allot::host::window_error::too_small);
    }
    for (std::size_t size = 1; size <= 100; ++size) {
        for (std::size_t align = 1; align <= 64; align *= 2) {
            allot::host::buffer device{bytes + 1, 100};
            if (const auto region = device.acquire({size, align})) {
                CHECK(region->size >= size);
                CHECK(region->align >= align);
            }
        }
    }
    allot::host::buffer none{bytes, 0};
    CHECK_FALSE(none.acquire({1, 1}));
}

TEST_CASE("host buffer: an arena over an odd buffer of any size stays inside it") {
    alignas(64) std::byte bytes[512];
    for (std::size_t skip = 0; skip != 17; ++skip) {
        for (std::size_t size = 0; size != 130; ++size) {
            const auto stays_inside = [&]<class Strategy>(Strategy) {
                std::memset(bytes, 0x5A, sizeof bytes);
                allot::arena<allot::host::buffer, Strategy> arena{allot::host::buffer{bytes + skip, size}};
                while (const auto block = arena.allocate({8, 4})) std::memset(block.address, 1, block.size);
                CHECK(all_bytes(bytes, skip, 0x5A));
                CHECK(all_bytes(bytes + skip + size, sizeof bytes - skip - size, 0x5A));
            };
            stays_inside(up{});
            stays_inside(down{});
            stays_inside(allot::best_fit<in_band>{});
            stays_inside(allot::pool<allot::pool_options{.slot = 16, .store = allot::pool_store::in_band}>{});
        }
    }
}

TEST_CASE("static storage: the bytes are inside the arena, once, at their alignment") {
    allot::arena<allot::host::static_storage<1_KiB, 256>, up> arena;
    const auto block = arena.allocate({1_KiB, 256});
    REQUIRE(block);
    const auto* const at = static_cast<std::byte*>(block.address);
    CHECK(at >= reinterpret_cast<std::byte*>(&arena));
    CHECK(at + block.size <= reinterpret_cast<std::byte*>(&arena) + sizeof arena);
    CHECK(is_aligned(block.address, 256));
    CHECK_FALSE(arena.allocate({1, 1}));

    allot::host::static_storage<64> device;
    REQUIRE(device.acquire({64, 1}));
    CHECK(device.acquire({1, 1}).error() == allot::host::window_error::in_use);
    allot::host::static_storage<64, 16> small;
    CHECK(small.acquire({65, 1}).error() == allot::host::window_error::too_small);
    CHECK(small.acquire({1, 32}).error() == allot::host::window_error::too_small);
}

TEST_CASE("static storage: invalid layouts fail") {
    for (const allot::layout bad : {allot::layout{0, 1}, allot::layout{1, 0}, allot::layout{1, 3}}) {
        allot::host::static_storage<64> device;
        CHECK_FALSE(device.acquire(bad));
    }
}

TEST_CASE("tightly coupled: a window belongs to one arena and starts at its address") {
    alignas(2048) static std::byte window[8192];
    allot::host::tightly_coupled device{window, sizeof window};
    const auto first = device.acquire({sizeof window, 2048});
    REQUIRE(first);
    CHECK(first->base == window);
    CHECK(first->size == sizeof window);
    CHECK(first->align >= 2048);
    const auto second = device.acquire({1, 1});
    CHECK_FALSE(second);
    CHECK(second.error() == allot::host::window_error::in_use);
    device.release(*first);
    REQUIRE(device.acquire({1, 1}));

    constexpr allot::arena_options unseen{.annotate = false};  // the test accesses free bytes
    allot::arena<allot::host::tightly_coupled, allot::best_fit<side_table>, allot::growth::none<>, unseen> arena{
        allot::host::tightly_coupled{window, sizeof window}};
    std::memset(window, 0x5A, sizeof window);
    const auto row = arena.allocate({2048, 2048});
    const auto rest = arena.allocate({6144, 128});
    CHECK((row && rest && is_aligned(row.address, 2048) && is_aligned(rest.address, 128)));
    arena.deallocate(row);
    CHECK(all_bytes(window, sizeof window, 0x5A));  // a side table does not access the memory
}

// ── one region ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("allocate_at: exactly the given bytes from the region's base are allocated") {
    alignas(64) std::byte bytes[1024];
    allot::arena<allot::host::buffer, allot::best_fit<side_table>> arena{allot::host::buffer{bytes}};
    const auto claimed = arena.allocate_at({100, 50});
    REQUIRE(claimed);
    CHECK(claimed.address == bytes + 100);
    CHECK(claimed.size == 50);
    CHECK_FALSE(arena.allocate_at({100, 50}));
    CHECK_FALSE(arena.allocate_at({149, 1}));
    CHECK_FALSE(arena.allocate_at({50, 51}));
    CHECK(arena.allocate_at({50, 50}));
    CHECK(arena.allocate_at({150, 874}));
    CHECK_FALSE(arena.allocate_at({0, 51}));
    const auto first = arena.allocate_at({0, 50});
    CHECK(first.address == bytes);
    arena.deallocate(claimed);
    CHECK(arena.allocate({50, 1}).address == bytes + 100);
}

TEST_CASE("allocate_at: empty, outside and wrapping extents fail") {
    alignas(64) std::byte bytes[1024];
    allot::arena<allot::host::buffer, allot::best_fit<side_table>> arena{allot::host::buffer{bytes}};
    CHECK_FALSE(arena.allocate_at({0, 0}));
    CHECK_FALSE(arena.allocate_at({1024, 0}));
    CHECK_FALSE(arena.allocate_at({1024, 1}));
    CHECK_FALSE(arena.allocate_at({1023, 2}));
    CHECK_FALSE(arena.allocate_at({0, most}));
    CHECK_FALSE(arena.allocate_at({1, most}));
    CHECK_FALSE(arena.allocate_at({most, 1}));
    CHECK_FALSE(arena.allocate_at({most, most}));
    CHECK_FALSE(arena.allocate_at({most - 511, 1024}));
    CHECK(arena.allocate_at({0, 1024}));

    allot::arena<allot::host::buffer, allot::best_fit<in_band>> with_records{allot::host::buffer{bytes}};
    CHECK_FALSE(with_records.allocate_at({0, 16}));  // its record would be outside
    CHECK_FALSE(with_records.allocate_at({most - 15, 16}));
    const auto claimed = with_records.allocate_at({512, 100});
    REQUIRE(claimed);
    CHECK(claimed.address == bytes + 512);
}

TEST_CASE("allocate_at: no other bytes are allocated if offsets are narrower than the region") {
    supply from;
    allot::arena<handles<>, allot::best_fit<side_table, std::uint16_t>> arena{handles<>{from}, 80_KiB};
    const auto beyond = arena.allocate_at({64_KiB, 16});
    if (beyond) CHECK(beyond.address.offset == 64_KiB);
    const auto far_beyond = arena.allocate_at({64_KiB + 64, 16});
    if (far_beyond) CHECK(far_beyond.address.offset == 64_KiB + 64);
    CHECK_FALSE(arena.allocate_at({0, 64_KiB + 16}));
}

TEST_CASE("arena: a region larger than its offsets is used up to their reach or not at all") {
    supply from;
    allot::arena<handles<>, allot::bump<allot::bump_options{}, std::uint16_t>> arena{handles<>{from}, 80_KiB};
    CHECK(static_cast<bool>(arena.allocate({48_KiB, 16})) == (arena.size() != 0));
    CHECK_FALSE(arena.allocate({64_KiB, 16}));
    CHECK_FALSE(arena.allocate({64_KiB + 16, 16}));
    CHECK_FALSE(arena.allocate({16, 64_KiB}));
    CHECK(arena.diagnose({64_KiB, 16}).reason != refusal::none);
}

TEST_CASE_TEMPLATE("resize: a block is resized in place or unchanged", Strategy, allot::best_fit<in_band>,
                   allot::best_fit<side_table>) {
    allot::arena<allot::host::heap, Strategy> arena{{}, 4096};
    auto a = arena.allocate({256, 16}), b = arena.allocate({256, 16});
    REQUIRE((a && b));
    if (position(b) < position(a)) std::swap(a, b);
    std::memset(a.address, 7, a.size);
    const auto before = a;
    CHECK_FALSE(arena.resize(a, 512));  // b is in the way
    CHECK_FALSE(arena.resize(a, 0));
    CHECK_FALSE(arena.resize(a, most));
    CHECK_FALSE(arena.resize(a, most - 7));
    CHECK(a == before);
    CHECK(arena.resize(a, 256));
    CHECK(arena.resize(a, 64));
    CHECK(a.address == before.address);
    CHECK(a.size == 64);
    CHECK(arena.capacity(a) >= 64);
    CHECK(arena.resize(a, 256));
    CHECK(all_bytes(a.address, 64, 7));
    arena.deallocate(b);
    CHECK(arena.resize(a, 3000));
    std::memset(a.address, 8, a.size);
    CHECK_FALSE(arena.resize(a, 4097));
    typename decltype(arena)::block_type empty{};
    CHECK_FALSE(arena.resize(empty, 10));
    arena.deallocate(a);
    CHECK(arena.diagnose({3900, 16}).reason == refusal::none);
}

TEST_CASE("capacity: all of its bytes are usable") {
    allot::arena<allot::host::heap, allot::best_fit<in_band>> arena{{}, 4096};
    std::vector<decltype(arena)::block_type> blocks;
    for (std::size_t size = 1; size != 60; ++size) blocks.push_back(arena.allocate({size, 1}));
    for (const auto& block : blocks) {
        REQUIRE(block);
        CHECK(arena.capacity(block) >= block.size);
        std::memset(block.address, static_cast<int>(block.size), arena.capacity(block));
    }
    for (const auto& block : blocks) CHECK(all_bytes(block.address, arena.capacity(block), block.size));
    for (const auto& block : blocks) arena.deallocate(block);
    CHECK(arena.diagnose({4000, 1}).reason == refusal::none);
    allot::arena<allot::host::heap, up> exact{{}, 100};
    CHECK(exact.capacity(exact.allocate({33, 1})) == 33);
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 96}>> slots{{}, 960};
    CHECK(slots.capacity(slots.allocate({33, 1})) == 96);
}

TEST_CASE("owns: only blocks of this arena are owned") {
    allot::arena<allot::host::heap, up> one{{}, 256}, two{{}, 256};
    const auto a = one.allocate({16, 1}), b = two.allocate({16, 1});
    CHECK(one.owns(a));
    CHECK_FALSE(one.owns(b));
    CHECK_FALSE(one.owns({}));
    auto too_long = a;
    too_long.size = most;
    CHECK_FALSE(one.owns(too_long));
    supply from;
    allot::arena<handles<>, up> in_buffer{handles<>{from}, 256};
    auto block = in_buffer.allocate({16, 1});
    CHECK(in_buffer.owns(block));
    block.address.handle = 77;
    CHECK_FALSE(in_buffer.owns(block));
}

TEST_CASE("arena: the same calls yield the same offsets") {
    allot::arena<allot::host::heap, allot::best_fit<in_band>, allot::growth::none<>,
                 allot::arena_options{.align = 4096}>
        one{{}, 8192}, two{{}, 8192};
    const std::size_t base_one = allot::raw_pointer::position(one.regions()[0].base);
    const std::size_t base_two = allot::raw_pointer::position(two.regions()[0].base);
    CHECK(base_one % 4096 == 0);
    for (std::size_t i = 1; i != 40; ++i) {
        const auto a = one.allocate({i * 7, std::size_t{1} << i % 7}),
                   b = two.allocate({i * 7, std::size_t{1} << i % 7});
        REQUIRE((a && b));
        CHECK(position(a) - base_one == position(b) - base_two);
        if (i % 3 == 0) {
            one.deallocate(a);
            two.deallocate(b);
        }
    }
}

// ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE_TEMPLATE("arena: a moved arena continues and the moved-from arena is empty", Strategy, up, down,
                   allot::stack<>, allot::ring<>, allot::best_fit<in_band>, allot::best_fit<side_table>,
                   allot::pool<allot::pool_options{.slot = 128, .count = 16, .align = 16}>) {
    using arena = allot::arena<allot::host::heap, Strategy, allot::growth::none<>, checked, noted>;
    noted::take();
    arena from{{}, 2048};
    const auto before = from.allocate({100, 16});
    REQUIRE(before);
    std::memset(before.address, 9, 100);
    arena to{std::move(from)};
    CHECK(from.size() == 0);
    CHECK_FALSE(from.allocate({1, 1}));
    CHECK(from.diagnose({1, 1}).reason != refusal::none);
    CHECK_FALSE(from.owns(before));
    CHECK(to.size() == 2048);
    CHECK(to.owns(before));
    const auto after = to.allocate({100, 16});
    REQUIRE(after);
    CHECK(after.address != before.address);
    CHECK(all_bytes(before.address, 100, 9));
    const bool newest_first = arena::reclaims == allot::reclaim::lifo;
    to.deallocate(newest_first ? after : before);
    to.deallocate(newest_first ? before : after);
    CHECK(noted::take().empty());
    to.deallocate(after);
    CHECK(noted::take().size() == 1);
    arena again{std::move(to)};
    CHECK(again.allocate({100, 16}));
}

TEST_CASE_TEMPLATE("arena: a move transfers all regions and the moved-from arena can grow again", Strategy, up, down,
                   allot::best_fit<>) {
    supply from_supply;
    {
        using arena =
            allot::arena<handles<>, Strategy, allot::growth::fixed<allot::growth_options{.step = 256, .regions = 4}>>;
        arena from{handles<>{from_supply}};
        const auto a = from.allocate({200, 16}), b = from.allocate({200, 16});
        REQUIRE((a && b));
        CHECK(from_supply.held == 2);
        arena to{std::move(from)};
        CHECK(from_supply.held == 2);
        CHECK(from.size() == 0);
        CHECK((to.owns(a) && to.owns(b) && !from.owns(a)));
        const auto c = from.allocate({200, 16});
        REQUIRE(c);
        CHECK_FALSE(to.owns(c));
        CHECK(from_supply.held == 3);
        const auto d = to.allocate({200, 16});
        CHECK((d && to.owns(d)));
    }
    CHECK(from_supply.held == 0);
}

TEST_CASE("arena: a moved-from arena does not report an earlier error of the device") {
    supply from_supply;
    from_supply.regions = 0;
    allot::arena<handles<>, allot::best_fit<>> refused{handles<>{from_supply}, 256};
    CHECK(refused.diagnose({1, 1}).device_error == supply::used_up);
    const decltype(refused) to{std::move(refused)};
    CHECK(to.diagnose({1, 1}).device_error == supply::used_up);
    CHECK(refused.diagnose({1, 1}) == allot::diagnosis{refusal::exhausted});

    allot::arena<handles<>, allot::best_fit<>, allot::growth::fixed<>> grows{handles<>{from_supply}};
    CHECK_FALSE(grows.allocate({1, 1}));
    CHECK(grows.diagnose({1, 1}).reason == refusal::device_refused);
    const decltype(grows) grown{std::move(grows)};
    CHECK(grown.diagnose({1, 1}).reason == refusal::device_refused);
    CHECK(grows.diagnose({1, 1}).reason == refusal::none);
}

TEST_CASE("hardening debug: leaks of a moved arena are reported once") {
    noted::take();
    {
        using arena = allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>, debug, noted>;
        arena from{{}, 256};
        REQUIRE(from.allocate({10, 1}));
        const arena to{std::move(from)};
        CHECK(noted::take().empty());
    }
    CHECK(noted::take().size() == 1);
}

TEST_CASE("resize: a size that does not fit narrow offsets fails and is not truncated") {
    helpers::supply from;
    allot::arena<helpers::handles<>, allot::best_fit<allot::best_fit_options{}, std::uint16_t>> arena{
        helpers::handles<>{from}, 10'000};
    auto held = arena.allocate({300, 1});
    REQUIRE(held);
    for (const std::size_t size : {std::size_t{65'536} + 200, std::size_t{65'536} * 3 + 301, std::size_t{65'536}}) {
        CHECK_FALSE(arena.resize(held, size));
        CHECK(held.size == 300);
    }
    CHECK(arena.resize(held, 9'999));
}
