// SPDX-License-Identifier: BSL-1.0
// allot: includes the allocators that need neither a vendor SDK nor an operating system.
//
//     allot::arena<allot::host::heap, allot::best_fit<>> memory{{}, 1_MiB};
//     auto block = memory.allocate({.size = 4096, .align = 64});
//     memory.deallocate(block);
//
// When to use: in most programs. Include other devices by their own headers, the tensor layer by <allot/tensor.hpp>,
// the planner by <allot/plan.hpp>, and what needs Boost by <allot/arena/hardening.hpp> and
// <allot/compose/recorded.hpp>.
// When not to use: where compile time matters. Include the headers of the used parts instead.
//
// Complexity, memory and thread safety: see the included headers.
#pragma once

#include <allot/version.hpp>

#include <allot/address/handle_offset.hpp>
#include <allot/address/pointer_table.hpp>
#include <allot/address/raw_pointer.hpp>
#include <allot/arena/arena.hpp>
#include <allot/arena/deduction.hpp>
#include <allot/arena/naive.hpp>
#include <allot/compose/any_allocator.hpp>
#include <allot/compose/block_cache.hpp>
#include <allot/compose/cached.hpp>
#include <allot/compose/counted.hpp>
#include <allot/compose/failing.hpp>
#include <allot/compose/fallback.hpp>
#include <allot/compose/guarded.hpp>
#include <allot/compose/indexed.hpp>
#include <allot/compose/limited.hpp>
#include <allot/compose/observed.hpp>
#include <allot/compose/on_queue.hpp>
#include <allot/compose/ordered.hpp>
#include <allot/compose/paged.hpp>
#include <allot/compose/per_thread.hpp>
#include <allot/compose/quarantined.hpp>
#include <allot/compose/queue_id.hpp>
#include <allot/compose/retrying.hpp>
#include <allot/compose/segregated.hpp>
#include <allot/compose/separate.hpp>
#include <allot/compose/sharded.hpp>
#include <allot/compose/synchronized.hpp>
#include <allot/compose/tagged.hpp>
#include <allot/core/literals.hpp>
#include <allot/host/buffer.hpp>
#include <allot/host/heap.hpp>
#include <allot/host/static_storage.hpp>
#include <allot/host/tightly_coupled.hpp>
#include <allot/strategy/best_fit.hpp>
#include <allot/strategy/bump.hpp>
#include <allot/strategy/deferred.hpp>
#include <allot/strategy/page_tree.hpp>
#include <allot/strategy/pool.hpp>
#include <allot/strategy/ring.hpp>
#include <allot/strategy/stack.hpp>
