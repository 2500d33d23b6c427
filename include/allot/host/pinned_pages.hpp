// SPDX-License-Identifier: BSL-1.0
// pinned_pages: pages that are locked in memory (Linux), so that a device or a real-time thread never waits for paging.
//
//     allot::arena<allot::host::pinned_pages, allot::best_fit<>> memory{{}, 1_MiB};
//     if (memory.size() == 0) report(memory.diagnose({.size = 1}).device_error, allot::host::pinned_pages::limit());
//
//     acquire ──► mmap ──► mlock ──► region            release ──► munmap, which unlocks
//                            └──► errno, and nothing stays mapped
//
// System guarantees (mlock(2), getrlimit(2); kernel documentation, "Unevictable LRU Infrastructure"): when `mlock`
// returns, every page is in memory, and it is never swapped out. `mlock` fails with ENOMEM above RLIMIT_MEMLOCK, with
// EPERM if that limit is 0, and with EAGAIN if some pages cannot be locked. CAP_IPC_LOCK lifts the limit.
// Limits of the guarantee: the kernel may still move a page to another frame, so its physical address can change (see
// `contiguous_pages`). A child of fork(2) does not inherit the lock.
//
// When to use: for buffers of real-time threads, and for secrets that must not reach the swap.
// When not to use: for memory that a driver must pin. CUDA and HIP have their own devices for pinned memory. For fixed
// physical addresses, use `contiguous_pages`.
// Complexity: a few system calls for each region. They touch every page.
// Memory: sizes are rounded up to whole pages. No state.
// Thread safety: concurrent calls are safe, because the system calls are.
#pragma once

#include <allot/host/pages.hpp>

#include <sys/resource.h>

namespace allot {
inline namespace v1 {
namespace host {

/// Device that maps and locks pages. It is a distinct type, so that an allocator releases locked pages to the device
/// that locked them. DLPack has numbers only for drivers' pinned memory, so the device type is that of pages.
class pinned_pages : public traits_of<pages<>> {
public:
    using error = int;  ///< An `errno` value.

    /// Maps zeroed pages and locks all of them in memory. Fails with an `errno` value of `pages` or mlock(2).
    [[nodiscard]] acquired<pinned_pages> acquire(layout wanted) noexcept {
        const acquired<pages<>> mapped = pages<>{}.acquire(wanted);
        if (!mapped) return acquired<pinned_pages>::failure(mapped.error());
        if (::mlock(mapped->base, mapped->size) != 0) {
            const int reason = errno;
            pages<>{}.release(*mapped);
            return acquired<pinned_pages>::failure(reason);
        }
        return *mapped;
    }
    /// Unmaps the pages of a region, which unlocks them.
    void release(region<void*> held) noexcept { pages<>{}.release(held); }

    /// Returns the number of bytes that this process may lock (RLIMIT_MEMLOCK). Returns the largest `std::size_t` if
    /// there is no limit, and 0 if the limit cannot be read. A process with CAP_IPC_LOCK may lock more.
    [[nodiscard]] static std::size_t limit() noexcept {
        constexpr auto most = std::numeric_limits<std::size_t>::max();
        rlimit limits{};
        if (::getrlimit(RLIMIT_MEMLOCK, &limits) != 0) return 0;
        return limits.rlim_cur < most ? static_cast<std::size_t>(limits.rlim_cur) : most;
    }
};

static_assert(device<pinned_pages> && !bounded_device<pinned_pages>);

}  // namespace host
}  // namespace v1
}  // namespace allot
