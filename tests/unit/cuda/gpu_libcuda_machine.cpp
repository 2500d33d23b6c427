#include "virtual_memory_machine.hpp"
#include "../../devices_used.hpp"

#include <cstdio>
#include <cstdlib>

namespace tests {

virtual_memory_machine::virtual_memory_machine() {
    const allot::cuda::current_context first{driver, 0};
    int supported = 0;
    if (first.error() == CUDA_SUCCESS)
        static_cast<void>(
            driver.get_attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, first.device()));
    if (supported != 0) return;
    std::printf("skipped: no CUDA device with virtual memory management (%d)\n", static_cast<int>(first.error()));
    std::fflush(stdout);
    std::_Exit(77);
}
virtual_memory_machine::~virtual_memory_machine() {
    const allot::cuda::current_context first{driver, 0};
    CHECK(driver.synchronize() == CUDA_SUCCESS);  // no kernel has faulted
}
int virtual_memory_machine::devices() const {
    int count = 0;
    CHECK(find<PFN_cuDeviceGetCount_v2000>("cuDeviceGetCount")(&count) == CUDA_SUCCESS);
    return count;
}
std::size_t virtual_memory_machine::left(int device) const {
    const allot::cuda::current_context there{driver, device};
    std::size_t left = 0, total = 0;
    CHECK(find<PFN_cuMemGetInfo_v3020>("cuMemGetInfo_v2")(&left, &total) == CUDA_SUCCESS);
    return left;
}
void virtual_memory_machine::seen(const char* device) const {
    char name[256]{};
    int version = 0;
    REQUIRE(find<PFN_cuDeviceGetName_v2000>("cuDeviceGetName")(name, sizeof name, 0) == CUDA_SUCCESS);
    REQUIRE(find<PFN_cuDriverGetVersion_v2020>("cuDriverGetVersion")(&version) == CUDA_SUCCESS);
    tests::seen(device, std::string{name} + ", CUDA " + std::to_string(version / 1000) + "." +
                            std::to_string(version % 1000 / 10));
}

}  // namespace tests
