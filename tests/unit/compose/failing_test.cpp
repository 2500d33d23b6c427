#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace allot::literals;
using allot::refusal;
using scratch = allot::arena<allot::host::static_storage<4096>, allot::best_fit<>>;

/// Returns the numbers of the failing requests among the first ones.
template <class Memory>
std::vector<int> failing_requests(Memory& memory, int requests) {
    std::vector<int> failed;
    for (int i = 1; i <= requests; ++i) {
        const bool planned = memory.diagnose({.size = 1}).reason != refusal::none;
        const auto block = memory.allocate({.size = 1});
        if (!block) {
            CHECK(planned);
            CHECK(memory.diagnose({.size = 1}).reason == refusal::exhausted);
            failed.push_back(i);
        }
        memory.deallocate(block);
    }
    return failed;
}

}  // namespace

TEST_CASE("failing: the planned requests fail, and no other") {
    scratch arena;
    allot::failing memory{arena, {.at = 3}};
    CHECK(failing_requests(memory, 10) == std::vector{3});
    CHECK(memory.requests() == 10);
    CHECK(memory.failures() == 1);
    memory.restart({.at = 2, .count = 3});
    CHECK(failing_requests(memory, 10) == std::vector{2, 3, 4});
    memory.restart({.at = 9, .count = allot::failure_plan::all});
    CHECK(failing_requests(memory, 11) == std::vector{9, 10, 11});
    memory.restart();
    CHECK(failing_requests(memory, 100).empty());
}

TEST_CASE("failing: a share of the requests fails, selected by the seed") {
    scratch arena;
    allot::failing memory{arena, {.one_in = 10, .seed = 7}};
    const auto failed = failing_requests(memory, 10'000);
    CHECK(failed.size() > 800);
    CHECK(failed.size() < 1200);
    memory.restart({.one_in = 10, .seed = 7});
    CHECK(failing_requests(memory, 10'000) == failed);
    memory.restart({.one_in = 10, .seed = 8});
    CHECK(failing_requests(memory, 10'000) != failed);
    memory.restart({.one_in = 1});
    CHECK(failing_requests(memory, 50).size() == 50);
}

TEST_CASE("failing: allocate_at and resize are requests, and a failing one does not reach the allocator") {
    scratch arena;
    allot::failing memory{arena, {.at = 2, .count = 2, .reason = refusal::fragmented}};
    auto block = memory.allocate({.size = 100});
    CHECK(memory.diagnose_at({1024, 8}).reason == refusal::fragmented);
    CHECK_FALSE(memory.allocate_at({1024, 8}));
    CHECK_FALSE(memory.resize(block, 50));
    CHECK(block.size == 100);
    CHECK(memory.diagnose({.size = 1}).reason == refusal::fragmented);  // the last request failed
    CHECK(memory.resize(block, 50));
    CHECK(memory.diagnose({.size = 1}).reason == refusal::none);
    CHECK(memory.allocate_at({1024, 8}));
    CHECK(memory.failures() == 2);
}

TEST_CASE("failing: each request of a piece of code fails once, and a leak in one of its paths is found") {
    allot::counted<scratch> arena;
    allot::failing memory{arena};
    int completed = 0, runs = 0;
    const auto all_or_nothing = [&](bool correct) {
        ++runs;
        const auto first = memory.allocate({.size = 10}), second = memory.allocate({.size = 20});
        auto third = memory.allocate({.size = 30});
        completed += first && second && third;
        if (!correct && !second) return;
        memory.deallocate(first);
        memory.deallocate(second);
        memory.deallocate(third);
    };
    CHECK(allot::fail_each_request(memory, [&] { all_or_nothing(true); }) == 3);
    CHECK(runs == 4);
    CHECK(completed == 1);
    CHECK(arena.statistics().count == 0);
    CHECK(memory.requests() == 0);
    CHECK(allot::fail_each_request(memory, [&] { all_or_nothing(false); }) == 3);
    CHECK(arena.statistics().count != 0);
    CHECK(allot::fail_each_request(memory, [] {}) == 0);
}

TEST_CASE("failing: a paged allocator returns all of its memory when any of its requests fails") {
    allot::counted<scratch> rows, tables;
    allot::failing memory{rows};
    allot::paged<decltype(memory)&, decltype(tables)&, allot::pointer_table<64>> paged{memory, tables};
    const auto requests = allot::fail_each_request(memory, [&] {
        const auto block = paged.allocate({.size = 64 * 5});
        CHECK(static_cast<bool>(block) == (memory.failures() == 0));
        paged.deallocate(block);
        CHECK(rows.statistics().count == 0);
        CHECK(tables.statistics().count == 0);
    });
    CHECK(requests >= 5);
}
