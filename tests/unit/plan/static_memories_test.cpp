// static_memories: plans several memories in a constant expression, and an arena for each memory follows the plan.
#include <allot/allot.hpp>
#include <allot/plan/static_memories.hpp>

#include "brute_force.hpp"

#include <doctest/doctest.h>

#include <array>
#include <utility>
#include <vector>

namespace {

using allot::plan_buffer;
using allot::plan_memory;

constexpr plan_buffer buffers[] = {{.size = 40, .live = {0, 3}, .align = 8},
                                   {.size = 40, .live = {2, 5}, .align = 4},
                                   {.size = 0, .live = {0, 5}},
                                   {.size = 16, .live = {0, 5}, .align = 16}};
constexpr plan_memory unbounded[] = {{.capacity = 64}, {.cost = 1}};
constexpr allot::memories_problem problem{.buffers = {.buffers = buffers}, .memories = unbounded};
constexpr auto layout = allot::plan_memories<problem>();
constexpr auto in_fast = layout.in(0), in_slow = layout.in(1);
static_assert(layout.unplaced == 0 && layout.spilled == 40);
static_assert(in_fast.peak == layout.needs[0].peak && in_fast.peak <= 64 && in_fast.align == 16);
static_assert(in_slow.peak == 40);

struct alignas(16) fast_bytes {
    std::byte bytes[64];
};
struct alignas(16) slow_bytes {
    std::byte bytes[layout.needs[1].peak];
};
fast_bytes fast;
slow_bytes slow;

}  // namespace

TEST_CASE("static memories: a buffer has a block in its own memory only") {
    allot::arena<allot::host::static_buffer<fast>, allot::planned<in_fast>> fast_memory;
    allot::arena<allot::host::static_buffer<slow>, allot::planned<in_slow>> slow_memory;
    REQUIRE(fast_memory.diagnose().reason == allot::refusal::none);
    REQUIRE(slow_memory.diagnose().reason == allot::refusal::none);
    for (std::size_t i = 0; i != std::size(buffers); ++i) {
        const auto here = fast_memory.at(i), there = slow_memory.at(i);
        CHECK((here.size != 0) + (there.size != 0) == (buffers[i].size != 0));
        if (buffers[i].size == 0) continue;
        const std::size_t memory = layout.places[i].memory;
        CHECK((memory == 0 ? here : there).size == buffers[i].size);
        const std::byte* const base = memory == 0 ? fast.bytes : slow.bytes;
        CHECK((memory == 0 ? here : there).address == base + layout.places[i].offset);
    }
}

TEST_CASE("static memories: the plan at compile time equals the plan at run time") {
    const auto made = allot::plan_memories(problem, allot::memories_at_compile_time);
    REQUIRE(made);
    CHECK(static_cast<const allot::memories_summary&>(*made) == static_cast<const allot::memories_summary&>(layout));
    CHECK(made->places == std::vector(layout.places.begin(), layout.places.end()));
    CHECK(made->needs == std::vector(layout.needs.begin(), layout.needs.end()));
}

namespace {

/// A random problem with all constraints, generated and planned in constant expressions.
template <std::uint64_t Seed, std::uint64_t Effort>
struct compiled {
    static constexpr std::size_t count = 1 + Seed % 3;  // number of memories
    static constexpr problems::small_problem small = [] {
        problems::small_problem made = problems::everything(Seed);
        made.reserved_count = 0;
        return made;
    }();
    static constexpr std::array<plan_memory, count> memories = [] {
        problems::random draw{Seed + 100};
        std::array<plan_memory, count> made{};
        for (std::size_t m = 0; m != count; ++m)
            made[m] = {.capacity = 3 + draw(12), .align = 1u + draw(2), .cost = m * m};
        if (Seed % 4 == 0) made.back().capacity = plan_memory{}.capacity;
        return made;
    }();
    static constexpr std::array<std::uint64_t, 6> uses = [] {
        problems::random draw{Seed + 200};
        std::array<std::uint64_t, 6> made{};
        for (std::uint64_t& each : made) each = draw(5);
        return made;
    }();
    static constexpr std::array<std::uint64_t, 6> allowed = [] {
        problems::random draw{Seed + 300};
        std::array<std::uint64_t, 6> made{};
        for (std::uint64_t& each : made) each = draw(2) == 0 ? 7 : 1 + draw(7);
        for (const allot::plan_fixed& each : small.view().fixed) made[each.buffer] = 1;
        return made;
    }();
    static constexpr allot::memories_problem given{.buffers = small.view(),
                                                   .memories = memories,
                                                   .uses = std::span{uses}.first(small.buffer_count),
                                                   .allowed = std::span{allowed}.first(small.buffer_count)};
    static constexpr allot::memories_options options{.effort = Effort, .remember = 16};
    struct answer {
        allot::memories_summary summary{};
        allot::plan_error error{};
        std::array<allot::memory_place, small.buffer_count> places{};
        std::array<allot::memory_needs, count> needs{};
    };
    static constexpr answer made = [] {
        answer all;
        allot::plan_storage<allot::space_of_memories(given, options)> workspace;
        const auto summary = allot::plan_memories_into(given, all.places, all.needs, workspace, options);
        if (summary) all.summary = *summary;
        else all.error = summary.error();
        return all;
    }();

