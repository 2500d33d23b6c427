// SPDX-License-Identifier: BSL-1.0
#include "mpi_memory.hpp"
#include "optional_memories.hpp"

namespace demo {

ran run_in_mpi(const network& net, tally& counts, const progress_shown& show) {
    mpi_memory memory{net, counts};
    return run_in(net, memory, show);
}

}  // namespace demo
