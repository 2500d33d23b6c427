// SPDX-License-Identifier: BSL-1.0
// Includes the headers of allot/cuda. Needs the CUDA Toolkit's headers. <allot/cuda/memory_resource.hpp> and
// <allot/cuda/stream_ordered_resource.hpp> also need CCCL, and <allot/cuda/nvtx.hpp> needs NVTX. Include these separately.
#pragma once

#include <allot/cuda/events.hpp>
#include <allot/cuda/memory.hpp>
#include <allot/cuda/tensor.hpp>
#include <allot/cuda/virtual_memory.hpp>
