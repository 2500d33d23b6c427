// The laws of a strategy on its own: see laws.hpp, and subjects.hpp for the table.
#include "subjects.hpp"

TEST_CASE("strategies on their own keep the laws") {
    CHECK(std::size(laws::offsets_alone<>) == 28);
    laws::judge(laws::offsets_alone<>);
}
