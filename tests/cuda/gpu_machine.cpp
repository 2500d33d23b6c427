#include "machine.hpp"

#include <cstdio>
#include <cstdlib>

namespace tests {

machine::machine() {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) return;
    std::printf("skipped: no CUDA device (cudaGetDeviceCount: %d)\n", static_cast<int>(status));
    std::fflush(stdout);
    std::_Exit(77);
}
machine::~machine() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace tests
