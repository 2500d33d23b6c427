// The smallest extents of strategies without records.
#include <allot/allot.hpp>

#include <doctest/doctest.h>

#include <limits>

TEST_CASE_TEMPLATE("adjacent blocks: the extent of one block has its size, also next to the limit of offsets", Strategy,
                   allot::bump<>, allot::ring<>, allot::stack<>) {
    constexpr std::size_t size = std::numeric_limits<std::size_t>::max() - 5;
    CHECK(Strategy::bytes_for(1, {size, 64}) == size);
    CHECK(Strategy::bytes_for(2, {size, 1}) == 0);
    Strategy memory;
    REQUIRE(memory.insert({0, size}));
    CHECK(memory.allocate({size, 64}).where.offset == 0);
}
