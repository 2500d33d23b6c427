#include <allot/inspect/memory_state.hpp>

#include "../plan/problems.hpp"

#include <doctest/doctest.h>

#include <map>

namespace {

using allot::event_log, allot::memory_action, allot::memory_event, allot::memory_state, allot::snapshot;

memory_event event(memory_action action, std::uint64_t address, std::uint64_t size, std::uint32_t tag = 0) {
    return {.address = address, .size = size, .tag = tag, .action = action};
}

}  // namespace

TEST_CASE("memory_state: follows allocations, deallocations, resizes, refusals and resets") {
    using enum memory_action;
    memory_state state;
    CHECK(state.held() == 0);
    CHECK(state.regions().empty());
    CHECK(state.apply(event(allocate, 100, 50, 2)).size == 0);
    CHECK(state.apply(event(allocate, 200, 10)).size == 0);
    CHECK(state.held() == 110);
    CHECK(state.regions() == std::map<std::uint64_t, std::uint64_t>{{100, 110}});
    CHECK(state.apply(event(resize, 100, 80)).size == 50);
    CHECK(state.statistics().used == 90);
    const allot::live_block freed = state.apply(event(deallocate, 100, 0));
    CHECK(freed.size == 80);
    CHECK(freed.tag == 2);
    CHECK(freed.event == 2);                                   // the resize
    CHECK(state.apply(event(deallocate, 100, 80)).size == 0);  // freed twice
    CHECK(state.apply(event(resize, 101, 1)).size == 0);
    CHECK(state.unknown() == 2);
    CHECK(state.apply(event(allocate, 200, 30)).size == 10);  // replaces the block
    CHECK(state.statistics().used == 30);
    state.apply(event(refuse, 0, 1000));
    CHECK(state.statistics().requests == 4);
    CHECK(state.statistics().refusals == 1);
    CHECK(state.statistics().peak == 90);
    state.apply(event(reset, 0, 0));
    CHECK(state.blocks().empty());
    CHECK(state.statistics().used == 0);
    CHECK(state.statistics().count == 0);
}

TEST_CASE("memory_state: a log with regions has these regions") {
    using enum memory_action;
    memory_state state;
    state.apply(event(acquire_region, 1000, 100));
    state.apply(event(acquire_region, 5000, 100));
    state.apply(event(allocate, 1040, 40));
    CHECK(state.held() == 200);
    state.apply(event(acquire_region, 1000, 300));  // extended
    CHECK(state.held() == 400);
    state.apply(event(release_region, 5000, 100));
    state.apply(event(release_region, 6000, 100));  // unknown
    CHECK(state.held() == 300);
    CHECK(state.regions() == std::map<std::uint64_t, std::uint64_t>{{1000, 300}});
    const snapshot now = allot::snapshot_of(state, {});
    REQUIRE(now.holes.size() == 2);
    CHECK(now.holes[0] == allot::snapshot_range{1000, 40});
    CHECK(now.holes[1] == allot::snapshot_range{1080, 220});
    CHECK(now.statistics.free == 260);
    CHECK(now.statistics.largest_hole == 220);
    CHECK(allot::snapshot_of(state, {}, 41).holes.size() == 1);
    state.apply(event(release_region, 1000, 300));
    CHECK(state.regions().empty());
}

TEST_CASE("memory_state: a hole does not overlap a block that starts in another region") {
    using enum memory_action;
    memory_state state;
    state.apply(event(acquire_region, 0, 100));
    state.apply(event(acquire_region, 150, 100));
    state.apply(event(allocate, 50, 120));
    const snapshot now = allot::snapshot_of(state, {});
    REQUIRE(now.holes.size() == 2);
    CHECK(now.holes[0] == allot::snapshot_range{0, 50});
    CHECK(now.holes[1] == allot::snapshot_range{170, 80});
}

TEST_CASE("memory_state: a snapshot at any event of a log can be written, also of overlapping blocks") {
    problems::random random{31};
    for (std::size_t round = 0; round != problems::times(100); ++round) {
        event_log log{.tags = {"a", "b"}};
        for (std::size_t i = 0; i != 60; ++i)
            log.events.push_back(event(static_cast<memory_action>(1 + random(7)), random(3000), random(200),
                                       static_cast<std::uint32_t>(random(3))));
        const std::size_t at = random.index(61);
        const snapshot now = allot::snapshot_at(log, at);
        const auto read = allot::read_snapshot(allot::write_snapshot(now));
        REQUIRE(read);
        CHECK(read.value == now);
        for (const allot::snapshot_range& hole : now.holes)
            for (const allot::snapshot_block& block : now.blocks)
                CHECK((hole.end() <= block.address || block.end() <= hole.address));
        CHECK(allot::snapshot_at(log, 1000).statistics == allot::snapshot_at(log, 60).statistics);
        const std::size_t peak = allot::peak_of(log);
        CHECK(allot::snapshot_at(log, peak).statistics.used == allot::snapshot_at(log, 60).statistics.peak);
    }
}
