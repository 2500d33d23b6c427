// The laws of host memory: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("arenas over host memory keep the laws") {
    CHECK(std::size(laws::host_memory<>) == 30);
    laws::judge(laws::host_memory<>);
}
