// SPDX-License-Identifier: BSL-1.0
// The allocators of allot that need no vendor SDK and no operating system. Other devices are included by name, as
// <allot/host/pages.hpp> and <allot/opencl/buffer.hpp>; so are tensors, as <allot/tensor.hpp>.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/arena.hpp>
#include <allot/arena/naive.hpp>
#include <allot/compose/cached.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/memory.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>
