// SPDX-License-Identifier: BSL-1.0
// virtual_memory: a range of addresses that is reserved at once, and pages that are mapped in it on demand (Linux). Blocks
// never move, however much the arena grows.
//
//     using memory = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     memory arena{allot::host::virtual_memory{64_GiB}};                  // of addresses; memory comes later
//     memory other{allot::host::virtual_memory::up_to(64_GiB)};           // less where a process may not have so many
//
//     reserved   │ mapped: region │        no access         │
//                └─ base          └─ the end, up and down with resize
//
// A region's pages are readable and writable; behind its end any touch is a fault. Shrinking gives the pages back to the
// system, so that they read as zero when they are mapped again. Each region reserves a range of its own. The system may
// promise more pages than it has (overcommit); then it is the first touch that fails, and not `resize`.
//
// Complexity: a system call for each acquire, resize and release. Memory: page tables for what was touched. Thread
// safety: that of the system calls; there is no state.
// Source: mmap(2), mprotect(2), madvise(2).
#pragma once

#include <allot/address/raw_pointer.hpp>
#include <allot/core/device.hpp>
#include <allot/core/literals.hpp>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {

class virtual_memory {
public:
    using address_model = raw_pointer;
    using error = int;  // errno
    static constexpr bool host_accessible = true;
    static constexpr offset_use offsets = offset_use::arithmetic;
    static constexpr std::size_t min_align = 4096;
    static constexpr std::size_t granularity = 64_KiB;  // a multiple of every page size that Linux uses
    static constexpr dl_device_type dl_device = dl_device_type::cpu;

    /// `reserve` bytes of addresses for each region, at least; rounded up to the granularity.
    explicit virtual_memory(std::size_t reserve) noexcept : reserve_{reserve} {}

    /// The same for as much as the system has addresses for now: `most`, or a half, a quarter, … of it, down to `least`.
    /// For a process whose addresses are limited (RLIMIT_AS, strict overcommit).
    [[nodiscard]] static virtual_memory up_to(std::size_t most, std::size_t least = granularity) noexcept {
        for (std::size_t reserve = most; reserve > least; reserve /= 2) {
            virtual_memory trial{reserve};
            if (const auto answer = trial.acquire({1, 1})) {
                trial.release(*answer);
                return trial;
            }
        }
        return virtual_memory{least};
    }
    /// Bytes of addresses that each region reserves.
    [[nodiscard]] std::size_t reserve() const noexcept { return reserve_; }

    /// Zeroed pages at the start of a reserved range. Refused with errno: ENOMEM also for more than is reserved, EINVAL
    /// for a layout that is none, or an alignment above a page.
    [[nodiscard]] acquired<virtual_memory> acquire(layout wanted) noexcept {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        if (!wanted.is_valid() || wanted.align > page) return acquired<virtual_memory>::failure(EINVAL);
        std::size_t range = 0;
        if (!checked_align_up(reserve_, granularity, range) ||
            !checked_align_up(wanted.size, granularity, wanted.size) || wanted.size > range)
            return acquired<virtual_memory>::failure(ENOMEM);
        void* const base = ::mmap(nullptr, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) return acquired<virtual_memory>::failure(errno);
        if (::mprotect(base, wanted.size, PROT_READ | PROT_WRITE) != 0) {
            const int reason = errno;
            ::munmap(base, range);
            return acquired<virtual_memory>::failure(reason);
        }
        return region<void*>{base, wanted.size, page};
    }

    /// Moves the end of a region; `size` is a multiple of the granularity and not 0. Refused with errno, ENOMEM for more
    /// than is reserved.
    [[nodiscard]] acquired<virtual_memory> resize(region<void*> held, std::size_t size) noexcept {
        if (size > align_up(reserve_, granularity)) return acquired<virtual_memory>::failure(ENOMEM);
        const bool grows = size > held.size;
        void* const from = raw_pointer::locate(held.base, grows ? held.size : size);
        const std::size_t changed = grows ? size - held.size : held.size - size;
        const bool done = grows ? ::mprotect(from, changed, PROT_READ | PROT_WRITE) == 0
                                : ::mprotect(from, changed, PROT_NONE) == 0 && ::madvise(from, changed, MADV_DONTNEED) == 0;
        if (!done) return acquired<virtual_memory>::failure(errno);
        held.size = size;
        return held;
    }

    void release(region<void*> held) noexcept { ::munmap(held.base, align_up(reserve_, granularity)); }

private:
    std::size_t reserve_;
};

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace host
}  // namespace v1
}  // namespace allot
