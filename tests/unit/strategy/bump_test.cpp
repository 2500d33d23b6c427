#include <allot/strategy/bump.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <utility>

namespace {

template <allot::direction Direction>
using bump = allot::bump<allot::bump_options{.direction = Direction}>;

template <class Bump>
constexpr bool hands_out_and_rolls_back() {
    Bump strategy;
    if (strategy.allocate({1, 1}) || !strategy.insert({100, 64}) || strategy.insert({200, 64})) return false;
    const auto first = strategy.allocate({10, 4});
    const auto mark = strategy.mark();
    const auto second = strategy.allocate({20, 8});
    if (!first || !second || second.where.offset % 8 != 0 || strategy.allocate({64, 1})) return false;
    strategy.rollback(mark);
    if (strategy.allocate({20, 8}).where != second.where) return false;
    strategy.reset();
    return strategy.allocate({64, 1}).where == allot::extent{100, 64} && !strategy.allocate({1, 1});
}
static_assert(hands_out_and_rolls_back<bump<allot::direction::up>>());
static_assert(hands_out_and_rolls_back<bump<allot::direction::down>>());

}  // namespace

TEST_CASE("bump: the direction selects the end of the first block") {
    bump<allot::direction::up> up;
    bump<allot::direction::down> down;
    REQUIRE(up.insert({1000, 100}));
    REQUIRE(down.insert({1000, 100}));
    CHECK(up.allocate({10, 1}).where == allot::extent{1000, 10});
    CHECK(down.allocate({10, 1}).where == allot::extent{1090, 10});
    CHECK(up.allocate({10, 16}).where == allot::extent{1024, 10});
    CHECK(down.allocate({10, 16}).where == allot::extent{1072, 10});
}

