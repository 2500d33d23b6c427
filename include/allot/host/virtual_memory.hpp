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
// The pages of a region are readable and writable. Any access after its end is a fault. `discard` returns pages inside
// it to the system (discard_holes.hpp). Shrinking returns the pages at its end, which read as zero when they are mapped
// again. Each region reserves its own range. Linux may commit more pages than it has (overcommit). In that case the
// first access fails instead of `resize`.
//
// When to use: for one contiguous arena that grows to an unknown size and keeps every address.
// When not to use: on 32-bit hosts or under a small RLIMIT_AS, where addresses are scarce; for alignments above a page.
// Complexity: one or two system calls for each acquire, resize, and release.
// Memory: page tables for touched pages. The object stores one size.
// Thread safety: concurrent calls are safe for different regions, because the system calls are and the object does not
// change.
// Sources: mmap(2), mprotect(2), madvise(2).
#pragma once

#include <allot/address/reserving_device.hpp>

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

namespace allot {
inline namespace v1 {
namespace host {

/// The functions of Linux that `virtual_memory` calls.
struct address_space {
    using error = int;                              ///< An `errno` value.
    static constexpr error invalid = EINVAL;        ///< For an invalid layout, or an alignment above a page.
    static constexpr error out_of_memory = ENOMEM;  ///< For more bytes than the reserve.
    static constexpr std::size_t min_align = 4096;  ///< Alignment of every range, in bytes.

    /// Returns the largest alignment of a region in bytes, which is the size of a page.
    [[nodiscard]] static std::size_t largest_align() noexcept {
        return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    }
    /// Reserves addresses without memory. Returns null on failure.
    [[nodiscard]] static void* reserve(std::size_t size) noexcept {
        void* const base = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return base != MAP_FAILED ? base : nullptr;
    }
    /// Makes pages readable and writable. Returns false on failure.
    [[nodiscard]] static bool commit(void* from, std::size_t size) noexcept {
        return ::mprotect(from, size, PROT_READ | PROT_WRITE) == 0;
    }
    /// Returns the memory of pages to the system, and makes them inaccessible. Returns false on failure.
    [[nodiscard]] static bool decommit(void* from, std::size_t size) noexcept {
        return ::mprotect(from, size, PROT_NONE) == 0 && ::madvise(from, size, MADV_DONTNEED) == 0;
    }
    /// Whether discarded pages read as zero.
    static constexpr bool discarded_is_zero = true;
    /// Returns the size of a page, which is the unit of `discard`.
    [[nodiscard]] static std::size_t discard_unit() noexcept { return largest_align(); }
    /// Returns the memory of pages to the system now. They stay accessible and read as zero. Returns false on failure.
    [[nodiscard]] static bool discard(void* from, std::size_t size) noexcept {
        return ::madvise(from, size, MADV_DONTNEED) == 0;
    }
    /// Maps zeroed pages, readable and writable. Returns null on failure.
    [[nodiscard]] static void* map(std::size_t size) noexcept {
        void* const base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return base != MAP_FAILED ? base : nullptr;
    }
    /// Resizes a range of `map`, which may move with its pages. Returns its new address; null, without a change, on
    /// failure.
    [[nodiscard]] static void* remap(void* base, std::size_t size, std::size_t to) noexcept {
        void* const moved = ::mremap(base, size, to, MREMAP_MAYMOVE);
        return moved != MAP_FAILED ? moved : nullptr;
    }
    /// Unmaps a range.
    static void release(void* base, std::size_t size) noexcept { ::munmap(base, size); }
    /// Returns the error of a function that failed.
    [[nodiscard]] static error last_error() noexcept { return errno; }
};

/// The functions of Linux for memory that the system takes from discarded pages only when it needs some.
struct lazy_address_space : address_space {
    /// Whether discarded pages read as zero: they keep their bytes until the system takes them.
    static constexpr bool discarded_is_zero = false;
    /// Lets the system take the memory of pages until they are written again. Returns false on failure.
    [[nodiscard]] static bool discard(void* from, std::size_t size) noexcept {
        return ::madvise(from, size, MADV_FREE) == 0;
    }
};

/// Device whose regions grow and shrink at their end. Its errors are `errno` values.
using virtual_memory = reserving_device<address_space>;
/// The same, but the system takes discarded pages when it needs memory (MADV_FREE). Faster if the arena uses them
/// again.
using lazy_virtual_memory = reserving_device<lazy_address_space>;

static_assert(extensible_device<virtual_memory> && !bounded_device<virtual_memory>);

}  // namespace host
}  // namespace v1
}  // namespace allot
