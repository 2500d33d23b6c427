// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/xrt. Needs no header of XRT.
#pragma once

#include <allot/version.hpp>

#include <allot/xrt/buffers.hpp>
#include <allot/xrt/calls.hpp>
#include <allot/xrt/imported_memory.hpp>
