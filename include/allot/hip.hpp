// SPDX-License-Identifier: BSL-1.0
// Includes every header of allot/hip. Needs HIP's headers.
#pragma once

#include <allot/version.hpp>

#include <allot/hip/events.hpp>
#include <allot/hip/imported_memory.hpp>
#include <allot/hip/memory.hpp>
#include <allot/hip/tensor.hpp>
