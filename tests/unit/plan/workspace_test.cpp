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
    const std::span<const std::uint64_t, 2> fixed = constant;
    CHECK(allot::plan_array<const std::uint64_t>{fixed}.data() == constant.data());
    CHECK(allot::plan_array<const std::uint64_t>{view}.size() == 2);
}

TEST_CASE("plan_array: views an array, and no container that ends before the view") {
    std::uint32_t words[3]{7, 8, 9};
    const allot::plan_array<std::uint32_t> view = words;
    CHECK(view.data() == words);
    CHECK(view.size() == 3);
    const allot::plan_array<const std::uint32_t> constant = words;
    CHECK(constant[2] == 9);
    using numbers = allot::plan_array<std::uint32_t>;
    static_assert(!std::is_convertible_v<std::vector<std::uint32_t>, numbers>);
    static_assert(!std::is_convertible_v<std::array<std::uint32_t, 3>, numbers>);
    static_assert(std::is_convertible_v<std::span<std::uint32_t>, numbers>);
    static_assert(std::is_trivially_copyable_v<numbers>);
    // The elements have another size.
    struct base {
        int a;
    };
    struct derived : base {
        int b;
    };
    static_assert(!std::is_convertible_v<std::vector<derived>&, allot::plan_array<base>>);
    static_assert([] {
        std::uint64_t two[2]{3, 4};
        const allot::plan_array<std::uint64_t> all = two;
        for (std::uint64_t& each : all.subspan(1)) ++each;
        return two[0] == 3 && two[1] == 5;
    }());
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
