// SPDX-License-Identifier: BSL-1.0
#include "optional_memories.hpp"
#include "staged_memory.hpp"

#include <allot/cuda/tensor.hpp>

namespace demo {

ran run_in_cuda(const network& net, tally& counts, const progress_shown& show) {
    staged_memory<allot::cuda::device_memory, allot::cuda::stream_copy> memory{net, counts};
    return run_in(net, memory, show);
}

}  // namespace demo
