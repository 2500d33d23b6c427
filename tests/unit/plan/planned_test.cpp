// planned: arenas place blocks at the offsets of a plan. The compiler or the device rejects a plan that does not fit.
#include <allot/allot.hpp>
#include <allot/plan/memories_problem.hpp>
#include <allot/plan/planned.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using allot::plan_place;
using allot::planned;
using allot::refusal;

struct small_plan {
    std::array<plan_place, 4> places{{{0, 100}, {128, 64}, {4096, 0}, {64, 40}}};
    std::uint64_t peak = 192;
    std::uint64_t align = 64;
};
constexpr small_plan layout;
struct run_time_plan {
    std::vector<plan_place> places;
    std::uint64_t peak = 0, align = 1;
};

using in_storage = allot::arena<allot::host::static_storage<192, 64>, planned<layout>>;
using in_heap = allot::arena<allot::host::heap, planned<layout>>;
using at_run_time = allot::arena<allot::host::heap, planned<>>;
static_assert(allot::allocator<allot::in_program_order<in_storage>>);
static_assert(sizeof(in_storage::block_type) == 2 * sizeof(void*));

std::size_t distance(const void* from, const void* to) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from));
}

}  // namespace

TEST_CASE("planned: each memory of a plan with several has an arena with its buffers") {
    allot::memories_plan made;
    made.places = {{1, 64, 40}, {0, 128, 64}, {}, {1, 0, 64}};
    made.needs = {{192, 64}, {104, 8}};
    const allot::memory_layout first = made.in(0), second = made.in(1);
    const at_run_time fast{{}, first}, slow{{}, second};
    CHECK(fast.size() == 192);
    CHECK(fast.at(1).size == 64);
    CHECK_FALSE(fast.at(0));
    CHECK_FALSE(fast.at(2));
    CHECK(slow.size() == 104);
    CHECK(distance(slow.at(3).address, slow.at(0).address) == 64);
    CHECK(slow.at(0).size == 40);
    CHECK_FALSE(slow.at(1));
    static_assert(!std::is_constructible_v<at_run_time, allot::host::heap, allot::memory_layout>);
}

TEST_CASE_TEMPLATE("planned: blocks are at the offsets of the plan", Arena, in_storage, in_heap) {
    Arena memory;
    const auto first = memory.template at<0>();
    REQUIRE(first);
    CHECK(reinterpret_cast<std::uintptr_t>(first.address) % 64 == 0);
    CHECK(first.size == 100);
    CHECK(distance(first.address, memory.template at<1>().address) == 128);
    CHECK(distance(first.address, memory.template at<3>().address) == 64);
    CHECK(memory.template at<2>() == typename Arena::block_type{});  // no bytes and therefore no address
    CHECK(memory.at(2) == typename Arena::block_type{});
    for (std::size_t id = 0; id != 4; ++id) CHECK(memory.at(id).size == layout.places[id].size);
    CHECK(memory.at(1) == memory.template at<1>());
    CHECK_FALSE(memory.at(4));
    CHECK_FALSE(memory.at(SIZE_MAX));
    CHECK(memory.count() == 4);
    CHECK(memory.size() >= 192);
    CHECK(memory.diagnose().reason == refusal::none);
}

TEST_CASE("planned: an arena follows a plan from run time") {
    const run_time_plan plan{{{256, 10}, {0, 256}}, 266, 256};
    const at_run_time memory{{}, plan};
    CHECK(memory.at(1).size == 256);
    CHECK(distance(memory.at(1).address, memory.at(0).address) == 256);
    CHECK(reinterpret_cast<std::uintptr_t>(memory.at(1).address) % 256 == 0);
    CHECK_FALSE(memory.at(2));
    const run_time_plan nothing;
    const at_run_time empty{{}, nothing};
    CHECK_FALSE(empty.at(0));
    CHECK(empty.diagnose().reason == refusal::none);
    CHECK(empty.size() == 0);
}

TEST_CASE("planned: a device that refuses leaves all blocks empty and reports its code") {
    alignas(64) std::byte bytes[191];
    allot::arena<allot::host::buffer, planned<layout>> memory{allot::host::buffer{bytes}};
    CHECK_FALSE(memory.at<0>());
    CHECK_FALSE(memory.at(1));
    CHECK(memory.diagnose().reason == refusal::device_refused);
    CHECK(memory.diagnose().device_error != 0);
    allot::in_program_order blocks{memory};
    CHECK_FALSE(blocks.allocate({.size = 1}));
    CHECK(blocks.diagnose({.size = 1}).reason == refusal::device_refused);
}

TEST_CASE("planned: a moved arena keeps its memory and releases it once") {
    in_heap first;
    const auto block = first.at<1>();
    const in_heap second{std::move(first)};
    CHECK(second.at<1>() == block);
    CHECK_FALSE(first.at<1>());  // NOLINT: a moved-from arena is empty
}

TEST_CASE("in_program_order: returns the blocks in the order of the plan") {
    in_storage memory;
    allot::in_program_order blocks{memory};
    CHECK(blocks.diagnose({.size = 101}).reason == refusal::over_limit);
    CHECK_FALSE(blocks.allocate({.size = 101}));
    CHECK(blocks.diagnose({.size = 0}).reason == refusal::empty_layout);
    CHECK(blocks.diagnose({.size = 1, .align = 3}).reason == refusal::bad_alignment);
    const auto first = blocks.allocate({.size = 90, .align = 64});
    CHECK(first.address == memory.at<0>().address);
    CHECK(first.size == 90);
    blocks.deallocate(first);
    CHECK(blocks.allocate({.size = 64, .align = 64}).address == memory.at<1>().address);
    CHECK(blocks.allocate({.size = 40}).address == memory.at<3>().address);  // skips the buffer without bytes
    CHECK_FALSE(blocks.allocate({.size = 1}));
    CHECK(blocks.diagnose({.size = 1}).reason == refusal::exhausted);
    blocks.reset();
    CHECK(blocks.allocate({.size = 100}).address == memory.at<0>().address);
}
