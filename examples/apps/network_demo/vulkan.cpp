// SPDX-License-Identifier: BSL-1.0
#include "vulkan_memory.hpp"
#include "optional_memories.hpp"

namespace demo {

ran run_in_vulkan(const network& net, tally& counts, const progress_shown& show) {
    static const vulkan::system system;  // created once for all networks
    vulkan_memory memory{net, counts, system};
    return run_in(net, memory, show);
}

}  // namespace demo
