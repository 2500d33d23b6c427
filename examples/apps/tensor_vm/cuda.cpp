// SPDX-License-Identifier: BSL-1.0
#include "gpu_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

#include <allot/cuda/memory.hpp>

namespace vm {

int run_in_cuda(const std::vector<std::string>& paths) { return run<gpu_memory<allot::cuda::runtime>>(paths); }

}  // namespace vm
