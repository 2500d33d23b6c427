// The laws of paged and combined allocators: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("paged arenas keep the laws") {
    CHECK(std::size(laws::paged_memory<>) == 9);
    laws::judge(laws::paged_memory<>);
}

TEST_CASE("combined allocators keep the laws") {
    CHECK(std::size(laws::combined_memory<>) == 2);
    laws::judge(laws::combined_memory<>);
}
