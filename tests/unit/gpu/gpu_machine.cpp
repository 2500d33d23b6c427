#include "machine.hpp"
#include "../../devices_used.hpp"

#include <cstdio>
#include <cstdlib>

namespace tests {

machine::machine() {
    int devices = 0;
    const gpu::error status = gpu::get_device_count(&devices);
    if (status == gpu::success && devices > 0) return;
    std::printf("skipped: no %s device (" VENDOR "GetDeviceCount: %d)\n", gpu::name, static_cast<int>(status));
    std::fflush(stdout);
    std::_Exit(77);
}
void machine::seen(const char* device) { tests::seen(device, gpu::name_and_version()); }
machine::~machine() {
    CHECK(gpu::device_synchronize() == gpu::success);
    CHECK(gpu::get_last_error() == gpu::success);
}

}  // namespace tests
