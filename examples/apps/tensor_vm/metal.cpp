// SPDX-License-Identifier: BSL-1.0
#define NS_PRIVATE_IMPLEMENTATION  // one file of a program has Metal-cpp's own functions
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include "metal_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

namespace {
/// The device is the program's to the end.
MTL::Device* system_device() {
    static MTL::Device* const device = MTL::CreateSystemDefaultDevice();
    return device;
}
}  // namespace

int run_in_metal(const std::vector<std::string>& paths) { return run<metal_memory<MTL::Device, system_device>>(paths); }

}  // namespace vm
