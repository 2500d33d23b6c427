#include "fake_libcuda.hpp"
#include "virtual_memory_machine.hpp"
#include "../../devices_used.hpp"

namespace tests {

virtual_memory_machine::virtual_memory_machine() { fake_libcuda::start(); }
virtual_memory_machine::~virtual_memory_machine() {
    CHECK(fake_libcuda::held() == 0);
    CHECK(fake_libcuda::reserved() == 0);
    CHECK(fake_libcuda::wrong_calls() == 0);
}
int virtual_memory_machine::devices() const { return fake_libcuda::settings{}.devices; }
std::size_t virtual_memory_machine::left(int device) const {
    return fake_libcuda::settings{}.memory - fake_libcuda::in_use(device);
}
void virtual_memory_machine::seen(const char* device) const { seen_on_fake_driver(device); }

}  // namespace tests
