// SPDX-License-Identifier: BSL-1.0
// hardening: detection of wrong uses of blocks (misuses) at run time.
//
//     allot::arena<allot::host::heap, allot::best_fit<>, allot::growth::none<>,
//                  allot::arena_options{.hardening = allot::hardening::debug}> memory{{}, 1_MiB};
//     auto block = memory.allocate({.size = 100});
//     memory.deallocate(block);
//
//     none      Nothing is stored and nothing is checked.
//     checked   Every live block has a seal behind its bytes, or a record in a table. A call that frees, resizes or
//               measures a block reports a misuse and otherwise does nothing, so that no state is corrupted, if the
//               block is foreign, already freed, of another size, or out of the order of a stack or a ring, or if a
//               record in band next to it is damaged. A rollback to a mark that is no longer valid is reported as well.
//               This header is not needed for it.
//     debug     In addition, freed bytes are overwritten where the host can access them. They are checked when they are
//               allocated again and when the arena is destroyed; a changed byte is reported. Blocks that are live when
//               the arena is destroyed are reported as well, unless the strategy never reuses a block. Reports have the
//               numbers of the calls that allocated and freed a block. Damaged records in band are compared exactly.
//
// A block of a hardened arena carries the number of its allocation. A stale copy that is freed again is therefore
// reported, even if another block of the same size has the same address. A block that is constructed from an address
// and a size has the number 0, which matches every live block there.
//
// When to use: `debug` in tests and while searching for a fault; `checked` where a crash is better than corruption.
// Include this header for `debug`, and for a hardened `naive`.
//
// When not to use: with pool_store::atomic_bitmap, because the records are not for concurrent calls.
//
// Not detected:
// - reads;
// - writes past the end of a block that reach neither a record in band nor freed bytes;
// - writes to freed bytes that hold records (in band: two words at the start of a freed block and one at its end, and
//   as much around a block that is cut from it);
// - writes to bytes that `reset` or `rollback` freed, that were free in `discard_holes`, or that were released to the
//   device;
// - over a bump, a rollback to a mark that an earlier rollback made stale, if at least as many blocks were freed since
//   the mark as the earlier rollback freed of the blocks that are older than the mark;
// - in band and over a pool, a block of an earlier arena over the same bytes;
// - a constructed block that is freed after its address was allocated again with the same size.
//
// The records of `debug` are in trees of Boost.Intrusive. A program that includes this header needs the headers of
// Boost. Without this header, an arena with `debug` or a hardened `naive` does not compile. misuse.hpp has the
// handlers.
//
// Complexity: `checked`: O(1) on average; O(live) for a call that reports a misuse; O(regions) for a block outside the
// region that the last deallocation used. `debug`: O(log live). `reset` and `rollback` visit all records of a table
// or a tree.
//
// Memory of `checked`:
// - Where the strategy keeps records in band, 8 bytes behind each live block, and no heap.
// - With a pool in one region, 8 bytes for each slot. With an index stack they are in the arena, in place of the stack.
//   Otherwise they are on the host heap, up to the highest slot that was in use, in a table that doubles.
// - Otherwise a hash table on the host heap, with slots of 16 bytes for pointers, and 24 where the strategy does not
//   list its blocks. It doubles when three quarters of its slots are in use, and does not shrink.
// Memory of `debug`: one record of about 100 bytes for every live block and for up to 64 freed blocks, and one for
// every freed block until its bytes are allocated again. If the heap has no memory for the record of a new block, the
// allocation fails.
//
// Thread safety: not synchronized.
#pragma once

#include <allot/arena/detail/live_blocks.hpp>
#include <allot/arena/misuse.hpp>
