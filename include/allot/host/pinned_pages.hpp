// SPDX-License-Identifier: BSL-1.0
// pinned_pages: pages that stay in memory (Linux): locked, so that a device or a real-time thread never waits for them.
//
//     allot::arena<allot::host::pinned_pages, allot::best_fit<>> memory{{}, 1_MiB};
//     if (memory.size() == 0) report(memory.diagnose({.size = 1}).device_error, allot::host::pinned_pages::limit());
//
//     acquire ──► mmap ──► mlock ──► region            release ──► munmap, which unlocks
//                            └──► errno, and nothing stays mapped
//
// A device type of its own: allocators over it release to it, and to no other, what they acquired from it. What the
// system promises (man pages mlock(2), getrlimit(2); kernel documentation, "Unevictable LRU Infrastructure"): every
// page is in memory when `mlock` returns and is never swapped out. Refused with ENOMEM when it would pass
// RLIMIT_MEMLOCK, with EPERM when that limit is 0, with EAGAIN when some pages could not be locked; CAP_IPC_LOCK lifts
// the limit. Not promised: the kernel may still move a page to another frame, so that its physical address is no
// constant (see contiguous_pages), and a child of fork does not inherit the lock. CUDA's pinned memory is another
// device.
//
// Complexity: a few system calls for each region, which touch every page. Memory: sizes are rounded up to whole pages.
// Thread safety: that of the system calls; there is no state.
#pragma once

#include <allot/host/pages.hpp>

#include <sys/resource.h>

namespace allot {
inline namespace v1 {
namespace host {

class pinned_pages {
public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = pages<>::min_align;
    static constexpr std::size_t granularity = pages<>::granularity;
    static constexpr dl_device_type dl_device = dl_device_type::cpu;  // DLPack numbers drivers' pinned memory only

    /// Zeroed pages, all of them in memory and locked. Refused with errno.
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
    void release(region<void*> held) noexcept { pages<>{}.release(held); }

    /// Bytes that this process may lock in all, by RLIMIT_MEMLOCK; the largest size where there is no limit. A process
    /// with CAP_IPC_LOCK may lock more.
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
