// workspace: views of arrays, and the arrays of a workspace.
#include <allot/plan/workspace.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

TEST_CASE("plan_array: views a container, its first elements and its rest") {
    std::vector<std::uint32_t> numbers{1, 2, 3, 4};
    const allot::plan_array<std::uint32_t> all = numbers;
    CHECK(all.data() == numbers.data());
    CHECK(all.size() == 4);
    CHECK(all.first(3).size() == 3);
    CHECK(all.first(3).data() == numbers.data());
    CHECK(all.subspan(3).size() == 1);
    CHECK(all.subspan(3)[0] == 4);
    CHECK(all.subspan(4).empty());
    CHECK(allot::plan_array<std::uint32_t>{}.empty());
    for (std::uint32_t& each : all) each += 10;
    CHECK(numbers == std::vector<std::uint32_t>{11, 12, 13, 14});
    const std::span<std::uint32_t> span = all.first(2).as_span();
    CHECK(span.data() == numbers.data());
    CHECK(span.size() == 2);
}

TEST_CASE("plan_array: converts to a view of constant elements, and does not drop a const") {
    const std::array<std::uint64_t, 2> constant{5, 6};
    const allot::plan_array<const std::uint64_t> view = constant;
    CHECK(view[1] == 6);
    static_assert(std::is_convertible_v<allot::plan_array<std::uint64_t>, allot::plan_array<const std::uint64_t>>);
    static_assert(!std::is_convertible_v<const std::array<std::uint64_t, 2>&, allot::plan_array<std::uint64_t>>);
    static_assert(!std::is_convertible_v<allot::plan_array<const std::uint64_t>, allot::plan_array<std::uint64_t>>);
    static_assert(!std::is_convertible_v<std::vector<std::uint32_t>&, allot::plan_array<std::uint64_t>>);
}

TEST_CASE("plan_workspace: is made of arrays of the caller, from which numbers are cut") {
    std::vector<std::uint32_t> words(5);
    std::array<std::uint64_t, 3> longs{};
    allot::plan_workspace workspace{words, longs};
    CHECK(workspace.holds({.u32 = 5, .u64 = 3}));
    CHECK_FALSE(workspace.holds({.u32 = 6, .u64 = 3}));
    CHECK_FALSE(workspace.holds({.u32 = 5, .u64 = 3, .pairs = 1}));
    CHECK(workspace.cut_u32(2) == words.data());
    CHECK(workspace.cut_u32(3) == words.data() + 2);
    CHECK(workspace.cut_u64(1) == longs.data());
    CHECK(workspace.holds({.u64 = 2}));
    CHECK_FALSE(workspace.holds({.u32 = 1}));
}
