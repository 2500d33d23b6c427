// Random tensor calls, compared with the oracle of tests/fuzz. ALLOT_LONG=1 runs ten times as many.
#include "../../fuzz/tensor_calls.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

TEST_CASE("tensors: random calls return the predicted results, and live bytes are unchanged") {
    const char* const set = std::getenv("ALLOT_LONG");
    const unsigned games = set != nullptr && *set != '\0' && *set != '0' ? 20000 : 2000;
    for (unsigned seed = 1; seed <= games; ++seed) {
        std::minstd_rand random{seed};
        std::vector<unsigned char> input(50 + random() % 1000);
        for (unsigned char& byte : input) byte = static_cast<unsigned char>(random() >> 8);
        fuzz::tensor_calls{input}.play();
    }
}
