// The allocators of allot that need no vendor SDK and no operating system. Other devices are included by name, as
// <allot/device/pages.hpp> and <allot/device/opencl.hpp>; so are tensors, as <allot/tensor.hpp>.
#pragma once

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/core/literals.hpp>
#include <allot/device/cached.hpp>
#include <allot/device/host.hpp>
#include <allot/device/tightly_coupled.hpp>
#include <allot/naive.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>
