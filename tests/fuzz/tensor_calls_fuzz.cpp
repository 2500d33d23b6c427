// Fuzz target: tensor calls, compared with an oracle (tensor_calls.hpp). tests/unit/tensor/random_calls_test.cpp runs
// the same calls without libFuzzer.
#include "tensor_calls.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
    fuzz::tensor_calls{{bytes, size}}.play();
    return 0;
}
