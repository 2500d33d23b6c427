// The laws of regions that come and go: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("arenas that grow keep the laws") {
    CHECK(std::size(laws::growing_memory<>) == 32);
    laws::judge(laws::growing_memory<>);
}
