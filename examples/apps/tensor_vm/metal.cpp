// SPDX-License-Identifier: BSL-1.0
#define NS_PRIVATE_IMPLEMENTATION  // one translation unit defines Metal-cpp's functions
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include "metal_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

namespace {
/// The program holds the device until it ends.
MTL::Device* system_device() {
    static MTL::Device* const device = MTL::CreateSystemDefaultDevice();
    return device;
}
}  // namespace

int run_in_metal(const std::vector<std::string>& paths) { return run<metal_memory<MTL::Device, system_device>>(paths); }

}  // namespace vm
