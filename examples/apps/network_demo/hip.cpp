// SPDX-License-Identifier: BSL-1.0
#include "optional_memories.hpp"
#include "staged_memory.hpp"

#include <allot/hip/tensor.hpp>

namespace demo {

ran run_in_hip(const network& net, tally& counts, const progress_shown& show) {
    staged_memory<allot::hip::device_memory, allot::hip::stream_copy> memory{net, counts};
    return run_in(net, memory, show);
}

}  // namespace demo
