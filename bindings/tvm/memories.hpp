// memories: the memories of all devices by scope, which the allocators of the virtual machine and allot.alloc_storage
// share.
//
//     memory& window = allot_tvm::memory_in(device, "global.vtcm");
//
//     scope                                         memory
//     "", "global"                                  an arena over the heap
//     "global.vtcm"                                 an arena over a window of 256 KiB, as a Hexagon V66 has one
//     "global.texture", "…-weight", "…-nhwc"        images by shape and dtype, in heap memory without padding
//
// A program chooses another allocator or size with allot.use before the first use of the scope. Memories are never
// destroyed, because TVM keeps its allocators until the process ends.
#pragma once

#include "memory.hpp"

#include <tvm/runtime/memory/memory_manager.h>

namespace allot_tvm {

/// Returns the memory of a scope of a device, and creates it on first use. Throws a ValueError for an unknown scope.
[[nodiscard]] memory& memory_in(DLDevice device, const std::string& scope);

}  // namespace allot_tvm
