// An OpenCL buffer is a cl_mem and an offset, and this arena has pointers.
// refused: allot: opencl::make_buffer needs blocks of OpenCL buffers: use an arena or a naive over opencl::buffer
#define CL_HPP_MINIMUM_OPENCL_VERSION 200
#define CL_HPP_TARGET_OPENCL_VERSION 300
#include <allot/allot.hpp>
#include <allot/opencl/unique_buffer.hpp>

int main() {
#ifdef MISUSE
    allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 4096};
#else
    allot::naive<allot::opencl::buffer> memory{{cl::Context{}, cl::Device{}}};
#endif
    return allot::opencl::make_buffer(memory, 64) ? 1 : 0;
}