TEST_CASE("bump: a request that would wrap fails at the top of a 32-bit range and at the largest alignment") {
    allot::bump<allot::bump_options{.direction = allot::direction::up}, std::uint32_t> up;
    allot::bump<allot::bump_options{.direction = allot::direction::down}, std::uint32_t> down;
    CHECK_FALSE(up.insert({0xFFFF'FFF0U, 0x20}));
    REQUIRE(up.insert({0xFFFF'FF00U, 0xFF}));
    REQUIRE(down.insert({0xFFFF'FF00U, 0xFF}));
    CHECK_FALSE(up.allocate({1, 0x8000'0000U}));
    CHECK_FALSE(down.allocate({1, 0x8000'0000U}));
    CHECK_FALSE(up.allocate({0xFFFF'FFFFU, 1}));
    CHECK_FALSE(down.allocate({0xFFFF'FFFFU, 1}));
    CHECK(up.allocate({0xFF, 1}));
    CHECK(down.allocate({0xFF, 1}));
}

namespace {

/// Allocates after a first block of `first` bytes, if that is not 0, and compares the result with sums of larger
/// integers.
template <class Bump>
bool allocates_as_documented(bool up, unsigned offset, unsigned size, unsigned first, unsigned wanted, unsigned align) {
    Bump strategy;
    const auto narrow = [](unsigned value) { return static_cast<std::uint8_t>(value); };
    if (!strategy.insert({narrow(offset), narrow(size)})) return false;
    if (first != 0 && !strategy.allocate({narrow(first), 1})) return false;
    const auto got = strategy.allocate({narrow(wanted), narrow(align)});
    const unsigned begin = up ? offset + first : offset, end = up ? offset + size : offset + size - first;
    if (wanted == 0 || !std::has_single_bit(align) || wanted > end - begin) return !got;
    const unsigned at = up ? (begin + align - 1) / align * align : (end - wanted) / align * align;
    if (at < begin || at + wanted > end) return !got;
    return got.where.offset == at && got.where.size == wanted;
}

}  // namespace

TEST_CASE("bump: with offsets of 8 bits, each size and alignment gives the documented block or none") {
    using allot::direction;
    unsigned wrong = 0;
    for (const auto& managed : {std::pair{0U, 255U}, {0U, 40U}, {1U, 254U}, {64U, 191U}, {200U, 50U}}) {
        for (const unsigned first : {0U, 1U, 39U}) {
            for (unsigned wanted = 0; wanted != 256; ++wanted) {
                for (unsigned align = 0; align != 256; ++align) {
                    const auto right = [&]<allot::bump_options Options>() {
                        return allocates_as_documented<allot::bump<Options, std::uint8_t>>(
                            Options.direction == direction::up, managed.first, managed.second, first, wanted, align);
                    };
                    wrong += right.template operator()<allot::bump_options{.prefer_size = false}>() ? 0 : 1;
                    wrong += right.template operator()<allot::bump_options{.prefer_size = true}>() ? 0 : 1;
                    wrong += right.template operator()<allot::bump_options{.direction = direction::up}>() ? 0 : 1;
                }
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("bump: bytes beyond limit_align are not used and every alignment is satisfied") {
    allot::bump<allot::bump_options{.direction = allot::direction::up, .limit_align = 16}> up;
    allot::bump<allot::bump_options{.direction = allot::direction::down, .limit_align = 16}> down;
    CHECK_FALSE(up.insert({17, 14}));
    CHECK_FALSE(down.insert({17, 14}));
    CHECK_FALSE(up.insert({32, 15}));
    CHECK_FALSE(down.insert({17, 15}));
    REQUIRE(up.insert({84, 107}));
    REQUIRE(down.insert({3, 113}));
    CHECK(up.diagnose({1, 1}).largest_hole == 92);     // [84, 176)
    CHECK(down.diagnose({1, 1}).largest_hole == 100);  // [16, 116)
    CHECK(up.resize_extent({84, 107}, 92));
    CHECK(up.resize_extent({84, 92}, 93));
    CHECK(up.resize_extent({84, 93}, 92));
    CHECK(up.size_for({84, 92}, {93, 1}) == 108);
    CHECK(up.size_for({84, 92}, {92, 4}) == 92);
    CHECK(up.size_for({84, 92}, {100, 64}) == 156);  // [128, 228), and the end at 240
    for (std::size_t align = 1; align != 64; align *= 2) {
        up.reset();
        down.reset();
        CHECK(up.allocate({1, 1}));
        CHECK(up.allocate({10, align}).where == allot::extent{allot::align_up(std::size_t{85}, align), 10});
        CHECK(down.allocate({10, align}).where == allot::extent{allot::align_down(std::size_t{106}, align), 10});
    }
    up.reset();
    down.reset();
    CHECK_FALSE(up.allocate({1, 128 * 2}));  // would be at 256, after the end
    CHECK_FALSE(down.allocate({1, 128}));    // would be at 0, before the start
    CHECK_FALSE(up.allocate({49, 128}));
    CHECK(up.allocate({48, 128}).where == allot::extent{128, 48});
    CHECK(down.allocate({52, 64}).where == allot::extent{64, 52});
}

TEST_CASE("bump: diagnose reports the remaining bytes") {
    bump<allot::direction::down> strategy;
    REQUIRE(strategy.insert({0, 100}));
    REQUIRE(strategy.allocate({40, 1}));
    CHECK(strategy.diagnose({60, 1}) == allot::diagnosis{allot::refusal::none, 60});
    CHECK(strategy.diagnose({61, 1}) == allot::diagnosis{allot::refusal::exhausted, 60});
    REQUIRE(strategy.allocate({1, 1}));
    CHECK(strategy.diagnose({0, 1}).reason == allot::refusal::empty_layout);
    CHECK(strategy.diagnose({1, 3}).reason == allot::refusal::bad_alignment);
}

TEST_CASE("bump: resize_extent shrinks to the allocated bytes and no further") {
    bump<allot::direction::up> strategy;
    REQUIRE(strategy.insert({7, 100}));
    REQUIRE(strategy.allocate({33, 1}));
    CHECK(strategy.least_size({7, 100}) == 33);
    CHECK_FALSE(strategy.resize_extent({7, 100}, 32));
    CHECK(strategy.resize_extent({7, 100}, 33));
    CHECK_FALSE(strategy.allocate({1, 1}));
    CHECK(strategy.resize_extent({7, 33}, 40));
    CHECK(strategy.allocate({7, 1}).where == allot::extent{40, 7});
}
