// SPDX-License-Identifier: BSL-1.0
#include "vulkan_memory.hpp"
#include "optional_memories.hpp"
#include "run.hpp"

namespace vm {

int run_in_vulkan(const std::vector<std::string>& paths) { return run<vulkan_memory>(paths); }

}  // namespace vm
