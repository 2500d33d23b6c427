#include "fake_gpu.hpp"
#include "machine.hpp"
#include "../../devices_used.hpp"

namespace tests {

machine::machine() { fake_gpu::start(); }
void machine::seen(const char* device) { seen_on_fake_driver(device); }
machine::~machine() {
    static_cast<void>(gpu::device_synchronize());
    CHECK(fake_gpu::live() == 0);
    CHECK(fake_gpu::wrong_frees() == 0);
    CHECK(gpu::get_last_error() == gpu::success);
}

}  // namespace tests
