// diagnose: every reason, and that it is true.
#include "helpers.hpp"

#include <allot/host/virtual_memory.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace {

using namespace helpers;
using namespace allot::literals;
using allot::refusal;

}  // namespace

TEST_CASE("diagnose: none if the request would succeed") {
    allot::arena<allot::host::heap, allot::best_fit<side_table>> arena{{}, 1024};
    CHECK(arena.diagnose({1024, 1}).reason == refusal::none);
    CHECK(arena.diagnose({1024, 1}).largest_hole == 1024);
    CHECK(arena.allocate({1024, 1}));
}

TEST_CASE("diagnose: invalid layouts take precedence") {
    supply from{.regions = 0};
    allot::arena<handles<>, up> arena{handles<>{from}, 1024};
    CHECK(arena.diagnose({0, 0}).reason == refusal::empty_layout);
    CHECK(arena.diagnose({1, 0}).reason == refusal::bad_alignment);
    CHECK(arena.diagnose({most, 3}).reason == refusal::bad_alignment);
    CHECK(arena.diagnose({1, 1}).reason == refusal::device_refused);
}

TEST_CASE("diagnose: misaligned if the base does not support the alignment") {
    supply from{.align = 64};
    allot::arena<handles<>, allot::best_fit<>> arena{handles<>{from}, 1024};
    CHECK(arena.diagnose({1, 64}).reason == refusal::none);
    CHECK(arena.diagnose({1, 128}).reason == refusal::misaligned);
    CHECK(arena.diagnose({4096, 128}).reason == refusal::misaligned);
}

TEST_CASE_TEMPLATE("diagnose: exhausted if fewer bytes are free than requested", Strategy, up, down, allot::stack<>,
                   allot::ring<>, allot::best_fit<side_table>) {
    allot::arena<allot::host::heap, Strategy> arena{{}, 1024};
    CHECK(arena.diagnose({1025, 1}).reason == refusal::exhausted);
    REQUIRE(arena.allocate({1000, 1}));
    CHECK(arena.diagnose({25, 1}).reason == refusal::exhausted);
    CHECK(arena.diagnose({25, 1}).largest_hole == 24);
    CHECK(arena.diagnose({24, 1}).reason == refusal::none);
    REQUIRE(arena.allocate({24, 1}));
    CHECK(arena.diagnose({1, 1}).reason == refusal::exhausted);
    CHECK(arena.diagnose({1, 1}).largest_hole == 0);
}

TEST_CASE_TEMPLATE("diagnose: fragmented with the largest hole if no hole fits", Strategy, allot::best_fit<side_table>,
                   allot::best_fit<>) {
    supply from;
    allot::arena<handles<>, Strategy> arena{handles<>{from}, 1000};
    std::vector<typename decltype(arena)::block_type> blocks;
    for (int i = 0; i != 10; ++i) blocks.push_back(arena.allocate({100, 4}));
    arena.deallocate(blocks[1]);
    arena.deallocate(blocks[3]);
    arena.deallocate(blocks[4]);
    const auto answer = arena.diagnose({201, 1});
    CHECK(answer.reason == refusal::fragmented);
    CHECK(answer.largest_hole == 200);
    CHECK(arena.diagnose({200, 1}).reason == refusal::none);
    CHECK(arena.diagnose({301, 1}).reason == refusal::exhausted);
    CHECK(arena.diagnose({300, 1}).reason == refusal::fragmented);
}

TEST_CASE("diagnose: fragmented if enough bytes are free but no hole is aligned") {
    alignas(64) std::byte bytes[128];
    allot::arena<allot::host::buffer, up> arena{allot::host::buffer{bytes + 1, 63}};
    CHECK(arena.diagnose({1, 64}).reason == refusal::fragmented);
    CHECK(arena.diagnose({1, 64}).largest_hole == 63);
    CHECK_FALSE(arena.allocate({1, 64}));
}

