// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/metal. Needs Metal-cpp.
#pragma once

#include <allot/version.hpp>

#include <allot/metal/memory.hpp>
#include <allot/metal/tensor.hpp>
