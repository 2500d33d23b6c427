// The laws of host memory: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("arenas over host memory keep the laws") {
#if __has_include(<sys/mman.h>)
    CHECK(std::size(laws::host_memory<>) == 29);
#else  // there are no pages to ask a system for
    CHECK(std::size(laws::host_memory<>) == 28);
#endif
    laws::judge(laws::host_memory<>);
}
