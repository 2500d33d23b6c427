// SPDX-License-Identifier: BSL-1.0
// Includes the headers of allot/cuda. Needs the CUDA Toolkit's headers. <allot/cuda/memory_resource.hpp> and
// <allot/cuda/stream_ordered_resource.hpp> also need CCCL, and <allot/cuda/nvtx.hpp> needs NVTX. Include these
// separately.
#pragma once

#include <allot/version.hpp>

#include <allot/cuda/events.hpp>
#include <allot/cuda/imported_memory.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/tensor.hpp>
#include <allot/cuda/virtual_memory.hpp>
#if CUDA_VERSION >= 11070  // from <cuda.h>
#include <allot/cuda/exported_memory.hpp>
#endif
