#include "fake_cudart.hpp"
#include "machine.hpp"
#include "../seen.hpp"

namespace tests {

machine::machine() { fake_cuda::start(); }
void machine::seen(const char* device) { seen_on_fake_driver(device); }
machine::~machine() {
    static_cast<void>(cudaDeviceSynchronize());
    CHECK(fake_cuda::live() == 0);
    CHECK(fake_cuda::wrong_frees() == 0);
    CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace tests
