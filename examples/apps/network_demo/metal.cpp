// SPDX-License-Identifier: BSL-1.0
#define NS_PRIVATE_IMPLEMENTATION  // one file of a program defines Metal-cpp's functions
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include "metal_memory.hpp"
#include "optional_memories.hpp"

namespace demo {

namespace {
/// The device lives until the end of the program.
MTL::Device* system_device() {
    static MTL::Device* const device = MTL::CreateSystemDefaultDevice();
    return device;
}
}  // namespace

ran run_in_metal(const network& net, tally& counts, const progress_shown& show) {
    metal_memory<MTL::Device, system_device> memory{net, counts};
    return run_in(net, memory, show);
}

}  // namespace demo
