// SPDX-License-Identifier: BSL-1.0
#include "opencl_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

int run_in_opencl(const std::vector<std::string>& paths) { return run<opencl_memory>(paths); }

}  // namespace vm