    static void check() {
        CAPTURE(Seed);
        const auto again = allot::plan_memories(given, options);
        REQUIRE(static_cast<bool>(again) == (made.error.reason == allot::plan_refusal::none));
        if (!again) {
            CHECK(again.error() == made.error);
            return;
        }
        CHECK(static_cast<const allot::memories_summary&>(*again) == made.summary);
        CHECK(again->places == std::vector(made.places.begin(), made.places.end()));
        CHECK(again->needs == std::vector(made.needs.begin(), made.needs.end()));
    }
};

}  // namespace

TEST_CASE("static memories: plans with all constraints are equal at compile time and run time") {
    [&]<std::uint64_t... Seed>(std::integer_sequence<std::uint64_t, Seed...>) {
        (compiled<Seed, 0>::check(), ...);
        (compiled<Seed, 60>::check(), ...);  // tries each choice of memories
    }(std::make_integer_sequence<std::uint64_t, 12>{});
}

TEST_CASE("static memories: the reported shortfall is minimal") {
    static constexpr plan_memory none[] = {{.capacity = 64}, {.capacity = 0, .cost = 1}},
                                 most[] = {{.capacity = 64}, {.capacity = 39, .cost = 1}},
                                 some[] = {{.capacity = 64}, {.capacity = 17, .cost = 1}};
    static constexpr allot::memories_problem without{.buffers = {.buffers = buffers}, .memories = none},
        with_most{.buffers = {.buffers = buffers}, .memories = most},
        with_some{.buffers = {.buffers = buffers}, .memories = some};
    static_assert(allot::detail::missing_bytes<without, allot::memories_at_compile_time>() == 40);
    static_assert(allot::detail::missing_bytes<with_most, allot::memories_at_compile_time>() == 1);
    CHECK(allot::detail::missing_bytes<with_some, allot::memories_at_compile_time>() == 23);
}

TEST_CASE("static_buffer: an object in a linker section is acquired once with its own size and alignment") {
    allot::host::static_buffer<fast> device;
    CHECK(device.capacity() == sizeof(fast));
    CHECK_FALSE(device.acquire({.size = sizeof(fast) + 1, .align = 1}));
    CHECK_FALSE(device.acquire({.size = 1, .align = 32}));
    const auto all = device.acquire({.size = 1, .align = 16});
    REQUIRE(all);
    CHECK(all->base == &fast);
    CHECK(all->size == sizeof(fast));
    CHECK_FALSE(device.acquire({.size = 1, .align = 1}));
    device.release(*all);
    CHECK(device.acquire({.size = 1, .align = 1}));
}

namespace {

// The second buffer has many uses but leaves memory 0 to the first buffer, which may live only there.
constexpr plan_buffer rivals[] = {{.size = 5, .live = {0, 2}}, {.size = 8, .live = {0, 2}}};
constexpr plan_memory small_and_unbounded[] = {{.capacity = 8}, {.cost = 1}};
constexpr std::uint64_t rival_uses[] = {1, 100}, first_or_any[] = {1, 3};
constexpr allot::memories_problem rivalry{
    .buffers = {.buffers = rivals}, .memories = small_and_unbounded, .uses = rival_uses, .allowed = first_or_any};
constexpr auto peace = allot::plan_memories<rivalry>();
static_assert(peace.unplaced == 0 && peace.places[0].memory == 0 && peace.places[1].memory == 1 && peace.cost == 800);

}  // namespace

TEST_CASE("static memories: an unplaced buffer costs more than any memory") {
    for (const std::uint64_t effort : {0u, 100u}) {
        const auto made = allot::plan_memories(rivalry, {.effort = effort});
        REQUIRE(made);
        CHECK(made->unplaced == 0);
        CHECK(made->cost == 800);
    }
}
