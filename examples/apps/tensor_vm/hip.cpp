// SPDX-License-Identifier: BSL-1.0
#include "gpu_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

#include <allot/hip/memory.hpp>

namespace vm {

int run_in_hip(const std::vector<std::string>& paths) { return run<gpu_memory<allot::hip::runtime>>(paths); }

}  // namespace vm
