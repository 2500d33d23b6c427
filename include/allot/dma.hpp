// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/dma. Needs Linux's headers.
#pragma once

#include <allot/version.hpp>

#include <allot/dma/buffer.hpp>
#include <allot/dma/bus_addressed.hpp>
#include <allot/dma/contiguous_memory.hpp>
#include <allot/dma/copy.hpp>
#include <allot/dma/heap.hpp>
#include <allot/dma/imported_memory.hpp>
#include <allot/dma/u_dma_buf.hpp>
#include <allot/dma/udmabuf.hpp>
