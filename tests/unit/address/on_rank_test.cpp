// remote_offset and ranked_row: names of bytes on other ranks, and tables whose rows are on several ranks.
#include <allot/address/on_rank.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using model = allot::remote_offset<int>;
using at = model::address;
using table = allot::pointer_table<256, allot::ranked_row<std::uint16_t, std::uint8_t>, model>;
using entry = table::entry;

constexpr at origin{{7, 0}, 64};
constexpr at row(int rank, std::size_t offset) { return {{7, rank}, offset}; }

}  // namespace

TEST_CASE("remote_offset: the same offset on another rank is another byte") {
    static_assert(model::locate(row(2, 100), 20) == row(2, 120));
    static_assert(model::position(row(2, 100)) == 100);
    static_assert(row(1, 100) != row(2, 100));
    static_assert(!model::absolute);
}

TEST_CASE("ranked_row: an entry stores rank and row, and decodes to the row") {
    static_assert(sizeof(table::value) == 4);
    for (const int rank : {0, 1, 255}) {
        for (const std::size_t number : {0U, 1U, 65535U}) {
            table::value made;
            const at wanted = row(rank, 64 + 256 * number);
            REQUIRE(entry::encode(origin, wanted, 256, made));
            CHECK(made.rank == rank);
            CHECK(made.row == number);
            CHECK(entry::decode(origin, made, 256) == wanted);
        }
    }
    // The rank of the origin has no effect.
    table::value made;
    REQUIRE(entry::encode(row(9, 64), row(3, 320), 256, made));
    CHECK(made == table::value{3, 1});
    CHECK(entry::decode(row(5, 64), made, 256) == row(3, 320));
}

TEST_CASE("ranked_row: a row that does not fit in an entry fails, and the entry is unchanged") {
    table::value kept{4, 2};
    for (const at& wrong :
         {row(-1, 64), row(256, 64), row(1, 63), row(1, 65), row(1, 0), row(1, 64 + 256 * 65536), at{{8, 1}, 64}}) {
        CHECK_FALSE(entry::encode(origin, wrong, 256, kept));
        CHECK(kept == table::value{4, 2});
    }
}

TEST_CASE("ranked_row: locate finds bytes in rows on several ranks") {
    const table::value entries[] = {{2, 3}, {0, 0}, {1, 3}};
    const allot::row_table<table> rows{entries, 3, origin};
    CHECK(table::locate(rows, 0) == row(2, 64 + 3 * 256));
    CHECK(table::locate(rows, 255) == row(2, 64 + 3 * 256 + 255));
    CHECK(table::locate(rows, 256) == row(0, 64));
    CHECK(table::locate(rows, 700) == row(1, 64 + 3 * 256 + 188));
}
