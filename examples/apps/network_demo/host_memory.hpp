// SPDX-License-Identifier: BSL-1.0
// host: one storage on the heap, as large as the plan's peak, and pointers into it.
//
//     one region   │ t4 │  t0   │      t2      │ … │        every tensor at its planned offset, for as long as it lives
#pragma once

#include "storages.hpp"

#include <allot/host/heap.hpp>

namespace demo {

using host_memory = mixed_by_host<planned_places<allot::host::heap>>;

}  // namespace demo
