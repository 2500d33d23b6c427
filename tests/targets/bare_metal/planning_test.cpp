// Plans made by the compiler, and plans made by the program in a workspace.
#include <allot/host/buffer.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/plan.hpp>
#include <allot/plan/pages.hpp>
#include <allot/plan/replan.hpp>
#include <allot/plan/validate_pages.hpp>

#include <doctest/doctest.h>

#include <array>

namespace {

using allot::plan_buffer;
using allot::refusal;
using allot::host::static_storage;

// Six buffers of a small network. The obvious first plan is not the lowest.
constexpr std::array<plan_buffer, 6> buffers{{{.size = 300, .live = {0, 2}},
                                              {.size = 200, .live = {1, 3}, .align = 32},
                                              {.size = 400, .live = {2, 4}},
                                              {.size = 100, .live = {3, 6}, .align = 16},
                                              {.size = 300, .live = {4, 7}},
                                              {.size = 150, .live = {6, 8}}}};
constexpr allot::plan_problem problem{.buffers = buffers};
constexpr allot::plan_options options{.effort = 2000, .remember = 16};

constexpr auto by_compiler = allot::plan<buffers>();

template <class Places>
void lie_apart(const Places& places) {
    for (std::size_t a = 0; a != buffers.size(); ++a) {
        CHECK(places[a].offset % buffers[a].align == 0);
        for (std::size_t b = 0; b != a; ++b) {
            const bool at_once = buffers[a].live.overlaps(buffers[b].live);
            const bool apart = places[a].offset + buffers[a].size <= places[b].offset ||
                               places[b].offset + buffers[b].size <= places[a].offset;
            CHECK((apart || !at_once));
        }
    }
}

struct run_time_plan : allot::plan_summary {
    std::array<allot::plan_place, buffers.size()> places;
};

[[nodiscard]] run_time_plan planned_here() {
    allot::plan_storage<allot::space_of_plan(problem, options)> workspace;
    run_time_plan made;
    const auto summary = allot::plan_into(problem, made.places, workspace, options);
    REQUIRE(summary);
    static_cast<allot::plan_summary&>(made) = *summary;
    return made;
}

}  // namespace

TEST_CASE("compile-time plan: its arena has no placement code") {
    lie_apart(by_compiler.places);
    allot::arena<static_storage<by_compiler.peak, by_compiler.align>, allot::planned<by_compiler>> memory;
    CHECK(memory.at<0>());
    for (std::size_t i = 0; i != buffers.size(); ++i) {
        const auto* const at = static_cast<const std::byte*>(memory.at(i).address);
        CHECK(at - static_cast<const std::byte*>(memory.at(0).address) ==
              static_cast<std::ptrdiff_t>(by_compiler.places[i].offset) -
                  static_cast<std::ptrdiff_t>(by_compiler.places[0].offset));
    }
    CHECK_FALSE(memory.at(buffers.size()));

    allot::in_program_order in_order{memory};
    for (const plan_buffer& each : buffers)
        CHECK(in_order.allocate(
            {.size = static_cast<std::size_t>(each.size), .align = static_cast<std::size_t>(each.align)}));
    CHECK(in_order.diagnose({.size = 1}).reason == refusal::exhausted);
}

TEST_CASE("run-time plan: the plan and its arena") {
    const run_time_plan made = planned_here();
    CHECK(made.status == allot::plan_status::optimal);
    CHECK(made.peak == made.bound);
    CHECK(made.peak <= by_compiler.peak);
    lie_apart(made.places);

    alignas(32) std::byte window[1024];
    allot::arena<allot::host::buffer, allot::planned<>> memory{allot::host::buffer{window}, made};
    CHECK(memory.at(2).size == 400);
    CHECK(memory.at(3).address == window + made.places[3].offset);

    std::uint64_t offsets[buffers.size()];
    for (std::size_t i = 0; i != buffers.size(); ++i) offsets[i] = made.places[i].offset;
    allot::plan_storage<allot::validate_space(problem)> workspace;
    CHECK(allot::validate(problem, offsets, made.peak, workspace).kind == allot::plan_violation_kind::none);
    CHECK(allot::validate(problem, offsets, made.peak - 1, workspace).kind != allot::plan_violation_kind::none);
    offsets[1] = offsets[0];
    CHECK(allot::validate(problem, offsets, made.peak, workspace).kind != allot::plan_violation_kind::none);
}

