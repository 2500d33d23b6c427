// The laws of paged and combined allocators: see laws.hpp.
#include "subjects.hpp"

namespace laws {
namespace {

/// Paged, tables in one arena and rows in another.
constexpr row paged_memory[] = {
    {"paged: best fit rows, best fit tables", make<paged_over<uneven_pages, in_band, in_band>>, false, false},
    {"paged: bump rows, bump tables", make<paged_over<even_pages, up, down>>, false, false},
    {"paged: best fit rows, bump tables", make<paged_over<even_pages, in_band, down>>, false, false},
    {"paged: bump rows, best fit tables", make<paged_over<uneven_pages, down, in_band>>, false, false},
    {"paged: pool rows, best fit tables", make<paged_over<even_pages, pool<allot::pool_store::in_band, 0>, in_band>>,
     false, false},
    {"paged: protected rows, best fit tables", make<paged_over<protected_pages, automatic, in_band>>, false, false},
    {"paged: rows of handles, best fit tables", make<paged_over<even_handles, automatic, in_band, allot::row_index<>>>,
     false, false},
    {"paged: rows of handles, 32 bits, bump tables",
     make<paged_over<even_handles, beside_narrow, up, allot::row_offset<>>>, false, false},
    {"paged: stack rows, stack tables", make<paged_over<even_pages, stack, stack>>, false, false},
};

/// Combined.
constexpr row combined_memory[] = {
    {"fallback: best fit, then best fit", make<both<in_band, in_band>>, false, false},
    {"fallback: pool, then best fit with a side table", make<both<pool<allot::pool_store::in_band, 0>, beside_growing>>,
     false, false},
    {"segregated: pool, then best fit",
     make<both<pool<allot::pool_store::in_band, 0>, in_band, in_segregated<allot::when_full::fail>>>, false, false},
    {"segregated: best fit with a side table or the next, best fit",
     make<both<beside_fixed, in_band, in_segregated<allot::when_full::next>>>, false, false},
    {"sharded: best fit and best fit", make<shards_of<uneven_pages, in_band>>, false, false},
    {"sharded: best fit with a side table, handles", make<shards_of<even_handles, automatic>>, false, false},
};

}  // namespace
}  // namespace laws

TEST_CASE("laws: paged arenas") {
    CHECK(std::size(laws::paged_memory) == 9);
    laws::judge(laws::paged_memory);
}

TEST_CASE("laws: combined allocators") {
    CHECK(std::size(laws::combined_memory) == 6);
    laws::judge(laws::combined_memory);
}
