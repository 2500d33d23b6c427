#include <allot/allot.hpp>
#include <allot/compose/recorded.hpp>
#include <allot/inspect/event_sink.hpp>

#include <doctest/doctest.h>

TEST_CASE("event_sink: the calls of a recorded arena become events with addresses, times and tags") {
    using allot::memory_action;
    allot::arena<allot::host::static_storage<4096>, allot::best_fit<>> arena;
    allot::event_log_writer log{allot::time_unit::nanoseconds};
    const std::uint32_t weights = log.tag("weights");
    allot::recorded memory{arena, allot::event_sink{log, [now = std::uint64_t{0}]() mutable { return now += 100; }}};
    memory.sink().set_tag(weights);
    auto block = memory.allocate({.size = 100, .align = 64});
    REQUIRE(block);
    memory.sink().set_tag(0);
    CHECK_FALSE(memory.allocate({.size = 5000, .align = 3}));
    REQUIRE(memory.resize(block, 200));
    memory.deallocate(block);

    const auto read = allot::read_event_log(log.bytes());
    CHECK(read.error.reason == allot::format_refusal::none);
    const auto at = reinterpret_cast<std::uintptr_t>(block.address);
    CHECK(read.value.events == std::vector<allot::memory_event>{
                                   {100, at, 100, weights, memory_action::allocate, 6},
                                   {200, 0, 5000, 0, memory_action::refuse, 0},
                                   {300, at, 200, 0, memory_action::resize, 0},
                                   {400, at, 0, 0, memory_action::deallocate, 0},
                               });
}

TEST_CASE("event_sink: without a clock, the time counts the events, and a reset is one event") {
    allot::arena<allot::host::static_storage<4096>, allot::bump<>> arena;
    allot::event_log_writer log;
    allot::recorded memory{arena, allot::event_sink{log}};
    REQUIRE(memory.allocate({.size = 1}));
    REQUIRE(memory.allocate({.size = 1}));
    memory.reset();
    const auto read = allot::read_event_log(log.bytes());
    REQUIRE(read.value.events.size() == 3);
    CHECK(read.value.events[1].time == 1);
    CHECK(read.value.events[2].action == allot::memory_action::reset);
    CHECK(read.value.events[2].time == 2);
}
