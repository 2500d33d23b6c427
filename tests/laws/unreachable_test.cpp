// The laws of memory that the host cannot touch: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("arenas over protected pages keep the laws") {
    CHECK(std::size(laws::protected_memory<>) == 10);
    laws::judge(laws::protected_memory<>);
}

TEST_CASE("arenas over handles keep the laws") {
    CHECK(std::size(laws::handle_memory<>) == 12);
    laws::judge(laws::handle_memory<>);
}
