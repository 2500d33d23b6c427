// layout, extent, block, region, result and diagnosis: small values that are usable in constant expressions.
#include "../../texts.hpp"

#include <allot/core/block.hpp>
#include <allot/core/diagnosis.hpp>
#include <allot/core/result.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

namespace {

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

// ── layout ──
static_assert(!allot::layout{}.is_valid() && allot::layout{}.align == alignof(std::max_align_t));
static_assert(allot::layout{1, 1}.is_valid() && allot::layout{most, most / 2 + 1}.is_valid());
static_assert(!allot::layout{0, 1}.is_valid() && !allot::layout{1, 0}.is_valid() && !allot::layout{1, 3}.is_valid());
static_assert(allot::basic_layout<std::uint8_t>{255, 128}.is_valid());
static_assert(allot::layout_of<double> == allot::layout{sizeof(double), alignof(double)});
struct alignas(64) wide {
    char bytes[65];
};
static_assert(allot::layout_of<wide> == allot::layout{128, 64});

// ── extent ──
using allot::extent;
static_assert(extent{10, 20}.contains({10, 20}) && extent{10, 20}.contains({29, 1}) &&
              extent{10, 20}.contains({10, 0}));
static_assert(extent{10, 20}.contains({30, 0}));  // an empty extent at the end
static_assert(!extent{10, 20}.contains({31, 0}) && !extent{10, 20}.contains({9, 1}) &&
              !extent{10, 20}.contains({9, 30}));
static_assert(!extent{10, 20}.contains({29, 2}) && !extent{10, 20}.contains({10, 21}) &&
              !extent{10, 20}.contains({0, 0}));
static_assert(!extent{10, 20}.contains({29, most}) && !extent{10, 20}.contains({most, 1}));
static_assert(!extent{10, 20}.contains({11, most - 10}));  // its end wraps to 0
static_assert(!extent{10, 20}.contains({20, most - 4}));   // its end wraps to 15
static_assert(extent{0, most}.contains({0, most}) && extent{0, most}.contains({most, 0}));
static_assert(!extent{0, most}.contains({1, most}) && extent{1, most - 1}.contains({most - 1, 1}));
static_assert(extent{most, 0}.contains({most, 0}) && !extent{most, 0}.contains({most, 1}));
static_assert(extent{5, 7}.end() == 12 && extent{5, most - 5}.end() == most);
static_assert(!extent{} && !extent{7, 0} && extent{0, 1});
using byte_extent = allot::basic_extent<std::uint8_t>;
static_assert(byte_extent{200, 55}.contains({254, 1}) && !byte_extent{200, 55}.contains({254, 2}));
static_assert(!byte_extent{200, 20}.contains({210, 250}));

// ── allocation and block: empty metadata takes no space ──
struct some_strategy;
using free_metadata = allot::no_metadata<some_strategy>;
static_assert(sizeof(allot::basic_allocation<std::size_t, free_metadata>) == sizeof(extent));
static_assert(sizeof(allot::block<void*, free_metadata>) == sizeof(void*) + sizeof(std::size_t));
static_assert(sizeof(allot::block<void*, std::uint32_t>) == 3 * sizeof(void*));
static_assert(std::is_trivially_copyable_v<allot::block<void*, free_metadata>>);
static_assert(!allot::block<void*, free_metadata>{} && allot::block<void*, free_metadata>{nullptr, 1, {}});
static_assert(allot::block<int, int>{1, 2, 3} == allot::block<int, int>{1, 2, 3});
static_assert(allot::block<int, int>{1, 2, 3} != allot::block<int, int>{1, 2, 4});
static_assert(!allot::region<void*>{} && allot::region<int>{0, 1, 1} && allot::region<int>{}.align == 1);

// ── result ──
using number = allot::result<int, allot::refusal>;
constexpr number value = 7;
constexpr number reason = number::failure(allot::refusal::exhausted);
static_assert(value && *value == 7 && value.value() == 7);
static_assert(!reason && reason.error() == allot::refusal::exhausted);
constexpr allot::result<int, int> same_types = allot::result<int, int>::failure(3);  // an error is not a value
static_assert(!same_types && same_types.error() == 3);
static_assert(allot::result<int, int>{3} && *allot::result<int, int>{3} == 3);
constexpr allot::result<extent, int> pointed = extent{3, 4};
static_assert(pointed->size == 4);
static_assert(std::is_trivially_copyable_v<number>);
static_assert(!std::is_convertible_v<number, bool>);

// ── diagnosis ──
static_assert(allot::invalidity(allot::layout{0, 3}) == allot::refusal::empty_layout);
static_assert(allot::invalidity(allot::layout{1, 3}) == allot::refusal::bad_alignment);
static_assert(allot::invalidity(allot::layout{1, 0}) == allot::refusal::bad_alignment);
static_assert(allot::invalidity(allot::layout{most, most / 2 + 1}) == allot::refusal::none);

}  // namespace

TEST_CASE("result: holds a value or an error") {
    CHECK(value);
    CHECK(*value == 7);
    CHECK_FALSE(reason);
    CHECK(reason.error() == allot::refusal::exhausted);
}

TEST_CASE("diagnosis: every reason has its own text") {
    texts::check_distinct_up_to(allot::refusal::pending);
    CHECK(std::string_view{allot::diagnosis{allot::refusal::exhausted}.what()} == to_string(allot::refusal::exhausted));
}
