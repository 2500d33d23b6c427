// SPDX-License-Identifier: BSL-1.0
#include "mpi_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

int run_in_mpi(const std::vector<std::string>& paths) { return run<mpi_memory>(paths); }

}  // namespace vm
