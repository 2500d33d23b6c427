// SPDX-License-Identifier: BSL-1.0
// virtual_memory: reserved addresses whose pages are mapped on demand (Linux). Growth never moves a block.
//
//     using memory = allot::arena<allot::host::virtual_memory, allot::best_fit<>, allot::growth::contiguous<>>;
//     memory arena{allot::host::virtual_memory{64_GiB}};                  // reserves addresses, not memory
//     memory other{allot::host::virtual_memory::up_to(64_GiB)};           // fewer if the process has a limit
//
//     reserved   │ mapped: region │        no access         │
//                └─ base          └─ the end moves with resize
//
// The pages of a region are readable and writable. Any access behind its end is a fault. Shrinking returns pages to the
// system, and they read as zero when they are mapped again. Each region reserves its own range. Linux may commit more
// pages than it has (overcommit). In that case the first access fails instead of `resize`.
//
// When to use: for one contiguous arena that grows to an unknown size and keeps every address.
// When not to use: on 32-bit hosts or under a small RLIMIT_AS, where addresses are scarce; for alignments above a page.
// Complexity: one or two system calls for each acquire, resize, and release.
// Memory: page tables for touched pages. The object stores one size.
// Thread safety: concurrent calls are safe for different regions, because the system calls are and the object does not
// change.
// Sources: mmap(2), mprotect(2), madvise(2).
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

/// Device whose regions grow and shrink at their end.
class virtual_memory : public pointer_memory_traits<virtual_memory> {
public:
    using error = int;                              ///< An `errno` value.
    static constexpr std::size_t min_align = 4096;  ///< Minimum alignment of a region, in bytes.
    /// Region sizes are multiples of this, in bytes: a multiple of every page size that Linux uses.
    static constexpr std::size_t granularity = 64_KiB;
    static constexpr bool host_written = true;  ///< Only instructions of this program write the bytes.

    /// Reserves at least `reserve` bytes of addresses for each region. The size is rounded up to the granularity.
    explicit virtual_memory(std::size_t reserve) noexcept : reserve_{reserve} {}

    /// Returns a device that reserves as many addresses as the system currently allows: `most`, or a half, a quarter, …
    /// of it, down to `least`. For processes with limited addresses (RLIMIT_AS, strict overcommit).
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
    /// Returns the number of bytes of addresses that each region reserves.
    [[nodiscard]] std::size_t reserve() const noexcept { return reserve_; }

    /// Reserves a range and maps zeroed pages at its start. Fails with an `errno` value: EINVAL for an invalid layout
    /// or an alignment above a page; ENOMEM for more bytes than the reserve; otherwise the error of the system call.
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

    /// Moves the end of a region. Precondition: `size` is a nonzero multiple of the granularity. Fails with an `errno`
    /// value: ENOMEM for more bytes than the reserve; otherwise the error of the system call.
    [[nodiscard]] acquired<virtual_memory> resize(region<void*> held, std::size_t size) noexcept {
        if (size > align_up(reserve_, granularity)) return acquired<virtual_memory>::failure(ENOMEM);
        const bool grows = size > held.size;
        void* const from = raw_pointer::locate(held.base, grows ? held.size : size);
        const std::size_t changed = grows ? size - held.size : held.size - size;
        const bool done =
            grows ? ::mprotect(from, changed, PROT_READ | PROT_WRITE) == 0
                  : ::mprotect(from, changed, PROT_NONE) == 0 && ::madvise(from, changed, MADV_DONTNEED) == 0;
        if (!done) return acquired<virtual_memory>::failure(errno);
        held.size = size;
        return held;
    }

    /// Unmaps a region and its reserved range.
    void release(region<void*> held) noexcept { ::munmap(held.base, align_up(reserve_, granularity)); }

private:
    std::size_t reserve_;
};

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace host
}  // namespace v1
}  // namespace allot
