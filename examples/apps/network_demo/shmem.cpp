// SPDX-License-Identifier: BSL-1.0
#include "shmem_memory.hpp"
#include "optional_memories.hpp"

namespace demo {

ran run_in_shmem(const network& net, tally& counts, const progress_shown& show) {
    shmem_memory memory{net, counts};
    return run_in(net, memory, show);
}

}  // namespace demo
