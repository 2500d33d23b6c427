// SPDX-License-Identifier: BSL-1.0
#include "shmem_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

int run_in_shmem(const std::vector<std::string>& paths) { return run<shmem_memory>(paths); }

}  // namespace vm
