// SPDX-License-Identifier: BSL-1.0
#include "opencl_memory.hpp"
#include "optional_memories.hpp"

namespace demo {

ran run_in_opencl(const network& net, tally& counts, const progress_shown& show) {
    static const opencl::system system;  // created once for all networks
    opencl_memory memory{net, counts, system};
    return run_in(net, memory, show);
}

}  // namespace demo
