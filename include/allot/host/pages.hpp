// SPDX-License-Identifier: BSL-1.0
// pages: anonymous, zeroed pages from the operating system (Linux), aligned to a page or to a huge page.
//
//     allot::arena<allot::host::pages<>, allot::best_fit<>> memory{{}, 64_MiB};
//     allot::host::pages<allot::host::pages_options{.huge = allot::host::huge_pages::required}> device;
//
// `required` takes huge pages from the system's reserve (MAP_HUGETLB). Each region consists of huge pages, or `acquire`
// fails with the system's error. `advised` takes ordinary pages that are aligned to a huge page and advises the kernel
// to merge them (MADV_HUGEPAGE). The kernel is free to ignore the advice. To prefer huge pages without requiring them,
// combine one arena of each kind in a `fallback`.
//
// When to use: for large regions, for memory that reads as zero, and for memory that returns to the system on release.
// When not to use: for small or frequent regions, because each region costs system calls and whole pages. Use `heap`,
// or put `cached` above `pages`.
// Complexity: a few system calls for each region.
// Memory: sizes are rounded up to whole pages. No state.
// Thread safety: concurrent calls are safe, because the system calls are.
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

/// Use of huge pages.
enum class huge_pages : unsigned char {
    none,      ///< Ordinary pages.
    advised,   ///< Ordinary pages with advice to merge them (MADV_HUGEPAGE).
    required,  ///< Huge pages from the reserve (MAP_HUGETLB), or an error.
};

/// Options of `pages`.
struct pages_options {
    huge_pages huge = huge_pages::none;  ///< Use of huge pages.
    std::size_t huge_size = 2_MiB;       ///< Size of a huge page in bytes, one of the system's sizes.
};

/// Device that maps anonymous pages.
template <pages_options Options = pages_options{}>
class pages : public pointer_memory_traits<pages<Options>> {
    static_assert(is_alignment(Options.huge_size) && Options.huge_size >= 64_KiB,
                  "allot: pages_options::huge_size must be a power of two and at least 64 KiB");

public:
    using error = int;  ///< An `errno` value.
    /// Minimum alignment of a region, in bytes.
    static constexpr std::size_t min_align = Options.huge == huge_pages::none ? 4096 : Options.huge_size;
    static constexpr std::size_t granularity = min_align;  ///< Region sizes are multiples of this, in bytes.
    static constexpr bool host_written = true;             ///< Only instructions of this program write the bytes.

    /// Maps zeroed pages of at least `wanted.size` bytes. For an alignment above a page, maps more and unmaps the
    /// excess. Fails with an `errno` value: EINVAL for an invalid layout or, with `required`, for an alignment above a
    /// huge page; ENOMEM if the size overflows; otherwise the error of mmap(2).
    [[nodiscard]] acquired<pages> acquire(layout wanted) noexcept {
        if (!wanted.is_valid()) return acquired<pages>::failure(EINVAL);
        const auto page =
            Options.huge == huge_pages::none ? static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : Options.huge_size;
        if (wanted.align < page) wanted.align = page;
        if (!checked_align_up(wanted.size, page, wanted.size)) return acquired<pages>::failure(ENOMEM);
        if constexpr (Options.huge == huge_pages::required) {
            if (wanted.align != page) return acquired<pages>::failure(EINVAL);
            void* const base = map(wanted.size, MAP_HUGETLB | size_flag);
            if (base == MAP_FAILED) return acquired<pages>::failure(errno);
            return region<void*>{base, wanted.size, page};
        }
        std::size_t mapped = 0;
        if (!checked_add(wanted.size, wanted.align, mapped)) return acquired<pages>::failure(ENOMEM);
        void* const raw = map(mapped, 0);
        if (raw == MAP_FAILED) return acquired<pages>::failure(errno);
        const std::size_t from = raw_pointer::position(raw);
        const std::size_t before = align_up(from, wanted.align) - from;
        void* const base = raw_pointer::locate(raw, before);
        if (before != 0) ::munmap(raw, before);
        if (const std::size_t after = mapped - before - wanted.size; after != 0)
            ::munmap(raw_pointer::locate(base, wanted.size), after);
        if constexpr (Options.huge == huge_pages::advised) ::madvise(base, wanted.size, MADV_HUGEPAGE);
        return region<void*>{base, wanted.size, alignment_of(from + before)};
    }

    /// Unmaps the pages of a region.
    void release(region<void*> held) noexcept { ::munmap(held.base, held.size); }

private:
    // mmap(2) takes the size of a huge page as a logarithm in the upper bits. Without it, mmap(2) uses the system's
    // default.
    static constexpr int size_flag = static_cast<int>(static_cast<unsigned>(std::countr_zero(Options.huge_size)) << 26);

    [[nodiscard]] static void* map(std::size_t size, int flags) noexcept {
        return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    }
};

static_assert(device<pages<>> && !bounded_device<pages<>>);

}  // namespace host
}  // namespace v1
}  // namespace allot
