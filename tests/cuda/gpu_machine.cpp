#include "machine.hpp"
#include "../seen.hpp"

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
void machine::seen(const char* device) {
    cudaDeviceProp about{};
    int runtime = 0;
    REQUIRE(cudaGetDeviceProperties(&about, 0) == cudaSuccess);
    REQUIRE(cudaDriverGetVersion(&runtime) == cudaSuccess);
    const auto number = [](int of) { return std::to_string(of); };
    tests::seen(device, std::string{about.name} + ", CUDA " + number(runtime / 1000) + "." + number(runtime % 1000 / 10));
}
machine::~machine() {
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaGetLastError() == cudaSuccess);
}

}  // namespace tests
