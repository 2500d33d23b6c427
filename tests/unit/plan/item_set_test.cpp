#include <allot/plan/detail/item_set.hpp>

#include <doctest/doctest.h>

TEST_CASE("item_set: contains exactly the items whose bits are set, and none outside of its elements") {
    const std::uint64_t bits[]{0, 1ULL << 3 | 1ULL << 63, 1, 0};
    const allot::detail::item_set set{std::span{bits}.subspan(1, 2), 7};
    for (std::size_t item = 0; item != 64 * 12; ++item)
        CHECK(set.contains(item) == (item == 64 * 7 + 3 || item == 64 * 7 + 63 || item == 64 * 8));
}