TEST_CASE("diagnose: out of records if a hole fits but no record is left for the rest") {
    using few_records = allot::best_fit<allot::best_fit_options{.store = allot::node_store::side_table, .records = 4}>;
    allot::arena<allot::host::heap, few_records> arena{{}, 1024};
    std::vector<decltype(arena)::block_type> blocks;
    while (const auto block = arena.allocate({16, 1})) blocks.push_back(block);
    CHECK(blocks.size() >= 1);
    CHECK(blocks.size() <= 3);
    CHECK(arena.diagnose({16, 1}).reason == refusal::out_of_records);
    CHECK(arena.diagnose({16, 1}).largest_hole == 1024 - 16 * blocks.size());
    CHECK(arena.diagnose({1024, 1}).reason == refusal::exhausted);
    for (const auto& block : blocks) arena.deallocate(block);
    CHECK(arena.allocate({16, 1}));
}

TEST_CASE("diagnose: over the limit of a slot or of an offset type") {
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 64}>> slots{{}, 1024};
    CHECK(slots.diagnose({64, 1}).reason == refusal::none);
    CHECK(slots.diagnose({65, 1}).reason == refusal::over_limit);
    CHECK(slots.diagnose({64, 64}).reason == refusal::misaligned);
    for (int i = 0; i != 16; ++i) REQUIRE(slots.allocate({64, 1}));
    CHECK(slots.diagnose({64, 1}).reason == refusal::exhausted);

    supply from;
    allot::arena<handles<>, allot::best_fit<side_table, std::uint16_t>> narrow{handles<>{from}, 1000};
    CHECK(narrow.diagnose({65'536, 1}).reason == refusal::over_limit);
    CHECK(narrow.diagnose({65'535, 1}).reason == refusal::exhausted);
    CHECK_FALSE(narrow.allocate({65'536 + 16, 1}));
    CHECK(narrow.allocate({1000, 16}));
}

TEST_CASE("diagnose: device_refused with the device's code") {
    supply small{.largest = 100};
    allot::arena<handles<>, up> too_large{handles<>{small}, 101};
    CHECK(too_large.size() == 0);
    CHECK_FALSE(too_large.allocate({1, 1}));
    CHECK(too_large.diagnose({1, 1}).reason == refusal::device_refused);
    CHECK(too_large.diagnose({1, 1}).device_error == supply::too_large);

    supply coarse{.align = 32};
    allot::arena<handles<>, up, allot::growth::none<>, allot::arena_options{.align = 64}> unaligned{handles<>{coarse},
                                                                                                    100};
    CHECK(unaligned.diagnose({1, 1}).device_error == supply::unaligned);

    std::byte bytes[64];
    allot::arena<allot::host::buffer, up> window{allot::host::buffer{bytes}, 65};
    CHECK(window.diagnose({1, 1}).reason == refusal::device_refused);
    CHECK(window.diagnose({1, 1}).device_error == static_cast<long>(allot::host::window_error::too_small));
    CHECK(std::string_view{window.diagnose({1, 1}).what()} == allot::to_string(refusal::device_refused));
}

TEST_CASE_TEMPLATE("diagnose: a failed device request does not affect smaller requests in a growing arena", Growth,
                   allot::growth::fixed<>, allot::growth::geometric<>, allot::growth::contiguous<>) {
    supply from{.largest = 2_MiB};
    auto arena = [&] {
        if constexpr (Growth::in_place) {
            using device = allot::host::virtual_memory;
            return allot::arena<device, allot::best_fit<side_table>, Growth>{device{2_MiB}};
        } else {
            return allot::arena<handles<>, allot::best_fit<side_table>, Growth>{handles<>{from}};
        }
    }();
    const allot::layout much{8_MiB, 1}, more{9_MiB, 1}, little{9, 1};
    REQUIRE_FALSE(arena.allocate(much));
    CHECK(arena.diagnose(much).reason == refusal::device_refused);
    CHECK(arena.diagnose(more).reason == refusal::device_refused);
    CHECK(arena.diagnose(little).reason == refusal::none);
    const auto block = arena.allocate(little);
    CHECK(block);
    CHECK(arena.diagnose(much).reason == refusal::device_refused);
    CHECK_FALSE(arena.allocate(much));
    CHECK(arena.diagnose(much).reason == refusal::device_refused);
    arena.deallocate(block);
    CHECK(arena.trim() != 0);
    CHECK(arena.diagnose(much).reason == refusal::none);
    CHECK_FALSE(arena.allocate(much));
    CHECK(arena.trim() == 0);
    CHECK(arena.diagnose(much).reason == refusal::device_refused);
}

TEST_CASE("diagnose: a failed device request does not affect requests of a smaller alignment") {
    supply from{.align = 64};
    allot::arena<handles<>, allot::best_fit<side_table>, allot::growth::fixed<>> arena{handles<>{from}};
    REQUIRE_FALSE(arena.allocate({100, 128}));
    CHECK(arena.diagnose({1000, 128}) == allot::diagnosis{refusal::device_refused, 0, supply::unaligned});
    CHECK(arena.diagnose({1000, 64}).reason == refusal::none);
    CHECK(arena.allocate({1000, 64}));
}

TEST_CASE("diagnose: an alignment above a pool's is misaligned, also if the pool can grow") {
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 128}>, allot::growth::geometric<>> arena;
    CHECK(arena.diagnose({16, 4096}).reason == refusal::misaligned);
    CHECK_FALSE(arena.allocate({16, 4096}));
    CHECK(arena.diagnose({129, 1}).reason == refusal::over_limit);
}

TEST_CASE("diagnose: a reason is reported if the granularity rounds the first region beyond SIZE_MAX") {
    supply from;
    allot::arena<handles<4096>, up> arena{handles<4096>{from}, most};
    CHECK(arena.size() == 0);
    CHECK(from.acquired == 0);
    CHECK_FALSE(arena.allocate({1, 1}));
    CHECK(arena.diagnose({1, 1}).reason != refusal::none);
}

TEST_CASE("diagnose: no state changes") {
    allot::arena<allot::host::heap, allot::best_fit<in_band>> arena{{}, 4096}, unasked{{}, 4096};
    for (std::size_t i = 1; i != 20; ++i) {
        for (std::size_t size = 1; size < 8192; size *= 3) static_cast<void>(arena.diagnose({size, 16}));
        const auto a = arena.allocate({i * 5, 8}), b = unasked.allocate({i * 5, 8});
        REQUIRE(a.size == b.size);
        if (!a) continue;
        const auto offset = [](auto& in, auto block) {
            return allot::raw_pointer::position(block.address) - allot::raw_pointer::position(in.regions()[0].base);
        };
        CHECK(offset(arena, a) == offset(unasked, b));
    }
}

TEST_CASE("arena: the first region has the strategy's alignment, so that all of it is usable") {
    using whole_pages = allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 4096}>;
    using arena_type = allot::arena<allot::host::heap, whole_pages>;
    arena_type all[]{{{}, 8192}, {{}, 8192}, {{}, 8192}};
    for (arena_type& arena : all) {
        CHECK(arena.diagnose({8192, 1}).reason == refusal::none);
        CHECK(arena.allocate({8192, 1}));
    }
}

TEST_CASE("diagnose: a pool that grows has no slot for a larger alignment than that of its slots") {
    allot::arena<allot::host::heap, allot::pool<allot::pool_options{.slot = 1000, .align = 16}>,
                 allot::growth::fixed<allot::growth_options{.step = 1000, .regions = 4}>>
        memory;
    const auto block = memory.allocate({8, 8});
    REQUIRE(block);
    const std::size_t held = memory.size();
    CHECK_FALSE(memory.allocate({36, 512}));
    CHECK(memory.diagnose({36, 512}).reason != allot::refusal::none);
    CHECK(memory.size() == held);
    memory.deallocate(block);
}