TEST_CASE("run-time plan: the same on every machine, for any word size and byte order") {
    const run_time_plan made = planned_here();
    constexpr std::uint64_t expected[] = {200, 0, 200, 0, 150, 0};
    for (std::size_t i = 0; i != buffers.size(); ++i) CHECK(made.places[i].offset == expected[i]);
}

TEST_CASE("run-time plan: an invalid problem or a small workspace is an error") {
    std::array<allot::plan_place, buffers.size()> places;
    allot::plan_storage<allot::plan_space{.u32 = 8, .u64 = 8}> small;
    CHECK(allot::plan_into(problem, places, small).error().reason == allot::plan_refusal::workspace_too_small);
    constexpr plan_buffer bad[] = {{.size = 8, .live = {0, 1}, .align = 3}};
    CHECK_FALSE(allot::plan_into({.buffers = bad}, places, small));
}

TEST_CASE("replan: if one buffer grows, at most one other moves") {
    std::array<plan_buffer, buffers.size()> grown = buffers;
    grown[5].size = 180;
    const allot::plan_problem again{.buffers = grown};
    allot::plan_storage<allot::space_of_replan(problem, by_compiler.places, 1, options)> workspace;
    std::array<allot::plan_place, buffers.size()> places;
    const auto made = allot::replan_into(again, by_compiler.places, 1, places, workspace, options);
    REQUIRE(made);
    CHECK(made->moved <= 1);
    CHECK(places[5].size == 180);
}

TEST_CASE("memories: the most used buffers are in the fast memory") {
    constexpr std::size_t count = 4;  // more buffers need more stack than a microcontroller with 16 KiB offers
    static constexpr allot::plan_memory memories[] = {{.capacity = 512, .align = 16}, {.cost = 1}};
    static constexpr std::uint64_t uses[count] = {1, 9, 1, 9};
    static constexpr allot::memories_problem spilling{
        .buffers = {.buffers = std::span{buffers}.first(count)}, .memories = memories, .uses = uses};
    static constexpr allot::memories_options little{.effort = 200, .remember = 16};
    allot::plan_storage<allot::space_of_memories(spilling, little)> workspace;
    std::array<allot::memory_place, count> places;
    std::array<allot::memory_needs, 2> needs;
    const auto made = allot::plan_memories_into(spilling, places, needs, workspace, little);
    REQUIRE(made);
    CHECK(made->unplaced == 0);
    CHECK(needs[0].peak <= 512);
    CHECK(places[1].memory == 0);
    CHECK(places[3].memory == 0);
    CHECK(made->spilled > 0);
}

TEST_CASE("pages: a plan is valid, and a shared page is a violation") {
    constexpr std::uint64_t page = 64;
    allot::plan_storage<allot::pages_space(problem)> workspace;
    std::uint32_t first[buffers.size() + 1], pages[32];
    CHECK(*allot::pages_in_all(problem, page) <= 32);
    const auto made = allot::plan_pages(problem, page, first, pages, workspace);
    REQUIRE(made);
    allot::plan_storage<allot::validate_pages_space(problem, 32)> other;
    CHECK(allot::validate_pages(problem, page, first, pages, *made, other).kind == allot::pages_violation_kind::none);
    pages[first[1]] = pages[first[0]];
    CHECK(allot::validate_pages(problem, page, first, pages, *made, other).kind != allot::pages_violation_kind::none);
}
