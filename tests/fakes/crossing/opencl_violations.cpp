// The record of the fake OpenCL driver. Its header and that of the fake Vulkan driver share a name, so that no file
// includes both.
#include "../opencl/driver.hpp"

namespace crossing {

void start_opencl() {
    fake::start();
    fake::rule().imports_opaque = true;
    fake::rule().device_uuid = 1;  // as Vulkan and CUDA call the same GPU
}
std::size_t opencl_violations() { return fake::book().violations.size() + fake::book().buffers; }

}  // namespace crossing
